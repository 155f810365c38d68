"""A place in one message, and the steps over Avro's binary encoding (specification 1.12); each is strict."""

from collections.abc import Callable
from struct import Struct

from kafka2hive.decode.framing.numbers import BinaryRefusal

MAX_DEPTH = 64
"""Records, arrays and maps that may be open at once, the message's own record counted."""

WITHOUT_BYTES = 1000
"""Records and elements without bytes that a message may hold beyond one for each of its bytes."""

_NUMBERS = {32: Struct("<f"), 64: Struct("<d")}


class AvroCursor:
    """Reads `message` from `at`. Whatever it raises is Refused."""

    __slots__ = ("_open", "_without_bytes", "at", "message")

    def __init__(self, message: bytes, at: int) -> None:
        self.message = message
        self.at = at
        self._open = 0
        self._without_bytes = 0

    def take(self, size: int) -> bytes:
        end = self.at + size
        if end > len(self.message):
            raise BinaryRefusal("avro.truncated", f"{size} bytes wanted, the message has {len(self.message)}")
        found = self.message[self.at : end]
        self.at = end
        return found

    def whole(self, bits: int) -> int:
        """A zigzag varint in its shortest form, of an int (32 bits) or a long (64)."""
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
        found = self.octets()
        try:
            return found.decode()
        except UnicodeDecodeError as error:
            raise BinaryRefusal(
                "avro.utf8", f"text of {len(found)} bytes is not UTF-8 at its byte {error.start}"
            ) from error

    def real(self, bits: int) -> float:
        number: float = _NUMBERS[bits].unpack(self.take(bits // 8))[0]
        return number

    def boolean(self) -> bool:
        byte = self.take(1)[0]
        if byte > 1:
            raise BinaryRefusal("avro.syntax", f"{byte} is no boolean")
        return byte == 1

    def index(self, count: int, what: str) -> int:
        """Which of the `count` branches of a union, or symbols of an enum."""
        index = self.whole(64 if what == "branch" else 32)
        if not 0 <= index < count:
            raise BinaryRefusal("avro.syntax", f"{what} {index} of {count}")
        return index

    def open(self) -> None:
        """A record, an array or a map begins."""
        self._open += 1
        if self._open > MAX_DEPTH:
            raise BinaryRefusal("avro.limit", f"records, arrays and maps nest deeper than {MAX_DEPTH}")

    def close(self) -> None:
        self._open -= 1

    def counted(self, before: int) -> None:
        """A record or an element that began at `before` has ended: without bytes there could be any number of them."""
        if self.at == before:
            self._without_bytes += 1
            if self._without_bytes > len(self.message) + WITHOUT_BYTES:
                raise BinaryRefusal(
                    "avro.limit", "more records and elements without bytes than the message has bytes"
                )

    def blocks(self, element: Callable[[int], object]) -> None:
        """An array's or a map's: `element` reads one, and is given its number."""
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
                self.counted(before)
            done += count
            if end is not None and self.at != end:
                raise BinaryRefusal("avro.syntax", f"a block that should end at byte {end}")
        self.close()
