"""Rows as lines, which are encoded a few megabytes at a time, counted by their line ends, and compressed."""

from collections.abc import Callable, Mapping
from dataclasses import asdict

import numpy as np
import orjson
import pyarrow as pa

from kafka2hive.config.keys import WriterOptions
from kafka2hive.formats.contract.port import pieces
from kafka2hive.formats.contract.trailer import SCHEMA_KEY, payload_of, schema_text
from kafka2hive.formats.lines.codec import LineCodec, line_codec

ToLines = Callable[[pa.RecordBatch], pa.Array]
"""Makes one text of each row. No text is null, and each has exactly one line end, its last character."""

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
    """Files of lines of one table. `make` returns, for a schema, the function that makes lines of rows."""

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
    """Return the texts of an array as one buffer, without a copy: they are contiguous in memory."""
    _, offsets, data = lines.buffers()
    ends = np.frombuffer(offsets, np.int32)[lines.offset : lines.offset + len(lines) + 1]
    return data.slice(int(ends[0]), int(ends[-1] - ends[0]))
