"""The rows of a task's files, read for a comparison, and the columns that can be compared."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from kafka2hive.config.keys import MetadataColumn, TableSettings
from kafka2hive.formats.lines.reader import PlainLines
from kafka2hive.formats.readers import UNREADABLE, open_reader
from kafka2hive.formats.row_hash import comparable
from kafka2hive.model.files import DataFile, FileKind
from kafka2hive.model.paths.data_file import extension_of
from kafka2hive.service.verify.result import Finding
from kafka2hive.service.verify.row_sources import LETTER_PLACE, LETTERS, letter_columns, read_rows
from kafka2hive.service.verify.rows import Paths, PlaceColumns, RowHashes, Span
from kafka2hive.task.rows import schema_in_files


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
    columns: Mapping[str, str],
    place: PlaceColumns | None,
    span: Span,
    paths: Paths,
    plain: PlainLines | None = None,
) -> LoadedRows:
    """Read the rows of `files`, of which `contents` has the bytes, or None for a missing file.

    A row's file is its index in `files`.
    """
    loaded = LoadedRows()
    for number, (file, data) in enumerate(zip(files, contents, strict=True)):
        letter = file.kind is FileKind.DEAD_LETTER
        bucket = LETTERS if letter else paths.number(file.hive_partition.path)
        if data is None:
            loaded.absent[bucket] += file.rows
            continue
        try:
            reader = open_reader(data, extension_of(file.final), plain)
            if letter:
                rows = read_rows(
                    reader=reader,
                    columns=letter_columns(),
                    place=LETTER_PLACE,
                    span=span,
                    bucket=bucket,
                    file=number,
                )
            else:
                rows = read_rows(
                    reader=reader, columns=columns, place=place, span=span, bucket=bucket, file=number
                )
        except UNREADABLE as error:
            loaded.findings.append(Finding("verify.unreadable", file.final, str(error)))
            loaded.absent[bucket] += file.rows
        else:
            (loaded.letters if letter else loaded.data).extend(rows)
    return loaded


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
            result.append((name, f"column {name}: the map does not have it, but"))
        elif comparable(of_map.field(name).type) != comparable(of_file.field(name).type):
            result.append((name, f"column {name}: of another type in"))
    return result
