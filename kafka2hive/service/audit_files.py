"""Auditing a table's files: every one a snapshot names is there and whole, and nothing else lies among them."""

import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import BytesIO

from kafka2hive.ledger.audit import Finding
from kafka2hive.model.files import DataFile, FileKind
from kafka2hive.model.layout import DataFileName, base_name, ledger_tag, parent
from kafka2hive.model.snapshot import Snapshot
from kafka2hive.storage.port import Concurrency, FileSystem, NotFound


def audit_presence(
    files: FileSystem, concurrency: Concurrency, snapshots: Sequence[Snapshot], lost: frozenset[str]
) -> tuple[Finding, ...]:
    """Compare names and lengths: one listing per directory. Raises StorageError.

    A pending snapshot's files may still be staged. Files of this ledger that no snapshot names are findings too;
    other ledgers' and other programs' files are not ours to judge.
    """
    named = {file.final: file for snapshot in snapshots for file in snapshot.files}
    wanted = {path: file for path, file in named.items() if path not in lost}
    directories = sorted({parent(path) for path in named})
    there = {
        path: length
        for listed in concurrency.map(lambda d: _lengths(files, d), directories)
        for path, length in listed.items()
    }
    found = [*_missing(wanted.values(), there), *_strangers(snapshots, named, there)]
    return tuple(found)


def audit_contents(
    files: FileSystem, concurrency: Concurrency, snapshots: Sequence[Snapshot], lost: frozenset[str]
) -> tuple[Finding, ...]:
    """Read every file back: checksum, and the row count its own footer gives. Raises StorageError."""
    wanted = [file for snapshot in snapshots for file in snapshot.files if file.final not in lost]
    return tuple(f for found in concurrency.map(lambda file: _read_back(files, file), wanted) for f in found)


def _lengths(files: FileSystem, directory: str) -> dict[str, int]:
    try:
        return {child.path: child.length for child in files.list(directory) if not child.is_directory}
    except NotFound:
        return {}


def _missing(wanted: Iterable[DataFile], there: Mapping[str, int]) -> Iterator[Finding]:
    for file in wanted:
        length = there.get(file.final)
        if length is None:
            yield Finding("verify.missing", file.final, f"is not there; {_what(file)}")
        elif length != file.length:
            yield Finding(
                "verify.length",
                file.final,
                f"has {length} bytes, committed were {file.length}; {_what(file)}",
            )


def _strangers(
    snapshots: Sequence[Snapshot], named: Mapping[str, DataFile], there: Mapping[str, int]
) -> Iterator[Finding]:
    """Later epochs are left out: a live run may have published them after the history was read."""
    tags = {ledger_tag(snapshot.ledger_id) for snapshot in snapshots}
    newest = max((snapshot.epoch for snapshot in snapshots), default=-1)
    for path in sorted(there.keys() - named.keys()):
        parsed = DataFileName.parse(base_name(path))
        if parsed and parsed[0].ledger in tags and parsed[0].epoch <= newest:
            yield Finding(
                "verify.stranger", path, "no snapshot names this file of the ledger: readers see its rows"
            )


def _read_back(files: FileSystem, file: DataFile) -> list[Finding]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        data = files.read(file.final)
    except NotFound:
        return []  # audit_presence says it
    checksum = f"crc32:{zlib.crc32(data):08x}"
    if checksum != file.checksum:
        return [
            Finding(
                "verify.checksum", file.final, f"has {checksum}, committed was {file.checksum}; {_what(file)}"
            )
        ]
    try:
        rows = pq.read_metadata(BytesIO(data)).num_rows
    except pa.ArrowException as error:
        return [Finding("verify.unreadable", file.final, f"{error}; {_what(file)}")]
    if rows != file.rows:
        return [Finding("verify.rows", file.final, f"holds {rows} rows, committed were {file.rows}")]
    return []


def _what(file: DataFile) -> str:
    kind = "rows" if file.kind is FileKind.DATA else "dead letters"
    return f"{file.rows} {kind} of {', '.join(map(str, file.ranges))}"
