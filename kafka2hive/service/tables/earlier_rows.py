"""Which columns the rows of earlier epochs fill, from a table's newest data files. Only reads."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice

from kafka2hive.config.keys import TableSettings
from kafka2hive.formats.files import UNREADABLE, has_parts, open_stored
from kafka2hive.formats.lines.files import PlainLines
from kafka2hive.ledger.history import final_snapshots
from kafka2hive.ledger.owned_ledger import OwnedLedger
from kafka2hive.model.errors import ManualActionRequired
from kafka2hive.model.files import DataFile, FileKind
from kafka2hive.model.paths.table_directory import extension_of
from kafka2hive.storage.port import FileSystem, StorageError
from kafka2hive.task.rows import schema_in_files

_MOST_FILES = 20
_MOST_BYTES = 16 << 20
"""The length up to which a file is read whole. Of files with parts, only the columns are read."""
_BATCH_ROWS = 10_000


def filled_before(
    files: FileSystem, ledger: OwnedLedger, settings: TableSettings, columns: Iterable[str], epoch: int
) -> set[str]:
    """Return those of `columns` that have a value in one of the newest files of epochs before `epoch`.

    Files that cannot be read are skipped, so a column that is missing in the result may still have values.
    """
    plain = PlainLines(schema_in_files(settings), settings.writer)
    missing, filled = set(columns), set[str]()
    with suppress(StorageError, ManualActionRequired):
        for file in islice(_files(files, ledger, epoch), _MOST_FILES):
            filled |= _filled(files, file, plain, missing - filled)
            if filled == missing:
                break
    return filled


def _files(files: FileSystem, ledger: OwnedLedger, epoch: int) -> Iterator[DataFile]:
    """Yield the data files of epochs before `epoch`, newest epoch first. Raises as final_snapshots does."""
    for snapshot in final_snapshots(files, ledger.paths, ledger.directory, epoch - 1):
        for file in snapshot.files:
            is_small = file.length <= _MOST_BYTES or has_parts(extension_of(file.final))
            if file.kind is not FileKind.DEAD_LETTER and is_small:
                yield file


def _filled(files: FileSystem, file: DataFile, plain: PlainLines, columns: set[str]) -> set[str]:
    """Return those of `columns` that have a value in the file; none if the file is gone, for example compacted, or damaged."""
    filled: set[str] = set()
    with suppress(StorageError, *UNREADABLE):
        reader = open_stored(files.open(file.final), extension_of(file.final), plain)
        names = sorted(columns & set(reader.schema.names))
        for batch in reader.batches(names, _BATCH_ROWS) if names else ():
            filled |= {name for name in names if batch.column(name).null_count < len(batch)}
            if len(filled) == len(names):
                break
    return filled
