"""Protocol buffers on the wire, as far as ORC's tail needs them: numbers and bytes, by field number and in their order."""

from collections.abc import Iterable, Iterator

import pyarrow as pa

Field = tuple[int, int | bytes]
"""Field number and value: a varint's number, or the bytes of a string, a message or a packed list."""

_VARINT, _FIXED_64, _BYTES, _FIXED_32 = 0, 1, 2, 5
_SEVEN_BITS = 0x7F


def read_fields(message: bytes) -> Iterator[Field]:
    """Fields of fixed width are left out: the tail has none at its top level. Raises pa.ArrowInvalid."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        match key & 7:
            case 0:
                number, at = _varint(message, at)
                yield key >> 3, number
            case 2:
                length, at = _varint(message, at)
                if at + length > len(message):
                    raise pa.ArrowInvalid("ORC: a field goes beyond its message")
                yield key >> 3, message[at : at + length]
                at += length
            case 1 | 5 as kind:
                at += 8 if kind == _FIXED_64 else 4
            case kind:
                raise pa.ArrowInvalid(f"ORC: a field of unknown wire type {kind}")


def write_fields(fields: Iterable[Field]) -> bytes:
    out = bytearray()
    for number, value in fields:
        if isinstance(value, int):
            out += _as_varint(number << 3 | _VARINT) + _as_varint(value)
        else:
            out += _as_varint(number << 3 | _BYTES) + _as_varint(len(value)) + value
    return bytes(out)


def number_of(fields: Iterable[Field], wanted: int, default: int = 0) -> int:
    """The last number of a field, as protocol buffers have it. Raises pa.ArrowInvalid for one that is no number."""
    found = default
    for number, value in fields:
        if number == wanted:
            if not isinstance(value, int):
                raise pa.ArrowInvalid(f"ORC: field {wanted} is no number")
            found = value
    return found


def bytes_of(fields: Iterable[Field], wanted: int) -> list[bytes]:
    """All values of a repeated field."""
    return [value for number, value in fields if number == wanted and isinstance(value, bytes)]


def _varint(data: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while at < len(data) and shift < 64:
        byte = data[at]
        number |= (byte & _SEVEN_BITS) << shift
        at += 1
        shift += 7
        if byte <= _SEVEN_BITS:
            return number, at
    raise pa.ArrowInvalid("ORC: a number without an end")


def _as_varint(number: int) -> bytes:
    out = bytearray()
    while number > _SEVEN_BITS:
        out.append(number & _SEVEN_BITS | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)
