"""A position in one message, and strict steps over Avro's binary encoding (specification 1.12)."""

from collections.abc import Callable
from struct import Struct

from kafka2hive.decode.framing.numbers import BinaryRefusal

MAX_DEPTH = 64
"""Limit of records, arrays and maps that are open at once, including the message's record."""

MOST_EMPTY_VALUES = 1000
"""Limit of a message's records and elements without bytes, in addition to the number of the message's bytes."""

_NUMBERS = {32: Struct("<f"), 64: Struct("<d")}


class AvroCursor:
    """Reads `message` from byte `at` on. Each method raises only BinaryRefusal."""

    __slots__ = ("_empty_values", "_open", "at", "message")

    def __init__(self, message: bytes, at: int) -> None:
        self.message = message
        self.at = at
        self._open = 0
        self._empty_values = 0

    def take(self, size: int) -> bytes:
        end = self.at + size
        if end > len(self.message):
            raise BinaryRefusal("avro.truncated", f"{size} bytes wanted, the message has {len(self.message)}")
        data = self.message[self.at : end]
        self.at = end
        return data

    def whole(self, bits: int) -> int:
        """Read a zigzag varint in its shortest form: an int (`bits` 32) or a long (64)."""
        number = shift = 0
        while True:
            if self.at >= len(self.message):
                raise BinaryRefusal("avro.truncated", "the message ends within a number")
            byte = self.message[self.at]
            self.at += 1
            number |= (byte & 0x7F) << shift
            if byte < 0x80:
                break
            shift += 7
            if shift >= bits:
                raise BinaryRefusal("avro.syntax", f"a number of more than {bits} bits")
        if number >> bits:
            raise BinaryRefusal("avro.syntax", f"a number of more than {bits} bits")
        if byte == 0 and shift:
            raise BinaryRefusal("avro.syntax", "a number that is not in its shortest form")
        return number >> 1 ^ -(number & 1)

    def octets(self) -> bytes:
        size = self.whole(64)
        if size < 0:
            raise BinaryRefusal("avro.syntax", f"a length of {size} bytes")
        return self.take(size)

    def text(self) -> str:
        data = self.octets()
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            raise BinaryRefusal(
                "avro.utf8", f"text of {len(data)} bytes is not UTF-8 at its byte {error.start}"
            ) from error

    def real(self, bits: int) -> float:
        number: float = _NUMBERS[bits].unpack(self.take(bits // 8))[0]
        return number

    def boolean(self) -> bool:
        byte = self.take(1)[0]
        if byte > 1:
            raise BinaryRefusal("avro.syntax", f"{byte} is not a boolean")
        return byte == 1

    def index(self, count: int, what: str) -> int:
        """Read the index of one of `count` branches of a union or symbols of an enum; `what` is `branch` or `symbol`."""
        index = self.whole(64 if what == "branch" else 32)
        if not 0 <= index < count:
            raise BinaryRefusal("avro.syntax", f"{what} {index} of {count}")
        return index

    def open(self) -> None:
        """Note that a record, an array or a map begins."""
        self._open += 1
        if self._open > MAX_DEPTH:
            raise BinaryRefusal("avro.limit", f"records, arrays and maps nest deeper than {MAX_DEPTH}")

    def close(self) -> None:
        self._open -= 1

    def count(self, before: int) -> None:
        """Count a record or element that began at byte `before` if it has no bytes: a short message could claim any number."""
        if self.at == before:
            self._empty_values += 1
            if self._empty_values > len(self.message) + MOST_EMPTY_VALUES:
                raise BinaryRefusal(
                    "avro.limit", "more records and elements without bytes than the message has bytes"
                )

    def blocks(self, element: Callable[[int], object]) -> None:
        """Read the blocks of an array or a map. `element` reads one element, whose number is its argument."""
        self.open()
        done = 0
        while count := self.whole(64):
            end = None
            if count < 0:
                size = self.whole(64)
                if size < 0:
                    raise BinaryRefusal("avro.syntax", f"a block of {size} bytes")
                count, end = -count, self.at + size
            for number in range(done, done + count):
                before = self.at
                element(number)
                self.count(before)
            done += count
            if end is not None and self.at != end:
                raise BinaryRefusal("avro.syntax", f"a block that should end at byte {end}")
        self.close()
