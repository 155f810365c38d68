"""Hive's type texts to Arrow types and back: `decimal(10,2)` <-> `decimal128(10, 2)`."""

import functools
from typing import TYPE_CHECKING

from kafka2hive.model.hive_type_parser import SIMPLE, TOKEN, HiveTypeError, TypeParser

if TYPE_CHECKING:
    import pyarrow as pa


@functools.lru_cache(maxsize=4096)
def parse_hive_type(text: str) -> "pa.DataType":
    """Return the Arrow type of a Hive type text, in any case and with any blanks. Raises HiveTypeError.

    `timestamp` becomes naive microseconds that hold the wall clock of the table's zone. `char(n)` and `varchar(n)` become
    string, because Hive applies the length when it reads.
    """
    return TypeParser(text).parse()


def with_quoted_fields(text: str) -> str:
    """Return the type text with struct fields in back-quotes, because some names are words of HiveQL.

    Raises HiveTypeError.
    """
    parser = TypeParser(text)
    parser.parse()
    for name in sorted(parser.field_names, key=lambda token: token.position, reverse=True):
        end = name.position + len(name.text)
        text = f"{text[: name.position]}`{name.text.strip('`')}`{text[end:]}"
    return text


def hive_type_of(dtype: "pa.DataType") -> str:
    """Return the Hive type text of an Arrow type; the inverse of `parse_hive_type`. Raises HiveTypeError if it has none."""
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
    if pa.types.is_map(dtype) and dtype.key_type == pa.string():
        return f"map<string,{hive_type_of(dtype.item_type)}>"
    if pa.types.is_struct(dtype) and dtype.num_fields:
        return f"struct<{','.join(f'{_field_name(f.name)}:{hive_type_of(f.type)}' for f in dtype)}>"
    raise HiveTypeError(str(dtype), 0, f"Arrow type {dtype} has no Hive type", "")


@functools.cache
def _simple_names() -> "dict[pa.DataType, str]":
    import pyarrow as pa

    return {pa.type_for_alias(arrow): hive for hive, arrow in SIMPLE.items()}


def _field_name(name: str) -> str:
    return name if TOKEN.fullmatch(name) and name not in "<>(),:`" else f"`{name}`"
