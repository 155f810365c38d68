"""The location of a table: its owner marker, and `recover --accept-location`.

The marker `<table location>/_kafka2hive_owner` names the only ledger that feeds the table. The first start that writes to the
table creates the marker; only `reset` moves it away. A start cleans up only at the ledger's location, so an operator must
accept a changed location by a command.
"""

from dataclasses import dataclass

import orjson

from kafka2hive.ledger.cleanup import delete_orphans
from kafka2hive.ledger.epoch import publish
from kafka2hive.ledger.owned_ledger import OwnedLedger
from kafka2hive.ledger.ports import Answer, Ports, answer_to, log, retry
from kafka2hive.ledger.snapshot.change import Repair
from kafka2hive.model.errors import AmbiguousOutcome, ManualActionRequired
from kafka2hive.model.paths.path import base_name, same_location
from kafka2hive.model.paths.table_directory import (
    DataFileName,
    ledger_tag,
    owner_marker,
    owner_marker_draft,
    staging_directory,
)
from kafka2hive.model.snapshot import Snapshot
from kafka2hive.storage.port import AlreadyExists, FileSystem, NotFound, StorageError, children, write_file


@dataclass(frozen=True, slots=True)
class Marker:
    """The ledger that feeds a table, and the service that created the marker."""

    ledger: str
    service: str


def read_marker(files: FileSystem, location: str) -> str | None:
    """Return the id of the ledger that feeds the table at `location`, or None. Raises the errors of `read_marker_file`."""
    marker = read_marker_file(files, location)
    return None if marker is None else marker.ledger


def read_marker_file(files: FileSystem, location: str) -> Marker | None:
    """Return the marker at `location`, None without a marker. Raises ManualActionRequired (damaged), StorageError."""
    path = owner_marker(location)
    try:
        data = files.read(path)
    except NotFound:
        return None
    try:
        document = orjson.loads(data)
        return Marker(str(document["ledger"]), str(document.get("service", "unknown")))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ManualActionRequired(
            "marker.damaged", f"{path} is not an owner marker", "restore the file, or move it away by hand"
        ) from error


def claim_location(ports: Ports, location: str, state: Snapshot) -> None:
    """Create the marker, or check that it names this ledger.

    A crash leaves a draft, which is never read, or the marker. Raises ManualActionRequired if another ledger feeds the table,
    AmbiguousOutcome, TableError.
    """
    path = owner_marker(location)
    text = orjson.dumps({"ledger": state.ledger_id, "table": state.table, "service": state.service}) + b"\n"

    def attempt() -> Answer:
        draft = owner_marker_draft(location, ports.new_uuid())
        try:
            owner = read_marker(ports.files, location)
            if owner is None:
                ports.files.mkdirs(location)
                write_file(ports.files, draft, text)
                ports.files.rename(draft, path)
                log.debug("mark %s: done", path)
                return Answer.DONE
        except AlreadyExists:
            return Answer.AGAIN
        except StorageError as error:
            log.warning("mark %s: %s", path, error)
            return answer_to(error)
        if owner != state.ledger_id:
            raise ManualActionRequired(
                "marker.foreign",
                f"{path}: ledger {owner} feeds the table at this location, not ledger {state.ledger_id} of {state.table}",
                "two ledgers must never feed one table: change the location of one of the tables",
            )
        return Answer.DONE

    retry(ports, "mark", path, attempt)


def refuse_vanished_ledger(files: FileSystem, location: str, table_directory: str) -> None:
    """Raise ManualActionRequired if the marker names a ledger that is gone, because init would silently start over (R1).

    The table's directory is checked after the marker is read, because another start may be creating both. Raises
    AmbiguousOutcome (no answer).
    """
    try:
        owner = read_marker_file(files, location)
    except StorageError as error:
        raise AmbiguousOutcome("ledger.no_answer", f"reading {owner_marker(location)}: {error}") from error
    if owner is not None and not is_there(files, table_directory):
        raise ManualActionRequired(
            "ledger.vanished",
            f"the table at {location} belongs to ledger {owner.ledger} of service {owner.service}, but {table_directory}"
            " does not exist: a service with another ledger root feeds this table, or its ledger is gone",
            "if another service feeds the table, use its map, or change this table's location; if the ledger is gone,"
            " restore its directory or rebuild it with"
            f" `kafka2hive recover --rebuild-ledger {base_name(table_directory)} -c MAP`",
        )


def is_there(files: FileSystem, directory: str) -> bool:
    """Return whether the directory exists. Raises AmbiguousOutcome (no answer)."""
    try:
        files.stat(directory)
    except NotFound:
        return False
    except StorageError as error:
        raise AmbiguousOutcome("ledger.no_answer", f"looking at {directory}: {error}") from error
    return True


def refuse_changed_location(state: Snapshot, location: str) -> None:
    """Raise ManualActionRequired if the ledger's files are not in `location`, which is the map's.

    A ledger without positions cannot have files; its first positions record the map's location.
    """
    if state.positions and state.location and not same_location(state.location, location):
        raise ManualActionRequired(
            "ledger.location_changed",
            f"{state.table}: the map says {location}, but the ledger's files are in {state.location}",
            "set the old location in the map; or, to write new files to the new location and leave visible files in place,"
            f" type `kafka2hive recover --table {state.table} --accept-location {state.table} -c MAP`."
            " Before that command, repair lost files (`recover --refetch PATH` with the old location in the map); and for"
            " each Hive partition that will get more records, copy its files to the new location and run ALTER TABLE .."
            " PARTITION (..) SET LOCATION, because its new rows would be hidden otherwise (hive.misplaced)",
        )


def accept_location(ports: Ports, owned: OwnedLedger, location: str) -> OwnedLedger:
    """Commit a snapshot with `location` for the table's next files; visible files are not moved.

    Before: a final state with the old location, whose staging directory the start has cleaned up. After: one more snapshot,
    without files and with the new location; this ledger has staged files in neither staging directory. A crash before the
    commit leaves the old location; a second call repeats everything. Raises ManualActionRequired (another ledger feeds the new
    location), AmbiguousOutcome, Fenced, TableError.
    """
    old = owned.state.location
    claim_location(ports, location, owned.state)
    _refuse_staged_files(ports, owned, staging_directory(old))
    owned = publish(ports, owned, Repair(location=location)).owned
    delete_orphans(ports, owned, staging_directory(location))
    return owned


def _refuse_staged_files(ports: Ports, owned: OwnedLedger, staging: str) -> None:
    """Raise AmbiguousOutcome if this ledger has a staged file left here, because later starts do not clean this directory."""
    tag = ledger_tag(owned.state.ledger_id)
    try:
        names = children(ports.files, staging)
    except StorageError as error:
        raise AmbiguousOutcome("ledger.no_answer", f"listing {staging}: {error}") from error
    staged = [c.path for c in names if (parsed := DataFileName.parse(c.name)) and parsed[0].ledger == tag]
    if staged:
        raise AmbiguousOutcome(
            "ledger.orphans_left",
            f"{staged[0]} could not be deleted",
            f"type `kafka2hive recover --accept-location {owned.state.table} -c MAP` again",
        )
