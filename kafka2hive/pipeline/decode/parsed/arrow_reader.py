"""pyarrow.json over a batch of messages, with proof that row i is message i, and the way round bad messages.

Proof of alignment. The messages are joined by line feeds; each begins with `{` and ends with `}` (screens). A line feed
cannot stand inside a JSON string, so no string crosses a joint; and between `}` and `{` with only white space between
them, JSON allows nothing but the end of one document and the start of the next. So at every joint a document ends,
each message is one or more whole documents, and as many rows as messages means: one row for each, in order.
"""

import re
from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

from kafka2hive.pipeline.decode.tolerant_cast import Mask

Places = npt.NDArray[np.int64]
_CHUNK_BYTES = 1536 * 1024
_ROW = re.compile(r" in row ([0-9]+)\Z")
_INTEGER_DIGITS = {pa.int8(): 3, pa.int16(): 5, pa.int32(): 10, pa.int64(): 19}


class ArrowReader:
    """Reads messages that passed the screens into `wire`'s types; what it cannot read it leaves out."""

    def __init__(self, wire: pa.Schema) -> None:
        self._wire = wire
        self._options = pj.ParseOptions(explicit_schema=wire, unexpected_field_behavior="ignore")
        self._wordless_failures = _wordless_failures(wire)
        self._empty = pa.RecordBatch.from_pylist([], schema=wire)

    def read(self, values: pa.BinaryArray) -> tuple[pa.RecordBatch, Mask]:
        """Rows of the messages that could be read, in order, and a mask of those left out for the exact path.

        Read in chunks: no slower (measured), and a bad message costs a second look at its chunk only.
        """
        left_out = np.zeros(len(values), dtype=np.bool_)
        pieces = []
        rows = max(1, len(values) * _CHUNK_BYTES // max(1, values.nbytes))
        for start in range(0, len(values), rows):
            chunk = values.slice(start, rows)
            outcome = self._try(chunk)
            if isinstance(outcome, pa.RecordBatch):
                pieces.append(outcome)
            else:
                pieces += self._around_bad_ones(chunk, outcome, left_out[start : start + rows])
        if len(pieces) == 1:
            return pieces[0], left_out
        return pa.concat_batches([self._empty, *pieces]), left_out

    def _try(self, values: pa.BinaryArray) -> pa.RecordBatch | int | None:
        """All rows, or the row at which the parser stopped, or None where it does not say."""
        if len(values) == 0:
            return self._empty
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

    def _around_bad_ones(
        self, values: pa.BinaryArray, outcome: pa.RecordBatch | int | None, left_out: Mask
    ) -> list[pa.RecordBatch]:
        """A chunk that could not be read whole: follows the parser from stop to stop, then reads what it passed.

        Two passes over the chunk while few are bad; where many are, the exact path takes over.
        """
        stops_left = 16 + len(values) // 32
        after = 0  # the first message behind the last stop
        while isinstance(outcome, int) and stops_left:
            left_out[after + outcome] = True
            after += outcome + 1
            outcome = self._try(values.slice(after))
            stops_left -= 1
        if isinstance(outcome, pa.RecordBatch):
            return [*self._read_rest(values, np.arange(after), left_out), outcome]
        if isinstance(outcome, int):
            left_out[after:] = True
            return self._read_rest(values, np.arange(after), left_out)
        return self._read_rest(values, np.arange(len(values)), left_out)

    def _read_rest(self, values: pa.BinaryArray, places: Places, left_out: Mask) -> list[pa.RecordBatch]:
        """The messages at `places` that are not left out. Marks the usual reasons for which no row number is given."""
        rest = places[~left_out[places]]
        outcome = self._try(values.take(pa.array(rest)))
        if isinstance(outcome, pa.RecordBatch):
            return [outcome]
        left_out |= _matches(values, self._wordless_failures)
        return self._halve(values, places[~left_out[places]], left_out)

    def _halve(self, values: pa.BinaryArray, places: Places, left_out: Mask) -> list[pa.RecordBatch]:
        """The certain way, for what nothing else explains; bounded, the exact path takes what is left."""
        attempts = 32 + len(values) // 16
        pieces = []
        waiting = [places]
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
        return pieces


def _matches(values: pa.BinaryArray, pattern: str) -> Mask:
    mask: Mask = pc.match_substring_regex(values, pattern).to_numpy(zero_copy_only=False)
    return mask


def _wordless_failures(wire: pa.Schema) -> str:
    """Two documents in one message; a fraction, an exponent or an overflow in a column of integers."""
    patterns = [
        rf'"{re.escape(field.name)}"[ \t\r\n]*:[ \t\r\n]*-?[0-9]+([.eE]|[0-9]{{{_INTEGER_DIGITS[field.type] - 1}}})'
        for field in _leaves(wire)
        if field.type in _INTEGER_DIGITS
    ]
    return "|".join([r"\}[ \t\r\n]*\{", *patterns])


def _leaves(fields: Iterable[pa.Field]) -> Iterator[pa.Field]:
    for field in fields:
        if pa.types.is_struct(field.type):
            yield from _leaves(field.type)
        else:
            yield field
