"""The rules of the keys by which a column takes JSON values in other forms than its type's."""

from kafka2hive.config.keys.columns import RecordPart
from kafka2hive.config.keys.leeway import BooleanWords, NumberMarks
from kafka2hive.config.keys.source import ChangeLog, change_log_of
from kafka2hive.config.rules.table_options import DeclaredColumn, TableCheck
from kafka2hive.config.yaml.problems import Path
from kafka2hive.model.hive_types import has_parts

_INTEGERS = ("tinyint", "smallint", "int", "bigint")
_FLOATS = ("float", "double")
_THOUSANDS = ("", ".", ",", " ", "'", "_", "\u00a0", "\u202f", "\u2019")
"""Marks between groups of three digits; the last three are a no-break space, a narrow one, and a typographic apostrophe."""
_OF_CSV = ("whole", "booleans", "numbers", "non_finite", "beyond")
_DECIMAL_MARKS = (".", ",")


def check_leeway(check: TableCheck, path: Path, column: DeclaredColumn) -> None:
    """Check the keys for JSON, some of which CSV has, too."""
    leeway, kind = column.leeway, column.type.strip().lower()
    has_unit = column.unit is not None
    is_number = kind in (*_INTEGERS, *_FLOATS) or kind.startswith("decimal")
    is_single = not (kind.startswith(("string", "varchar", "char")) or has_parts(kind))
    keys = (
        ("json", leeway.json != "refuse", kind == "string", "a string"),
        (
            "quoted",
            leeway.quoted != "refuse",
            has_unit or kind in (*_INTEGERS, *_FLOATS, "boolean"),
            "a number, a boolean or a unit",
        ),
        ("empty", leeway.empty != "refuse", is_single, "a number, boolean, date, timestamp or binary"),
        ("whole", leeway.whole != "refuse", has_unit or kind in _INTEGERS, "an integer or a unit"),
        ("booleans", leeway.booleans is not None, kind == "boolean", "a boolean"),
        ("numbers", leeway.numbers is not None, is_number, "a number"),
        ("non_finite", leeway.non_finite != "refuse", kind in _FLOATS, "a double or a float"),
        ("beyond", leeway.beyond != "refuse", kind in ("timestamp", "date"), "a timestamp or a date"),
    )
    for key, is_given, fits, wanted in keys:
        if is_given:
            _check_json(check, (*path, key), column, fits=fits, wanted=wanted)
    if leeway.beyond != "refuse" and leeway.fraction == "truncate":
        check.add((*path, "beyond"), "cannot be used with fraction: truncate")
    if leeway.booleans is not None and check.table.format == "csv" and check.table.csv.booleans == "digits":
        check.add((*path, "booleans"), "csv has booleans: digits for all columns: keep one of them")
    if leeway.booleans is not None:
        _check_words(check, (*path, "booleans"), leeway.booleans)
    if leeway.numbers is not None:
        _check_marks(check, (*path, "numbers"), column, leeway.numbers)


def _check_json(check: TableCheck, path: Path, column: DeclaredColumn, fits: bool, wanted: str) -> None:
    """Check a key of JSON or also of CSV. `fits`: whether it is for the column's type; `wanted`: what it is for."""
    table = check.table
    format = table.format if column.part in (RecordPart.VALUE, RecordPart.MESSAGE) else None
    format = table.key_format if column.part is RecordPart.KEY else format
    if path[-1] == "json" and format in ("avro", "protobuf"):
        format = "json"  # any of their values has a text
    if format == "csv" and path[-1] in _OF_CSV:
        format = "json"
    if format not in ("json", "json_schema"):
        also = ", avro and protobuf" if path[-1] == "json" else ""
        check.add(
            path, f"applies only to fields of values in json and json_schema, and of keys in json{also}"
        )
    elif column.part is RecordPart.VALUE and change_log_of(table.source) is ChangeLog.CANAL:
        check.add(path, "canal writes every value as text")
    elif not fits:
        check.add(path, f"is used only with {wanted}; {column.name} is {column.type}")


def _check_words(check: TableCheck, path: Path, words: BooleanWords) -> None:
    if twice := [word for word in words.true if word in words.false]:
        check.add((*path, "false"), f"{twice[0]!r} is also a word for true")
    if "" in (*words.true, *words.false):
        check.add(path, "an empty string is no word: write empty: null to make it NULL")
    if "false" in words.true or "true" in words.false:
        check.add(path, "JSON's own true and false cannot change places")


def _check_marks(check: TableCheck, path: Path, column: DeclaredColumn, marks: NumberMarks) -> None:
    if marks.thousands not in _THOUSANDS:
        check.add((*path, "thousands"), "expected one of . , ' _ or a blank, or an empty string")
    if marks.decimal not in _DECIMAL_MARKS:
        check.add((*path, "decimal"), "expected . or ,")
    elif marks.thousands == marks.decimal:
        check.add((*path, "thousands"), f"is the decimal mark too: {marks.decimal}")
    if column.leeway.quoted != "refuse":
        check.add(path, "says how numbers in quotes are written, so quoted must not be set")
    is_decimal = column.type.strip().lower().startswith("decimal")
    if is_decimal and change_log_of(check.table.source) is ChangeLog.DEBEZIUM:
        check.add(path, "cannot be used with decimals of Debezium, which may be bytes in base64")
    if column.leeway.decimals != "text":
        check.add(path, "cannot be used with decimals: base64, which reads strings as bytes")
