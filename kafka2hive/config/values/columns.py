"""The columns of a table: as the map has them, as everybody uses them, and those taken from the record."""

from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Literal

from kafka2hive.config.values.key import Key


class RecordPart(Enum):
    """Of which part of a record a column is taken."""

    VALUE = "value"
    KEY = "key"
    HEADER = "header"


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the Hive table; `type` is Hive's text, e.g. `decimal(10,2)`.

    `path`: the keys that lead to its value in that part of the record, empty: its name in the value, the whole key; of a
    header the header's name alone. `unit` (`d`, `s`, `ms`, `us`, `ns`): the value is a number that counts from 1970 UTC.
    """

    name: str
    type: str
    path: tuple[str, ...] = ()
    unit: str | None = None
    part: RecordPart = RecordPart.VALUE


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnKeys:
    """A column that does not just take the JSON member of its name."""

    type: Annotated[str, Key("Hive type.")]
    path: Annotated[
        str | None,
        Key("Path of its value in the record's JSON: $.props['US Gross']. Default: its name.", name="from"),
    ] = None
    header: Annotated[
        str | None,
        Key("Instead of from: the name of a header; of several of that name the last.", shortest=1),
    ] = None
    key: Annotated[
        str | None,
        Key(
            "Instead of from: the path of its value in the record's key; $ is the whole key (key_format raw)."
        ),
    ] = None
    unit: Annotated[
        Literal["d", "s", "ms", "us", "ns"] | None,
        Key("For timestamp and date: the value is a number that counts from 1970 UTC in this unit."),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedColumnKeys(ColumnKeys):
    """A column in a list of columns."""

    name: Annotated[str, Key("Name of the column.")]


COORDINATES = "__kafka2hive"
"""Beside the columns of records: where each row comes from. It goes through a SELECT, never into files."""


class MetadataColumn(Enum):
    """Columns a table may take from the record instead of its value; the name in the table is the map's choice."""

    TOPIC = "topic"
    PARTITION = "partition"
    OFFSET = "offset"
    TIMESTAMP = "timestamp"
    KEY = "key"
    HEADERS = "headers"
    ORDINAL = "ordinal"


METADATA_TYPES = {
    MetadataColumn.TOPIC: "string",
    MetadataColumn.PARTITION: "int",
    MetadataColumn.OFFSET: "bigint",
    MetadataColumn.TIMESTAMP: "timestamp",
    MetadataColumn.KEY: "binary",
    MetadataColumn.HEADERS: "array<struct<key:string,value:binary>>",
    MetadataColumn.ORDINAL: "int",
}
"""Hive's."""
