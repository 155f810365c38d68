"""Which types a Hive column may change to while its files stay: every old value is read back as the same one.

Tried on HiveServer2 4.0.1 with Parquet and ORC files of the old type. What is not here either is refused by Hive
(boolean to string), cannot be read (date to string), or comes back as another value (int to double: 2147483647 as
2147483648.0; timestamp to string: microseconds as a number).
"""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from kafka2hive.model.errors import ConfigError
from kafka2hive.model.hive_types import parse_hive_type

if TYPE_CHECKING:
    import pyarrow as pa


_TEXT = re.compile(r"(?i)\s*(string|varchar|char)\s*(?:\(\s*(\d+)\s*\))?\s*")
_INTEGER_DIGITS = {8: 3, 16: 5, 32: 10, 64: 19}


def is_wider(new: str, old: str) -> bool:
    """Whether a column of type `old` may become `new`, another type. Hive type texts; one that is not known is not wider."""
    text, before = _TEXT.fullmatch(new), _TEXT.fullmatch(old)
    if text and before:
        padded = text[1].lower() == "char" != before[1].lower()  # it would lose blanks at the end
        longer = text[2] is None or int(text[2]) >= int(before[2] or text[2] + "0")
        return longer and not padded
    if any("char" in type_text.lower() for type_text in (new, old)):
        return False  # within another type, or of a number that may not fit
    try:
        return _holds(parse_hive_type(new.lower()), parse_hive_type(old.lower()))
    except ConfigError:
        return False


def _holds(new: "pa.DataType", old: "pa.DataType") -> bool:
    import pyarrow.types as kinds

    if new == old:
        return True
    if kinds.is_integer(old):
        return (
            (kinds.is_integer(new) and new.bit_width >= old.bit_width)
            or (kinds.is_decimal(new) and new.precision - new.scale >= _INTEGER_DIGITS[old.bit_width])
            or bool(kinds.is_string(new))
        )
    if kinds.is_decimal(old):
        return bool(kinds.is_string(new)) or (
            kinds.is_decimal(new)
            and new.scale >= old.scale
            and new.precision - new.scale >= old.precision - old.scale
        )
    if kinds.is_float32(old):
        return bool(kinds.is_float64(new))
    if kinds.is_list(old) and kinds.is_list(new):
        return _holds(new.value_type, old.value_type)
    if kinds.is_map(old) and kinds.is_map(new):
        return _holds(new.item_type, old.item_type)
    if kinds.is_struct(old) and kinds.is_struct(new):
        fields = {field.name: field.type for field in new}
        return all(field.name in fields and _holds(fields[field.name], field.type) for field in old)
    return False


_WORD = re.compile(r"(`[^`]+`|[^\s<>(),:`]+)\s*(:?)")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MAP = re.compile(r"\bmap\s*<\s*([a-z]+)", re.IGNORECASE)
_OTHERS = {
    "tinyint": "Hive's Avro tables make it int, declare it so",
    "smallint": "Hive's Avro tables make it int, declare it so",
    "char": "Hive reads it only from files that say its length, declare it as string",
    "varchar": "Hive reads it only from files that say its length, declare it as string",
}


def not_in_avro(name: str, kind: str) -> Iterator[str]:
    """Why a column with this type of Hive's, which is one, is not possible."""
    fields = [word.strip("`") for word, colon in _WORD.findall(kind) if colon]
    for own in [name, *fields]:
        if not _NAME.fullmatch(own):
            yield f"{own} is not a valid name in Avro: letters, digits and _, and no digit first"
    for own in fields:
        if own != own.lower():
            yield f"{own} in {name} has capital letters: Hive reads such fields of structs as NULL"
    for word in dict.fromkeys(type_words(kind)):
        if word in _OTHERS:
            yield f"{name} is of type {kind}: {_OTHERS[word]}"
    if any(key.lower() != "string" for key in _MAP.findall(kind)):
        yield f"{name} is of type {kind}: Avro's maps have keys of type string"


def type_words(kind: str) -> list[str]:
    """Without the names of fields."""
    return [word.lower() for word, colon in _WORD.findall(kind) if not colon]
