"""The owner marker: `<table location>/_kafka2hive_owner` names the one ledger that feeds the table.

Made by the first start that writes to the table, never deleted by the program.
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
    """The ledger that owns a table, and the service that made the marker."""

    ledger: str
    service: str


def read_marker(files: FileSystem, location: str) -> str | None:
    """The ledger id that owns the table at `location`, None when none does. Raises as whole_marker."""
    marker = whole_marker(files, location)
    return None if marker is None else marker.ledger


def whole_marker(files: FileSystem, location: str) -> Marker | None:
    """None: no ledger owns the table at `location`. Raises ManualActionRequired (unreadable), StorageError."""
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
    """Make the marker, or check that it is this ledger's. Raises ManualActionRequired when another ledger feeds the table."""
    path = owner_marker(location)
    text = orjson.dumps({"ledger": state.ledger_id, "table": state.table, "service": state.service}) + b"\n"

    def attempt() -> Answer:
        beside = owner_marker_draft(location, ports.new_uuid())
        try:
            owner = read_marker(ports.files, location)
            if owner is None:
                ports.files.mkdirs(location)
                write_file(ports.files, beside, text)
                ports.files.rename(beside, path)
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
    """Before init: no ledger where the table's location names one is a ManualActionRequired, never a silent new beginning (R1).


    The marker is read first, the ledger looked for again after it: another start may have made both since this one
    found none, and a ledger directory that was ever there stays (simulation, seed 0 of the first run: a false alarm).
    """
    try:
        owner = whole_marker(files, location)
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
    """Raises AmbiguousOutcome: no answer."""
    try:
        files.stat(directory)
    except NotFound:
        return False
    except StorageError as error:
        raise AmbiguousOutcome("ledger.no_answer", f"looking at {directory}: {error}") from error
    return True
