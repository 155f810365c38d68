"""Rule R9 during a run: orphans of the owner's generation are deleted, and what may still be needed stays."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kafka2hive.ledger.cleanup import (
    archive_snapshots,
    delete_orphans,
    delete_stale_snapshots,
    delete_uncommitted,
)
from kafka2hive.ledger.look import look
from kafka2hive.ledger.owned_ledger import OwnedLedger
from kafka2hive.ledger.start import Owners, StartRequest, StartResult, start
from kafka2hive.model.errors import TableError
from kafka2hive.model.paths.path import join
from kafka2hive.model.paths.table_directory import staging_directory
from kafka2hive.storage.port import FileSystem, NoRoom, write_file
from tests.harness.cli_ledger import TABLE, Service, pending_service
from tests.harness.clock import SkippedTime
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


def test_the_files_of_a_failed_epoch_go_and_those_of_units_under_way_stay(tmp_path: Path) -> None:
    service, owned = taken_over(tmp_path)
    location, ports = owned.state.location, service.wiring.ports
    staging = staging_directory(location)
    reported, other_attempt = staged(service, owned), staged(service, owned)
    kept = {
        staged(service, owned, epoch=1),
        staged(service, owned, generation=1),
        staged(service, owned, ledger="f" * 8),
    }
    in_manifests = frozenset({join(staging, reported)})
    assert delete_uncommitted(ports, owned, location, in_manifests, units_since=owned.next_epoch) == 1
    assert names(service, staging) == kept | {other_attempt}
    assert delete_uncommitted(ports, owned, location, in_manifests) == 1
    assert names(service, staging) == kept


def test_an_epoch_keeps_its_files_once_its_commit_was_tried(tmp_path: Path) -> None:
    service, owned = taken_over(tmp_path)
    name = staged(service, owned)
    owned.spend()
    assert delete_uncommitted(service.wiring.ports, owned, owned.state.location, ()) == 0
    assert names(service, staging_directory(owned.state.location)) == {name}


class NoNewNames:
    """A file system whose quota of names is used up: no directory can be made until a file is deleted."""

    def __init__(self, files: FileSystem) -> None:
        self._files = files
        self.is_full = True

    def mkdirs(self, path: str) -> None:
        if self.is_full:
            raise NoRoom(path, "The NameSpace quota (directories and files) is exceeded")
        self._files.mkdirs(path)

    def delete(self, path: str) -> bool:
        self.is_full = False
        return self._files.delete(path)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._files, name)


def restarted_without_room(service: Service) -> StartResult:
    """Start the table while its quota is used up, without waiting between the tries."""
    wiring = service.wiring
    ports = replace(wiring.ports, files=NoNewNames(wiring.ports.files), clock=SkippedTime())
    return start(ports, StartRequest(wiring.paths(TABLE), lambda: None, Owners(new_owner)))


def test_a_start_without_room_deletes_what_its_pending_epoch_does_not_name(tmp_path: Path) -> None:
    service = pending_service(tmp_path)
    view = look(service.wiring.ports.files, service.wiring.paths(TABLE))
    earlier = OwnedLedger(service.wiring.paths(TABLE), view.generation, view.state, pending=True)
    orphans = {staged(service, earlier, epoch=-1), staged(service, earlier)}
    started = restarted_without_room(service)
    assert started.rolled_forward == 2 and started.moves.renamed == 2
    assert not orphans & names(service, staging_directory(view.state.location))
    assert all(service.final(number).exists() for number in range(2))


def test_a_start_without_room_deletes_nothing_of_its_pending_epoch(tmp_path: Path) -> None:
    service = pending_service(tmp_path)
    with pytest.raises(TableError) as refused:
        restarted_without_room(service)
    assert refused.value.code == "storage.blocked" and "NameSpace quota" in refused.value.message
    assert all(service.staged(number).exists() for number in range(2))
