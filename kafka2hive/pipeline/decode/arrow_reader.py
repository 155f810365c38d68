"""pyarrow.json over a batch of messages, with proof that row i is message i, and the way round bad messages.

Proof of alignment. The messages are joined by line feeds; each begins with `{` and ends with `}` (screens). A line feed
cannot stand inside a JSON string, so no string crosses a joint; and between `}` and `{` with only white space between
them, JSON allows nothing but the end of one document and the start of the next. So at every joint a document ends,
each message is one or more whole documents, and as many rows as messages means: one row for each, in order.
"""

import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

from kafka2hive.pipeline.decode.tolerant_cast import Mask

_ROW = re.compile(r" in row ([0-9]+)\Z")
_INTEGER_DIGITS = {pa.int8(): 3, pa.int16(): 5, pa.int32(): 10, pa.int64(): 19}


class ArrowReader:
    """Reads messages that passed the screens into `wire`'s types; what it cannot read it leaves out."""

    def __init__(self, wire: pa.Schema) -> None:
        self._wire = wire
        self._options = pj.ParseOptions(explicit_schema=wire, unexpected_field_behavior="ignore")
        self._odd_integer = _odd_integer_pattern(wire)

    def read(self, values: pa.BinaryArray) -> tuple[pa.RecordBatch, Mask]:
        """Rows of the messages that could be read, in order, and a mask of those left out for the exact path."""
        whole = self._try(values)
        if isinstance(whole, pa.RecordBatch):
            return whole, np.zeros(len(values), dtype=np.bool_)
        attempts = 64 + len(values) // 50
        left_out, attempts = self._follow_the_parser(values, attempts)
        rest = self._try(values.filter(pa.array(~left_out)))
        if not isinstance(rest, pa.RecordBatch) and self._odd_integer:
            left_out |= _matches(values, self._odd_integer)
            rest = self._try(values.filter(pa.array(~left_out)))
        if isinstance(rest, pa.RecordBatch):
            return rest, left_out
        return self._halve(values, left_out, attempts)

    def _try(self, values: pa.BinaryArray) -> pa.RecordBatch | int | None:
        """All rows, or the row at which the parser stopped, or None where it does not say."""
        if len(values) == 0:
            return pa.RecordBatch.from_pylist([], schema=self._wire)
        joined = pc.binary_join(
            pa.ListArray.from_arrays(pa.array([0, len(values)], pa.int32()), values), b"\n"
        )
        # the last line feed: what follows it would be a second block, with row numbers of its own
        block = pc.binary_join_element_wise(joined, b"", b"\n").buffers()[2]
        try:
            table = pj.read_json(
                pa.BufferReader(block),
                read_options=pj.ReadOptions(use_threads=False, block_size=block.size + 1),
                parse_options=self._options,
            )
        except ValueError as error:  # ArrowInvalid, or its text cut within a character
            stopped = _ROW.search(str(error))
            return min(int(stopped[1]), len(values) - 1) if stopped else None
        if table.num_rows != len(values):
            return None
        columns = [table.column(name) for name in self._wire.names]
        arrays = [c.chunk(0) if c.num_chunks == 1 else c.combine_chunks() for c in columns]
        return pa.RecordBatch.from_arrays(arrays, schema=self._wire)

    def _follow_the_parser(self, values: pa.BinaryArray, attempts: int) -> tuple[Mask, int]:
        """Mask of the messages at which the parser stops; about one pass over the batch, however many there are."""
        # two documents in one message (or a string that looks so) would make row numbers run ahead
        left_out = _matches(values, r"\}[ \t\r\n]*\{")
        places = np.flatnonzero(~left_out)
        kept = values.filter(pa.array(~left_out))
        start = 0
        while start < len(kept):
            outcome = self._try(kept.slice(start))
            if not isinstance(outcome, int):
                break
            left_out[places[start + outcome]] = True
            start += outcome + 1
            attempts -= 1
            if attempts == 0:
                left_out[places[start:]] = True
                break
        return left_out, attempts

    def _halve(self, values: pa.BinaryArray, left_out: Mask, attempts: int) -> tuple[pa.RecordBatch, Mask]:
        """For conversions that fail without a row number, in columns whose names do not help."""
        pieces: list[pa.RecordBatch] = [pa.RecordBatch.from_pylist([], schema=self._wire)]
        waiting = [np.flatnonzero(~left_out)]
        while waiting:
            part = waiting.pop()
            outcome = self._try(values.take(pa.array(part))) if attempts > 0 else None
            attempts -= 1
            if isinstance(outcome, pa.RecordBatch):
                pieces.append(outcome)
            elif len(part) == 1 or attempts <= 0:
                left_out[part] = True
            else:
                middle = len(part) // 2
                waiting += [part[middle:], part[:middle]]
        return pa.concat_batches(pieces), left_out


def _matches(values: pa.BinaryArray, pattern: str) -> Mask:
    mask: Mask = pc.match_substring_regex(values, pattern).to_numpy(zero_copy_only=False)
    return mask


def _odd_integer_pattern(wire: pa.Schema) -> str | None:
    """Finds what most often fails without a row number: a fraction, an exponent or an overflow in an integer column."""
    patterns = [
        rf'"{re.escape(field.name)}"[ \t\r\n]*:[ \t\r\n]*-?[0-9]+([.eE]|[0-9]{{{_INTEGER_DIGITS[field.type] - 1}}})'
        for field in wire
        if field.type in _INTEGER_DIGITS
    ]
    return "|".join(patterns) or None
