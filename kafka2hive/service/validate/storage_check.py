"""May we do in the ledger's and the tables' directories what a dump does there? Tried with a file that is deleted again."""

from collections.abc import Collection

from kafka2hive.model.errors import Kafka2HiveError, ServiceUnavailable, TableError
from kafka2hive.model.paths.path import join, parent
from kafka2hive.model.paths.table_directory import probe_directory, staging_directory
from kafka2hive.service.tables.table_state import Table
from kafka2hive.service.validate.check import Check, Failed, Passed, Result
from kafka2hive.service.wiring import Wiring
from kafka2hive.storage.connect import root_of
from kafka2hive.storage.port import Denied, FileSystem, NoRoom, NotFound, StorageError, write_file

LEDGER_ROOT = "ledger root"
"""The subject of its check."""


def check_storage(wiring: Wiring, tables: Collection[Table]) -> list[Check]:
    """One line for the ledger root, one for each table's directory and the dead letters'."""
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
        there = probe(wiring.ports.files, place, wiring.ports.new_uuid())
    except StorageError as error:
        return Failed(_refusal(place, error))
    except TableError as in_the_way:
        return Failed(in_the_way)
    return Passed(f"{place}: made, renamed and deleted a file" + ("" if there == place else f" in {there}"))


def probe(files: FileSystem, place: str, uuid: str) -> str:
    """Make a directory and a file of one byte, rename the file, delete both; gives where: `place` or what is above it.

    State before and after: the same, whatever fails in between, but for what the file system does not let us delete.
    Where `place` has a staging directory the file is made there and renamed into the new directory, as a promote does.
    Raises StorageError, TableError (a file is where a directory is needed).
    """
    near = _nearest(files, place)
    directory = probe_directory(near, uuid)
    staging = staging_directory(place)
    made_in = staging if near == place and _is_there(files, staging) else directory
    first, second = join(made_in, f"_probe-{uuid}.in-progress"), join(directory, "_probe.final")
    made = [directory]  # also what was made by a lost response is deleted
    try:
        files.mkdirs(directory)
        made.append(first)
        write_file(files, first, b"?")
        made.append(second)
        files.rename(first, second)
    finally:
        for path in reversed(made):
            _delete(files, path)
    return near


def _nearest(files: FileSystem, place: str) -> str:
    """The directory itself, or the lowest one above it that is there; at last the root, which is written with its `/`."""
    top = root_of(place)
    while not _is_there(files, place):
        above = parent(place)
        if above == top:
            return top + "/"
        place = above
    return place


def _is_there(files: FileSystem, path: str) -> bool:
    try:
        status = files.stat(path)
    except NotFound:
        return False
    if not status.is_directory:
        raise TableError(
            "storage.not_a_directory",
            f"{path} is a file, where a directory is needed",
            "move it away, or name another place in the map",
        )
    return True


def _delete(files: FileSystem, path: str) -> None:
    try:
        files.delete(path)
    except StorageError:
        pass  # the error that matters is told; a name of its own does no harm


def _refusal(place: str, error: StorageError) -> Kafka2HiveError:
    message = str(error) if error.path.startswith(place) else f"{place}: {error}"
    if isinstance(error, Denied):
        remedy = error.remedy or "grant the user of the service read, write and execute there"
        return TableError("storage.denied", message, remedy)
    if isinstance(error, NoRoom):
        return TableError("storage.no_room", message, "free room, or raise the quota")
    remedy = error.remedy or "is the NameNode up, and are its DataNodes?"
    return ServiceUnavailable("storage.unavailable", message, remedy)
