"""Change the location of a table, which needs a command: a start cleans up only at the ledger's location."""

from kafka2hive.ledger.cleanup import delete_orphans
from kafka2hive.ledger.epoch import publish
from kafka2hive.ledger.marker import claim_location
from kafka2hive.ledger.owned_ledger import OwnedLedger
from kafka2hive.ledger.ports import Ports
from kafka2hive.ledger.snapshot.change import Repair
from kafka2hive.model.errors import AmbiguousOutcome, ManualActionRequired
from kafka2hive.model.paths.data_file import DataFileName, ledger_tag
from kafka2hive.model.paths.path import same_location
from kafka2hive.model.paths.table_directory import staging_directory
from kafka2hive.model.snapshot import Snapshot
from kafka2hive.storage.port import StorageError, children


def refuse_changed_location(state: Snapshot, location: str) -> None:
    """Raise ManualActionRequired if the table's files are not in `location`, the one in the map.

    A ledger without positions has no files; its first positions record the map's location.
    """
    if state.positions and state.location and not same_location(state.location, location):
        raise ManualActionRequired(
            "ledger.location_changed",
            f"{state.table}: the map says {location}, but the ledger's files are in {state.location}",
            "set the old location in the map; or, for new files at the new one from now on,"
            f" `kafka2hive recover --table {state.table} --accept-location {state.table}` (no file that is visible is moved)."
            " Before that, repair lost files (`recover --refetch PATH` with the old location in the map), and for each"
            " partition in Hive that will get more records copy its files to the new location and ALTER TABLE .."
            " PARTITION (..) SET LOCATION; else its new rows are hidden (hive.misplaced)",
        )


def accept_location(ports: Ports, owned: OwnedLedger, location: str) -> OwnedLedger:
    """Commit a snapshot with `location` for the table's next files; visible files are not moved.

    Before: a final state with another location, whose staging directory the start has cleaned up. After: one more snapshot,
    without files, with this location, and no staged file of this ledger in either staging directory. A crash leaves the old
    location, because the old staging directory is checked before the commit; a second call repeats everything.
    Raises ManualActionRequired (another ledger feeds the new location), AmbiguousOutcome, Fenced, TableError.
    """
    old = owned.state.location
    claim_location(ports, location, owned.state)
    _refuse_staged_files(ports, owned, staging_directory(old))
    owned = publish(ports, owned, Repair(location=location)).owned
    delete_orphans(ports, owned, staging_directory(location))
    return owned


def _refuse_staged_files(ports: Ports, owned: OwnedLedger, staging: str) -> None:
    """Raise AmbiguousOutcome if a staged file could not be deleted, because no start looks in this directory again."""
    tag = ledger_tag(owned.state.ledger_id)
    try:
        names = children(ports.files, staging)
    except StorageError as error:
        raise AmbiguousOutcome("ledger.no_answer", f"listing {staging}: {error}") from error
    staged = [c.path for c in names if (parsed := DataFileName.parse(c.name)) and parsed[0].ledger == tag]
    if staged:
        raise AmbiguousOutcome("ledger.orphans_left", f"{staged[0]} could not be deleted", "recover again")
