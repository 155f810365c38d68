"""Rule R9 during a run: orphans of the owner's generation are deleted, and what may still be needed stays."""

from pathlib import Path

from kafka2hive.ledger.cleanup import archive_snapshots, delete_orphans, delete_stale_snapshots
from kafka2hive.ledger.owned_ledger import OwnedLedger
from kafka2hive.ledger.start import Owners, StartRequest, start
from kafka2hive.model.paths.path import join
from kafka2hive.model.paths.table_directory import staging_directory
from kafka2hive.storage.port import write_file
from tests.harness.cli_ledger import TABLE, Service, pending_service
from tests.harness.owner import new_owner
from tests.harness.values import file_name


def taken_over(folder: Path) -> tuple[Service, OwnedLedger]:
    service = pending_service(folder)
    order = StartRequest(service.wiring.paths(TABLE), lambda: None, Owners(new_owner))
    return service, start(service.wiring.ports, order).owned


def staged(
    service: Service, owned: OwnedLedger, *, generation: int = 0, epoch: int = 0, ledger: str = ""
) -> str:
    """Write a staged file of the owned ledger's generation and next epoch, plus the given differences."""
    name = file_name(
        ledger or owned.state.ledger_id[:8],
        owned.generation.number + generation,
        owned.next_epoch + epoch,
        uuid=service.wiring.ports.new_uuid(),
    ).in_state("pending")
    write_file(service.wiring.ports.files, join(staging_directory(owned.state.location), name), b"rows")
    return name


def names(service: Service, directory: str) -> set[str]:
    return {child.name for child in service.wiring.ports.files.list(directory)}


def test_orphans_of_an_earlier_epoch_of_the_own_generation_are_deleted_and_nothing_else(
    tmp_path: Path,
) -> None:
    service, owned = taken_over(tmp_path)
    orphans = {staged(service, owned, epoch=-1), staged(service, owned, generation=-1, epoch=3)}
    kept = {
        staged(service, owned),
        staged(service, owned, epoch=1),
        staged(service, owned, generation=1, epoch=-1),
        staged(service, owned, epoch=-1, ledger="f" * 8),
    }
    staging = staging_directory(owned.state.location)
    assert delete_orphans(service.wiring.ports, owned, staging) == len(orphans)
    assert names(service, staging) == kept


def test_stale_drafts_and_pendings_go_and_the_newest_snapshots_stay(tmp_path: Path) -> None:
    service, owned = taken_over(tmp_path)
    ports = service.wiring.ports
    for junk in (f"e000003.{'0' * 32}.in-progress", "e000002.pending", "e000001.pending"):
        write_file(ports.files, join(owned.directory, junk), b"")
    assert delete_stale_snapshots(ports, owned) == 3
    assert names(service, owned.directory) == {"e000000.final", "e000001.final", "e000002.final"}
    assert archive_snapshots(ports, owned, 2) == 1
    assert names(service, owned.directory) == {"e000001.final", "e000002.final"}
    assert names(service, owned.paths.archive(owned.generation)) == {"e000000.final"}
