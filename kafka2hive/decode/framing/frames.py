"""Where the data begin, and which schema each message was written with: the heads that serializers of a registry write."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka2hive.config.keys import Framing
from kafka2hive.model.writer_schema import SchemaId
from kafka2hive.plugins import Reason

_GLUE_COMPRESSIONS = (0, 5)
_GLUE_HEAD = 18
_SINGLE_OBJECT_HEAD = 10
_JSON_BEGINS = (b"{", b"[")


def look_alike(begin: bytes, framing: Framing) -> str:
    """With `: ` before it; what to do where the map can say it. `begin`: at least the first bytes of the message."""
    return f": {_guess(begin, framing)}"


def _guess(begin: bytes, framing: Framing) -> str:
    if not begin:
        return "the message is empty"
    if begin[:2] == b"\xc3\x01" and len(begin) >= _SINGLE_OBJECT_HEAD:
        return (
            "it begins as Avro's single-object encoding does (bytes c3 01, a fingerprint), which is not read"
        )
    if begin[0] == 3 and len(begin) >= _GLUE_HEAD and begin[1] in _GLUE_COMPRESSIONS:
        return "it begins as AWS Glue's serializer writes (03, compression, a UUID), which is not read"
    if begin[:4] == b"Obj\x01":
        return "it is an Avro file with a schema of its own, which is not read"
    if begin[0] == 0:
        return f"it begins with byte 0 and is shorter than that ({len(begin)} bytes)"
    if begin.lstrip()[:1] in (b"{", b"["):
        return "it looks like JSON text without any head"
    if begin[0] == 1 and len(begin) > 16 and framing != "header":
        return "no framing, or byte 1 and a schema's GUID; framing: header reads GUIDs"
    return "it has no framing that is known"


def json_id_hint(message: bytes, framing: Framing) -> str:
    """Of a message whose rest behind the id is no JSON: whether the JSON begins behind an id of the other length."""
    own, other = (9, 5) if framing == "id8" else (5, 9)
    if message[own : own + 1] in _JSON_BEGINS or message[other : other + 1] not in _JSON_BEGINS:
        return ""
    name, size = ("id4", 4) if framing == "id8" else ("id8", 8)
    return f": the JSON begins behind an id in {size} bytes? framing: {name} reads those"


def long_id_hint(schema_id: object, framing: Framing) -> str:
    """Ids begin with 1: four bytes of 0 are the first half of an id of eight."""
    return (
        ": is it the first half of an id in 8 bytes? framing: id8 reads those"
        if (schema_id == 0 and framing != "id8")
        else ""
    )


HEAD = 5
"""Bytes before the datum in Confluent's wire format: 0, and the schema's id, four bytes, big-endian."""
LONG_HEAD = 9
"""The same with an id in eight bytes."""
GUID_HEAD = 17
"""1, and the schema's GUID, 16 bytes: what Confluent's newer serializers write into a header."""

_ID_BYTES: dict[Framing, int] = {"id4": 4, "id8": 8, "header": 4}
_SAID: dict[Framing, str] = {
    "id4": "byte 0, the schema's id in 4 bytes",
    "id8": "byte 0, the schema's id in 8 bytes",
    "header": "a schema's id in a header, or byte 0 and the id in 4 bytes",
}
_SHOWN = 24
"""Bytes that tell one framing from another."""

Places = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Head:
    """Of messages that name their schema in the same way: its id, None where there is none, and the bytes of the head."""

    schema_id: SchemaId | None
    length: int


def heads(values: pa.BinaryArray, framing: Framing) -> Iterator[tuple[Head, Places]]:
    """Messages of one schema stand together, each with its place in the batch."""
    ids = schema_ids(values, framing)
    for number, places in _groups(ids):
        if number >= 0:
            yield Head(number, 1 + _ID_BYTES[framing]), places
        elif framing == "header":
            yield from _guid_heads(values, places)
        else:
            yield Head(None, 0), places


def no_frames(
    format: Literal["avro", "protobuf", "json"],
    what: str,
    values: pa.BinaryArray,
    places: Places,
    framing: Framing,
) -> list[Reason]:
    """The reasons against messages without that head."""
    text = f"not in the schema registry's format ({_SAID[framing]}, {what})"
    return [
        Reason(f"{format}.frame", text + look_alike(begin[:_SHOWN], framing))
        for begin in values.take(pa.array(places)).to_pylist()
    ]


def schema_ids(values: pa.BinaryArray, framing: Framing = "id4") -> Places:
    """Of each message; -1 where it is not framed."""
    if not len(values):
        return np.empty(0, np.int64)
    head = 1 + _ID_BYTES[framing]
    starts, lengths = _bounds(values)
    ids = np.full(len(values), -1, dtype=np.int64)
    long_enough = np.flatnonzero(lengths >= head)
    if not len(long_enough):
        return ids
    data = np.frombuffer(values.buffers()[2], dtype=np.uint8)
    starts = starts[long_enough]
    found = np.zeros(len(starts), dtype=np.int64)
    for byte in range(1, head):
        found = found << 8 | data[starts + byte]
    ids[long_enough] = np.where((data[starts] == 0) & (found >= 0), found, -1)
    return ids


def _bounds(values: pa.BinaryArray) -> tuple[Places, Places]:
    """Where each message begins in the array's data, and how long it is."""
    offsets = np.frombuffer(values.buffers()[1], dtype=np.int32)[
        values.offset : values.offset + len(values) + 1
    ]
    return offsets[:-1].astype(np.int64), np.diff(offsets).astype(np.int64)


def _groups(keys: Places) -> Iterator[tuple[int, Places]]:
    if not len(keys):
        return
    order = np.argsort(keys, kind="stable")
    for places in np.split(order, np.flatnonzero(np.diff(keys[order])) + 1):
        yield int(keys[places[0]]), places


def _guid_heads(values: pa.BinaryArray, places: Places) -> Iterator[tuple[Head, Places]]:
    """Of messages that begin with no id: by the GUID that they begin with."""
    starts, lengths = (found[places] for found in _bounds(values))
    data = values.buffers()[2]
    octets = np.frombuffer(data, dtype=np.uint8) if data is not None else np.empty(0, np.uint8)
    framed = lengths >= GUID_HEAD
    framed[framed] = octets[starts[framed]] == 1
    if not framed.all():
        yield Head(None, 0), places[~framed]
    if not framed.any():
        return
    guids = octets[starts[framed][:, None] + np.arange(1, GUID_HEAD)]
    distinct, which = np.unique(guids, axis=0, return_inverse=True)
    for number, found in _groups(which.reshape(-1)):
        yield Head(str(UUID(bytes=distinct[number].tobytes())), GUID_HEAD), places[framed][found]
