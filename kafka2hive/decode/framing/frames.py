"""Find the head of each message: its schema, for Protobuf the message type in the schema, and where the content begins."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal
from uuid import UUID

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka2hive.config.keys import Framing, WireFormat
from kafka2hive.decode.values.batch import Places, message_bytes, places_by_key
from kafka2hive.model.writer_schema import SchemaId
from kafka2hive.plugins import Reason

HEAD = 5
"""Bytes before the content in Confluent's wire format: byte 0, and the schema's id in four bytes, big-endian."""
LONG_HEAD = 9
"""Bytes before the content if the id has eight bytes."""
GUID_HEAD = 17
"""Bytes of byte 1 and the schema's GUID in 16 bytes, which Confluent's newer serializers write into a header of the record."""
MOST_INDEXES = 32
"""Limit of Protobuf's indexes: how deep a type that a message names may be nested in other types."""
_LONGEST_INDEX = 3
"""Limit of bytes of an index, or of the number of indexes: enough for more types than any file has."""
_ID_BYTES: dict[Framing, int] = {"id4": 4, "id8": 8, "header": 4, "apicurio_global": 8, "apicurio_content": 8}
"""The bytes of numbers after byte 0. The id of Apicurio's headers is put in front of the value in this form."""
_HEAD_TEXTS: dict[Framing, str] = {
    "id4": "byte 0, the schema's id in 4 bytes",
    "id8": "byte 0, the schema's id in 8 bytes",
    "header": "a schema's id in a header, or byte 0 and the id in 4 bytes",
    "single_object": "bytes c3 01, the schema's fingerprint in 8 bytes",
    "glue": "byte 3, byte 0 or 5, a GUID in 16 bytes",
    "azure": "the header content-type with the schema's GUID",
    "apicurio_global": "the header apicurio.value.globalId with 8 bytes",
    "apicurio_content": "the header apicurio.value.contentId with 8 bytes",
    "cloudera": "byte 1 and 12 bytes, byte 2 and 8 bytes, or byte 3 and 4 bytes",
}
_GLUE_COMPRESSIONS = (0, 5)
_GLUE_HEAD = 18
_SINGLE_OBJECT_HEAD = 10
_JSON_BEGINS = (b"{", b"[")
_SHOWN = 24
"""The number of first bytes of a message that tell one framing from another."""
Indexes = tuple[int, ...]
Octets = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Mark:
    """How a message begins: these bytes, then an id of `id_bytes` bytes, which `name` turns into the schema's id."""

    begin: bytes
    id_bytes: int
    name: Callable[[bytes], SchemaId]


def _guid(octets: bytes) -> SchemaId:
    return str(UUID(bytes=octets))


def _number(octets: bytes) -> SchemaId:
    return int.from_bytes(octets, "big")


def _metadata_version(octets: bytes) -> SchemaId:
    return f"{int.from_bytes(octets[:8], 'big')}:{int.from_bytes(octets[8:], 'big')}"


_MARKS: dict[Framing, tuple[Mark, ...]] = {
    "single_object": (Mark(b"\xc3\x01", 8, lambda octets: octets[::-1].hex()),),
    "glue": (Mark(b"\3\0", 16, _guid),),
    "azure": (Mark(b"\1", 16, _guid),),
    "cloudera": (Mark(b"\1", 12, _metadata_version), Mark(b"\2", 8, _number), Mark(b"\3", 4, _number)),
}
"""Framings whose ids are no numbers after byte 0. Compressed values of `glue` are decompressed before; the id of `azure` is put
in front of the value."""


@dataclass(frozen=True, slots=True)
class Head:
    """The first bytes of all messages of one schema and type.

    `schema_id`: None if the messages do not begin as the framing says. `length`: bytes before the content; 0 if the schema's id
    or the indexes cannot be read.
    `indexes`: Protobuf's path to the message type in its file; always empty in other formats.
    """

    schema_id: SchemaId | None
    length: int
    indexes: tuple[int, ...] = ()


def heads(values: pa.BinaryArray, framing: Framing) -> Iterator[tuple[Head, Places]]:
    """Yield each distinct head (without indexes) and the places of its messages in the batch, ascending."""
    if framing in _MARKS:
        yield from _marked_heads(values, _MARKS[framing])
        return
    for number, places in places_by_key(schema_ids(values, framing)):
        if number >= 0:
            yield Head(number, 1 + _ID_BYTES[framing]), places
        elif framing == "header":
            yield from _guid_heads(values, places)
        else:
            yield Head(None, 0), places


def schema_ids(values: pa.BinaryArray, framing: Framing = "id4") -> Places:
    """Return the id in each message's head; -1 for a message without one."""
    head = 1 + _ID_BYTES[framing]
    messages = message_bytes(values)
    ids = np.full(len(values), -1, dtype=np.int64)
    long_enough = np.flatnonzero(np.diff(messages.offsets) >= head)
    if not len(long_enough):
        return ids
    starts = messages.offsets[long_enough]
    numbers = np.zeros(len(starts), dtype=np.int64)
    for byte in range(1, head):
        numbers = numbers << 8 | messages.raw[starts + byte]
    ids[long_enough] = np.where((messages.raw[starts] == 0) & (numbers >= 0), numbers, -1)
    return ids


def _guid_heads(values: pa.BinaryArray, places: Places) -> Iterator[tuple[Head, Places]]:
    """Yield the heads of messages that begin with a GUID, or with no id at all."""
    for head, part in _marked_heads(values.take(pa.array(places)), _MARKS["azure"]):
        yield head, places[part]


def _marked_heads(values: pa.BinaryArray, marks: Sequence[Mark]) -> Iterator[tuple[Head, Places]]:
    """Yield the heads of messages that begin with one of the marks and a whole id, then those of all others."""
    messages = message_bytes(values)
    starts, lengths = messages.offsets[:-1].astype(np.int64), np.diff(messages.offsets)
    unframed = np.ones(len(values), np.bool_)
    for mark in marks:
        length = len(mark.begin) + mark.id_bytes
        framed = lengths >= length
        for at, octet in enumerate(mark.begin):
            framed[framed] = messages.raw[starts[framed] + at] == octet
        unframed &= ~framed
        places = np.flatnonzero(framed)
        if not len(places):
            continue
        ids = messages.raw[starts[places][:, None] + np.arange(len(mark.begin), length)]
        distinct, which = np.unique(ids, axis=0, return_inverse=True)
        for number, same in places_by_key(which.reshape(-1)):
            yield Head(mark.name(distinct[number].tobytes()), length), places[same]
    if unframed.any():
        yield Head(None, 0), np.flatnonzero(unframed)


def indexed_heads(values: pa.BinaryArray, wire: WireFormat) -> Iterator[tuple[Head, Places]]:
    """Yield each distinct head of Protobuf messages and the places of its messages in the batch.

    A head's length includes the indexes; it is 0 without a schema's id, or if the indexes cannot be read.
    """
    messages = message_bytes(values)
    offsets = messages.offsets.astype(np.int64)
    for head, places in heads(values, wire.framing):
        if head.schema_id is None:
            yield head, places
            continue
        at = offsets[places] + head.length
        unread = _Messages(
            places=places, starts=at, at=at, ends=offsets[places + 1], is_zigzag=wire.indexes == "zigzag"
        )
        for indexes, part in _by_indexes(messages.raw, unread):
            length = 0 if indexes is None else head.length + part.bytes_read
            yield Head(head.schema_id, length, indexes or ()), part.places


def _by_indexes(raw: Octets, unread: "_Messages") -> Iterator[tuple[Indexes | None, "_Messages"]]:
    """Yield groups of messages with equal indexes; None for indexes that cannot be read."""
    for count, part in unread.by_next(raw):
        if count == 0:
            yield (0,), part
        elif not 0 < count <= MOST_INDEXES:
            yield None, part
        else:
            yield from part.by_indexes(raw, count, ())


@dataclass(frozen=True, slots=True)
class _Messages:
    """Messages whose heads are equal in all bytes that were read.

    For each message, `starts`: the byte where its indexes begin; `at`: the next byte; `ends`: the byte after its last.
    """

    places: Places
    starts: Places
    at: Places
    ends: Places
    is_zigzag: bool

    @property
    def bytes_read(self) -> int:
        return int(self.at[0] - self.starts[0])

    def by_indexes(
        self, raw: Octets, count: int, indexes: Indexes
    ) -> Iterator[tuple[Indexes | None, "_Messages"]]:
        """Yield groups of messages with equal indexes, after reading up to `count` of them."""
        if len(indexes) == count:
            yield indexes, self
            return
        for index, part in self.by_next(raw):
            if index < 0:
                yield None, part
            else:
                yield from part.by_indexes(raw, count, (*indexes, index))

    def by_next(self, raw: Octets) -> Iterator[tuple[int, "_Messages"]]:
        """Yield groups of messages with the same next varint in the same bytes; -1 if there is none, or a negative one."""
        numbers, lengths = np.zeros_like(self.at), np.zeros_like(self.at)
        is_unfinished = np.ones(len(self.at), np.bool_)
        for byte in range(_LONGEST_INDEX):
            here = self.at + byte
            is_unfinished &= here < self.ends
            places = np.flatnonzero(is_unfinished)
            if not len(places):
                break
            read = raw[here[places]].astype(np.int64)
            numbers[places] |= (read & 0x7F) << 7 * byte
            lengths[places] = np.where(read < 0x80, byte + 1, 0)
            is_unfinished[places] = read >= 0x80
        bad = lengths == 0
        if self.is_zigzag:
            bad |= numbers & 1 == 1  # negative
            numbers >>= 1
        keys = np.where(bad, -1, numbers * (_LONGEST_INDEX + 1) + lengths)
        for key, group in places_by_key(keys):
            index, length = (-1, 0) if key < 0 else divmod(key, _LONGEST_INDEX + 1)
            yield (
                index,
                replace(
                    self,
                    places=self.places[group],
                    starts=self.starts[group],
                    at=self.at[group] + length,
                    ends=self.ends[group],
                ),
            )


def no_frames(
    format: Literal["avro", "protobuf", "json"],
    what: str,
    values: pa.BinaryArray,
    places: Places,
    framing: Framing,
) -> list[Reason]:
    """Return the reasons against the messages at `places`, which lack the framing's head. `what`: what should follow the head."""
    form = (
        "the schema registry's format"
        if framing in ("id4", "id8", "header")
        else f"the form of framing: {framing}"
    )
    text = f"not in {form} ({_HEAD_TEXTS[framing]}, {what})"
    return [
        Reason(f"{format}.frame", text + look_alike(begin[:_SHOWN], framing))
        for begin in values.take(pa.array(places)).to_pylist()
    ]


def look_alike(begin: bytes, framing: Framing) -> str:
    """Return what the message may be instead, after a colon, with the key of the map that reads it. `begin`: its first bytes."""
    return f": {_guess(begin, framing)}"


def _guess(begin: bytes, framing: Framing) -> str:
    if not begin:
        return "the message is empty"
    if begin[:2] == b"\xc3\x01" and len(begin) >= _SINGLE_OBJECT_HEAD:
        return "it begins as Avro's single-object encoding does (bytes c3 01, a fingerprint); framing: single_object reads it"
    if begin[0] == 3 and len(begin) >= _GLUE_HEAD and begin[1] in _GLUE_COMPRESSIONS:
        return "it begins as AWS Glue's serializer writes (03, compression, a UUID); framing: glue reads it"
    if begin[:4] == b"Obj\x01":
        return "it begins as an Avro file does, which is not supported"
    if begin[0] == 0:
        return f"it begins with byte 0, but is too short ({len(begin)} bytes)"
    if begin.lstrip()[:1] in (b"{", b"["):
        return "it looks like JSON text without any head"
    if begin[0] == 1 and len(begin) > 16 and framing != "header":
        return "no framing, or byte 1 and a schema's GUID; framing: header reads GUIDs"
    return "its framing is unknown"


def json_id_hint(message: bytes, framing: Framing) -> str:
    """Return a hint if there is no JSON after the id, but there is after an id of the other length."""
    if framing not in ("id4", "id8", "header"):
        return ""
    own, other = (9, 5) if framing == "id8" else (5, 9)
    if message[own : own + 1] in _JSON_BEGINS or message[other : other + 1] not in _JSON_BEGINS:
        return ""
    name, size = ("id4", 4) if framing == "id8" else ("id8", 8)
    return f": does the JSON begin after an id in {size} bytes? framing: {name} reads those"


def long_id_hint(schema_id: object, framing: Framing) -> str:
    """Return a hint for id 0. Ids begin at 1, so four zero bytes may be the first half of an id in eight bytes."""
    if schema_id != 0 or framing not in ("id4", "header"):
        return ""
    return ": is it the first half of an id in 8 bytes? framing: id8 reads those"
