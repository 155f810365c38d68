"""The description of a table, parsed from DESCRIBE FORMATTED as Hive 1 to 4 and the Spark Thrift Server print it."""

import datetime
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from kafka2hive.config.keys import Column

LEDGER_PROPERTY = "kafka2hive.ledger"
PURGE_PROPERTY = "external.table.purge"
LATEST_PROPERTY = "kafka2hive.latest"
"""The fingerprint of the text of a view that kafka2hive made."""


_CREATION = re.compile(r"[A-Z][a-z]{2} ([A-Z][a-z]{2} \d{2} \d{2}:\d{2}:\d{2}) (\S+) (\d{4})")
_ZONE_STEP, _ZONES_APART = datetime.timedelta(minutes=15), datetime.timedelta(hours=26)


class TableKind(Enum):
    EXTERNAL = "external table"
    MANAGED = "managed table"  # also what CREATE TABLE makes in Hive 4: external by name, but DROP deletes its files
    VIEW = "view"
    OTHER = "neither table nor view"


_KINDS = {
    "EXTERNAL_TABLE": TableKind.EXTERNAL,
    "EXTERNAL": TableKind.EXTERNAL,
    "MANAGED_TABLE": TableKind.MANAGED,
    "MANAGED": TableKind.MANAGED,
    "VIRTUAL_VIEW": TableKind.VIEW,
    "MATERIALIZED_VIEW": TableKind.VIEW,
    "VIEW": TableKind.VIEW,
}


@dataclass(frozen=True, slots=True)
class TableDescription:
    """A table or Hive partition as Hive describes it. `columns` do not include the partition columns.

    `ledger` is the ledger id of the service that created the table, or None if another tool created it. `location` is None
    for views. `latest` is the fingerprint of the text of a view that kafka2hive made. `deletes_dropped` says that Hive deletes
    the files of a partition that is dropped. `created` is when it was created, as Hive writes it; "" if unknown. `parameters`
    are those of TBLPROPERTIES; `clustered`, `sorted` and `skewed` are the columns of these clauses, or empty.
    """

    columns: tuple[Column, ...]
    partition_columns: tuple[Column, ...]
    location: str | None
    kind: TableKind
    transactional: bool
    input_format: str
    ledger: str | None = None
    serde: str = ""
    serde_properties: Mapping[str, str] = field(default_factory=dict)
    latest: str | None = None
    deletes_dropped: bool = False
    created: str = ""
    output_format: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)
    clustered: str = ""
    sorted: str = ""
    skewed: str = ""


def parse_description(rows: Sequence[Sequence[Any]]) -> TableDescription:
    """Parse the rows (name, type or value, comment) of `DESCRIBE FORMATTED table [PARTITION ..]`."""
    columns: list[Column] = []
    partition_columns: list[Column] = []
    values: dict[str, str] = {}
    parameters: dict[str, str] = {}
    serde_properties: dict[str, str] = {}
    section = ""
    for row in rows:
        name, value, comment = (
            str(cell).strip() if cell is not None else "" for cell in (*row, None, None)[:3]
        )
        if name == "# col_name":
            continue
        if name.startswith("# "):
            section = name[2:]
        elif section == "" and name:
            columns.append(Column(name, value))
        elif section == "Partition Information" and name:
            partition_columns.append(Column(name, value))
        elif section.startswith("Detailed"):
            if name:
                # the first wins, because Spark repeats the table's location further down for a partition
                values.setdefault(name.removesuffix(":"), value)
            elif value:
                parameters[value] = comment
        elif section == "Storage Information" and name:
            values.setdefault(name.removesuffix(":"), value)
        elif section == "Storage Information" and value:
            serde_properties[value] = _unescape(comment)
    parameters.update(_spark_properties(values.get("Table Properties", "")))
    kind = table_kind(values.get("Table Type") or values.get("Type") or "", parameters)
    partition_names = {column.name for column in partition_columns}  # Spark lists them as columns too
    return TableDescription(
        columns=tuple(column for column in columns if column.name not in partition_names),
        partition_columns=tuple(partition_columns),
        location=values.get("Location"),
        kind=kind,
        transactional=parameters.get("transactional", "").lower() == "true",
        input_format=values.get("InputFormat", ""),
        ledger=parameters.get(LEDGER_PROPERTY),
        latest=parameters.get(LATEST_PROPERTY),
        deletes_dropped=kind is TableKind.MANAGED or parameters.get(PURGE_PROPERTY, "").lower() == "true",
        serde=values.get("SerDe Library") or values.get("Serde Library") or "",
        serde_properties=serde_properties,
        created=values.get("CreateTime") or values.get("Created Time") or "",
        output_format=values.get("OutputFormat", ""),
        parameters={key: _unescape(value) for key, value in parameters.items()},
        clustered=_listed(values.get("Bucket Columns")),
        sorted=_listed(values.get("Sort Columns")),
        skewed=_listed(values.get("Skewed Columns")),
    )


def is_same_creation(a: str, b: str) -> bool:
    """Return whether two times of creation are the same; a time that is unknown ("") is the same as any.

    HiveServer2 writes the time in the time zone of its machine (`Sun Nov 29 13:24:25 UTC 2026`), so behind a load balancer the
    same time may differ in its zone, and then by a multiple of a quarter of an hour.
    """
    if not a or not b or a == b:
        return True
    first, second = _parse_creation(a), _parse_creation(b)
    if first is None or second is None or first[1] == second[1]:
        return False
    apart = abs(first[0] - second[0])
    return apart <= _ZONES_APART and apart % _ZONE_STEP == datetime.timedelta()


def _parse_creation(text: str) -> tuple[datetime.datetime, str] | None:
    """Return the wall clock of a time and the name of its zone; None if Hive writes it in another form."""
    match = _CREATION.fullmatch(text)
    if match is None:
        return None
    try:
        return datetime.datetime.strptime(f"{match[1]} {match[3]}", "%b %d %H:%M:%S %Y"), match[2]
    except ValueError:
        return None


def _listed(text: str | None) -> str:
    """Return the columns in brackets, as Hive prints them; "" if there are none."""
    return (text or "").removeprefix("[").removesuffix("]").strip()


def _unescape(text: str) -> str:
    """Undo the Java escapes with which Hive prints properties: `\\t`, `\\u0001`."""
    try:
        return text.encode("ascii").decode("unicode_escape")
    except ValueError:
        return text


def table_kind(text: str, parameters: Mapping[str, str]) -> TableKind:
    """Return the kind of a table from the name that Hive gives it, and its parameters."""
    kind = _KINDS.get(text, TableKind.OTHER)
    translated = parameters.get("TRANSLATED_TO_EXTERNAL", "").lower() == "true"
    return TableKind.MANAGED if translated and kind is TableKind.EXTERNAL else kind


def _spark_properties(text: str) -> dict[str, str]:
    """Parse `[a=b, c=d]`, which is how Spark prints a table's properties."""
    return dict(re.findall(r"[\[ ]([^=,\[\]]+)=([^,\]]*)", text))
