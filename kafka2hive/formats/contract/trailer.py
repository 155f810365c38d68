"""What a file without a footer of its own says of itself behind its last row: its rows, and key-value pairs.

Each format hides a trailer where readers go past it. Before a few fixed bytes of the format's it ends with a mark and
the trailer's length, so a file's end is enough to read it.
"""

import base64
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping

import orjson
import pyarrow as pa

from kafka2hive.formats.contract.port import FileEnd

_MARK = b"K2HIVE01"
_END = struct.Struct("<8sQ")  # the mark, and the length of the whole trailer
END_SIZE = _END.size
_TAIL_BYTES = 64 * 1024


def payload_of(rows: int, metadata: Mapping[str, str]) -> bytes:
    return orjson.dumps({"rows": rows, "metadata": dict(metadata)})


def end_mark(length: int) -> bytes:
    """`length`: of the whole trailer, with this and what follows."""
    return _END.pack(_MARK, length)


def trailer_of(length: int, tail: Callable[[int], bytes], least: int, after: int) -> bytes:
    """The whole trailer of a file of `length` bytes, at least `least`; `after` bytes follow its mark.

    `tail` gives that many last bytes. Raises pa.ArrowInvalid where there is none of ours, and what `tail` raises.
    """
    data = tail(_TAIL_BYTES)
    end = data[-END_SIZE - after : len(data) - after]
    if len(end) != END_SIZE or end[: len(_MARK)] != _MARK:
        raise pa.ArrowInvalid("no trailer that says which rows the file holds")
    _, whole = _END.unpack(end)
    if len(data) < whole <= length:
        data = tail(whole)
    if not least <= whole <= len(data):
        raise pa.ArrowInvalid(f"a trailer of {whole} bytes in a file of {length}")
    return data[len(data) - whole :]


def parsed(payload: bytes) -> FileEnd:
    """Raises pa.ArrowInvalid."""
    try:
        found = orjson.loads(payload)
        pairs = {str(key).encode(): str(value).encode() for key, value in found["metadata"].items()}
        return FileEnd(int(found["rows"]), pairs)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise pa.ArrowInvalid(f"a damaged trailer: {error}") from error


SCHEMA_KEY = "kafka2hive.schema"


def schema_text(schema: pa.Schema) -> str:
    return base64.b64encode(schema.serialize()).decode()


def schema_of(text: bytes) -> pa.Schema:
    """Raises UNREADABLE (formats/readers.py) for a damaged text, also where it is only a column's name."""
    try:
        schema = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(text, validate=True)))
        list(_names(schema))  # Arrow decodes a name when it is asked for
    except ValueError as error:
        raise pa.ArrowInvalid(f"a damaged schema: {error}") from error
    return schema


def _names(fields: Iterable[pa.Field]) -> Iterator[str]:
    for field in fields:
        yield field.name
        yield from _names(field.type.field(number) for number in range(field.type.num_fields))
