"""Format `csv`: messages to fields, a fast way for what is plainly right and the exact way for the rest; fields to columns."""

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from kafka2hive.pipeline.decode.columns import check_columns
from kafka2hive.pipeline.decode.csv.fields import Fields
from kafka2hive.pipeline.decode.csv.parsed import ParsedFields
from kafka2hive.pipeline.decode.exact.json_values import Refused
from kafka2hive.pipeline.decode.protocol import Decoded, Decoder, Reason
from kafka2hive.pipeline.decode.rows.csv_lines import CsvLines
from kafka2hive.pipeline.decode.rows.decoder import SeveralRowsDecoder
from kafka2hive.pipeline.decode.spec import DecoderSpec
from kafka2hive.pipeline.decode.texts.column import TextColumn
from kafka2hive.pipeline.decode.tolerant_cast import cast_or_null

Places = npt.NDArray[np.int64]

_NOWHERE = np.empty(0, np.int64)
_WORDS_AND_DIGITS = "true and false", "true, false, 1 and 0"


def make(spec: DecoderSpec) -> Decoder:
    """A message is a record, or with `rows: lines` several of them."""
    one = CsvDecoder(spec)
    return SeveralRowsDecoder(one, CsvLines(spec.csv).split) if spec.rows == "lines" else one


class CsvDecoder:
    """One record of fields a message, each to the column at its place, by docs/decoding.md."""

    def __init__(self, spec: DecoderSpec, parsed: bool = True) -> None:
        """`parsed`: with the fast way. Raises ValueError for columns with parts."""
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
        if options.header and len(options.header) != len(schema):
            raise ValueError(f"a header line of {len(options.header)} fields for {len(schema)} columns")
        self._header = options.header
        self._null_text = options.null_text
        self._takes_digits = options.booleans == "digits"
        self._fields = Fields(options)
        self._parsed = ParsedFields(options, len(schema)) if parsed else None

    def decode(self, values: pa.BinaryArray) -> Decoded:
        """See Decoder."""
        if values.null_count:
            raise ValueError("messages are not null")
        texts, bad = cast_or_null(values, pa.string())
        refused = dict.fromkeys(
            np.flatnonzero(bad).tolist(), Reason("csv.utf8", "the value is not valid UTF-8")
        )
        columns, places = self._split(texts, ~bad, refused)
        headers, columns, places = self._without_headers(columns, places)
        good = np.ones(len(places), np.bool_)
        arrays = []
        for column, fields in zip(self._columns, columns, strict=True):
            array, unfit = column.read(self._words(column, fields))
            arrays.append(array)
            for at, reason in unfit.items():
                if self._takes_digits:
                    reason = replace(reason, text=reason.text.replace(*_WORDS_AND_DIGITS))
                refused.setdefault(int(places[at]), reason)
                good[at] = False
        rows = pa.RecordBatch.from_arrays(arrays, schema=self.schema)
        rejected = sorted(refused)
        return Decoded(
            rows=rows if good.all() else rows.filter(pa.array(good)),
            accepted=pa.array(places[good], pa.int32()),
            rejected=pa.array(rejected, pa.int32()),
            reasons=[refused[place] for place in rejected],
            without_rows=pa.array(headers, pa.int32()) if len(headers) else None,
        )

    def _without_headers(
        self, columns: list[pa.StringArray], places: Places
    ) -> tuple[Places, list[pa.StringArray], Places]:
        """The places of the records that are a header line, and the fields and places of the others."""
        if not self._header or not len(places):
            return _NOWHERE, columns, places
        is_header = np.ones(len(places), np.bool_)
        for text, fields in zip(self._header, columns, strict=True):
            written = pc.fill_null(fields, self._null_text)
            is_header &= pc.equal(written, text).to_numpy(zero_copy_only=False)
            if not is_header.any():
                return _NOWHERE, columns, places
        rest = pa.array(~is_header)
        return places[is_header], [fields.filter(rest) for fields in columns], places[~is_header]

    def _words(self, column: TextColumn, fields: pa.StringArray) -> pa.StringArray:
        """Digits of booleans in the words that stand for them, where the map says so."""
        if not (self._takes_digits and pa.types.is_boolean(column.dtype)):
            return fields
        named = pc.if_else(pc.equal(fields, "0"), "false", fields)
        return pc.if_else(pc.equal(fields, "1"), "true", named)

    def _split(
        self,
        texts: pa.StringArray,
        sound: np.ndarray[tuple[int], np.dtype[np.bool_]],
        refused: dict[int, Reason],
    ) -> tuple[list[pa.StringArray], Places]:
        """The fields of the messages that have as many as there are columns, and their places, in order."""
        places = np.flatnonzero(sound)
        left = texts if sound.all() else texts.filter(pa.array(sound))
        columns = [pa.array([], pa.string())] * len(self._columns)
        certain = np.zeros(len(left), np.bool_)
        if self._parsed is not None:
            columns, certain = self._parsed.split(left)
        if certain.all():
            return columns, places
        records: list[list[str | None]] = []
        found: list[int] = []
        doubtful = np.flatnonzero(~certain)
        for at, text in zip(doubtful.tolist(), left.take(pa.array(doubtful)).to_pylist(), strict=True):
            outcome = self._fields_of(text)
            if isinstance(outcome, Reason):
                refused[int(places[at])] = outcome
            else:
                records.append(outcome)
                found.append(at)
        read = np.concatenate([np.flatnonzero(certain), np.array(found, dtype=np.int64)])
        order = np.argsort(read, kind="stable")
        more = [pa.array([record[n] for record in records], pa.string()) for n in range(len(columns))]
        together = [
            pa.concat_arrays([first, second]).take(pa.array(order))
            for first, second in zip(columns, more, strict=True)
        ]
        return together, places[read[order]]

    def _fields_of(self, text: str) -> list[str | None] | Reason:
        try:
            fields = self._fields.of(text)
        except Refused as refusal:
            return refusal.reason()
        if len(fields) != len(self._columns):
            return Reason("csv.fields", f"{len(fields)} fields for {len(self._columns)} columns")
        return fields
