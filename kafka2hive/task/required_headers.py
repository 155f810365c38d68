"""Headers that must name a record's schema: those of Azure's and Apicurio's serializers, whose data has no head."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from kafka2hive.config.keys import Framing
from kafka2hive.plugins import Reason
from kafka2hive.task.fetch.records import HeaderPairs

_AZURE = re.compile(rb"avro/binary\+([0-9a-fA-F]{32})", re.DOTALL)
_ID_BYTES = 8
NO_HEAD = b"\xff"
"""Put before data without a readable header, so that no decoder mistakes the data's own first bytes for a schema id."""


@dataclass(frozen=True, slots=True)
class RequiredHeader:
    """The header `name`. `head_of` returns the head of the data that its value means, None if it means none."""

    name: str
    head_of: Callable[[bytes], bytes | None]
    expects: str


def _azure_head(value: bytes) -> bytes | None:
    match = _AZURE.fullmatch(value.replace(b"-", b"") if len(value) == len(b"avro/binary+") + 36 else value)
    return None if match is None else b"\1" + bytes.fromhex(match[1].decode())


def _apicurio_head(value: bytes) -> bytes | None:
    return b"\0" + value if len(value) == _ID_BYTES and value[0] < 0x80 else None


def _of_apicurio(kind: str) -> RequiredHeader:
    return RequiredHeader(f"apicurio.value.{kind}", _apicurio_head, "an id in 8 bytes")


REQUIRED_HEADERS: Mapping[Framing, RequiredHeader] = {
    "azure": RequiredHeader("content-type", _azure_head, "avro/binary+ and a GUID"),
    "apicurio_global": _of_apicurio("globalId"),
    "apicurio_content": _of_apicurio("contentId"),
}


class RequiredSchemaHeader:
    """Puts the schema id of a required header in front of each value, where decoders expect it."""

    def __init__(self, header: RequiredHeader, format: str) -> None:
        self._header = header
        self._code = f"{format}.frame"

    def joined(
        self, data: pa.BinaryArray, headers: Sequence[HeaderPairs]
    ) -> tuple[pa.BinaryArray, dict[int, Reason]]:
        """Return `data` with each record's id in front, and by index the reasons against records without a readable header.

        If a record has the header more than once, the last value wins.
        """
        heads: list[bytes] = []
        bad: dict[int, Reason] = {}
        for place, pairs in enumerate(headers):
            value = last_value(pairs, self._header.name)
            head = None if value is None else self._header.head_of(value)
            heads.append(NO_HEAD if head is None else head)
            if head is None:
                bad[place] = self._reason(value)
        return pc.binary_join_element_wise(pa.array(heads, pa.binary()), data, b""), bad

    def hint(self, headers: Sequence[HeaderPairs]) -> list[str]:
        """Return no hints: the reasons of `joined` say all."""
        return [""] * len(headers)

    def _reason(self, value: bytes | None) -> Reason:
        if value is None:
            return Reason(
                self._code, f"no header {self._header.name}, which must hold {self._header.expects}"
            )
        shown = f"{value[:48]!r} ({len(value)} bytes)"
        return Reason(self._code, f"header {self._header.name} is not {self._header.expects}: {shown}")


def last_value(pairs: HeaderPairs, name: str) -> bytes | None:
    """Return the last value of a header; None if the record lacks it, or its value is null."""
    last = None
    for key, value in pairs or ():
        if key == name:
            last = value
    return last


def named_framing(pairs: HeaderPairs) -> str:
    """Return the end of a reason against a record that has one of these headers, and is read by another framing."""
    for framing, header in REQUIRED_HEADERS.items():
        value = last_value(pairs, header.name)
        if value is not None and header.head_of(value) is not None:
            return f"; its header {header.name} names a schema, which `framing: {framing}` reads"
    return ""
