"""The contents of values: decompressed, and transcoded to UTF-8, in pieces of bounded size."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from kafka2hive.config.keys.source import Compression, Encoding, Framing
from kafka2hive.decode.transport.compression import Undecodable, decompressor
from kafka2hive.decode.transport.encoding import is_ascii_compatible, transcoder
from kafka2hive.decode.transport.glue import has_glue_compression, without_glue_compression
from kafka2hive.decode.values.batch import Places, message_bytes
from kafka2hive.plugins import Reason

PIECE_BYTES = 16 * 1024 * 1024
"""A piece ends with the content that reaches this size."""


@dataclass(frozen=True, slots=True)
class Contents:
    """The contents of some consecutive values, their places among all values, and by place the reasons against the others."""

    values: pa.BinaryArray
    places: Places
    refusals: dict[int, Reason]


class Transport:
    """Undoes what the producer did to values as a whole: first the compression, then the text's encoding."""

    def __init__(
        self, compression: Compression = "none", encoding: Encoding = "utf-8", framing: Framing = "id4"
    ) -> None:
        """`framing`: with `glue`, the data after the head may be compressed, too."""
        self._decompress = decompressor(compression)
        self._transcode = transcoder(encoding)
        self._keeps_ascii = is_ascii_compatible(encoding)
        self._is_glue = framing == "glue"

    @property
    def is_plain(self) -> bool:
        """Whether values are their own contents."""
        return self._decompress is None and self._transcode is None and not self._is_glue

    def contents(self, values: pa.BinaryArray) -> Iterator[Contents]:
        """Yield the contents of all values, which are not null, in order. Of no values, yield one empty piece."""
        if self.is_plain or self._leaves(values):
            yield Contents(values, np.arange(len(values)), {})
            return
        found: list[bytes] = []
        places: list[int] = []
        refusals: dict[int, Reason] = {}
        size = 0
        for place, value in enumerate(values.to_pylist()):
            try:
                found.append(self._content(value))
            except Undecodable as error:
                refusals[place] = error.reason
                continue
            places.append(place)
            size += len(found[-1])
            if size >= PIECE_BYTES:
                yield _piece(found, places, refusals)
                found, places, refusals, size = [], [], {}, 0
        if found or refusals or not len(values):
            yield _piece(found, places, refusals)

    def _leaves(self, values: pa.BinaryArray) -> bool:
        """Whether all of these values are their own contents, as a look at all their bytes tells."""
        if self._decompress is not None:
            return False
        if self._is_glue:
            return not has_glue_compression(values)
        return self._keeps_ascii and _is_ascii(values)

    def _content(self, value: bytes) -> bytes:
        content = value if self._decompress is None else self._decompress(value)
        if self._is_glue:
            content = without_glue_compression(content)
        return content if self._transcode is None else self._transcode(content)

    def all_contents(self, values: pa.BinaryArray) -> Contents:
        """Return the contents of few values, which may be in memory together."""
        pieces = list(self.contents(values))
        return Contents(
            pa.concat_arrays([piece.values for piece in pieces]),
            np.concatenate([piece.places for piece in pieces]),
            {place: reason for piece in pieces for place, reason in piece.refusals.items()},
        )


def _piece(found: list[bytes], places: list[int], refusals: dict[int, Reason]) -> Contents:
    return Contents(pa.array(found, pa.binary()), np.array(places, np.int64), refusals)


def _is_ascii(values: pa.BinaryArray) -> bool:
    raw = message_bytes(values).raw
    return not len(raw) or int(raw.max()) < 0x80
