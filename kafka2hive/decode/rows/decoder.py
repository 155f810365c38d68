"""Decode messages of several rows with the decoder of a single row."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from kafka2hive.decode.values.batch import Places, decoder_result, message_bytes
from kafka2hive.model.offsets import AccountingMismatch
from kafka2hive.plugins import Decoded, Decoder, Reason

MOST_ROWS = 250_000
"""Limit of rows in one message. All of them are in memory together, because none is written before all are decoded."""

ROWS_AT_ONCE = 50_000
"""Limit of rows that the decoder of a single row receives at once."""

LINE_END, OBJECT = b"\n", b"{"
"""Bytes whose number bounds the number of rows: LINE_END ends every line but the last, OBJECT begins every object."""


def too_many(rows: int) -> Reason:
    """Return the reason against a message with more than MOST_ROWS rows."""
    return Reason("rows.many", f"{rows} rows in one message, {MOST_ROWS} are allowed")


def most_rows(values: pa.BinaryArray, mark: bytes) -> Places:
    """Return an upper bound of each message's rows: the number of `mark` bytes in it, plus one."""
    messages = message_bytes(values)
    marks = np.flatnonzero(messages.raw == mark[0])
    counts: Places = np.diff(np.searchsorted(marks, messages.offsets)) + 1
    return counts


def groups(most: Places, at_once: int = ROWS_AT_ONCE) -> Iterator[slice]:
    """Yield slices of consecutive messages with at most `at_once` rows; a message that may hold more is alone in its slice.

    `most`: the upper bound of each message's rows.
    """
    ends = np.cumsum(most)
    start = 0
    while start < len(most):
        before = int(ends[start - 1]) if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, before + at_once, side="right")))
        yield slice(start, stop)
        start = stop


@dataclass(frozen=True, slots=True)
class Elements:
    """The texts of single rows, in the order of the messages; message i has `counts[i]` of them.

    `refusals`: by position the reasons against messages that were not split; these have no texts.
    """

    texts: pa.BinaryArray
    counts: Places
    refusals: Mapping[int, Reason]


def with_ordinal(reason: Reason, ordinal: int) -> Reason:
    """Return the reason with the row's number in its message."""
    return replace(reason, text=f"{reason.text} (ordinal {ordinal} of its message)")


class SeveralRowsDecoder:
    """Decodes messages of several rows. Rejects with the reasons of `split`, and see decode_elements."""

    def __init__(self, row_decoder: Decoder, split: Callable[[pa.BinaryArray], Elements]) -> None:
        self.schema = row_decoder.schema
        self._row_decoder = row_decoder
        self._split = split

    def decode(self, values: pa.BinaryArray) -> Decoded:
        return decode_elements(self._row_decoder, self._split(values))


def decode_elements(row_decoder: Decoder, elements: Elements) -> Decoded:
    """Decode messages of several rows. Rejects with the reasons of the row's decoder, and with `rows.many`.

    A message with a refused row is refused as a whole, with the reason against its first such row. Texts of messages that
    `elements` refuses are not decoded.
    """
    texts, counts, refusals = elements.texts, elements.counts, dict(elements.refusals)
    messages = len(counts)
    for place in np.flatnonzero(counts > MOST_ROWS).tolist():
        refusals[place] = too_many(int(counts[place]))
    if refusals:
        good = np.ones(messages, np.bool_)
        good[list(refusals)] = False
        texts, counts = texts.filter(pa.array(np.repeat(good, counts))), np.where(good, counts, 0)
    message = np.repeat(np.arange(messages), counts)
    rows, accepted, bad = _decode_texts(row_decoder, texts)
    if bad:
        firsts = np.searchsorted(message, message)  # for each row the first row of its message
        for at, reason in bad.items():
            ordinal = at - int(firsts[at])
            refusals.setdefault(int(message[at]), with_ordinal(reason, ordinal))
    places = message[accepted]
    if bad:
        kept = ~np.isin(places, list(refusals))
        rows, places = rows.filter(pa.array(kept)), places[kept]
    has_none = np.ones(messages, np.bool_)
    has_none[places] = has_none[list(refusals)] = False
    return decoder_result(rows, places, refusals, np.flatnonzero(has_none))


def _decode_texts(
    row_decoder: Decoder, texts: pa.BinaryArray
) -> tuple[pa.RecordBatch, Places, dict[int, Reason]]:
    """Return the rows, the number of each row's text, and by number of the text the reasons against refused texts."""
    parts: list[pa.RecordBatch] = []
    accepted: list[Places] = []
    refusals: dict[int, Reason] = {}
    for start in range(0, max(1, len(texts)), ROWS_AT_ONCE):
        piece = texts.slice(start, ROWS_AT_ONCE)
        part = row_decoder.decode(piece)
        good, bad = (places.to_numpy().astype(np.int64) + start for places in (part.accepted, part.rejected))
        headers = 0 if part.without_rows is None else len(part.without_rows)
        if len(good) + len(bad) + headers != len(piece):
            raise AccountingMismatch(
                f"{len(piece)} rows of messages: {len(good)} were accepted, {len(bad)} refused, {headers} are header lines"
            )
        parts.append(part.rows)
        accepted.append(good)
        refusals |= zip(bad.tolist(), part.reasons, strict=True)
    rows = parts[0] if len(parts) == 1 else pa.concat_batches(parts)
    return rows, np.concatenate(accepted), refusals
