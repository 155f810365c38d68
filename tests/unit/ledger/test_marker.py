"""The owner marker: a start that did not check, or checked too early, still refuses a table that another ledger feeds."""

from pathlib import Path

import pytest

from kafka2hive.ledger.location import read_marker_file, refuse_vanished_ledger
from kafka2hive.ledger.start import Owners, StartRequest, start
from kafka2hive.model.errors import ManualActionRequired
from kafka2hive.model.paths.table_directory import owner_marker
from tests.harness.cli_ledger import TABLE, local, pending_service
from tests.harness.owner import new_owner

FOREIGN = b'{"ledger":"ffffffffffffffffffffffffffffffff"}'


def test_a_start_that_checked_nothing_refuses_the_marker_of_another_ledger(tmp_path: Path) -> None:
    service = pending_service(tmp_path)
    location = service.wiring.map.tables[0].location
    local(owner_marker(location)).write_bytes(FOREIGN)
    with pytest.raises(ManualActionRequired) as stopped:
        start(
            service.wiring.ports, StartRequest(service.wiring.paths(TABLE), lambda: None, Owners(new_owner))
        )
    assert stopped.value.code == "marker.foreign"
    assert not service.final(0).exists() and service.staged(0).exists()


def test_the_look_before_a_start_refuses_it_too_and_leaves_the_owner_in_place(tmp_path: Path) -> None:
    service = pending_service(tmp_path)
    wiring, paths = service.wiring, service.wiring.paths(TABLE)
    local(owner_marker(wiring.map.tables[0].location)).write_bytes(FOREIGN)
    before = wiring.ports.files.list(paths.table_directory)
    ownership = wiring.ownership_check(take_over=True)
    with pytest.raises(ManualActionRequired) as stopped:
        ownership.check(paths, None)
    assert stopped.value.code == "marker.foreign"
    assert wiring.ports.files.list(paths.table_directory) == before


def test_a_ledger_that_is_gone_while_its_marker_stays_is_not_begun_anew(tmp_path: Path) -> None:
    service = pending_service(tmp_path)
    paths, location = service.wiring.paths(TABLE), service.wiring.map.tables[0].location
    local(paths.table_directory).rename(tmp_path / "away")
    with pytest.raises(ManualActionRequired) as stopped:
        refuse_vanished_ledger(service.wiring.ports.files, location, paths.table_directory)
    assert stopped.value.code == "ledger.vanished"
    owner = read_marker_file(service.wiring.ports.files, location)
    assert owner is not None and f"belongs to ledger {owner.ledger} of service demo" in stopped.value.message
    assert "a service with another ledger root feeds this table" in stopped.value.message
    assert "moved or deleted" not in str(stopped.value)
