"""The checks that the map's file systems answer, and that the service may write in the directories of ledgers and tables.

The service creates, renames and deletes a probe file in each directory.
"""

from collections.abc import Collection

from kafka2hive.config.keys import ServiceMap
from kafka2hive.model.errors import Kafka2HiveError, ServiceUnavailable, TableError
from kafka2hive.model.paths.path import join, parent
from kafka2hive.model.paths.table_directory import probe_directory, staging_directory
from kafka2hive.service.tables.table_state import MapTable
from kafka2hive.service.validate.check import Check, Failed, Passed, Result
from kafka2hive.service.wiring import Wiring
from kafka2hive.storage.connect import root_of
from kafka2hive.storage.port import (
    Denied,
    ErasureCoded,
    FileSystem,
    NoRoom,
    NotFound,
    StorageError,
    write_file,
)

LEDGER_ROOT = "ledger root"
"""The subject of the ledger root's check."""


def require_storage(files: FileSystem, service_map: ServiceMap) -> None:
    """Call every file system of the map once; raise ServiceUnavailable for the first that does not answer.

    A directory that does not exist, or that may not be read, is an answer.
    """
    ledger_root = service_map.storage.ledger_root
    places = [ledger_root, service_map.dead_letters.location, *(rule.location for rule in service_map.tables)]
    for root in dict.fromkeys(map(root_of, places)):
        try:
            files.stat(ledger_root if root_of(ledger_root) == root else root + "/")
        except (NotFound, Denied):
            continue
        except StorageError as error:
            raise ServiceUnavailable(
                "storage.unavailable",
                f"{root} does not answer: {error}",
                error.remedy or "is the NameNode up, and storage.uri in the map right?",
            ) from error


def check_storage(wiring: Wiring, tables: Collection[MapTable]) -> list[Check]:
    """Check the ledger root, each table's directory and the directory of the dead letters."""
    ledger_root = wiring.map.storage.ledger_root
    places = {LEDGER_ROOT: ledger_root, wiring.map.dead_letters.table: wiring.map.dead_letters.location}
    places |= {table.name: table.location for table in tables}

    def check(name: str) -> Check:
        return Check("storage", name, _place(wiring, places[name], ledger_root))

    return wiring.side_by_side.map(check, sorted(places))


def _place(wiring: Wiring, place: str, ledger_root: str) -> Result:
    if root_of(place) != root_of(ledger_root):
        error = TableError(
            "storage.apart",
            f"{place} and the ledgers at {ledger_root} are on two file systems",
            "put both on one file system: a rename must move a file from one to the other",
        )
        return Failed(error)
    try:
        ancestor = probe(wiring.ports.files, place, wiring.ports.new_uuid())
    except StorageError as error:
        return Failed(refusal(place, error))
    except TableError as error:
        return Failed(error)
    where = "" if ancestor == place else f" in {ancestor}"
    return Passed(f"{place}: made, renamed and deleted a file{where}")


def probe(files: FileSystem, place: str, uuid: str) -> str:
    """Create a directory with a file of one byte in `place` or its nearest existing ancestor; return the place that was used.

    The file is renamed, then file and directory are deleted, also after an error. If `place` has a staging directory, the
    file is created there and renamed into the new directory, as a promote does. A crash in the middle leaves the probe's
    directory or file.
    Raises StorageError, TableError (a file is where a directory is needed).
    """
    ancestor = existing_ancestor(files, place)
    directory = probe_directory(ancestor, uuid)
    staging = staging_directory(place)
    source = staging if ancestor == place and _is_directory(files, staging) else directory
    first, second = join(source, f"_probe-{uuid}.in-progress"), join(directory, "_probe.final")
    # a path is added before its call, because a call without an answer may have been carried out
    leftovers = [directory]
    try:
        files.mkdirs(directory)
        leftovers.append(first)
        write_file(files, first, b"?")
        leftovers.append(second)
        files.rename(first, second)
    finally:
        for path in reversed(leftovers):
            _delete(files, path)
    return ancestor


def existing_ancestor(files: FileSystem, place: str) -> str:
    """Return `place` if it exists, otherwise the lowest directory above it that does; the root ends in `/`."""
    top = root_of(place)
    while not _is_directory(files, place):
        above = parent(place)
        if above == top:
            return top + "/"
        place = above
    return place


def _is_directory(files: FileSystem, path: str) -> bool:
    """Return whether `path` exists. Raises TableError if it is a file."""
    try:
        status = files.stat(path)
    except NotFound:
        return False
    if not status.is_directory:
        raise TableError(
            "storage.not_a_directory",
            f"{path} is a file, but a directory is needed there",
            "move the file away, or name another directory in the map",
        )
    return True


def _delete(files: FileSystem, path: str) -> None:
    try:
        files.delete(path)
    except StorageError:
        pass  # the first error is the one to report; a leftover has a unique name and does no harm


def refusal(place: str, error: StorageError) -> Kafka2HiveError:
    message = str(error) if error.path.startswith(place) else f"{place}: {error}"
    if isinstance(error, Denied):
        remedy = error.remedy or "grant the user of the service read, write and execute there"
        return TableError("storage.denied", message, remedy)
    if isinstance(error, NoRoom):
        return TableError("storage.no_room", message, error.remedy)
    if isinstance(error, ErasureCoded):
        return TableError("storage.erasure_coded", message, error.remedy)
    remedy = error.remedy or "is the NameNode up, and are its DataNodes?"
    return ServiceUnavailable("storage.unavailable", message, remedy)
