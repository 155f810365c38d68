"""Format `csv`: split messages into fields (fast if they are certainly right, exactly otherwise) and fill the columns."""

import re
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pcsv

from kafka2hive.config.keys.source import CsvOptions
from kafka2hive.decode.columns import check_columns
from kafka2hive.decode.contract.spec import DecoderSpec
from kafka2hive.decode.rows.csv import CsvLines
from kafka2hive.decode.rows.decoder import SeveralRowsDecoder
from kafka2hive.decode.values.batch import Mask, Places, cast_or_null, decoder_result, mask_of, message_bytes
from kafka2hive.decode.values.json_values import ValueRefusal
from kafka2hive.decode.values.loose_texts import LooseTexts, takes_other_forms
from kafka2hive.decode.values.texts import TextColumn
from kafka2hive.plugins import Decoded, Decoder, Reason

_CHUNK_BYTES = 4 * 1024 * 1024
"""Bytes that pyarrow.csv reads at once."""
_MOST_REPEATS = 1_000
"""RE2's limit for repetitions in a pattern."""
_LINE_FEED, _CARRIAGE_RETURN = 0x0A, 0x0D
_MARK = 0xEF
"""First byte of a byte order mark, which pyarrow.csv drops."""
_DELIMITER, _SPECIAL = 1, 2
"""Kinds of bytes: the delimiter, and bytes for which the message must match a pattern."""
_MARKS = "\x1f\x1e\x1d\x1c\x01\x02\x03"
"""Characters of which one stands for a delimiter of several characters."""
_NO_PLACES = np.empty(0, np.int64)
_WORDS_AND_DIGITS = "true and false", "true, false, 1 and 0"


def blanks_of(options: CsvOptions) -> str:
    """Return the characters that are stripped around fields."""
    return " \t".replace(options.delimiter, "") if options.trim else ""


class FieldSplitter:
    """Splits messages into fields, one message at a time: slow and strict."""

    def __init__(self, options: CsvOptions) -> None:
        self._options = options
        self._blanks = blanks_of(options)
        self._nulls = frozenset(options.null_texts)
        stops = {"\r", "\n", options.delimiter, options.quote, options.escape or ""} - {""}
        self._stop = re.compile("|".join(map(re.escape, sorted(stops))))
        within = {options.quote, options.escape or ""} - {""}
        self._stop_within = re.compile(f"[{re.escape(''.join(sorted(within)))}]") if within else self._stop

    def split(self, text: str) -> list[str | None]:
        """Return the fields of a message, None for NULL. One line break at its end is ignored. Raises ValueRefusal."""
        text = text.removesuffix("\n").removesuffix("\r") if text.endswith("\n") else text
        if not text:
            raise ValueRefusal("csv.empty", "the value is empty")
        fields: list[str | None] = []
        at = 0
        while True:
            field, at = self._field(text, at, len(fields) + 1)
            fields.append(field)
            if at == len(text):
                return fields
            at += len(self._options.delimiter)

    def _field(self, text: str, at: int, number: int) -> tuple[str | None, int]:
        """Return a field, and where it ends: at a delimiter, or at the end of the message."""
        start = self._past_blanks(text, at)
        if self._options.quote and text.startswith(self._options.quote, start):
            return self._quoted(text, start + 1, number)
        return self._bare(text, start, number)

    def _past_blanks(self, text: str, at: int) -> int:
        while at < len(text) and text[at] in self._blanks:
            at += 1
        return at

    def _bare(self, text: str, start: int, number: int) -> tuple[str | None, int]:
        at = start
        while (stop := self._stop.search(text, at)) is not None and stop[0] != self._options.delimiter:
            at = stop.start()
            if stop[0] in "\r\n":
                raise ValueRefusal("csv.line_break", f"field {number}: a line break outside quotes")
            if stop[0] != self._options.escape:
                raise ValueRefusal(
                    "csv.quote", f"field {number}: a quote within a field that does not begin with a quote"
                )
            at = self._escaped(text, at, number)
        end = len(text) if stop is None else stop.start()
        # an escaped blank at the end belongs to the field
        field_end = max(at, start + len(text[start:end].rstrip(self._blanks))) if self._blanks else end
        field = text[start:field_end]
        return None if field in self._nulls else self._without_escapes(field), end

    def _quoted(self, text: str, start: int, number: int) -> tuple[str, int]:
        """Return a quoted field, and where it ends. `start`: the place after the opening quote."""
        at = start
        while (stop := self._stop_within.search(text, at)) is not None:
            at = stop.start()
            if stop[0] == self._options.escape:
                at = self._escaped(text, at, number)
            elif self._options.escape is None and text.startswith(self._options.quote * 2, at):
                at += 2
            else:
                break
        if stop is None:
            raise ValueRefusal("csv.quote", f"field {number}: the quote is not closed")
        field = text[start:at]
        if self._options.escape is None:
            field = field.replace(self._options.quote * 2, self._options.quote)
        end = self._past_blanks(text, at + 1)
        if end < len(text) and not text.startswith(self._options.delimiter, end):
            raise ValueRefusal("csv.quote", f"field {number}: more text after the closing quote")
        return self._without_escapes(field), end

    def _escaped(self, text: str, at: int, number: int) -> int:
        """Return the place after the escape at `at` and the character that it escapes."""
        if at + 1 == len(text):
            raise ValueRefusal("csv.escape", f"field {number}: ends with an escape")
        return at + 2

    def _without_escapes(self, text: str) -> str:
        if self._options.escape is None or self._options.escape not in text:
            return text
        return re.sub(f"{re.escape(self._options.escape)}(.)", r"\1", text, flags=re.DOTALL)


class ArrowSplitter:
    """Splits messages that are certainly right into `count` columns of strings, with pyarrow.csv."""

    def __init__(self, options: CsvOptions, count: int, knows_quotes: bool = True) -> None:
        """`knows_quotes`: messages with quotes may be certainly right, too."""
        self._nulls = pa.array(options.null_texts, pa.string())
        self._count = count
        self._blanks = blanks_of(options)
        delimiter, quote = re.escape(options.delimiter), re.escape(options.quote)
        self._kinds = np.zeros(256, np.uint8)
        self._kinds[list(f"\r\n{options.quote}{options.escape or ''}".encode())] = _SPECIAL
        self._kinds[ord(options.delimiter)] = _DELIMITER
        bare = f"[^\\r\\n{delimiter}{quote}]*"
        field = f"(?:{bare}|{quote}(?:[^{quote}]|{quote}{quote})*{quote})" if quote else bare
        self._whole = f"^(?:{field}{delimiter}){{{count - 1}}}{field}(?:\\r?\\n)?$"
        # the exact path reads escapes, and blanks around quotes
        is_plain = options.escape is None and not self._blanks and count <= _MOST_REPEATS
        self._knows_quotes = knows_quotes and is_plain
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
            null_values=list(options.null_texts),
            strings_can_be_null=not self._blanks,
            quoted_strings_can_be_null=False,
        )

    def split(self, texts: pa.StringArray) -> tuple[list[pa.StringArray], Mask]:
        """Return the columns of the certain messages, in order, and their mask. `texts` are UTF-8 and not null."""
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
        """Return the mask of messages with the right number of fields that pyarrow.csv reads as the exact path does."""
        messages = message_bytes(texts)
        raw, starts, ends = messages.raw, messages.offsets[:-1], messages.offsets[1:]
        kinds = self._kinds[raw]
        size = ends - starts
        line_feed = np.zeros(len(texts), np.bool_)
        line_feed[size > 0] = raw[ends[size > 0] - 1] == _LINE_FEED
        carriage_return = line_feed & (size > 1)
        carriage_return[carriage_return] = raw[ends[carriage_return] - 2] == _CARRIAGE_RETURN
        # the line break at the end is not a special byte
        kinds[ends[line_feed] - 1] = kinds[ends[carriage_return] - 2] = 0
        good: Mask = _counts(kinds == _DELIMITER, messages.offsets) == self._count - 1
        special = _counts(kinds == _SPECIAL, messages.offsets) > 0
        if special.any():
            good &= ~special
            if self._knows_quotes:
                matched = pc.match_substring_regex(texts.filter(pa.array(special)), self._whole)
                good[special] = mask_of(matched)
        good &= size > line_feed.astype(np.int32) + carriage_return
        places = np.flatnonzero(good)
        good[places[raw[starts[places]] == _MARK]] = False
        return good

    def _table(self, texts: pa.StringArray) -> pa.Table | None:
        """Return the messages' fields as read by pyarrow.csv; None if it does not find exactly one row per message."""
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
        is_null = pc.is_in(trimmed, value_set=self._nulls)
        return pc.if_else(is_null, pa.scalar(None, pa.string()), trimmed)


class WideDelimiterSplitter:
    """Splits messages with a delimiter of several characters, and without quotes and escapes, as ArrowSplitter does.

    The delimiter is replaced by a character that no message of the batch has, from left to right, as the exact path finds it.
    """

    def __init__(self, options: CsvOptions, count: int) -> None:
        self._delimiter = options.delimiter
        self._count = count
        self._splitters = {
            mark: ArrowSplitter(replace(options, delimiter=mark), count, knows_quotes=False)
            for mark in _MARKS
            if mark not in (options.quote, options.escape)
        }

    def split(self, texts: pa.StringArray) -> tuple[list[pa.StringArray], Mask]:
        """See ArrowSplitter."""
        octets = set(np.unique(message_bytes(texts).raw).tolist())
        for mark, splitter in self._splitters.items():
            if ord(mark) not in octets:
                return splitter.split(pc.replace_substring(texts, self._delimiter, mark))
        return [pa.array([], pa.string())] * self._count, np.zeros(len(texts), np.bool_)


def _counts(marks: Mask, offsets: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
    """Count the marks of each message."""
    return np.diff(np.searchsorted(np.flatnonzero(marks), offsets))


def make(spec: DecoderSpec) -> Decoder:
    """Make the decoder. A message is one record; with `rows: lines`, it is one or several. Raises ValueError; see CsvDecoder."""
    one = CsvDecoder(spec)
    return SeveralRowsDecoder(one, CsvLines(spec.csv).split) if spec.rows == "lines" else one


class CsvDecoder:
    """Decodes one record per message, by docs/decoding.md: field n fills column n."""

    def __init__(self, spec: DecoderSpec, is_fast: bool = True) -> None:
        """`is_fast`: pyarrow.csv splits the messages that it certainly reads correctly; otherwise FieldSplitter splits all.

        Raises ValueError for nested columns and for a header line with a wrong number of fields, and the errors of
        check_columns.
        """
        check_columns(spec)
        self.schema = schema = spec.schema
        options = spec.csv
        self._columns = [
            TextColumn(
                column=field.name,
                dtype=field.type,
                zone=spec.zone,
                unit=source.unit,
                family="csv",
                leeway=source.leeway,
                changes=spec.changes,
            )
            for field, source in zip(schema, spec.source_of_each(), strict=True)
        ]
        self._readers = [
            LooseTexts(column, spec.zone, source.unit, source.leeway, changes=spec.changes)
            if takes_other_forms(source.leeway)
            else column
            for column, source in zip(self._columns, spec.source_of_each(), strict=True)
        ]
        if options.header and len(options.header) != len(schema):
            raise ValueError(f"a header line of {len(options.header)} fields for {len(schema)} columns")
        self._header = options.header
        # the map's rules exclude NULLs in header lines if NULL has several texts
        self._null_text = options.null_texts[0]
        self._takes_digits = options.booleans == "digits"
        self._splitter = FieldSplitter(options)
        self._fast_splitter: ArrowSplitter | WideDelimiterSplitter | None = None
        if is_fast:
            kind = ArrowSplitter if len(options.delimiter) == 1 else WideDelimiterSplitter
            self._fast_splitter = kind(options, len(schema))

    def decode(self, values: pa.BinaryArray) -> Decoded:
        """See Decoder."""
        if values.null_count:
            raise ValueError("messages are not null")
        texts, bad = cast_or_null(values, pa.string())
        refusals = dict.fromkeys(
            np.flatnonzero(bad).tolist(), Reason("csv.utf8", "the value is not valid UTF-8")
        )
        columns, places = self._split(texts, ~bad, refusals)
        headers, columns, places = self._without_headers(columns, places)
        good = np.ones(len(places), np.bool_)
        arrays = []
        for column, reader, fields in zip(self._columns, self._readers, columns, strict=True):
            array, unfit = reader.read(self._words(column, fields))
            arrays.append(array)
            for at, reason in unfit.items():
                if self._takes_digits:
                    reason = replace(reason, text=reason.text.replace(*_WORDS_AND_DIGITS))
                refusals.setdefault(int(places[at]), reason)
                good[at] = False
        rows = pa.RecordBatch.from_arrays(arrays, schema=self.schema)
        rows = rows if good.all() else rows.filter(pa.array(good))
        return decoder_result(rows, places[good], refusals, headers if len(headers) else None)

    def _without_headers(
        self, columns: list[pa.StringArray], places: Places
    ) -> tuple[Places, list[pa.StringArray], Places]:
        """Return the places of header lines, and the fields and places of the other records."""
        if not self._header or not len(places):
            return _NO_PLACES, columns, places
        is_header = np.ones(len(places), np.bool_)
        for text, fields in zip(self._header, columns, strict=True):
            is_header &= mask_of(pc.equal(pc.fill_null(fields, self._null_text), text))
            if not is_header.any():
                return _NO_PLACES, columns, places
        is_record = pa.array(~is_header)
        return places[is_header], [fields.filter(is_record) for fields in columns], places[~is_header]

    def _words(self, column: TextColumn, fields: pa.StringArray) -> pa.StringArray:
        """Replace 0 and 1 by `false` and `true` in a boolean column, if the map allows digits."""
        if not (self._takes_digits and pa.types.is_boolean(column.dtype)):
            return fields
        named = pc.if_else(pc.equal(fields, "0"), "false", fields)
        return pc.if_else(pc.equal(fields, "1"), "true", named)

    def _split(
        self,
        texts: pa.StringArray,
        sound: Mask,
        refusals: dict[int, Reason],
    ) -> tuple[list[pa.StringArray], Places]:
        """Return the columns and places of the messages with the right number of fields; add the others to `refusals`.

        `sound`: mask of the messages that are UTF-8.
        """
        places = np.flatnonzero(sound)
        texts = texts if sound.all() else texts.filter(pa.array(sound))
        columns = [pa.array([], pa.string())] * len(self._columns)
        certain = np.zeros(len(texts), np.bool_)
        if self._fast_splitter is not None:
            columns, certain = self._fast_splitter.split(texts)
        if certain.all():
            return columns, places
        records: list[list[str | None]] = []
        record_places: list[int] = []
        doubtful = np.flatnonzero(~certain)
        for at, text in zip(doubtful.tolist(), texts.take(pa.array(doubtful)).to_pylist(), strict=True):
            outcome = self._fields_of(text)
            if isinstance(outcome, Reason):
                refusals[int(places[at])] = outcome
            else:
                records.append(outcome)
                record_places.append(at)
        split = np.concatenate([np.flatnonzero(certain), np.array(record_places, dtype=np.int64)])
        order = np.argsort(split, kind="stable")
        exact_columns = [
            pa.array([record[n] for record in records], pa.string()) for n in range(len(columns))
        ]
        joined = [
            pa.concat_arrays([fast, exact]).take(pa.array(order))
            for fast, exact in zip(columns, exact_columns, strict=True)
        ]
        return joined, places[split[order]]

    def _fields_of(self, text: str) -> list[str | None] | Reason:
        try:
            fields = self._splitter.split(text)
        except ValueRefusal as refusal:
            return refusal.reason()
        if len(fields) != len(self._columns):
            return Reason("csv.fields", f"{len(fields)} fields for {len(self._columns)} columns")
        return fields
