"""The owner marker: `<table location>/_kafka2hive_owner` names the only ledger that feeds the table.

The first start that writes to the table creates it; only `reset` moves it away.
"""

from dataclasses import dataclass

import orjson

from kafka2hive.ledger.ports import Ports, log
from kafka2hive.ledger.retry import Answer, answer_to, retry
from kafka2hive.model.errors import AmbiguousOutcome, ManualActionRequired
from kafka2hive.model.paths.path import base_name
from kafka2hive.model.paths.table_directory import owner_marker, owner_marker_draft
from kafka2hive.model.snapshot import Snapshot
from kafka2hive.storage.port import AlreadyExists, FileSystem, NotFound, StorageError, write_file


@dataclass(frozen=True, slots=True)
class Marker:
    """The ledger that feeds a table, and the service that created the marker."""

    ledger: str
    service: str


def read_marker(files: FileSystem, location: str) -> str | None:
    """Return the id of the ledger that feeds the table at `location`, or None. Raises as read_marker_file."""
    marker = read_marker_file(files, location)
    return None if marker is None else marker.ledger


def read_marker_file(files: FileSystem, location: str) -> Marker | None:
    """Return the marker, None if no ledger feeds the table at `location`. Raises ManualActionRequired (damaged), StorageError."""
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
            "marker.damaged", f"{path}: not an owner marker", "restore it or move it away by hand"
        ) from error


def claim_location(ports: Ports, location: str, state: Snapshot) -> None:
    """Create the marker, or check that it names this ledger.

    A crash leaves a draft, which has no effect, or the marker. Raises ManualActionRequired if another ledger feeds the table,
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
                f"{path}: the table is fed by ledger {owner}, not by {state.ledger_id} of {state.table}",
                "two ledgers must never feed one table: give one of them another location",
            )
        return Answer.DONE

    retry(ports, "mark", path, attempt)


def refuse_vanished_ledger(files: FileSystem, location: str, table_directory: str) -> None:
    """Before init, check that no marker names a ledger that is gone, because init would silently start over (R1).

    The ledger is looked for again after the marker was read: another start may have created both since this one found no
    ledger (the simulation found this false alarm). Raises ManualActionRequired, AmbiguousOutcome (no answer).
    """
    try:
        owner = read_marker_file(files, location)
    except StorageError as error:
        raise AmbiguousOutcome("ledger.no_answer", f"reading {owner_marker(location)}: {error}") from error
    if owner is not None and not is_there(files, table_directory):
        raise ManualActionRequired(
            "ledger.vanished",
            f"the table at {location} belongs to ledger {owner.ledger} of service {owner.service}, and"
            f" {table_directory} is not there: another service or ledger root feeds this table, or its ledger is gone",
            "if another one feeds it, use that one's map, or give this table another location; if the ledger is gone,"
            " restore its directory or rebuild it with"
            f" `kafka2hive recover --rebuild-ledger {base_name(table_directory)}`",
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
