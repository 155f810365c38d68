"""`bundle`: one archive with everything that a person needs to diagnose a service remotely, without secrets."""

import io
import tarfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from kafka2hive.model.errors import Kafka2HiveError
from kafka2hive.model.paths.ledger import Generation, LedgerPaths, parse_snapshot_name
from kafka2hive.model.paths.path import join
from kafka2hive.storage.port import FileSystem, NotFound, StorageError

MOST_BYTES = 10 << 20
"""Maximum size of a piece, in bytes; a longer piece is truncated."""
MOST_TABLES = 200
SNAPSHOTS = 3
"""How many of each table's newest snapshots the archive has."""
_ENVIRONMENT = (
    "KAFKA2HIVE",
    "SPARK",
    "PYSPARK",
    "HADOOP",
    "HIVE",
    "YARN",
    "JAVA",
    "JDK",
    "KRB5",
    "TZ",
    "TMPDIR",
    "PATH",
)


@dataclass(frozen=True, slots=True)
class Bundle:
    """The names in the archive; `errors` has the message for each piece that could not be made, by the piece's name."""

    names: tuple[str, ...]
    errors: Mapping[str, str]


def write_bundle(
    output: Path, pieces: Mapping[str, Callable[[], str]], redact: Callable[[str], str]
) -> Bundle:
    """Write the archive `output`.

    If a piece fails, the archive has its error as `NAME.error`, and the other pieces are still written. `redact` is applied
    to every piece, including the messages of errors. Raises OSError if the archive cannot be written.
    """
    names, errors = [], {}
    with tarfile.open(output, "w:gz") as archive:
        for name, make in pieces.items():
            try:
                text = make()
            except (Kafka2HiveError, StorageError, OSError) as error:
                errors[name] = redact(str(error))
                name, text = f"{name}.error", str(error)
            _add(archive, name, redact(text))
            names.append(name)
    return Bundle(tuple(names), errors)


def ledger_pieces(files: FileSystem, root: str) -> dict[str, Callable[[], str]]:
    """Return one piece for each table with a ledger, at most MOST_TABLES: the ledger's listing, then its newest snapshots."""
    ledgers = LedgerPaths(root, "-").ledgers
    try:
        tables = [entry.name for entry in files.list(ledgers) if entry.is_directory]
    except NotFound:
        return {}
    except StorageError as error:
        return {"ledgers": partial(_raise, error)}
    return {
        f"ledgers/{table}.txt": lambda table=table: "\n".join(_ledger(files, LedgerPaths(root, table)))  # type: ignore[misc]
        for table in tables[:MOST_TABLES]
    }


def environment_names(environment: Mapping[str, str]) -> str:
    """Return the names of the environment variables that may affect a run, one per line, without their values."""
    return "\n".join(sorted(name for name in environment if name.upper().startswith(_ENVIRONMENT)))


def _ledger(files: FileSystem, paths: LedgerPaths) -> Iterator[str]:
    yield paths.table_directory
    newest: list[str] = []
    for entry in files.list(paths.table_directory):
        yield f"  {entry.name}"
        if Generation.parse(entry.name) is None:
            continue
        directory = join(paths.table_directory, entry.name)
        for child in files.list(directory):
            yield f"    {child.name}  {child.length} bytes"
            if parse_snapshot_name(child.name) is not None:
                newest.append(child.path)
    for path in newest[-SNAPSHOTS:]:
        yield f"\n==> {path}"
        try:
            yield files.read(path).decode(errors="replace")
        except NotFound:
            yield "a run renamed it before it could be read"


def _raise(error: Exception) -> str:
    raise error


def _add(archive: tarfile.TarFile, name: str, text: str) -> None:
    data = text.encode()
    if len(data) > MOST_BYTES:
        data = data[:MOST_BYTES] + b"\n(truncated here)\n"
    member = tarfile.TarInfo(f"kafka2hive-bundle/{name}")
    member.size, member.mtime, member.mode = len(data), int(time.time()), 0o600
    archive.addfile(member, io.BytesIO(data))
