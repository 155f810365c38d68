"""A reader of files of lines."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import orjson
import pyarrow as pa

from kafka2hive.config.keys import TextOptions, WriterOptions
from kafka2hive.formats.contract.trailer import SCHEMA_KEY, schema_of
from kafka2hive.formats.lines.codec import codec_of, decompress, read_trailer
from kafka2hive.formats.lines.delimited import field_count, text_lines, text_rows
from kafka2hive.formats.lines.encoding import FORMAT_KEY, TEXT_KEY
from kafka2hive.formats.lines.json import json_lines, json_names, json_rows


@dataclass(frozen=True, slots=True)
class PlainLines:
    """What files without compression do not contain: the columns of their table, and its writer options."""

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
        return self._known().schema

    def _known(self) -> PlainLines:
        if self._form is None:
            raise pa.ArrowInvalid("a file without compression does not say its columns")
        return self._form

    @property
    def rows(self) -> int:
        return len(self._lines)

    @property
    def recorded_text_options(self) -> TextOptions | None:
        """How the fields of delimited text are written, as the file itself says; None if it does not, or is not text."""
        form = self._known()
        return None if self._is_plain or form.options.format != "text" else form.options.text

    def is_whole(self, batch: pa.RecordBatch, start: int) -> bool:
        """Return whether a batch of all columns is all that its lines from row `start` on hold.

        Only a file that does not say its columns may hold more, if its table no longer has them.
        """
        if not self._is_plain:
            return True
        options = self._known().options
        to_lines = text_lines(options.text) if options.format == "text" else json_lines(batch.schema)
        lines = [line + b"\n" for line in self._lines[start : start + len(batch)]]
        return bool(to_lines(batch).cast(pa.binary()).equals(pa.array(lines, pa.binary())))

    def filled_columns(self) -> set[str]:
        """Return all columns, because their values are not counted."""
        return set(self.schema.names)

    def batches(self, columns: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
        form = self._known()
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
    """Drop columns that an older file lacks: those that its first JSON line does not name, or the last ones of text.

    The others keep the file's order.
    """
    if not first:
        return plain
    if plain.options.format == "text":
        fields = field_count(first[0], plain.options.text)
        return PlainLines(pa.schema(list(plain.schema)[:fields]), plain.options)
    names = [name for name in json_names(first[0]) if name in plain.schema.names]
    return PlainLines(pa.schema([plain.schema.field(name) for name in names]), plain.options)
