"""The two sources of rows for a comparison, a data file and a replay of Kafka's records, both reduced to hashes."""

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from kafka2hive.config.dead_letters import DEAD_LETTER_COLUMNS
from kafka2hive.formats.contract.port import FileReader
from kafka2hive.formats.lines.reader import PlainLines
from kafka2hive.formats.readers import UNREADABLE, open_reader
from kafka2hive.model.files import FileKind
from kafka2hive.model.paths.data_file import extension_of
from kafka2hive.service.verify.rows import Numbers, Paths, PlaceColumns, RowHashes, Span, hashes_of
from kafka2hive.task.bucket.bucketer import BucketIds
from kafka2hive.task.sink import PassingSink, RowSink
from kafka2hive.task.write.destination import Destination

LETTERS = -2
"""The bucket of every dead letter: its partition is the day of planning, which a replay does not know."""
LETTER_PLACE = PlaceColumns("offset", "topic", "partition")
LETTER_COLUMNS = tuple(c.name for c in DEAD_LETTER_COLUMNS if c.name not in ("detail", "epoch"))
"""The columns of a dead letter that depend on its record alone."""
_BATCH_ROWS = 32_768
"""So that a batch fits into the processor's cache."""


def file_schema(data: bytes, path: str, plain: PlainLines | None = None) -> pa.Schema:
    """Return the file's schema; `plain` describes files of lines without compression. Raises UNREADABLE."""
    return open_reader(data, extension_of(path), plain).schema


def is_readable(data: bytes, path: str, plain: PlainLines | None) -> bool:
    """Whether the file's schema can be read."""
    try:
        file_schema(data, path, plain)
    except UNREADABLE:
        return False
    return True


def read_rows(
    reader: FileReader,
    columns: Mapping[str, str],
    place: PlaceColumns | None,
    span: Span,
    bucket: int,
    file: int,
) -> RowHashes:
    """Read a file's rows; `columns` as for hashes_of, `bucket` and `file` are numbers for all rows.

    Raises UNREADABLE for a damaged file.
    """
    names = list(dict.fromkeys([*columns.values(), *(place.names() if place else ())]))
    rows = RowHashes()
    for batch in reader.batches(names, _BATCH_ROWS):
        places = span.places(place, batch) if place else None
        rows.add(places, hashes_of(batch, columns), np.full(len(batch), bucket, np.int32), file)
    return rows


def letter_columns() -> dict[str, str]:
    """Return the columns of dead letters by names that no table has, so that a dead letter never equals a row."""
    return {f"dead letter {name}": name for name in LETTER_COLUMNS}


class ReplayRows:
    """The rows of a replay. `data` has places if `place` is given, `letters` always."""

    def __init__(
        self, span: Span, columns: Mapping[str, str], place: PlaceColumns | None, paths: Paths
    ) -> None:
        """`columns` are those to compare, as for hashes_of."""
        self.data = RowHashes()
        self.letters = RowHashes()
        self._span = span
        self._columns = columns
        self._place = place
        self._paths = paths

    def open_sink(self, destination: Destination, schema: pa.Schema) -> RowSink:
        if destination.kind is FileKind.DATA:
            return PassingSink(lambda rows, ids, paths: self._data(rows, ids, paths))
        return PassingSink(lambda rows, _ids, _paths: self._letters(rows))

    def _data(self, rows: pa.RecordBatch, ids: BucketIds, paths: Sequence[str]) -> None:
        places = self._span.places(self._place, rows) if self._place else None
        numbers: Numbers = np.array([self._paths.number(path) for path in paths], np.int32)
        self.data.add(places, hashes_of(rows, self._columns), numbers[ids])

    def _letters(self, rows: pa.RecordBatch) -> None:
        places = self._span.places(LETTER_PLACE, rows)
        self.letters.add(places, hashes_of(rows, letter_columns()), np.full(len(rows), LETTERS, np.int32))
