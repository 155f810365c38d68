"""The two sources of rows for a comparison: a task's files, and a dry run over Kafka's records. Rows are reduced to hashes.

This module also decides which columns can be compared.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import numpy as np
import pyarrow as pa

from kafka2hive.config.dead_letters import DEAD_LETTER_COLUMNS
from kafka2hive.config.keys import MetadataColumn, TableSettings
from kafka2hive.formats.contract.port import FileReader
from kafka2hive.formats.files import UNREADABLE, open_reader
from kafka2hive.formats.lines.files import PlainLines
from kafka2hive.formats.row_hash import comparable, row_hashes
from kafka2hive.model.files import DataFile, FileKind
from kafka2hive.model.paths.table_directory import extension_of
from kafka2hive.service.verify.line_forms import LineForms
from kafka2hive.service.verify.result import Finding
from kafka2hive.service.verify.rows import (
    NO_FILE,
    OUTSIDE,
    Indices,
    Numbers,
    Paths,
    PlaceColumns,
    RowHashes,
    Span,
)
from kafka2hive.task.rows import schema_in_files
from kafka2hive.task.write.bucketer import BucketIds
from kafka2hive.task.write.destination import OpenSink, passing_sinks

LETTERS = -2
"""The bucket of every dead letter: its partition is the day of planning, which a dry run does not know."""
LETTER_PLACE = PlaceColumns("offset", "topic", "partition")
LETTER_COLUMNS = tuple(c.name for c in DEAD_LETTER_COLUMNS if c.name not in ("detail", "epoch"))
"""The columns of a dead letter that depend on its record alone."""
_BATCH_ROWS = 32_768
"""A batch of this size fits into the processor's cache."""


@dataclass(frozen=True, slots=True)
class Reduction:
    """How rows of one side are reduced: `columns` are hashed, `span` numbers the places, `paths` numbers the Hive partitions.

    `columns` maps the name that both sides share to the name in the batch. `place` has the columns with a row's origin; if it
    is None, rows have no places.
    """

    columns: Mapping[str, str]
    place: PlaceColumns | None
    span: Span
    paths: Paths

    def of_letters(self) -> "Reduction":
        """Return the reduction of dead letters. Its shared names are no table's, so a dead letter never equals a row."""
        return replace(
            self, columns={f"dead letter {name}": name for name in LETTER_COLUMNS}, place=LETTER_PLACE
        )

    def add(self, rows: RowHashes, batch: pa.RecordBatch, buckets: Numbers, file: int = NO_FILE) -> None:
        """Add the rows of `batch`, each with the number of its bucket, to `rows`."""
        hashes = row_hashes(
            ((shared, batch.column(name)) for shared, name in self.columns.items()), len(batch)
        )
        rows.add(self.span.places(self.place, batch) if self.place else None, hashes, buckets, file)

    def places(self, batch: pa.RecordBatch) -> Indices:
        """Return the place of each row; OUTSIDE if rows have no places."""
        if self.place is None:
            return np.full(len(batch), OUTSIDE, np.int64)
        return self.span.places(self.place, batch)


@dataclass(slots=True)
class LoadedRows:
    """The rows of files by kind; `absent` counts the rows of missing and damaged files by bucket number."""

    data: RowHashes = field(default_factory=RowHashes)
    letters: RowHashes = field(default_factory=RowHashes)
    absent: Counter[int] = field(default_factory=Counter)
    findings: list[Finding] = field(default_factory=list)


def load(
    files: Sequence[DataFile],
    contents: Sequence[bytes | None],
    reduction: Reduction,
    lines: LineForms | None = None,
) -> LoadedRows:
    """Read the rows of `files`, of which `contents` has the bytes, or None for a missing file.

    A row's file is its index in `files`. `lines` describes files of lines without compression.
    """
    loaded = LoadedRows()
    for number, (file, data) in enumerate(zip(files, contents, strict=True)):
        is_letter = file.kind is FileKind.DEAD_LETTER
        bucket = LETTERS if is_letter else reduction.paths.number(file.hive_partition.path)
        if data is None:
            loaded.absent[bucket] += file.rows
            continue
        try:
            plain = None if lines is None else lines.of(file.final)
            reader = open_reader(data, extension_of(file.final), plain)
            rows = read_rows(reader, reduction.of_letters() if is_letter else reduction, bucket, number)
        except UNREADABLE as error:
            loaded.findings.append(Finding("verify.unreadable", file.final, str(error)))
            loaded.absent[bucket] += file.rows
        else:
            (loaded.letters if is_letter else loaded.data).extend(rows)
    return loaded


def read_rows(reader: FileReader, reduction: Reduction, bucket: int, file: int) -> RowHashes:
    """Read the rows of file number `file`, which is in bucket number `bucket`. Raises UNREADABLE for a damaged file."""
    place = reduction.place.names() if reduction.place else ()
    rows = RowHashes()
    for batch in reader.batches(list(dict.fromkeys([*reduction.columns.values(), *place])), _BATCH_ROWS):
        reduction.add(rows, batch, np.full(len(batch), bucket, np.int32), file)
    return rows


@dataclass(slots=True)
class RowsAside:
    """Rows of one bucket that are compared elsewhere, by another `reduction`; `places` are those of the dry run."""

    reduction: Reduction
    rows: RowHashes = field(default_factory=RowHashes)
    places: list[Indices] = field(default_factory=list)

    def add(self, batch: pa.RecordBatch, places: Indices) -> None:
        self.reduction.add(self.rows, batch, np.zeros(len(batch), np.int32))
        self.places.append(places)

    @property
    def all_places(self) -> Indices:
        return np.concatenate([np.zeros(0, np.int64), *self.places])


class RecordRows:
    """The rows of a dry run. `letters` always have places, `data` only if the reduction has a `place`.

    The rows of the buckets in `aside` are only there, each under its path.
    """

    def __init__(self, reduction: Reduction, aside: Mapping[str, RowsAside] = MappingProxyType({})) -> None:
        self.data = RowHashes()
        self.letters = RowHashes()
        self._reduction = reduction
        self._aside = {reduction.paths.number(path): rows for path, rows in aside.items()}

    @property
    def open_sink(self) -> OpenSink:
        return passing_sinks(self._take_rows, self._take_letters)

    def _take_rows(self, rows: pa.RecordBatch, ids: BucketIds, paths: Sequence[str]) -> None:
        numbers: Numbers = np.array([self._reduction.paths.number(path) for path in paths], np.int32)
        buckets = numbers[ids]
        for number, aside in self._aside.items():
            is_aside = buckets == number
            if is_aside.any():
                part = rows.filter(pa.array(is_aside))
                aside.add(part, self._reduction.places(part))
                rows, buckets = rows.filter(pa.array(~is_aside)), buckets[~is_aside]
        self._reduction.add(self.data, rows, buckets)

    def _take_letters(self, rows: pa.RecordBatch, _ids: BucketIds, _paths: Sequence[str]) -> None:
        self._reduction.of_letters().add(self.letters, rows, np.full(len(rows), LETTERS, np.int32))


def file_schema(data: bytes, path: str, plain: PlainLines | None = None) -> pa.Schema:
    """Return the file's schema; `plain` describes files of lines without compression. Raises UNREADABLE."""
    return open_reader(data, extension_of(path), plain).schema


def is_readable(data: bytes, path: str, plain: PlainLines | None) -> bool:
    """Return whether the file's schema can be read."""
    try:
        file_schema(data, path, plain)
    except UNREADABLE:
        return False
    return True


def place_columns(table: TableSettings) -> PlaceColumns | None:
    """Return the columns with a row's origin, or None if the files have no offsets."""
    written = set(schema_in_files(table).names)
    names = {kind: name for kind, name in table.metadata if name in written}
    offset = names.get(MetadataColumn.OFFSET)
    if offset is None:
        return None
    return PlaceColumns(offset, names.get(MetadataColumn.TOPIC), names.get(MetadataColumn.PARTITION))


def column_differences(of_map: pa.Schema, of_file: pa.Schema) -> list[tuple[str, str]]:
    """Return the columns that cannot be compared, each with a reason to which the caller adds a number of files."""
    result = []
    for name in dict.fromkeys([*of_map.names, *of_file.names]):
        if name not in of_file.names:
            result.append((name, f"column {name}: not in"))
        elif name not in of_map.names:
            result.append((name, f"column {name}: not in the map, but in"))
        elif comparable(of_map.field(name).type) != comparable(of_file.field(name).type):
            result.append((name, f"column {name}: has a different type in"))
    return result
