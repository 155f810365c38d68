"""Files of lines: rows are encoded a few megabytes at a time, counted by their line ends, and compressed."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial

import numpy as np
import orjson
import pyarrow as pa

from kafka2hive.config.keys import TextOptions, WriterOptions
from kafka2hive.formats.contract.port import FormatCode, Unwritable, pieces
from kafka2hive.formats.contract.trailer import SCHEMA_KEY, payload_of, schema_of, schema_text
from kafka2hive.formats.lines.codec import LineCodec, codec_of, decompress, line_codec, read_trailer
from kafka2hive.formats.lines.delimited import field_count, null_texts, text_lines, text_rows
from kafka2hive.formats.lines.json import json_lines, json_names, json_rows

ToLines = Callable[[pa.RecordBatch], pa.Array]
"""Returns one text for each row. No text is null, and each has exactly one line end, its last character."""
FORMAT_KEY = "kafka2hive.format"
TEXT_KEY = "kafka2hive.text"
"""The key of the text options, as JSON."""
_LINE_END = ord("\n")


class LinesEncoder:
    """One file (Encoder). Nothing is held between row groups."""

    def __init__(
        self,
        stream: pa.NativeFile,
        schema: pa.Schema,
        to_lines: ToLines,
        codec: LineCodec,
        facts: Mapping[str, str],
    ) -> None:
        """Begin a file. The trailer holds `facts` and the metadata."""
        self._stream = stream
        self._schema = schema
        self._to_lines = to_lines
        self._codec = codec
        self._facts = facts
        self._rows = 0

    def write(self, rows: pa.Table) -> None:
        for batch in pieces(rows):
            text = _contiguous(self._to_lines(batch))
            self._rows += int(np.count_nonzero(np.frombuffer(text, np.uint8) == _LINE_END))
            self._stream.write(self._codec.compress(text))

    def end(self, metadata: Mapping[str, str]) -> int:
        """See Encoder. The row count is the number of line ends that were written."""
        if self._codec.trailer is not None:
            pairs = {**metadata, **self._facts, SCHEMA_KEY: schema_text(self._schema)}
            self._stream.write(self._codec.trailer(payload_of(self._rows, pairs)))
        return self._rows

    def abandon(self) -> None:
        """Nothing is held."""


class LinesEncoding:
    """Files of lines of one table. `make` returns the function that makes lines of rows of a schema."""

    def __init__(self, options: WriterOptions, make: Callable[[pa.Schema], ToLines]) -> None:
        self._codec = line_codec(options.compression, options.level)
        self._make = make
        self.extension = f"{options.format}.{self._codec.suffix}".rstrip(".")
        self._facts: dict[str, str] = {FORMAT_KEY: options.format}
        if options.format == "text":
            self._facts[TEXT_KEY] = orjson.dumps(asdict(options.text)).decode()

    def open(self, stream: pa.NativeFile, first: pa.Table) -> LinesEncoder:
        return LinesEncoder(
            stream=stream,
            schema=first.schema,
            to_lines=self._make(first.schema),
            codec=self._codec,
            facts=self._facts,
        )


def _contiguous(lines: pa.Array) -> pa.Buffer:
    """Return the strings of an array as one buffer, without a copy: they are contiguous in memory."""
    _, offsets, data = lines.buffers()
    ends = np.frombuffer(offsets, np.int32)[lines.offset : lines.offset + len(lines) + 1]
    return data.slice(int(ends[0]), int(ends[-1] - ends[0]))


@dataclass(frozen=True, slots=True)
class PlainLines:
    """What files without compression do not contain: the columns of their table, and the table's writer options."""

    schema: pa.Schema
    options: WriterOptions


class LinesReader:
    """A whole file (FileReader). Each line is a row; if there is a trailer, it must have the same count."""

    def __init__(self, data: bytes, plain: PlainLines | None) -> None:
        codec = codec_of(data)
        text = data if codec is None else decompress(data, codec)
        if text and not text.endswith(b"\n"):
            raise pa.ArrowInvalid("the last line has no end")
        self._lines = text.split(b"\n")[:-1]
        self._form: PlainLines | None = None
        self._is_plain = codec is None
        if codec is not None:
            end = read_trailer(codec, len(data), lambda count: data[-count:])
            if end.rows != len(self._lines):
                raise pa.ArrowInvalid(f"{len(self._lines)} lines, {end.rows} by the trailer")
            self._form = _form_of(end.metadata)
        elif plain is not None:
            self._form = _with_columns_of(self._lines[:1], plain)

    @property
    def schema(self) -> pa.Schema:
        return self._certain_form().schema

    def _certain_form(self) -> PlainLines:
        if self._form is None:
            raise pa.ArrowInvalid("a file without compression does not say its columns")
        return self._form

    @property
    def rows(self) -> int:
        return len(self._lines)

    @property
    def recorded_text_options(self) -> TextOptions | None:
        """The text options that the file itself records; None if it records none or is not delimited text."""
        form = self._certain_form()
        return None if self._is_plain or form.options.format != "text" else form.options.text

    def is_whole(self, batch: pa.RecordBatch, start: int) -> bool:
        """Return whether a batch of all columns holds everything that its lines, from row `start` on, hold.

        Only lines of a file that does not say its columns may hold more: columns that its table no longer has.
        """
        if not self._is_plain:
            return True
        options = self._certain_form().options
        to_lines = text_lines(options.text) if options.format == "text" else json_lines(batch.schema)
        lines = [line + b"\n" for line in self._lines[start : start + len(batch)]]
        return bool(to_lines(batch).cast(pa.binary()).equals(pa.array(lines, pa.binary())))

    def filled_columns(self) -> set[str]:
        """Return all columns, because their values are not counted."""
        return set(self.schema.names)

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        form = self._certain_form()
        for start in range(0, len(self._lines), rows):
            lines = self._lines[start : start + rows]
            if form.options.format == "text":
                yield text_rows(lines, form.schema, columns, form.options.text)
            else:
                yield json_rows(lines, pa.schema([form.schema.field(name) for name in columns]))


def _form_of(metadata: Mapping[bytes, bytes]) -> PlainLines:
    try:
        schema = schema_of(metadata[SCHEMA_KEY.encode()])
        is_text = metadata[FORMAT_KEY.encode()] == b"text"
        text = TextOptions(**orjson.loads(metadata[TEXT_KEY.encode()])) if is_text else TextOptions()
        options = WriterOptions(format="text" if is_text else "json", text=text)
        return PlainLines(schema, options)
    except (ValueError, KeyError, TypeError) as error:
        raise pa.ArrowInvalid(f"the trailer does not say the columns: {error}") from error


def _with_columns_of(first: Sequence[bytes], plain: PlainLines) -> PlainLines:
    """Return `plain` without the columns that an older file lacks, as its first line shows.

    JSON lines name their columns, in the file's order. A line of text lacks the last columns.
    """
    if not first:
        return plain
    if plain.options.format == "text":
        fields = field_count(first[0], plain.options.text)
        return PlainLines(pa.schema(list(plain.schema)[:fields]), plain.options)
    names = [name for name in json_names(first[0]) if name in plain.schema.names]
    return PlainLines(pa.schema([plain.schema.field(name) for name in names]), plain.options)


def _unwritable_text(options: WriterOptions) -> Unwritable | None:
    return Unwritable(
        partial(null_texts, options=options.text), "text.null", "has the text that stands for NULL"
    )


JSON = FormatCode(encoding=lambda options: LinesEncoding(options, json_lines))
TEXT = FormatCode(
    encoding=lambda options: LinesEncoding(options, lambda _schema: text_lines(options.text)),
    unwritable=_unwritable_text,
)
