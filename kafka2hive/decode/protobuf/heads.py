"""Read which message type of its schema a message is: the indexes behind the schema's id, in Confluent's wire format."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka2hive.config.keys import WireFormat
from kafka2hive.decode.framing.frames import Head, heads
from kafka2hive.decode.schemas.protobuf import Declaration
from kafka2hive.decode.values.batch import Places, message_bytes, places_by_key

DEEPEST = 32
"""Limit of indexes: how deep a type that a message names may be nested in other types."""
_LONGEST = 3
"""Bytes that a count or an index may have. No file has so many types that one needs more."""

Indexes = tuple[int, ...]
Octets = npt.NDArray[np.uint8]


def indexed_heads(values: pa.BinaryArray, wire: WireFormat) -> Iterator[tuple[Head, Places]]:
    """Return each distinct head and the places of its messages in the batch.

    A head's length includes the indexes; it is 0 without a schema's id, or if the indexes cannot be read.
    """
    messages = message_bytes(values)
    offsets = messages.offsets.astype(np.int64)
    for head, places in heads(values, wire.framing):
        if head.schema_id is None:
            yield head, places
            continue
        at = offsets[places] + head.length
        unread = _Messages(places, at, at, offsets[places + 1], wire.indexes == "zigzag")
        for indexes, part in _indexed(messages.raw, unread):
            length = 0 if indexes is None else head.length + part.bytes_read
            yield Head(head.schema_id, length, indexes or ()), part.places


def _indexed(raw: Octets, unread: "_Messages") -> Iterator[tuple[Indexes | None, "_Messages"]]:
    """Split the messages by their indexes; None for indexes that cannot be read."""
    for count, part in unread.by_next(raw):
        if count == 0:
            yield (0,), part
        elif not 0 < count <= DEEPEST:
            yield None, part
        else:
            yield from part.by_indexes(raw, count, ())


@dataclass(frozen=True, slots=True)
class _Messages:
    """Messages whose heads are equal as far as they are read.

    `began`: where each message's indexes begin, `at`: its next byte, `ends`: where it ends.
    """

    places: Places
    began: Places
    at: Places
    ends: Places
    is_zigzag: bool

    @property
    def bytes_read(self) -> int:
        return int(self.at[0] - self.began[0])

    def by_indexes(
        self, raw: Octets, count: int, indexes: Indexes
    ) -> Iterator[tuple[Indexes | None, "_Messages"]]:
        """Read until there are `count` indexes."""
        if len(indexes) == count:
            yield indexes, self
            return
        for index, part in self.by_next(raw):
            if index < 0:
                yield None, part
            else:
                yield from part.by_indexes(raw, count, (*indexes, index))

    def by_next(self, raw: Octets) -> Iterator[tuple[int, "_Messages"]]:
        """Split the messages by their next varint and its length; -1 without a varint, or for one that is negative."""
        numbers, lengths = np.zeros_like(self.at), np.zeros_like(self.at)
        is_open = np.ones(len(self.at), np.bool_)
        for byte in range(_LONGEST):
            here = self.at + byte
            is_open &= here < self.ends
            places = np.flatnonzero(is_open)
            if not len(places):
                break
            read = raw[here[places]].astype(np.int64)
            numbers[places] |= (read & 0x7F) << 7 * byte
            lengths[places] = np.where(read < 0x80, byte + 1, 0)
            is_open[places] = read >= 0x80
        bad = lengths == 0
        if self.is_zigzag:
            bad |= numbers & 1 == 1  # negative
            numbers >>= 1
        keys = np.where(bad, -1, numbers * (_LONGEST + 1) + lengths)
        for key, group in places_by_key(keys):
            index, length = (-1, 0) if key < 0 else divmod(key, _LONGEST + 1)
            yield (
                index,
                replace(
                    self,
                    places=self.places[group],
                    began=self.began[group],
                    at=self.at[group] + length,
                    ends=self.ends[group],
                ),
            )


def type_at(declarations: Sequence[Declaration], indexes: Indexes) -> str | None:
    """Return the full name of the message type at the indexes; None if it does not exist or is ambiguous.

    Some writers count the types of maps' entries among the nested types, as the compiler does; others do not.
    """
    names = {_name(declarations, indexes, True), _name(declarations, indexes, False)} - {None}
    return names.pop() if len(names) == 1 else None


def _name(declarations: Sequence[Declaration], indexes: Indexes, counts_entries: bool) -> str | None:
    declaration: Declaration | None = None
    for index in indexes:
        counted = [one for one in declarations if counts_entries or not one.is_entry]
        if index >= len(counted):
            return None
        declaration = counted[index]
        declarations = declaration.inner
    return None if declaration is None or declaration.is_entry else declaration.name
