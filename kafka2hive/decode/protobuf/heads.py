"""Which message type of its schema a message is: the indexes behind the schema's id, in Confluent's wire format."""

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka2hive.config.keys import WireFormat
from kafka2hive.decode.framing.frames import Head, heads
from kafka2hive.decode.schemas.protobuf import Declared

DEEPEST = 32
"""Types within each other that a message may name."""

Indexes = tuple[int, ...]
Numbers = npt.NDArray[np.int64]

_LONGEST = 3
"""Bytes of a count or an index; no file has so many types that one needs more."""


def groups(values: pa.BinaryArray, wire: WireFormat) -> Iterator[tuple[Head, Indexes, Numbers]]:
    """Messages of one schema, indexes and head's length stand together, each with its places in the batch.

    The head's length is with the indexes; it is 0 where there is no id, or where the indexes cannot be read.
    """
    if not len(values):
        return
    offsets = np.frombuffer(values.buffers()[1], dtype=np.int32)
    ends = offsets[values.offset + 1 : values.offset + len(values) + 1].astype(np.int64)
    starts = offsets[values.offset : values.offset + len(values)].astype(np.int64)
    data = values.buffers()[2]
    octets = np.frombuffer(data, dtype=np.uint8) if data is not None else np.empty(0, np.uint8)
    is_zigzag = wire.indexes == "zigzag"
    for head, places in heads(values, wire.framing):
        if head.schema_id is None:
            yield head, (), places
            continue
        part = MessagePart(places, starts[places] + head.length, ends[places], is_zigzag)
        for indexes, length, found in _indexed(octets, part):
            yield Head(head.schema_id, head.length + length if length else 0), indexes, found


def _split(keys: Numbers, places: Numbers) -> Iterator[tuple[int, Numbers]]:
    order = np.argsort(keys, kind="stable")
    for group in np.split(order, np.flatnonzero(np.diff(keys[order])) + 1):
        yield int(keys[group[0]]), places[group]


def _indexed(octets: npt.NDArray[np.uint8], begin: "MessagePart") -> Iterator[tuple[Indexes, int, Numbers]]:
    """The indexes, their bytes and the places; 0 bytes where they cannot be read."""
    for count, part in begin.next(octets):
        if count == 0:
            yield (0,), part.bytes_read, part.places
        elif not 0 < count <= DEEPEST:
            yield (), 0, part.places
        else:
            yield from part.rest(octets, count, ())


class MessagePart:
    """Messages that have the same head as far as it was read: `at` is the next byte of each, `began` its first."""

    def __init__(
        self, places: Numbers, at: Numbers, ends: Numbers, is_zigzag: bool, began: Numbers | None = None
    ) -> None:
        self.places = places
        self._at = at
        self._ends = ends
        self._is_zigzag = is_zigzag
        self._began = at if began is None else began

    @property
    def bytes_read(self) -> int:
        return int(self._at[0] - self._began[0])

    def rest(
        self, octets: npt.NDArray[np.uint8], count: int, found: Indexes
    ) -> Iterator[tuple[Indexes, int, Numbers]]:
        if len(found) == count:
            yield found, self.bytes_read, self.places
            return
        for index, part in self.next(octets):
            if index < 0:
                yield (), 0, part.places
            else:
                yield from part.rest(octets, count, (*found, index))

    def next(self, octets: npt.NDArray[np.uint8]) -> Iterator[tuple[int, "MessagePart"]]:
        """By the varint that stands next, and its length; -1 where there is none, or one that is no index."""
        numbers, lengths = np.zeros_like(self._at), np.zeros_like(self._at)
        going = np.ones(len(self._at), np.bool_)
        for byte in range(_LONGEST):
            here = self._at + byte
            going &= here < self._ends
            places = np.flatnonzero(going)
            if not len(places):
                break
            read = octets[here[places]].astype(np.int64)
            numbers[places] |= (read & 0x7F) << 7 * byte
            lengths[places] = np.where(read < 0x80, byte + 1, 0)
            going[places] = read >= 0x80
        bad = lengths == 0
        if self._is_zigzag:
            bad |= numbers & 1 == 1  # negative
            numbers >>= 1
        keys = np.where(bad, -1, numbers * (_LONGEST + 1) + lengths)
        for key, group in _split(keys, np.arange(len(keys))):
            index, length = (-1, 0) if key < 0 else divmod(key, _LONGEST + 1)
            at, ends = self._at[group] + length, self._ends[group]
            yield (
                index,
                MessagePart(
                    places=self.places[group],
                    at=at,
                    ends=ends,
                    is_zigzag=self._is_zigzag,
                    began=self._began[group],
                ),
            )


def type_at(declared: Sequence[Declared], indexes: Indexes) -> str | None:
    """The message type's full name. None: there is none, or writers do not agree which one it is.

    Some count the types of maps' entries among those within a message, as the compiler does, others only what is written.
    """
    found = {_name(declared, indexes, True), _name(declared, indexes, False)} - {None}
    return found.pop() if len(found) == 1 else None


def _name(declared: Sequence[Declared], indexes: Indexes, entries: bool) -> str | None:
    found: Declared | None = None
    for index in indexes:
        among = [one for one in declared if entries or not one.is_entry]
        if index >= len(among):
            return None
        found = among[index]
        declared = found.inner
    return None if found is None or found.is_entry else found.name
