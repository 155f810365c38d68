"""A table's location changes only on purpose: the ledger says where its files are staged, and a start cleans up only there."""

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
    """Raises ManualActionRequired when the table's files lie elsewhere than in `location`, which the map names.

    A ledger that never had a position has no files: its first positions record the map's location.
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
    """Record that the table's next files go to `location`; nothing that is visible is moved.

    Before: a final state that names another location, whose staging directory the start has cleaned up. After: one more
    snapshot without files that names this one; no staged file of this ledger in either staging directory. The old one is
    found clean before the snapshot, so a crash in the middle leaves the old location, and a second call does it all again;
    the new one is cleaned up by every start from now on.
    Raises ManualActionRequired (the new location is fed by another ledger), AmbiguousOutcome, Fenced, TableError.
    """
    old = owned.state.location
    claim_location(ports, location, owned.state)
    _refuse_left(ports, owned, staging_directory(old))
    owned = publish(ports, owned, Repair(location=location)).owned
    delete_orphans(ports, owned, staging_directory(location))
    return owned


def _refuse_left(ports: Ports, owned: OwnedLedger, staging: str) -> None:
    """Nobody would ever look there again. Raises AmbiguousOutcome: a delete had no clear answer."""
    tag = ledger_tag(owned.state.ledger_id)
    try:
        found = children(ports.files, staging)
    except StorageError as error:
        raise AmbiguousOutcome("ledger.no_answer", f"listing {staging}: {error}") from error
    left = [c.path for c in found if (parsed := DataFileName.parse(c.name)) and parsed[0].ledger == tag]
    if left:
        raise AmbiguousOutcome("ledger.orphans_left", f"{left[0]} could not be deleted", "recover again")
