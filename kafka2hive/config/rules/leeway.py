"""The rules of the keys by which a column takes values in other forms than its type's."""

from collections.abc import Mapping
from typing import Literal

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
_DECIMAL_MARKS = (".", ",")

Form = Literal["json", "csv", "schema", "text"]
"""How a part of a record says its values: `schema` for Avro and Protobuf, `text` for headers and raw keys."""

_OF_SCHEMA: tuple[Form, ...] = ("json", "schema")
_OF_ALL: tuple[Form, ...] = ("json", "csv", "schema", "text")
_FORMS: Mapping[str, tuple[Form, ...]] = {
    "json": _OF_SCHEMA,
    "quoted": _OF_SCHEMA,
    "empty": (*_OF_SCHEMA, "text"),
    "whole": _OF_ALL,
    "booleans": _OF_ALL,
    "numbers": _OF_ALL,
    "non_finite": _OF_ALL,
    "beyond": _OF_ALL,
}
"""Where each key is used."""


def check_leeway(check: TableCheck, path: Path, column: DeclaredColumn) -> None:
    """Check the keys for values in other forms than the column's type."""
    leeway, kind = column.leeway, column.type.strip().lower()
    form = _form(check, column)
    has_unit, is_decimal = column.unit is not None, kind.startswith("decimal")
    is_number = kind in (*_INTEGERS, *_FLOATS) or is_decimal
    is_single = not (kind.startswith(("string", "varchar", "char")) or has_parts(kind))
    of_schema = is_decimal and form == "schema"
    keys = (
        ("json", leeway.json != "refuse", kind == "string", "a string"),
        (
            "quoted",
            leeway.quoted != "refuse",
            has_unit or kind in (*_INTEGERS, *_FLOATS, "boolean") or of_schema,
            "a number, a boolean or a unit",
        ),
        ("empty", leeway.empty != "refuse", is_single, "a number, boolean, date, timestamp or binary"),
        (
            "whole",
            leeway.whole != "refuse",
            has_unit or kind in _INTEGERS or of_schema,
            "an integer or a unit",
        ),
        ("booleans", leeway.booleans is not None, kind == "boolean", "a boolean"),
        ("numbers", leeway.numbers is not None, is_number, "a number"),
        (
            "non_finite",
            leeway.non_finite != "refuse",
            kind in _FLOATS or (form == "schema" and leeway.non_finite == "null" and is_number),
            "a double or a float",
        ),
        ("beyond", leeway.beyond != "refuse", kind in ("timestamp", "date"), "a timestamp or a date"),
    )
    for key, is_given, fits, wanted in keys:
        if is_given:
            _check_form(check, (*path, key), column, form, fits=fits, wanted=wanted)
    if leeway.beyond != "refuse" and leeway.fraction == "truncate":
        check.add((*path, "beyond"), "cannot be used with fraction: truncate")
    if leeway.booleans is not None and check.table.format == "csv" and check.table.csv.booleans == "digits":
        check.add((*path, "booleans"), "csv has booleans: digits for all columns: keep one of them")
    if leeway.booleans is not None:
        _check_words(check, (*path, "booleans"), leeway.booleans)
    if leeway.numbers is not None:
        _check_marks(check, (*path, "numbers"), column, leeway.numbers)
    if form == "schema":
        _check_schema(check, path, column, kind)
    if form == "text" and leeway.empty != "refuse" and kind == "binary":
        check.add((*path, "empty"), "a binary takes the bytes of a header or a raw key unchanged")


def _form(check: TableCheck, column: DeclaredColumn) -> Form | None:
    """Return how the part of the record from which the column comes says its values; None for raw values and plug-ins."""
    table = check.table
    if column.part is RecordPart.HEADER or (column.part is RecordPart.KEY and table.key_format == "raw"):
        return "text"
    format = table.key_format if column.part is RecordPart.KEY else table.format
    forms: Mapping[str, Form] = {
        "json": "json",
        "json_schema": "json",
        "csv": "csv",
        "avro": "schema",
        "protobuf": "schema",
    }
    return forms.get(format)


def _check_form(
    check: TableCheck, path: Path, column: DeclaredColumn, form: Form | None, fits: bool, wanted: str
) -> None:
    """Check where a key is used. `fits`: whether it is for the column's type; `wanted`: what it is for."""
    forms = _FORMS[str(path[-1])]
    if form not in forms:
        csv = ", csv" if "csv" in forms else ""
        texts = "; to headers and raw keys" if "text" in forms else ""
        check.add(
            path,
            f"applies only to fields of values in json, json_schema{csv}, avro and protobuf, and of keys in json,"
            f" json_schema, avro and protobuf{texts}",
        )
    elif column.part is RecordPart.VALUE and change_log_of(check.table.source) is ChangeLog.CANAL:
        check.add(path, "canal writes every value as text")
    elif not fits:
        check.add(path, f"is used only with {wanted}; {column.name} is {column.type}")


def _check_schema(check: TableCheck, path: Path, column: DeclaredColumn, kind: str) -> None:
    """Check keys that need another one in Avro and Protobuf, whose schemas say which values are strings."""
    leeway = column.leeway
    takes_strings = (
        leeway.quoted != "refuse"
        or leeway.numbers is not None
        or leeway.booleans is not None
        or (leeway.beyond != "refuse" and column.unit is None)
        or bool(leeway.time_pattern)
    )
    if leeway.empty != "refuse" and kind == "binary":
        check.add((*path, "empty"), "a binary of avro and protobuf takes bytes and strings unchanged")
    elif leeway.empty != "refuse" and not takes_strings:
        check.add(
            (*path, "empty"),
            "no string fills the column: allow it with quoted, numbers, booleans, beyond or time_pattern",
        )
    if leeway.non_finite == "null" and kind not in _FLOATS and leeway.whole == "refuse":
        check.add((*path, "non_finite"), "no float fills the column: allow it with whole: accept")
    if leeway.non_finite == "keep" and not takes_strings:
        check.add(
            (*path, "non_finite"), "NaN and infinities are values of avro and protobuf, and always kept"
        )


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
    if (
        is_decimal
        and check.table.format in ("json", "json_schema")
        and change_log_of(check.table.source) is ChangeLog.DEBEZIUM
    ):
        check.add(path, "cannot be used with decimals of Debezium, which may be bytes in base64")
    if column.leeway.decimals != "text":
        check.add(path, "cannot be used with decimals: base64, which reads strings as bytes")
