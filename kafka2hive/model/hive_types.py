"""Convert Hive's type texts to Arrow types and back, `decimal(10,2)` <-> `decimal128(10, 2)`, and compare them."""

import functools
import re
from typing import TYPE_CHECKING

from kafka2hive.model.errors import ConfigError
from kafka2hive.model.hive_type_parser import SIMPLE, TOKEN, HiveTypeError, TypeParser, is_map_key

if TYPE_CHECKING:
    import pyarrow as pa

_TEXT = re.compile(r"(?i)\s*(string|varchar|char)\s*(?:\(\s*(\d+)\s*\))?\s*")
_INTEGER_DIGITS = {8: 3, 16: 5, 32: 10, 64: 19}
_WORD = re.compile(r"(`[^`]+`|[^\s<>(),:`]+)\s*(:?)")


@functools.lru_cache(maxsize=4096)
def parse_hive_type(text: str) -> "pa.DataType":
    """Return the Arrow type of a Hive type text; case and white space do not matter. Raises HiveTypeError.

    `timestamp` becomes naive microseconds that hold the wall clock of the table's zone. `char(n)` and `varchar(n)` become
    string, because Hive applies the length when it reads.
    """
    return TypeParser(text).parse()


def with_quoted_fields(text: str) -> str:
    """Return the type text with struct fields in back-quotes, because some field names are keywords of HiveQL.

    Raises HiveTypeError.
    """
    parser = TypeParser(text)
    parser.parse()
    for name in sorted(parser.field_names, key=lambda token: token.position, reverse=True):
        end = name.position + len(name.text)
        text = f"{text[: name.position]}`{name.text.strip('`')}`{text[end:]}"
    return text


def hive_type_of(dtype: "pa.DataType") -> str:
    """Return the Hive type text of an Arrow type: the inverse of `parse_hive_type`.

    Raises HiveTypeError if Hive lacks such a type.
    """
    import pyarrow as pa

    names = _simple_names()
    if dtype in names:
        return names[dtype]
    if dtype == pa.timestamp("us"):
        return "timestamp"
    if pa.types.is_decimal128(dtype) and 0 <= dtype.scale <= dtype.precision:
        return f"decimal({dtype.precision},{dtype.scale})"
    if pa.types.is_list(dtype):
        return f"array<{hive_type_of(dtype.value_type)}>"
    if pa.types.is_map(dtype) and is_map_key(dtype.key_type):
        return f"map<{hive_type_of(dtype.key_type)},{hive_type_of(dtype.item_type)}>"
    if pa.types.is_struct(dtype) and dtype.num_fields:
        return f"struct<{','.join(f'{_field_name(f.name)}:{hive_type_of(f.type)}' for f in dtype)}>"
    raise HiveTypeError(str(dtype), 0, f"Hive lacks a type for Arrow's {dtype}", "")


@functools.cache
def _simple_names() -> "dict[pa.DataType, str]":
    import pyarrow as pa

    return {pa.type_for_alias(arrow): hive for hive, arrow in SIMPLE.items()}


def _field_name(name: str) -> str:
    return name if TOKEN.fullmatch(name) and name not in "<>(),:`" else f"`{name}`"


def is_wider(new: str, old: str) -> bool:
    """Return whether a column of type `old` may become the different type `new`; False for unknown types.

    The change is allowed if Hive reads every old value back unchanged. This was tried on HiveServer2 4.0.1 with Parquet and
    ORC files of the old type. For other changes, Hive refuses the statement (boolean to string), cannot read the files (date
    to string), or reads different values (int to double: 2147483647 as 2147483648.0; timestamp to string: a number).
    """
    new_text, old_text = _TEXT.fullmatch(new), _TEXT.fullmatch(old)
    if new_text and old_text:
        loses_blanks = new_text[1].lower() == "char" != old_text[1].lower()
        is_longer = new_text[2] is None or int(new_text[2]) >= int(old_text[2] or new_text[2] + "0")
        return is_longer and not loses_blanks
    if any("char" in type_text.lower() for type_text in (new, old)):
        # the text type is inside a struct, array or map, or the other type is not a text, whose values may be too long
        return False
    try:
        return _holds(parse_hive_type(new.lower()), parse_hive_type(old.lower()))
    except ConfigError:
        return False


def _holds(new: "pa.DataType", old: "pa.DataType") -> bool:
    """Return whether Hive reads every value of type `old` as the same value of type `new`."""
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
        return bool(new.key_type == old.key_type) and _holds(new.item_type, old.item_type)
    if kinds.is_struct(old) and kinds.is_struct(new):
        fields = {field.name: field.type for field in new}
        return all(field.name in fields and _holds(fields[field.name], field.type) for field in old)
    return False


def has_parts(hive_type: str) -> bool:
    """Return whether a Hive type consists of other types: an array, a map or a struct."""
    return hive_type.strip().lower().startswith(("array", "map", "struct"))


def struct_fields(hive_type: str) -> list[str]:
    """Return the names of all fields of structs in a Hive type, as they are written there."""
    return [word.strip("`") for word, colon in _WORD.findall(hive_type) if colon]


def type_words(hive_type: str) -> list[str]:
    """Return the words of a Hive type without the names of fields, in lower case."""
    return [word.lower() for word, colon in _WORD.findall(hive_type) if not colon]
