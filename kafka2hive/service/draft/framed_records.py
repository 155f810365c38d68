"""Sampled records that name their schemas in other ways than Confluent's: the framing, the ids, and what is behind them. Pure."""

import zlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from kafka2hive.config.keys import Framing
from kafka2hive.model.text import counted

Headers = Mapping[str, bytes]
_WRITERS: Mapping[Framing, str] = {
    "single_object": "Avro's single objects",
    "glue": "records of AWS Glue's schema registry",
    "azure": "records of Azure's schema registry",
    "apicurio_global": "records of Apicurio's registry",
    "apicurio_content": "records of Apicurio's registry",
    "cloudera": "records of Cloudera's (Hortonworks') registry",
}
_MOST_IDS = 5
_LARGEST_ID = 1 << 40
_LARGEST_VERSION = 100_000
_GUID_AT = 2
_VARIANT = 0b11000000
_RFC_4122 = 0b10000000


@dataclass(frozen=True, slots=True)
class FramedSample:
    """Records of one framing: the schemas' `ids`, as the map's `schemas` writes them, and the `contents` behind them."""

    framing: Framing
    ids: Counter[str]
    contents: Sequence[bytes]

    def notes(self) -> list[str]:
        """Return what to write into the map, which needs the schemas' texts."""
        named = ", ".join(f'"{one}"' for one, _ in self.ids.most_common(_MOST_IDS))
        more = len(self.ids) - _MOST_IDS
        named += f" and {more} more" if more > 0 else ""
        registry = (
            ", or a registry" if self.framing in ("apicurio_global", "apicurio_content", "cloudera") else ""
        )
        return [
            f"most are {_WRITERS[self.framing]}, with {counted(len(self.ids), 'schema id')} ({named}): write format: avro,"
            f" framing: {self.framing}, under schemas the text of each schema{registry}, and columns"
        ]


def framed_records(values: Sequence[bytes], headers: Sequence[Headers] = ()) -> FramedSample | None:
    """Return the records if more than half of them have one framing; otherwise None."""
    for framing, name, read in _HEADERS:
        ids = [
            (read(head[name]), value) for head, value in zip(headers, values, strict=False) if name in head
        ]
        known = [(one, value) for one, value in ids if one]
        if 2 * len(known) > len(values):
            return FramedSample(framing, Counter(one for one, _ in known), [value for _, value in known])
    for framing, take in _FRAMES:
        read_values = [found for value in values if (found := take(value)) is not None]
        if 2 * len(read_values) > len(values):
            return FramedSample(
                framing, Counter(one for one, _ in read_values), [rest for _, rest in read_values]
            )
    return None


def _single_object(value: bytes) -> tuple[str, bytes] | None:
    return (value[2:10].hex(), value[10:]) if value.startswith(b"\xc3\x01") and len(value) >= 10 else None


def _glue(value: bytes) -> tuple[str, bytes] | None:
    if value[:1] != b"\x03" or value[1:2] not in (b"\0", b"\5") or len(value) < 18:
        return None
    if value[_GUID_AT + 8] & _VARIANT != _RFC_4122:
        return None
    content = value[18:]
    if value[1] == 5:
        try:
            content = zlib.decompress(content)
        except zlib.error:
            return None
    return str(UUID(bytes=value[2:18])), content


def _cloudera(value: bytes) -> tuple[str, bytes] | None:
    match value[:1]:
        case b"\1" if len(value) >= 13:
            schema, version = int.from_bytes(value[1:9], "big"), int.from_bytes(value[9:13], "big")
            is_likely = 0 < schema < _LARGEST_ID and 0 < version < _LARGEST_VERSION
            return (f"{schema}:{version}", value[13:]) if is_likely else None
        case b"\2" | b"\3" as protocol if len(value) >= 9:
            size = 8 if protocol == b"\2" else 4
            number = int.from_bytes(value[1 : 1 + size], "big")
            return (str(number), value[1 + size :]) if 0 < number < 1 << 20 else None
    return None


def _azure_id(header: bytes) -> str:
    _, plus, guid = header.partition(b"avro/binary+")
    try:
        return str(UUID(guid.decode())) if plus else ""
    except ValueError:
        return ""


def _number(header: bytes) -> str:
    return str(int.from_bytes(header, "big")) if len(header) == 8 else ""


_HEADERS: tuple[tuple[Framing, str, Callable[[bytes], str]], ...] = (
    ("azure", "content-type", _azure_id),
    ("apicurio_global", "apicurio.value.globalId", _number),
    ("apicurio_content", "apicurio.value.contentId", _number),
)
_FRAMES: tuple[tuple[Framing, Callable[[bytes], tuple[str, bytes] | None]], ...] = (
    ("single_object", _single_object),
    ("glue", _glue),
    ("cloudera", _cloudera),
)
