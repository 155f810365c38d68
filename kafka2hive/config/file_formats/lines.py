"""JSON lines and delimited text: lines that are compressed as a whole."""

from collections.abc import Iterator, Mapping

from kafka2hive.config.file_formats.specification import (
    Fault,
    FileFormatSpec,
    OlderHive,
    ReaderFault,
    StoredAs,
)
from kafka2hive.config.keys.table import TableReader
from kafka2hive.config.keys.writer import Compression, WriterOptions
from kafka2hive.model.hive_types import has_parts, struct_fields

_ANOTHER_FORMAT = "choose Parquet, ORC or Avro for this table"
_CODECS: tuple[Compression, ...] = ("gzip", "zstd", "none")
_ZSTD: frozenset[Compression] = frozenset({"zstd"})
_HIVE_JSON = "org.apache.hadoop.hive.serde2.JsonSerDe"
_HCATALOG_JSON = "org.apache.hive.hcatalog.data.JsonSerDe"  # Hive 2
_TEXT_INPUT = "org.apache.hadoop.mapred.TextInputFormat"
_TEXT_OUTPUT = "org.apache.hadoop.hive.ql.io.HiveIgnoreKeyTextOutputFormat"
_LAZY_SIMPLE = "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe"


def _text_faults(writer: WriterOptions, types: Mapping[str, str]) -> Iterator[Fault]:
    text = writer.text
    if text.delimiter == text.escape:
        yield ("text",), "delimiter and escape must differ"
    elif text.delimiter in text.null_text or text.null_text.endswith(text.escape):
        yield ("text", "null_text"), "must not contain the delimiter or end with the escape"
    for name in (name for name, kind in types.items() if has_parts(kind)):
        message = (
            f"a field of a text file holds a single value, but {name} is nested: use json, parquet or orc"
        )
        yield ("format",), message


JSON = FileFormatSpec(
    name="json",
    stored_as=StoredAs(
        name="JSON",
        declared=f"ROW FORMAT SERDE '{_HIVE_JSON}' STORED AS TEXTFILE",
        input_format="textinputformat",
        output_format="textoutputformat",
        serdes=(_HIVE_JSON, _HCATALOG_JSON),
        input_class=_TEXT_INPUT,
        output_class=_TEXT_OUTPUT,
        serde_has_columns=True,
    ),
    codecs=_CODECS,
    codec="gzip",
    is_lines=True,
    is_widened=False,  # how Hive reads an old text as a new type is untested
    older_hive=OlderHive(
        names=lambda column: struct_fields(column.type),
        capitals="leave the columns out of the map, so that Hive's table says them in lower case, or use Parquet",
        binary=("it does not decode the base64 of", "use Parquet, or unbase64() in queries"),
    ),
    reader_faults=(
        ReaderFault(TableReader.TRINO, "Trino does not know the SerDe of JSON tables", _ANOTHER_FORMAT),
        ReaderFault(
            TableReader.SPARK,
            "Spark lacks the SerDe of JSON tables (ClassNotFoundException)",
            _ANOTHER_FORMAT,
        ),
    ),
)
TEXT = FileFormatSpec(
    name="text",
    stored_as=StoredAs(
        name="delimited text",
        declared=f"ROW FORMAT SERDE '{_LAZY_SIMPLE}' WITH SERDEPROPERTIES ({{properties}}) STORED AS TEXTFILE",
        input_format="textinputformat",
        output_format="textoutputformat",
        serdes=(_LAZY_SIMPLE,),
        input_class=_TEXT_INPUT,
        output_class=_TEXT_OUTPUT,
        by_place=True,
        has_row_format=True,
    ),
    codecs=_CODECS,
    codec="gzip",
    options=frozenset({"text"}),
    is_lines=True,
    is_widened=False,
    needs_columns=True,
    faults=_text_faults,
    reader_faults=(
        ReaderFault(
            TableReader.TRINO,
            "Trino does not read text with zstd",
            "set writer.compression to gzip",
            codecs=_ZSTD,
        ),
        ReaderFault(
            TableReader.TRINO,
            "Trino shows line ends in strings of text tables as the letters n and r",
            _ANOTHER_FORMAT,
            differs=True,
            types=frozenset({"string", "varchar", "char"}),
        ),
        ReaderFault(
            TableReader.SPARK,
            "Spark reads lines with zstd only with Hadoop's native library",
            "set writer.compression to gzip",
            codecs=_ZSTD,
        ),
    ),
)
