"""The description of a table, parsed from DESCRIBE FORMATTED as Hive 1 to 4 and the Spark Thrift Server print it."""

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
    the files of a partition that is dropped.
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
    kind = _kind(values.get("Table Type") or values.get("Type") or "", parameters)
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
    )


def _unescape(text: str) -> str:
    """Undo the Java escapes with which Hive prints properties: `\\t`, `\\u0001`."""
    try:
        return text.encode("ascii").decode("unicode_escape")
    except ValueError:
        return text


def _kind(text: str, parameters: dict[str, str]) -> TableKind:
    kind = _KINDS.get(text, TableKind.OTHER)
    translated = parameters.get("TRANSLATED_TO_EXTERNAL", "").lower() == "true"
    return TableKind.MANAGED if translated and kind is TableKind.EXTERNAL else kind


def _spark_properties(text: str) -> dict[str, str]:
    """Parse `[a=b, c=d]`, which is how Spark prints a table's properties."""
    return dict(re.findall(r"[\[ ]([^=,\[\]]+)=([^,\]]*)", text))
