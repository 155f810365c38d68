"""A position in one message, and strict steps over Protobuf's wire format."""

from collections.abc import Mapping, Sequence
from struct import Struct

from kafka2hive.decode.framing.numbers import BinaryRefusal
from kafka2hive.decode.schemas.protobuf import END, FIXED32, FIXED64, LENGTH, START, VARINT

MAX_DEPTH = 64
"""Limit of messages and groups that are open at once, including the message itself."""

LARGEST_NUMBER = 2**29 - 1
"""Limit of a field's number."""

Range = tuple[int, int]
"""Where a value's payload begins and ends. The payload follows the tag, or the length if the value has one."""

_SIZES = {FIXED32: 4, FIXED64: 8}
_REALS = {32: Struct("<f"), 64: Struct("<d")}


class ProtobufCursor:
    """Reads `message` from byte `at` to byte `end`. Each method raises only BinaryRefusal."""

    __slots__ = ("_open", "at", "end", "message")

    def __init__(self, message: bytes, at: int) -> None:
        self.message = message
        self.at = at
        self.end = len(message)
        self._open = 0

    def go(self, place: Range) -> None:
        """Move to the beginning of a range, and read no further than its end."""
        self.at, self.end = place

    def take(self, size: int) -> bytes:
        if size > self.end - self.at:
            available = self.end - self.at
            raise BinaryRefusal("protobuf.truncated", f"{size} bytes wanted, {available} are left")
        self.at += size
        return self.message[self.at - size : self.at]

    def varint(self, most: int = 10) -> int:
        """Read a varint of at most `most` bytes and 64 bits; it need not be in its shortest form."""
        number = 0
        for place in range(most):
            if self.at >= self.end:
                raise BinaryRefusal("protobuf.truncated", "the data end within a number")
            byte = self.message[self.at]
            self.at += 1
            number |= (byte & 0x7F) << 7 * place
            if byte < 0x80:
                if number >> 64:
                    break
                return number
        raise BinaryRefusal("protobuf.syntax", f"a number of more than {most} bytes or 64 bits")

    def tag(self) -> tuple[int, int]:
        """Read a tag. Return the field's number and the wire type of its value."""
        tag = self.varint(5)
        number, wire = tag >> 3, tag & 7
        if not 0 < number <= LARGEST_NUMBER:
            raise BinaryRefusal("protobuf.syntax", f"a field cannot have the number {number}")
        if wire > FIXED32:
            raise BinaryRefusal("protobuf.syntax", f"field {number} has the unknown wire type {wire}")
        return number, wire

    def payload(self, number: int, wire: int) -> Range:
        """Skip the value of field `number`. Return the range of its payload."""
        start = self.at
        match wire:
            case 0:
                self.varint()
            case 2:
                size = self.varint(5)
                start = self.at
                self.take(size)
            case 3:
                return start, self._group(number)
            case 4:
                raise BinaryRefusal("protobuf.syntax", f"the end of a group {number} that has not begun")
            case _:
                self.take(_SIZES[wire])
        return start, self.at

    def _group(self, number: int) -> int:
        """Skip a group. Return where its fields end."""
        self.enter()
        while True:
            end = self.at
            inner, wire = self.tag()
            if wire == END and inner == number:
                self.leave()
                return end
            self.payload(inner, wire)

    def enter(self) -> None:
        """Note that a message or group begins."""
        self._open += 1
        if self._open > MAX_DEPTH:
            raise BinaryRefusal("protobuf.limit", f"messages nest deeper than {MAX_DEPTH}")

    def leave(self) -> None:
        self._open -= 1

    def integer(self, kind: str) -> int:
        """Read an integer, bool or enum of this type."""
        match kind:
            case "fixed32" | "sfixed32":
                return int.from_bytes(self.take(4), "little", signed=kind[0] == "s")
            case "fixed64" | "sfixed64":
                return int.from_bytes(self.take(8), "little", signed=kind[0] == "s")
        raw = self.varint()
        number = raw
        if kind in ("sint32", "sint64"):
            number = raw >> 1 ^ -(raw & 1)
        elif kind in ("int32", "int64", "enum"):
            number = raw - (raw >> 63 << 64)
        low, high = _LIMITS[kind]
        if not low <= number <= high:
            raise BinaryRefusal("protobuf.range", f"{number} is beyond {kind}")
        return number

    def real(self, bits: int) -> float:
        number: float = _REALS[bits].unpack(self.take(bits // 8))[0]
        return number

    def octets(self) -> bytes:
        """Return all bytes up to `end`."""
        return self.take(self.end - self.at)

    def text(self) -> str:
        data = self.octets()
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            why = f"text of {len(data)} bytes is not UTF-8 at its byte {error.start}"
            raise BinaryRefusal("protobuf.utf8", why) from error


_LIMITS = {
    "bool": (0, 1),
    "uint32": (0, 2**32 - 1),
    "uint64": (0, 2**64 - 1),
    **dict.fromkeys(("int32", "sint32", "enum"), (-(2**31), 2**31 - 1)),
    **dict.fromkeys(("int64", "sint64"), (-(2**63), 2**63 - 1)),
}


def values_at(cursor: ProtobufCursor, number: int, wire: int, expected: int, repeated: bool) -> list[Range]:
    """Skip the value of a known field. Return its payload, or the payloads of packed values.

    Refuse any other wire type: other readers take it for an unknown field and lose the value.
    """
    if wire == expected:
        return [cursor.payload(number, wire)]
    if not repeated or wire != LENGTH or expected in (LENGTH, START):
        raise BinaryRefusal("protobuf.wire", f"wire type {wire} where the schema's has {expected}")
    start, stop = cursor.payload(number, wire)
    end, payloads = cursor.end, list[Range]()
    cursor.go((start, stop))
    while cursor.at < stop:
        payloads.append(cursor.payload(number, expected))
    cursor.end = end
    return payloads


def small_message(
    cursor: ProtobufCursor, ranges: Sequence[Range], wires: Mapping[int, int], others: bool = True
) -> dict[int, list[Range]]:
    """Return by number the payloads of the fields in `wires` (number to wire type) of a message, which may be in several pieces.

    `others`: skip other fields; otherwise refuse them.
    """
    cursor.enter()
    payloads: dict[int, list[Range]] = {number: [] for number in wires}
    for place in ranges:
        cursor.go(place)
        while cursor.at < place[1]:
            number, wire = cursor.tag()
            if number in wires:
                payloads[number] += values_at(
                    cursor=cursor, number=number, wire=wire, expected=wires[number], repeated=False
                )
            elif others:
                cursor.payload(number, wire)
            else:
                raise BinaryRefusal("protobuf.syntax", f"field {number} in an entry of a map")
    cursor.leave()
    return payloads


assert (VARINT, LENGTH, START, END) == (0, 2, 3, 4)  # the numbers in ProtobufCursor.payload
