"""A table's location that was changed in the map is a STOP, until somebody says that it is meant."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from kafka2hive.config.load import load_map
from kafka2hive.kafka.port import ClusterView
from kafka2hive.kafka.positions import Logs, PositionsToCommit
from kafka2hive.ledger.epoch import publish
from kafka2hive.ledger.init import init as begin
from kafka2hive.ledger.location import accept_location, read_marker, refuse_changed_location
from kafka2hive.ledger.look import look
from kafka2hive.ledger.start import Owners, StartRequest, start
from kafka2hive.model.errors import AmbiguousOutcome, ManualActionRequired
from kafka2hive.model.offsets import Position
from kafka2hive.model.paths.path import base_name, join
from kafka2hive.model.paths.table_directory import owner_marker, staging_directory
from kafka2hive.model.snapshot import Snapshot
from kafka2hive.service.run.backlogs import change_before_reading
from kafka2hive.service.tables.table_state import MapTable, Table
from kafka2hive.service.wiring import Wiring, wire
from kafka2hive.storage.local import LocalFileSystem
from kafka2hive.storage.port import Unavailable, write_file
from tests.harness.cli_ledger import (
    TABLE,
    Service,
    invoke,
    local,
    moved_wiring,
    pending_service,
    tree,
    write_map,
)
from tests.harness.owner import new_owner
from tests.unit.service.later_epochs import FLIGHTS, epoch, stage, take
from tests.unit.service.owned_table import own


@pytest.fixture
def service(tmp_path: Path) -> Service:
    return pending_service(tmp_path)


def run_checks(wiring: Wiring) -> None:
    """What `run` asks before it takes the table over."""
    wiring.ownership_check(take_over=False).check(wiring.paths(TABLE), wiring.map.tables[0].location)


def state(wiring: Wiring) -> Snapshot:
    return look(wiring.ports.files, wiring.paths(TABLE)).state


def staged_in(location: str) -> list[str]:
    return [path.name for path in local(staging_directory(location)).glob("*.parquet.*")]


def test_a_changed_location_stops_run_and_recover_and_nothing_is_touched(
    service: Service, tmp_path: Path
) -> None:
    old = service.wiring.map.tables[0].location
    wiring = moved_wiring(service)
    before = tree(tmp_path)
    with pytest.raises(ManualActionRequired) as stop:
        run_checks(wiring)
    assert stop.value.code == "ledger.location_changed"
    assert old in stop.value.message and "elsewhere" in stop.value.message
    assert f"--accept-location {TABLE}" in stop.value.remedy
    assert "SET LOCATION" in stop.value.remedy and "--refetch" in stop.value.remedy
    for arguments in (("recover", "--plan"), ("recover",)):
        result = invoke(*arguments, "-c", str(service.map))
        assert result.exit_code == 76, result.output
        assert "ledger.location_changed" in result.stdout
    assert tree(tmp_path) == before


def test_an_accepted_location_is_recorded_and_both_staging_directories_are_clean(
    service: Service, tmp_path: Path
) -> None:
    old = service.wiring.map.tables[0].location
    orphan = stage(service.wiring, take(service.wiring), "2013-01-02")
    wiring = moved_wiring(service)
    new = wiring.map.tables[0].location
    wiring.ports.files.mkdirs(staging_directory(new))  # the table was there before, and left an orphan
    write_file(wiring.ports.files, join(staging_directory(new), base_name(orphan.staged)), b"?")
    assert len(staged_in(old)) == len(staged_in(new)) == 1
    before = tree(tmp_path)
    planned = invoke("recover", "--plan", "--accept-location", TABLE, "-c", str(service.map))
    assert planned.exit_code == 69, planned.output
    assert "Kafka at 127.0.0.1:9 did not answer" in planned.stdout
    assert f"new files go to {new}" in "".join(planned.stdout.splitlines()).replace("  ", " ")
    assert tree(tmp_path) == before
    done = invoke("recover", "--accept-location", TABLE, "--json", "-c", str(service.map))
    assert done.exit_code == 0, done.output
    (table,) = json.loads(done.stdout)["tables"]
    assert table["location"] == {"before": old, "after": new}
    assert state(wiring).location == new
    assert staged_in(old) == [] and staged_in(new) == []
    assert (
        read_marker(wiring.ports.files, new)
        == read_marker(wiring.ports.files, old)
        == state(wiring).ledger_id
    )
    run_checks(wiring)
    assert all(service.final(n).exists() for n in range(2)), "what was visible was moved"
    owned = epoch(wiring, take(wiring), "2013-01-02")
    (file,) = owned.state.files
    assert file.final.startswith(new) and local(file.final).exists()
    again = invoke("recover", "--accept-location", TABLE, "-c", str(service.map))
    assert again.exit_code == 0 and state(wiring).epoch == owned.state.epoch, "there was nothing to accept"


def test_a_location_is_not_accepted_while_the_map_has_compact_and_nothing_is_touched(
    service: Service, tmp_path: Path
) -> None:
    moved_wiring(service)
    text = service.map.read_text()
    more = "    completion: {delay: 1h}\n    compact: {}\nhive: {url: 'hive://127.0.0.1:9'}\n"
    service.map.write_text(text + more)
    before = tree(tmp_path)
    result = invoke("recover", "--accept-location", TABLE, "-c", str(service.map))
    assert result.exit_code == 76 and "ledger.early_partitions" in result.stdout, result.output
    assert tree(tmp_path) == before


def test_a_location_of_another_ledger_is_not_accepted_and_nothing_is_touched(
    service: Service, tmp_path: Path
) -> None:
    wiring = moved_wiring(service)
    new = wiring.map.tables[0].location
    wiring.ports.files.mkdirs(new)
    write_file(wiring.ports.files, owner_marker(new), b'{"ledger":"another"}\n')
    before = tree(tmp_path)
    result = invoke("recover", "--accept-location", TABLE, "-c", str(service.map))
    assert result.exit_code == 76 and "marker.foreign" in result.stdout
    assert tree(tmp_path) == before


def test_a_ledger_that_has_read_nothing_yet_has_no_files_to_guard(tmp_path: Path) -> None:
    wiring = wire(load_map(str(write_map(tmp_path)), {}))
    begin(wiring.ports, wiring.paths(TABLE), "demo", wiring.map.tables[0].location)
    new = (tmp_path / "elsewhere").as_uri()
    order = StartRequest(
        wiring.paths(TABLE), lambda: refuse_changed_location(state(wiring), new), Owners(new_owner), new
    )
    owned = start(wiring.ports, order).owned
    rule = replace(wiring.map.tables[0], location=new)
    table = own(Table(MapTable(rule, wiring.paths(TABLE), ("flights",))), owned)
    change = change_before_reading(
        PositionsToCommit((Position(FLIGHTS, 0, 0),)), {}, Logs(ClusterView("id", {}), {}, {}), table, "now"
    )
    publish(wiring.ports, owned, change)
    assert state(wiring).location == new and read_marker(wiring.ports.files, new) == owned.state.ledger_id


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("hdfs://nn1:8020/w/t", "hdfs://NN1/w/t", True),
        ("hdfs://nn1/w/t", "hdfs://nn1:8020/w/t/", True),
        ("hdfs://nn1/w/t", "hdfs://nn1:9000/w/t", False),
        ("hdfs://nn1/w/t", "hdfs://nameservice/w/t", False),
        ("hdfs://nn1/w/t", "hdfs://nn1/w/T", False),
    ],
)
def test_another_spelling_of_the_same_address_is_no_change(
    service: Service, old: str, new: str, same: bool
) -> None:
    written = replace(state(service.wiring), location=old)
    if same:
        refuse_changed_location(written, new)
        return
    with pytest.raises(ManualActionRequired, match=re.escape(new)):
        refuse_changed_location(written, new)


class NothingGoes(LocalFileSystem):
    """Deletes get no answer."""

    def delete(self, path: str) -> bool:
        raise Unavailable(path, "no answer")


def test_a_staging_directory_that_cannot_be_cleaned_keeps_its_location(service: Service) -> None:
    wiring = service.wiring
    stuck = replace(wiring, ports=replace(wiring.ports, files=NothingGoes()))
    old = wiring.map.tables[0].location
    stage(wiring, take(wiring), "2013-01-02")
    owned = take(stuck)
    new = moved_wiring(service).map.tables[0].location
    with pytest.raises(AmbiguousOutcome, match="could not be deleted"):
        accept_location(stuck.ports, owned, new)
    assert state(wiring).location == old and len(staged_in(old)) == 1
    assert accept_location(wiring.ports, take(wiring), new).state.location == new
    assert staged_in(old) == []


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("--accept-location", "air.flihgts"), 78),
        (("--accept-location", TABLE, "--table", "air.other"), 78),
    ],
)
def test_a_wrong_table_is_refused(service: Service, arguments: tuple[str, ...], code: int) -> None:
    moved_wiring(service)
    result = invoke("recover", *arguments, "-c", str(service.map))
    assert result.exit_code == code, result.output
