"""The audit of a table's files: each file that a snapshot names must exist and be whole, and readers must see no other."""

import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from kafka2hive.model.files import UNKNOWN_CHECKSUM, DataFile, FileKind, HivePartition
from kafka2hive.model.paths.path import base_name, parent
from kafka2hive.model.paths.table_directory import DataFileName, RetirementName, extension_of, ledger_tag
from kafka2hive.model.progress import Advance, amounts
from kafka2hive.model.snapshot import Snapshot
from kafka2hive.model.text import counted
from kafka2hive.service.verify.result import AuditResult, Finding
from kafka2hive.storage.port import Concurrency, FileStatus, FileSystem, NotFound, files_below, length_at

_SHOWN = 5


def audit_presence(
    files: FileSystem,
    concurrency: Concurrency,
    finals: Sequence[Snapshot],
    pending: Snapshot | None,
    lost: frozenset[str],
    newest_now: Callable[[], int],
) -> AuditResult:
    """Compare the files' names and lengths with the snapshots, with one listing per directory. Raises StorageError.

    A visible file of this ledger that no snapshot names is a finding, too; files of other writers are noted. A live run may
    publish epochs during the audit: `newest_now` returns the newest committed epoch after the listing, and a file of a later
    epoch was never committed.
    """
    snapshots = (*finals, pending) if pending else tuple(finals)
    expected = {f.final: f for snapshot in finals for f in snapshot.files if f.final not in lost}
    named = {file.final for snapshot in snapshots for file in snapshot.files}
    roots = {s.location for s in snapshots} | {
        _dead_letters_root(f.hive_partition)
        for s in snapshots
        for f in s.files
        if f.kind is FileKind.DEAD_LETTER
    }
    directories = {parent(path) for path in named}
    lengths = _lengths(files, concurrency, roots, directories)
    tags = {ledger_tag(snapshot.ledger_id) for snapshot in snapshots}
    unnamed = {path: _epoch_in(path, tags) for path in sorted(lengths.keys() - named)}
    newest = max((snapshot.epoch for snapshot in snapshots), default=-1)
    findings = [
        *changed_files(expected.values(), lengths),
        *_untracked(unnamed, newest, newest_now),
        *_not_hidden(finals, lengths),
    ]
    return AuditResult(findings, notes=_foreign(unnamed, directories))


def audit_contents(
    files: FileSystem,
    concurrency: Concurrency,
    snapshots: Sequence[Snapshot],
    lost: frozenset[str],
    advance: Advance,
) -> tuple[Finding, ...]:
    """Read every file, and check its checksum and the row count in its footer. Raises StorageError.

    `advance` is called for each file, from several threads.
    """

    def audit(file: DataFile) -> list[Finding]:
        findings = read_back(files, file, file.final)
        advance(**amounts([file]))
        return findings

    expected = [file for snapshot in snapshots for file in snapshot.files if file.final not in lost]
    return tuple(f for findings in concurrency.map(audit, expected) for f in findings)


def audit_pending(
    files: FileSystem, concurrency: Concurrency, pending: Snapshot, lost: frozenset[str], contents: bool
) -> tuple[Finding, ...]:
    """Audit the files of the pending epoch, staged or promoted. Raises StorageError.

    The staged path is read before the final one: in the other order a promote in between would look like a loss.
    """

    def audit(file: DataFile) -> list[Finding]:
        lengths = [(path, length_at(files, path)) for path in (file.staged, file.final)]
        if [file.length] == [length for _, length in lengths if length is not None][-1:]:
            return read_back(files, file, *(path for path, _ in lengths)) if contents else []
        for path, length in lengths:
            if length not in (None, file.length):
                return [
                    Finding(
                        "verify.length",
                        path,
                        f"{_other_length(file, length)}; its final path is {file.final}",
                    )
                ]
        return [Finding("verify.missing", file.final, f"neither published nor staged; {_rows_of(file)}")]

    expected = [file for file in pending.files if file.final not in lost]
    return tuple(f for findings in concurrency.map(audit, expected) for f in findings)


def _dead_letters_root(partition: HivePartition) -> str:
    """Return the directory of the source table within the dead-letter table."""
    source, _, below = partition.path.partition("/")
    return partition.location.removesuffix(f"/{below}") if source else partition.location


def _lengths(
    files: FileSystem, concurrency: Concurrency, tables: set[str], directories: set[str]
) -> dict[str, int]:
    """Return the length by path of every file that readers may see below `tables` or in `directories`."""

    def enters(directory: FileStatus) -> bool:
        return directory.name[0] not in "_." and any(directory.path.startswith(f"{t}/") for t in tables)

    return {file.path: file.length for file in files_below(files, concurrency, tables | directories, enters)}


def changed_files(expected: Iterable[DataFile], lengths: Mapping[str, int]) -> Iterator[Finding]:
    """Yield a finding for each file that is missing or has a wrong length; `lengths` has the existing files by path."""
    for file in expected:
        length = lengths.get(file.final)
        if length is None:
            yield Finding("verify.missing", file.final, f"does not exist; {_rows_of(file)}")
        elif length != file.length:
            yield Finding("verify.length", file.final, _other_length(file, length))


def _not_hidden(finals: Sequence[Snapshot], lengths: Mapping[str, int]) -> Iterator[Finding]:
    """Yield a finding for each dead-letter file that readers see although its letters were replayed."""
    for path in sorted({file.path for snapshot in finals for file in snapshot.replayed} & lengths.keys()):
        text = "its letters were replayed, but readers still see the file: move it away"
        yield Finding("verify.replay", path, text)


def _epoch_in(path: str, tags: Collection[str]) -> int | None:
    """Return the epoch in the file's name if it belongs to one of these ledgers; otherwise None."""
    parsed = DataFileName.parse(base_name(path))
    return parsed[0].epoch if parsed and parsed[0].ledger in tags else None


def _untracked(
    unnamed: Mapping[str, int | None], newest: int, newest_now: Callable[[], int]
) -> Iterator[Finding]:
    """Yield a finding for each visible file of this ledger that no snapshot names.

    A live run may have published files since the history was read, but only of epochs up to `newest_now()`.
    """
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
    """Return a note on visible files of other writers: Hive reads every file of a Hive partition that is not hidden."""
    paths = [
        path
        for path, epoch in unnamed.items()
        if epoch is None
        and parent(path) in directories
        and base_name(path)[0] not in "_."
        and RetirementName.parse(base_name(path)) is None
    ]
    if not paths:
        return []
    more = f" and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else ""
    return [
        f"{counted(len(paths), 'file')} in its directories that this ledger did not write; readers see their rows, too:"
        f" {', '.join(paths[:_SHOWN])}{more}"
    ]


def read_back(files: FileSystem, file: DataFile, *paths: str) -> list[Finding]:
    """Check the checksum and the rows of a file at the first of `paths` that exists. Raises StorageError."""
    for path in paths:
        try:
            data = files.read(path)
            break
        except NotFound:
            continue
    else:
        return []  # audit_presence reports missing files
    damage = damage_of(file, path, data)
    return [] if damage is None else [damage]


def damage_of(file: DataFile, path: str, data: bytes) -> Finding | None:
    """Return a finding if the bytes are unreadable, or differ from the commit in checksum or number of rows."""
    from kafka2hive.formats.files import UNREADABLE, open_reader

    checksum = f"crc32:{zlib.crc32(data):08x}"
    if file.checksum not in (UNKNOWN_CHECKSUM, checksum):
        text = f"has {checksum}, but {file.checksum} was committed; {_rows_of(file)}"
        return Finding("verify.checksum", path, text)
    try:
        rows = open_reader(data, extension_of(path)).rows
    except UNREADABLE as error:
        return Finding("verify.unreadable", path, f"{error}; {_rows_of(file)}")
    if rows != file.rows:
        return Finding("verify.rows", path, f"holds {counted(rows, 'row')}, but {file.rows} were committed")
    return None


def _other_length(file: DataFile, length: int | None) -> str:
    return f"has {length} bytes, but {file.length} were committed; {_rows_of(file)}"


def _rows_of(file: DataFile) -> str:
    if file.kind is FileKind.COMPACTED:
        return f"{file.rows} rows of early files"
    kind = "rows" if file.kind is FileKind.DATA else "dead letters"
    return f"{file.rows} {kind} of {', '.join(map(str, file.ranges))}"
