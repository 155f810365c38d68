"""The checks of the file system beyond those of `validate --online`: its clock, its quotas, and leftovers."""

from collections.abc import Callable, Collection, Sequence

from kafka2hive.config.rules.service import filesystem_of
from kafka2hive.model.errors import TableError
from kafka2hive.model.paths.ledger import inbox_directory, parse_order_name
from kafka2hive.model.paths.path import parent
from kafka2hive.model.paths.table_directory import DataFileName, probe_directory, staging_directory
from kafka2hive.model.text import counted, duration, size
from kafka2hive.service.tables.table_state import MapTable
from kafka2hive.service.validate.check import Check, Failed, Passed, Result, Warned
from kafka2hive.service.validate.storage_check import existing_ancestor, refusal
from kafka2hive.storage.port import FileStatus, FreeSpace, InspectableFileSystem, NotFound, StorageError

LARGEST_SKEW = 5.0
"""Seconds. Kerberos tolerates 300, but this machine's clock also decides when Hive partitions are complete or expire."""
FEWEST_NAMES = 10_000
LEAST_BYTES = 10 << 30
OLD = 86_400.0
"""Seconds after which a staged file is not of an epoch that is being written."""
_WAITS = 600.0
_MOST_LOOKED_AT = 100


def check_clock(files: InspectableFileSystem, place: str, uuid: str, now: Callable[[], float]) -> Check:
    """Compare this machine's clock with that of the file system. Creates a directory, reads its time, and deletes it."""
    try:
        directory = probe_directory(existing_ancestor(files, place), uuid)
        before = now()
        files.mkdirs(directory)
        try:
            made = files.modified_at(directory)
        finally:
            files.delete(directory)
        skew = made - (before + now()) / 2
    except StorageError as error:
        return Check("storage", "clock", Failed(refusal(place, error)))
    text = f"the file system's clock is {duration(abs(skew))} {'ahead of' if skew > 0 else 'behind'} this machine's"
    if abs(skew) <= LARGEST_SKEW:
        return Check("storage", "clock", Passed(text))
    warning = TableError("doctor.clock", text, "synchronise both clocks (NTP)")
    return Check("storage", "clock", Warned(warning))


def check_free_space(files: InspectableFileSystem, place: str) -> Check:
    """Check how much the quotas of a directory leave."""
    return Check("storage", f"quota of {place}", _free_space(files, place))


def directories_above(places: Collection[str]) -> list[str]:
    """Return the directories of HDFS above these places that are not among them, without the root."""
    above: set[str] = set()
    for place in places:
        root, directory = filesystem_of(place), parent(place)
        while place.startswith("hdfs://") and directory != root:
            above.add(directory)
            directory = parent(directory)
    return sorted(above.difference(places))


def check_space_above(files: InspectableFileSystem, directory: str) -> list[Check]:
    """Check how much the quotas of a directory above the tables leave; return no check if it has none.

    The service needs no permission there, so a directory that cannot be counted is no fault.
    """
    try:
        space = files.free_space(directory)
    except NotFound:
        return []
    except StorageError as error:
        result: Result = Passed(f"not checked: {error}".splitlines()[0])
    else:
        if space == FreeSpace():
            return []
        result = judge_free_space(directory, space)
    return [Check("storage", f"quota of {directory}", result)]


def _free_space(files: InspectableFileSystem, place: str) -> Result:
    try:
        return judge_free_space(place, files.free_space(place))
    except NotFound:
        return Passed("does not exist yet")
    except StorageError as error:
        return Failed(refusal(place, error))


def judge_free_space(place: str, space: FreeSpace) -> Result:
    """Judge how much the quotas of a directory leave."""
    left = []
    if space.names is not None:
        left.append(counted(space.names, "name"))
    if space.bytes is not None:
        left.append(size(space.bytes))
    if not left:
        return Passed("this directory has no quota")
    text = f"{' and '.join(left)} left"
    if (space.names is None or space.names >= FEWEST_NAMES) and (
        space.bytes is None or space.bytes >= LEAST_BYTES
    ):
        return Passed(text)
    return Warned(
        TableError(
            "doctor.room",
            f"{place}: {text}",
            "raise the quota (hdfs dfsadmin -setQuota, -setSpaceQuota) or free space: without space the tables are set aside",
        )
    )


def check_orders(files: InspectableFileSystem, root: str, service: str, now: float) -> Check:
    """Check that no order has waited in the service's inbox for more than ten minutes."""
    inbox = inbox_directory(root, service)
    try:
        waiting = [entry for entry in _children(files, inbox) if _is_order(entry.name)]
        old = _older(files, waiting, now - _WAITS)
    except StorageError as error:
        return Check("storage", "inbox", Failed(refusal(inbox, error)))
    if not old:
        return Check("storage", "inbox", Passed(f"{counted(len(waiting), 'order')} waiting"))
    warning = TableError(
        "doctor.inbox",
        f"{counted(len(old), 'order')} in {inbox} waiting for more than {duration(_WAITS)}:"
        " no run carries them out, or their work takes long",
        "see `kafka2hive status -c MAP`; start the service, or delete the orders to withdraw them",
    )
    return Check("storage", "inbox", Warned(warning))


def check_leftovers(files: InspectableFileSystem, table: MapTable, now: float) -> Check:
    """Check that no file has been in a table's staging directory for more than a day."""
    staging = staging_directory(table.location)
    subject = f"{table.name}: leftovers"
    try:
        staged = [entry for entry in _children(files, staging) if DataFileName.parse(entry.name)]
        old = _older(files, staged, now - OLD)
    except StorageError as error:
        return Check("storage", subject, Failed(refusal(staging, error)))
    text = f"{counted(len(staged), 'file')} ({size(sum(entry.length for entry in staged))}) in {staging}"
    if not old:
        return Check("storage", subject, Passed(f"{text}, none older than a day"))
    warning = TableError(
        "doctor.leftovers",
        f"{text}, and {counted(len(old), 'file')} of the first {min(len(staged), _MOST_LOOKED_AT)} older than a day,"
        f" such as {old[0].name}",
        f"`kafka2hive status --table {table.name} -c MAP` says whether they wait to be made visible;"
        " a run deletes all others at its start and after every 20th epoch: if it does not, read its log",
    )
    return Check("storage", subject, Warned(warning))


def _children(files: InspectableFileSystem, directory: str) -> tuple[FileStatus, ...]:
    try:
        return files.list(directory)
    except NotFound:
        return ()


def _older(files: InspectableFileSystem, entries: Sequence[FileStatus], than: float) -> list[FileStatus]:
    """Return those of the first _MOST_LOOKED_AT entries that were last changed before `than`.

    An entry that has been deleted since the listing is left out.
    """
    older = []
    for entry in entries[:_MOST_LOOKED_AT]:
        try:
            if files.modified_at(entry.path) < than:
                older.append(entry)
        except NotFound:
            continue
    return older


def _is_order(name: str) -> bool:
    parsed = parse_order_name(name)
    return parsed is not None and not parsed[1]
