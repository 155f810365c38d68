"""Schema ids from a record's headers, put in front of its value or key, where decoders expect them."""

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from kafka2hive.config.keys import ProtobufIndexes
from kafka2hive.decode.framing.frames import GUID_HEAD, HEAD
from kafka2hive.plugins import Reason
from kafka2hive.task.fetch.records import HeaderPairs

OF_VALUES, OF_KEYS = "__value_schema_id", "__key_schema_id"

_HEADS = {0: HEAD, 1: GUID_HEAD}
"""The length of a header's schema id, with the first byte, by this first byte."""
_NO_HEAD = b"\xff"
"""Put before data whose header is malformed, so that no decoder mistakes the data's own first bytes for a schema id."""


class SchemaHeaders:
    """Reads schema ids from the header `name`. If a record has it more than once, the last value wins."""

    def __init__(self, name: str, format: str, indexes: ProtobufIndexes = "zigzag") -> None:
        """`indexes` is the encoding of a Protobuf message's indexes."""
        self._name = name
        self._is_zigzag = indexes == "zigzag"
        self._is_protobuf = format == "protobuf"
        self._code = "json" if format == "json_schema" else format
        self._known: dict[bytes, bool] = {}

    def joined(
        self, data: pa.BinaryArray, headers: Sequence[HeaderPairs]
    ) -> tuple[pa.BinaryArray, dict[int, Reason]]:
        """Return `data` with each record's header value in front of it, and by index the reasons for malformed headers.

        Data without this header, and nulls, are unchanged.
        """
        heads = [self._of(pairs) for pairs in headers]
        if not any(heads):
            return data, {}
        bad = {}
        for place, head in enumerate(heads):
            if head and not self._is_whole(head):
                bad[place] = self._reason(head)
                heads[place] = _NO_HEAD
        return pc.binary_join_element_wise(pa.array(heads, pa.binary()), data, b""), bad

    def hint(self, headers: Sequence[HeaderPairs]) -> list[str]:
        """Return for each unframed message a text to append to its reason, or an empty one if it lacks the header."""
        text = f"; its header {self._name} names a schema, which `framing: header` reads"
        return [text if self._of(pairs) else "" for pairs in headers]

    def _of(self, pairs: HeaderPairs) -> bytes:
        last = b""
        for name, value in pairs or ():
            if name == self._name:
                last = value or b""
        return last

    def _is_whole(self, head: bytes) -> bool:
        """Return whether `head` is exactly an id (and the indexes of a Protobuf message). Cached: few heads are distinct."""
        if head not in self._known:
            if len(self._known) >= 10_000:
                self._known.clear()
            length = _HEADS.get(head[0], 0)
            rest = head[length:]
            self._known[head] = (
                length <= len(head)
                and length > 0
                and (_are_indexes(rest, self._is_zigzag) if self._is_protobuf else not rest)
            )
        return self._known[head]

    def _reason(self, head: bytes) -> Reason:
        indexes = ", then the message's indexes" if self._is_protobuf else ""
        return Reason(
            f"{self._code}.frame",
            f"header {self._name} is neither byte 0 and an id in 4 bytes nor byte 1 and a GUID in 16"
            f"{indexes}: {head[:20].hex(' ')} ({len(head)} bytes)",
        )


def _are_indexes(data: bytes, is_zigzag: bool) -> bool:
    """Return whether `data` is whole varints: a count and that many numbers. A lone 0 stands for the first message."""
    ends = [at for at, octet in enumerate(data) if octet < 0x80]
    if not ends or ends[-1] != len(data) - 1 or ends[0] > 0:
        return False
    count, is_negative = (data[0] >> 1, data[0] & 1 == 1) if is_zigzag else (data[0], False)
    return not is_negative and len(ends) == 1 + count
