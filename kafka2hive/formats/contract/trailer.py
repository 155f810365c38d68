"""The trailer: a row count and key-value pairs after the last row of a file whose format has no footer.

Each format puts the trailer where other readers skip it. The trailer ends with a mark and its length, followed only by a few
fixed bytes of the format, so it can be read from the end of the file.
"""

import base64
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping

import orjson
import pyarrow as pa

from kafka2hive.formats.contract.port import FileEnd

_MARK = b"K2HIVE01"
_END = struct.Struct("<8sQ")  # the mark, and the length of the whole trailer in bytes
END_SIZE = _END.size
_TAIL_BYTES = 64 * 1024
SCHEMA_KEY = "kafka2hive.schema"


def payload_of(rows: int, metadata: Mapping[str, str]) -> bytes:
    return orjson.dumps({"rows": rows, "metadata": dict(metadata)})


def end_mark(length: int) -> bytes:
    """Return the end mark. `length` counts the whole trailer, including this mark and the bytes after it."""
    return _END.pack(_MARK, length)


def trailer_of(length: int, tail: Callable[[int], bytes], least: int, after: int) -> bytes:
    """Return the whole trailer of a file of `length` bytes. It has at least `least` bytes, `after` of them after its mark.

    `tail(n)` returns the last n bytes of the file. Raises pa.ArrowInvalid without a valid trailer, and what `tail` raises.
    """
    data = tail(_TAIL_BYTES)
    end = data[-END_SIZE - after : len(data) - after]
    if len(end) != END_SIZE or end[: len(_MARK)] != _MARK:
        raise pa.ArrowInvalid("no trailer that says which rows the file holds")
    _, size = _END.unpack(end)
    if len(data) < size <= length:
        data = tail(size)
    if not least <= size <= len(data):
        raise pa.ArrowInvalid(f"a trailer of {size} bytes in a file of {length}")
    return data[len(data) - size :]


def parse_trailer(payload: bytes) -> FileEnd:
    """Parse a trailer's payload. Raises pa.ArrowInvalid."""
    try:
        content = orjson.loads(payload)
        pairs = {str(key).encode(): str(value).encode() for key, value in content["metadata"].items()}
        return FileEnd(int(content["rows"]), pairs)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise pa.ArrowInvalid(f"a damaged trailer: {error}") from error


def schema_text(schema: pa.Schema) -> str:
    return base64.b64encode(schema.serialize()).decode()


def schema_of(text: bytes) -> pa.Schema:
    """Parse what `schema_text` returns. Raises UNREADABLE (formats/files.py), also if only a column's name is damaged."""
    try:
        schema = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(text, validate=True)))
        list(_names(schema))  # Arrow decodes a name only at its first use
    except ValueError as error:
        raise pa.ArrowInvalid(f"a damaged schema: {error}") from error
    return schema


def _names(fields: Iterable[pa.Field]) -> Iterator[str]:
    for field in fields:
        yield field.name
        yield from _names(field.type.field(number) for number in range(field.type.num_fields))
