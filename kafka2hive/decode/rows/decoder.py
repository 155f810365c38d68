"""Decode messages of several rows by the decoder of one row."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka2hive.decode.values.batch import message_bytes
from kafka2hive.model.offset_accounting import AccountingMismatch
from kafka2hive.plugins import Decoded, Decoder, Reason

MOST_ROWS = 250_000
"""Of one message. One with more is a dead letter: its rows are in memory together, none is written before all are decoded."""

ROWS_AT_ONCE = 50_000
"""What a decoder is given, but for a single message that holds more."""

LINE_END, OBJECT = b"\n", b"{"
"""One stands in every row but the last of a message's lines; one at the beginning of every row that is an object."""


def too_many(rows: int) -> Reason:
    return Reason("rows.many", f"{rows} rows in one message, {MOST_ROWS} are allowed")


def most_rows(values: pa.BinaryArray, mark: bytes) -> npt.NDArray[np.int64]:
    """Return an upper bound of the rows of each message: its number of marks plus one."""
    found = message_bytes(values)
    places = np.flatnonzero(found.raw == mark[0])
    counts: npt.NDArray[np.int64] = np.diff(np.searchsorted(places, found.offsets)) + 1
    return counts


def groups(most: npt.NDArray[np.int64], at_once: int = ROWS_AT_ONCE) -> Iterator[slice]:
    """All messages in order, together at most `at_once` rows; a message that may hold more stands alone."""
    ends = np.cumsum(most)
    start = 0
    while start < len(most):
        before = int(ends[start - 1]) if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, before + at_once, side="right")))
        yield slice(start, stop)
        start = stop


Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Elements:
    """`texts` of all messages one after the other, message i has `counts[i]` of them; of the `refused` (reason by position)
    there are none.
    """

    texts: pa.BinaryArray
    counts: Numbers
    refused: Mapping[int, Reason]


def with_ordinal(reason: Reason, ordinal: int) -> Reason:
    """Return the reason with the row's number in its message."""
    return replace(reason, text=f"{reason.text} (ordinal {ordinal} of its message)")


class SeveralRowsDecoder:
    """See Decoder. Rejects with the reasons of `split` and of the row's decoder, and with `rows.many`.

    A message of which one row is refused is refused as a whole, with that row's reason; the first such row's counts.
    """

    def __init__(self, one: Decoder, split: Callable[[pa.BinaryArray], Elements]) -> None:
        self.schema = one.schema
        self._one = one
        self._split = split

    def decode(self, values: pa.BinaryArray) -> Decoded:
        found = self._split(values)
        refused = dict(found.refused)
        for place in np.flatnonzero(found.counts > MOST_ROWS).tolist():
            refused[place] = too_many(int(found.counts[place]))
        counts, texts = found.counts, found.texts
        if refused:
            fine = np.ones(len(values), np.bool_)
            fine[list(refused)] = False
            texts, counts = texts.filter(pa.array(np.repeat(fine, counts))), np.where(fine, counts, 0)
        message = np.repeat(np.arange(len(values)), counts)
        rows, accepted, bad = self._decode(texts)
        if bad:
            firsts = np.searchsorted(message, message)  # of each row, its message's first
            for at, reason in bad.items():
                ordinal = at - int(firsts[at])
                refused.setdefault(int(message[at]), with_ordinal(reason, ordinal))
        places = message[accepted]
        if bad:
            kept = ~np.isin(places, list(refused))
            rows, places = rows.filter(pa.array(kept)), places[kept]
        rejected = sorted(refused)
        has_none = np.ones(len(values), np.bool_)
        has_none[places] = has_none[rejected] = False
        return Decoded(
            rows=rows,
            accepted=pa.array(places, pa.int32()),
            rejected=pa.array(rejected, pa.int32()),
            reasons=[refused[place] for place in rejected],
            without_rows=pa.array(np.flatnonzero(has_none), pa.int32()),
        )

    def _decode(self, texts: pa.BinaryArray) -> tuple[pa.RecordBatch, Numbers, dict[int, Reason]]:
        """Rows, the elements they are of, and why others are refused."""
        parts: list[pa.RecordBatch] = []
        accepted: list[Numbers] = []
        refused: dict[int, Reason] = {}
        for start in range(0, max(1, len(texts)), ROWS_AT_ONCE):
            piece = texts.slice(start, ROWS_AT_ONCE)
            decoded = self._one.decode(piece)
            good, bad = (
                places.to_numpy().astype(np.int64) + start for places in (decoded.accepted, decoded.rejected)
            )
            none = 0 if decoded.without_rows is None else len(decoded.without_rows)  # header lines
            if len(good) + len(bad) + none != len(piece):
                raise AccountingMismatch(
                    f"{len(piece)} rows of messages: {len(good)} were accepted, {len(bad)} refused, {none} are none"
                )
            parts.append(decoded.rows)
            accepted.append(good)
            refused |= zip(bad.tolist(), decoded.reasons, strict=True)
        rows = parts[0] if len(parts) == 1 else pa.concat_batches(parts)
        return rows, np.concatenate(accepted), refused
