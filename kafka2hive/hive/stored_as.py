"""How Hive's tables of each file format are declared, and known again by what Hive describes."""

from dataclasses import dataclass

from kafka2hive.config.values import FileFormat, TextOptions
from kafka2hive.hive import text
from kafka2hive.hive.description import TableDescription


@dataclass(frozen=True, slots=True)
class StoredAs:
    """`name` is for messages, `declared` a part of CREATE TABLE. `input_format`: what the name of the class holds.

    `serdes`: classes that read the rows; empty where the input format alone decides. `by_place`: Hive takes columns by
    their places in the file, whatever their names.
    """

    name: str
    declared: str
    input_format: str
    serdes: tuple[str, ...] = ()
    by_place: bool = False

    def difference(self, found: TableDescription) -> str | None:
        """Why a table's files are not of this format; None: they are, or Hive does not say."""
        if not found.input_format:
            return None
        if self.input_format not in found.input_format.rpartition(".")[2].lower():
            return f"it does not hold {self.name} files but is read by {found.input_format}"
        if self.serdes and found.serde not in self.serdes:
            return f"its rows are not read as {self.name} but by {found.serde}"
        return None


_LAZY_SIMPLE = "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe"
_HIVE_JSON = "org.apache.hadoop.hive.serde2.JsonSerDe"
_HCATALOG_JSON = "org.apache.hive.hcatalog.data.JsonSerDe"  # Hive 2

STORED_AS: dict[FileFormat, StoredAs] = {
    "parquet": StoredAs("Parquet", "STORED AS PARQUET", "parquet"),
    "orc": StoredAs("ORC", "STORED AS ORC", "orc", by_place=True),
    "json": StoredAs(
        "JSON",
        f"ROW FORMAT SERDE '{_HIVE_JSON}' STORED AS TEXTFILE",
        "textinputformat",
        (_HIVE_JSON, _HCATALOG_JSON),
    ),
    "text": StoredAs(
        "delimited text",
        f"ROW FORMAT SERDE '{_LAZY_SIMPLE}' WITH SERDEPROPERTIES ({{properties}}) STORED AS TEXTFILE",
        "textinputformat",
        (_LAZY_SIMPLE,),
        by_place=True,
    ),
}


def storage_clause(format: FileFormat, options: TextOptions) -> str:
    """The part of CREATE TABLE. Raises nothing; `options` are for text."""
    pairs = ((text.literal(key), text.literal(value)) for key, value in serde_properties(options).items())
    return STORED_AS[format].declared.format(properties=", ".join(f"{key}={value}" for key, value in pairs))


def serde_properties(options: TextOptions) -> dict[str, str]:
    """Of the SerDe that reads delimited text. Hive 2 and later write and read line ends after the escape as n and r."""
    return {
        "field.delim": options.delimiter,
        "serialization.format": options.delimiter,
        "escape.delim": options.escape,
        "serialization.null.format": options.null_text,
        "serialization.escape.crlf": "true",
    }


def other_properties(options: TextOptions, found: TableDescription) -> list[str]:
    """How Hive's table reads fields otherwise than the map writes them."""
    wanted = serde_properties(options)
    return [
        f"its SerDe property {key} is {found.serde_properties.get(key)!r}, the map's {wanted[key]!r}"
        for key in ("field.delim", "escape.delim", "serialization.null.format")
        if found.serde_properties.get(key, _DEFAULTS.get(key)) != wanted[key]
    ]


_DEFAULTS = {"field.delim": "\x01", "serialization.null.format": "\\N"}
