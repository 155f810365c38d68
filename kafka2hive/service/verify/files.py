"""Audit a table's files: each file that a snapshot names must exist and be whole, with no other files among them."""

import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from kafka2hive.model.files import UNKNOWN_CHECKSUM, DataFile, FileKind, HivePartition
from kafka2hive.model.paths.data_file import DataFileName, extension_of, ledger_tag
from kafka2hive.model.paths.path import base_name, parent
from kafka2hive.model.snapshot import Snapshot
from kafka2hive.model.text import counted
from kafka2hive.service.verify.result import Audited, Finding
from kafka2hive.storage.port import Concurrency, FileStatus, FileSystem, NotFound, files_below, length_at

_SHOWN = 5


def audit_presence(
    files: FileSystem,
    concurrency: Concurrency,
    finals: Sequence[Snapshot],
    pending: Snapshot | None,
    lost: frozenset[str],
    newest_now: Callable[[], int],
) -> Audited:
    """Compare names and lengths: one listing per directory of the table. Raises StorageError.

    Files of this ledger that no snapshot names are findings too; those of others, among the ledger's, are noted.
    A live run may publish epochs meanwhile: `newest_now` returns the newest committed epoch after the listing,
    and a file above it was never committed.
    """
    snapshots = (*finals, pending) if pending else tuple(finals)
    wanted = {f.final: f for snapshot in finals for f in snapshot.files if f.final not in lost}
    named = {file.final for snapshot in snapshots for file in snapshot.files}
    roots = {s.location for s in snapshots} | {
        _dead_letters_root(f.hive_partition)
        for s in snapshots
        for f in s.files
        if f.kind is FileKind.DEAD_LETTER
    }
    directories = {parent(path) for path in named}
    there = _lengths(files, concurrency, roots, directories)
    tags = {ledger_tag(snapshot.ledger_id) for snapshot in snapshots}
    unnamed = {path: _epoch_in(path, tags) for path in sorted(there.keys() - named)}
    newest = max((snapshot.epoch for snapshot in snapshots), default=-1)
    found = [*_missing(wanted.values(), there), *_untracked(unnamed, newest, newest_now)]
    return Audited(found, notes=_foreign(unnamed, directories))


def audit_contents(
    files: FileSystem,
    concurrency: Concurrency,
    snapshots: Sequence[Snapshot],
    lost: frozenset[str],
    advance: Callable[[int, int], None],
) -> tuple[Finding, ...]:
    """Read every file back: checksum, and the row count its own footer gives. Raises StorageError.

    `advance` is called for each file with 1 and its row count, from several threads.
    """

    def look(file: DataFile) -> list[Finding]:
        found = read_back(files, file, file.final)
        advance(1, file.rows)
        return found

    wanted = [file for snapshot in snapshots for file in snapshot.files if file.final not in lost]
    return tuple(f for found in concurrency.map(look, wanted) for f in found)


def audit_pending(
    files: FileSystem, concurrency: Concurrency, pending: Snapshot, lost: frozenset[str], contents: bool
) -> tuple[Finding, ...]:
    """Audit the files of a committed epoch that is not final yet, each where it lies now. Raises StorageError.

    Look at the staged path first, then the final one: the other order would mistake a move in between for a loss.
    """

    def audit(file: DataFile) -> list[Finding]:
        places = [(path, length_at(files, path)) for path in (file.staged, file.final)]
        if [file.length] == [size for _, size in places if size is not None][-1:]:
            return read_back(files, file, *(path for path, _ in places)) if contents else []
        for path, size in places:
            if size not in (None, file.length):
                return [
                    Finding("verify.length", path, f"{_other_length(file, size)}; to become {file.final}")
                ]
        return [Finding("verify.missing", file.final, f"neither there nor staged; {_what(file)}")]

    wanted = [file for file in pending.files if file.final not in lost]
    return tuple(f for found in concurrency.map(audit, wanted) for f in found)


def _dead_letters_root(partition: HivePartition) -> str:
    """The directory of one source table within the dead-letter table."""
    source, _, below = partition.path.partition("/")
    return partition.location.removesuffix(f"/{below}") if source else partition.location


def _lengths(
    files: FileSystem, concurrency: Concurrency, tables: set[str], directories: set[str]
) -> dict[str, int]:
    """Length by path of all that readers may see below `tables`, and in `directories`."""

    def enters(directory: FileStatus) -> bool:
        return directory.name[0] not in "_." and any(directory.path.startswith(f"{t}/") for t in tables)

    return {file.path: file.length for file in files_below(files, concurrency, tables | directories, enters)}


def _missing(wanted: Iterable[DataFile], there: Mapping[str, int]) -> Iterator[Finding]:
    for file in wanted:
        length = there.get(file.final)
        if length is None:
            yield Finding("verify.missing", file.final, f"is not there; {_what(file)}")
        elif length != file.length:
            yield Finding("verify.length", file.final, _other_length(file, length))


def _epoch_in(path: str, tags: Collection[str]) -> int | None:
    """Return the epoch in the name of a file of these ledgers; None if the file belongs to another writer."""
    parsed = DataFileName.parse(base_name(path))
    return parsed[0].epoch if parsed and parsed[0].ledger in tags else None


def _untracked(
    unnamed: Mapping[str, int | None], newest: int, newest_now: Callable[[], int]
) -> Iterator[Finding]:
    """What is visible was committed before: no epoch above the newest one now can have published it."""
    now: int | None = None
    for path, epoch in unnamed.items():
        if epoch is None:
            continue
        if newest < epoch:
            now = newest_now() if now is None else now
            if epoch <= now:
                continue  # published by a live run after the history was read
        yield Finding(
            "verify.untracked", path, "no snapshot names this file of the ledger: readers see its rows"
        )


def _foreign(unnamed: Mapping[str, int | None], directories: Collection[str]) -> list[str]:
    """Hive reads every file of a partition but hidden ones, whoever wrote it."""
    found = [
        path
        for path, epoch in unnamed.items()
        if epoch is None and parent(path) in directories and base_name(path)[0] not in "_."
    ]
    if not found:
        return []
    more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    return [
        f"{counted(len(found), 'file')} beside its own that this ledger did not write, readers see their rows, too:"
        f" {', '.join(found[:_SHOWN])}{more}"
    ]


def read_back(files: FileSystem, file: DataFile, *places: str) -> list[Finding]:
    """Checksum and rows of a file, which lies at the first of `places` where there is one. Raises StorageError."""
    for path in places:
        try:
            data = files.read(path)
            break
        except NotFound:
            continue
    else:
        return []  # a finding of audit_presence
    damage = whole_file(file, path, data)
    return [] if damage is None else [damage]


def whole_file(file: DataFile, path: str, data: bytes) -> Finding | None:
    """What is wrong with a file's bytes: unreadable, other bytes than committed, or another number of rows."""
    from kafka2hive.formats.readers import UNREADABLE, opened

    checksum = f"crc32:{zlib.crc32(data):08x}"
    if file.checksum not in (UNKNOWN_CHECKSUM, checksum):
        text = f"has {checksum}, committed was {file.checksum}; {_what(file)}"
        return Finding("verify.checksum", path, text)
    try:
        rows = opened(data, extension_of(path)).rows
    except UNREADABLE as error:
        return Finding("verify.unreadable", path, f"{error}; {_what(file)}")
    if rows != file.rows:
        return Finding("verify.rows", path, f"holds {counted(rows, 'row')}, committed were {file.rows}")
    return None


def _other_length(file: DataFile, length: int | None) -> str:
    return f"has {length} bytes, committed were {file.length}; {_what(file)}"


def _what(file: DataFile) -> str:
    kind = "rows" if file.kind is FileKind.DATA else "dead letters"
    return f"{file.rows} {kind} of {', '.join(map(str, file.ranges))}"
