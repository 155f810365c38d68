"""pyarrow.csv over a batch of messages, with proof that row i is message i.

Proof of alignment. The messages are joined by line feeds. Each passed a screen: it has no line break outside quotes but
one at its end, each quote that opens a field is closed within the message and followed by a delimiter or the message's end,
no field has another quote, and the number of fields is the table's. So at every joint a row ends, each message is exactly
one row, and the empty lines behind messages that end with a line break of their own are none. As many rows as messages are
asked for nevertheless.
"""

import re

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pcsv

from kafka2hive.config.values.csv import CsvOptions
from kafka2hive.pipeline.decode.csv.fields import blanks_of
from kafka2hive.pipeline.decode.message_bytes import message_bytes
from kafka2hive.pipeline.decode.tolerant_cast import Mask

_CHUNK_BYTES = 4 * 1024 * 1024
_MOST_REPEATS = 1_000
"""RE2 takes no more."""
_LINE_FEED, _CARRIAGE_RETURN = 0x0A, 0x0D
_MARK = 0xEF
"""A byte order mark begins with it, which pyarrow.csv leaves out."""
_DELIMITER, _SPECIAL = 1, 2


class ParsedFields:
    """Splits what is plainly right into `count` columns of texts."""

    def __init__(self, options: CsvOptions, count: int) -> None:
        self._options = options
        self._count = count
        self._blanks = blanks_of(options)
        delimiter, quote = re.escape(options.delimiter), re.escape(options.quote)
        self._kinds = np.zeros(256, np.uint8)
        self._kinds[list(f"\r\n{options.quote}{options.escape or ''}".encode())] = _SPECIAL
        self._kinds[ord(options.delimiter)] = _DELIMITER
        bare = f"[^\\r\\n{delimiter}{quote}]*"
        field = f"(?:{bare}|{quote}(?:[^{quote}]|{quote}{quote})*{quote})" if quote else bare
        self._whole = f"^(?:{field}{delimiter}){{{count - 1}}}{field}(?:\\r?\\n)?$"
        # escapes and blanks around quotes are for the exact way
        self._knows_quotes = options.escape is None and not self._blanks and count <= _MOST_REPEATS
        names = [str(number) for number in range(count)]
        self._read = pcsv.ReadOptions(use_threads=False, column_names=names)
        self._parse = pcsv.ParseOptions(
            delimiter=options.delimiter,
            quote_char=options.quote or False,
            double_quote=True,
            escape_char=False,
            newlines_in_values=True,
        )
        self._convert = pcsv.ConvertOptions(
            check_utf8=False,
            column_types=dict.fromkeys(names, pa.string()),
            null_values=[options.null_text],
            strings_can_be_null=not self._blanks,
            quoted_strings_can_be_null=False,
        )

    def split(self, texts: pa.StringArray) -> tuple[list[pa.StringArray], Mask]:
        """Columns of the messages that are certain, in order, and their mask. `texts` are UTF-8 and not null."""
        certain = self._certain(texts)
        chosen = texts if certain.all() else texts.filter(pa.array(certain))
        rows = max(1, len(chosen) * _CHUNK_BYTES // max(1, chosen.nbytes))
        tables = []
        for start in range(0, len(chosen), rows):
            table = self._table(chosen.slice(start, rows))
            if table is None:
                return self._nothing(), np.zeros(len(texts), np.bool_)
            tables.append(table)
        if not tables:
            return self._nothing(), certain
        whole = pa.concat_tables(tables)
        return [self._trimmed(column.combine_chunks()) for column in whole.columns], certain

    def _nothing(self) -> list[pa.StringArray]:
        return [pa.array([], pa.string())] * self._count

    def _certain(self, texts: pa.StringArray) -> Mask:
        found = message_bytes(texts)
        raw, starts, ends = found.raw, found.offsets[:-1], found.offsets[1:]
        kinds = self._kinds[raw]
        size = ends - starts
        broken = np.zeros(len(texts), np.bool_)
        broken[size > 0] = raw[ends[size > 0] - 1] == _LINE_FEED
        returned = broken & (size > 1)
        returned[returned] = raw[ends[returned] - 2] == _CARRIAGE_RETURN
        kinds[ends[broken] - 1] = kinds[ends[returned] - 2] = 0  # the line break at the end
        good: Mask = _counted(kinds == _DELIMITER, found.offsets) == self._count - 1
        special = _counted(kinds == _SPECIAL, found.offsets) > 0
        if special.any():
            good &= ~special
            if self._knows_quotes:
                matched = pc.match_substring_regex(texts.filter(pa.array(special)), self._whole)
                good[special] = matched.to_numpy(zero_copy_only=False)
        good &= size > broken.astype(np.int32) + returned
        marked = np.flatnonzero(good)
        good[marked[raw[starts[marked]] == _MARK]] = False
        return good

    def _table(self, texts: pa.StringArray) -> pa.Table | None:
        """None where pyarrow.csv sees other rows than there are messages."""
        joined = pc.binary_join(pa.ListArray.from_arrays(pa.array([0, len(texts)], pa.int32()), texts), "\n")
        block = pc.binary_join_element_wise(joined, "", "\n").buffers()[2]
        self._read.block_size = block.size + 1
        try:
            table = pcsv.read_csv(pa.BufferReader(block), self._read, self._parse, self._convert)
        except pa.ArrowInvalid:
            return None
        return table if table.num_rows == len(texts) else None

    def _trimmed(self, column: pa.StringArray) -> pa.StringArray:
        if not self._blanks:
            return column
        trimmed = pc.utf8_trim(column, characters=self._blanks)
        return pc.if_else(pc.equal(trimmed, self._options.null_text), pa.scalar(None, pa.string()), trimmed)


def _counted(marks: Mask, offsets: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
    """How many marks each message has."""
    return np.diff(np.searchsorted(np.flatnonzero(marks), offsets))
