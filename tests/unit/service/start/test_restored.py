"""An older ledger that somebody put back is a STOP: by the names of the table's files, or by the consumer group."""

import shutil
from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path

import pytest

from kafka2hive.kafka.port import ClusterView, TopicView, any_topic
from kafka2hive.ledger.epoch import publish
from kafka2hive.ledger.look import look
from kafka2hive.ledger.repair.older_ledger import refuse_older_ledger
from kafka2hive.ledger.snapshot.change import Completeness, FirstPositions, RegistrationUpdate
from kafka2hive.ledger.snapshot.codec import encode
from kafka2hive.model.errors import ManualActionRequired, ServiceUnavailable
from kafka2hive.model.offsets import UNKNOWN_ID, OffsetRange, Position, TopicPartition
from kafka2hive.model.paths.path import join
from kafka2hive.model.paths.table_directory import ledger_tag, staging_directory
from kafka2hive.model.snapshot import REBUILT, AcceptedGap
from kafka2hive.service.start.lost_ledger import LostLedgerCheck
from kafka2hive.service.tables.table_state import MapTable
from kafka2hive.service.topics.routes import routed_tables
from kafka2hive.service.wiring import Wiring
from kafka2hive.storage.concurrency import Threads
from kafka2hive.storage.local import LocalFileSystem
from kafka2hive.storage.port import Denied, FileStatus, write_file
from tests.harness.cli_ledger import TABLE, Service, invoke, local, pending_service, tree
from tests.harness.fake_kafka import FakeKafka
from tests.harness.values import file_name
from tests.unit.service.later_epochs import FLIGHTS, epoch, stage, take


@pytest.fixture
def service(tmp_path: Path) -> Service:
    return pending_service(tmp_path)


class Backup:
    """The table's ledger directory as it was."""

    def __init__(self, wiring: Wiring, folder: Path) -> None:
        self._there = local(wiring.paths(TABLE).table_directory)
        self._copy = folder / "backup"
        shutil.copytree(self._there, self._copy)

    def put_back(self) -> None:
        shutil.rmtree(self._there)
        shutil.copytree(self._copy, self._there)


def judged(wiring: Wiring) -> None:
    """What a start asks of the files before it takes the table over."""
    refuse_older_ledger(
        wiring.ports, look(wiring.ports.files, wiring.paths(TABLE)), wiring.map.tables[0].location
    )


def test_a_ledger_at_work_is_the_newest_one_at_every_step(service: Service) -> None:
    wiring = service.wiring
    judged(wiring)
    owned = take(wiring)
    for day in ("2013-01-02", "2013-01-10", "2013-01-09"):
        judged(wiring)
        owned = epoch(wiring, owned, day)
        judged(wiring)
        stage(wiring, owned, day)  # of an epoch that is never committed
        judged(wiring)
    owned = take(wiring)
    judged(wiring)


@pytest.mark.parametrize(
    "days", [["2013-01-01"], ["2013-01-02"], ["2013-02-01"], ["2013-01-02", "2012-12-31"]]
)
@pytest.mark.parametrize("restarts", [0, 1])
def test_an_older_ledger_stops_and_nothing_is_touched(
    service: Service, tmp_path: Path, days: list[str], restarts: int
) -> None:
    wiring = service.wiring
    owned = take(wiring)
    backup = Backup(wiring, tmp_path)
    for _ in range(restarts):
        owned = take(wiring)
    for day in days:
        owned = epoch(wiring, owned, day)
    backup.put_back()
    before = tree(tmp_path)
    for _ in range(3):
        result = invoke("recover", "-c", str(service.map))
        assert result.exit_code == 76, result.output
        assert "ledger.restored" in result.stdout and "--rebuild-ledger" in result.stdout
        assert "epoch 2, but" in result.stdout, "where the ledger stands"
        assert f"epoch {2 + len(days) if days[-1] > '2013' else 3}:" in " ".join(result.stdout.split())
    assert tree(tmp_path) == before


def test_the_hive_partitions_of_the_newest_snapshot_are_looked_at_too(
    service: Service, tmp_path: Path
) -> None:
    wiring = service.wiring
    owned = take(wiring)
    wiring.ports.files.mkdirs(join(owned.state.location, "dt=2099-12-31"))
    backup = Backup(wiring, tmp_path)
    epoch(wiring, owned, "2013-01-01")
    backup.put_back()
    with pytest.raises(ManualActionRequired, match="dt=2013-01-01/"):
        judged(wiring)


def test_staged_files_of_a_later_generation_stop_too(service: Service, tmp_path: Path) -> None:
    wiring = service.wiring
    take(wiring)
    backup = Backup(wiring, tmp_path)
    stage(wiring, take(wiring), "2013-01-02")
    judged(wiring)
    backup.put_back()
    with pytest.raises(ManualActionRequired, match=r"generation 2, epoch 2, but .* generation 3, epoch 3"):
        judged(wiring)


def test_a_certificate_of_an_epoch_to_come_stops_too(service: Service, tmp_path: Path) -> None:
    wiring = service.wiring
    owned = epoch(wiring, take(wiring), "2013-01-02")
    backup = Backup(wiring, tmp_path)
    change = RegistrationUpdate(completeness=Completeness())
    owned = epoch(wiring, publish(wiring.ports, owned, change).owned, "2013-01-02")
    (day,) = (each.partition for each in owned.state.open)
    for file in owned.state.files:
        local(file.final).unlink()  # the user's retention
    publish(
        wiring.ports,
        owned,
        RegistrationUpdate(
            completeness=Completeness(through="2013-01-03T02:00:00Z", complete=frozenset({day}))
        ),
    )
    judged(wiring)
    backup.put_back()
    with pytest.raises(
        ManualActionRequired, match=r"_kafka2hive_complete-.*epoch 6: somebody restored an older ledger"
    ):
        judged(wiring)


def test_files_of_another_ledger_prove_nothing(service: Service) -> None:
    wiring = service.wiring
    owned = take(wiring)
    name = file_name("0" * 8, 99, 99, slug="dt=2013-01-01", uuid="0" * 32)
    assert name.ledger != ledger_tag(owned.state.ledger_id)
    write_file(
        wiring.ports.files, join(staging_directory(owned.state.location), name.in_state("pending")), b""
    )
    judged(wiring)


def test_digits_of_other_scripts_in_directory_names_are_compared_as_text(
    service: Service, tmp_path: Path
) -> None:
    wiring = service.wiring
    owned = take(wiring)
    for name in ("dt=7000١", "dt=7000-1", "dt=7000"):
        wiring.ports.files.mkdirs(join(owned.state.location, name))
    judged(wiring)


def test_a_directory_that_is_no_hive_partition_does_not_hide_the_newest_one(
    service: Service, tmp_path: Path
) -> None:
    wiring = service.wiring
    owned = take(wiring)
    wiring.ports.files.mkdirs(join(owned.state.location, "zz_backup"))
    backup = Backup(wiring, tmp_path)
    epoch(wiring, owned, "2013-02-01")
    backup.put_back()
    with pytest.raises(ManualActionRequired, match="dt=2013-02-01/"):
        judged(wiring)


class Closed(LocalFileSystem):
    """A directory of somebody else's, whose children nobody else may list."""

    def list(self, path: str) -> tuple[FileStatus, ...]:
        if path.endswith("dt=foreign"):
            raise Denied(path, "permission denied")
        return super().list(path)


def test_a_directory_that_may_not_be_listed_is_skipped_with_a_warning(
    service: Service, caplog: pytest.LogCaptureFixture
) -> None:
    wiring = service.wiring
    owned = take(wiring)
    wiring.ports.files.mkdirs(join(owned.state.location, "dt=foreign"))
    judged(replace(wiring, ports=replace(wiring.ports, files=Closed())))
    assert "dt=foreign" in caplog.text


class Group(FakeKafka):
    """A Kafka whose consumer group has read flights, partition 0, up to `offset`."""

    def __init__(self, offset: int) -> None:
        self.offset = offset
        self.asked = 0
        self.listed = 0

    def cluster(self, is_wanted: Callable[[str], bool] = any_topic) -> ClusterView:
        self.listed += 1
        assert not is_wanted("flights"), "ids do not count here"
        return ClusterView("cluster", {"flights": TopicView("flights", UNKNOWN_ID, (0, 1))})

    def group_offsets(self, group: str, wanted: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        self.asked += 1
        assert group == "g" and FLIGHTS in wanted
        return {FLIGHTS: self.offset}


def tables(wiring: Wiring) -> list[MapTable]:
    return routed_tables(wiring, {"flights"})


def ask(wiring: Wiring, group: Group) -> None:
    found = tables(wiring)
    witness = LostLedgerCheck(group, "g", wiring)
    for table in found:
        witness.refuse_older_ledger(table, found)
    assert group.asked == 1, "the group is asked once a run"


def test_a_group_behind_the_ledger_by_one_epoch_or_level_with_it_is_right(
    service: Service, caplog: pytest.LogCaptureFixture
) -> None:
    for offset in (5, 10, 15):
        ask(service.wiring, Group(offset))
        assert "set it back" not in caplog.text


def test_a_group_that_was_set_back_is_told_what_the_run_does(
    service: Service, caplog: pytest.LogCaptureFixture
) -> None:
    ask(service.wiring, Group(0))
    assert "group g is at flights-0@0, behind the ledger: somebody set it back" in caplog.text
    assert "goes on at the ledger's position 15" in caplog.text and "kafka2hive reset --table" in caplog.text


def test_a_group_behind_because_another_table_of_the_topic_is_behind_is_right(
    service: Service, caplog: pytest.LogCaptureFixture
) -> None:
    two, _ = with_copy(service.wiring, end=0)
    ask(two, Group(0))
    assert "set it back" not in caplog.text


def test_a_group_beyond_the_ledger_stops_with_both_positions(service: Service) -> None:
    with pytest.raises(ManualActionRequired, match="flights-0@15, but group g is at 16") as stop:
        ask(service.wiring, Group(16))
    assert stop.value.code == "ledger.restored"
    assert "somebody set the group's offsets, or restored an older ledger" in stop.value.message
    assert "--reset-offsets --to-offset 15" in stop.value.remedy and "reset --table" in stop.value.remedy


def with_copy(wiring: Wiring, end: int = 20, owner: str = "demo") -> tuple[Wiring, Path]:
    """The service with a second table of the same topic, whose ledger stands at `end`; and its snapshot's path."""
    ledgers = local(wiring.paths(TABLE).table_directory)
    rule = wiring.map.tables[0]
    two = replace(wiring, map=replace(wiring.map, tables=(rule, replace(rule, table="air.copy"))))
    shutil.copytree(ledgers, ledgers.with_name("air.copy"))
    for snapshot in ledgers.with_name("air.copy").rglob("e*.*"):
        snapshot.unlink()
    owned = take(wiring)
    (directory,) = ledgers.with_name("air.copy").iterdir()
    state = replace(owned.state, table="air.copy", service=owner, positions=(Position(FLIGHTS, end, end),))
    path = directory / f"e{state.epoch:06d}.final"
    path.write_bytes(encode(state))
    return two, path


def test_another_table_of_the_service_explains_the_group(service: Service) -> None:
    two, _ = with_copy(service.wiring)
    ask(two, Group(20))
    with pytest.raises(ManualActionRequired, match="is at 21"):
        ask(two, Group(21))


def test_a_ledger_of_another_service_explains_the_group_that_both_share(service: Service) -> None:
    with_copy(service.wiring, owner="other")
    ask(service.wiring, Group(20))
    lost_positions(service.wiring, Group(20), "air.lost")
    with pytest.raises(ManualActionRequired, match="is at 21"):
        ask(service.wiring, Group(21))
    with pytest.raises(ManualActionRequired, match="up to 21"):
        lost_positions(service.wiring, Group(21), "air.lost")


def lost_positions(wiring: Wiring, group: Group, name: str) -> None:
    """R1's question, for a table of the same topic that has no ledger."""
    rule = replace(wiring.map.tables[0], table=name)
    more = replace(wiring, map=replace(wiring.map, tables=(*wiring.map.tables, rule)))
    found = tables(more)
    (table,) = (t for t in found if t.name == name)
    LostLedgerCheck(group, "g", more).refuse_lost_positions(table, found)


def test_a_damaged_ledger_of_another_table_of_the_topic_is_no_verdict_on_a_healthy_one(
    service: Service, caplog: pytest.LogCaptureFixture
) -> None:
    two, snapshot = with_copy(service.wiring)
    snapshot.write_bytes(b"damaged")
    found = tables(two)
    witness = LostLedgerCheck(Group(20), "g", two)
    (healthy,) = (t for t in found if t.name == TABLE)
    witness.refuse_older_ledger(healthy, found)
    assert "air.copy is unreadable" in caplog.text


def test_a_ledger_outside_the_map_that_cannot_be_read_explains_nothing_and_is_named(service: Service) -> None:
    _, snapshot = with_copy(service.wiring)
    snapshot.write_bytes(b"damaged")
    with pytest.raises(ManualActionRequired, match=r"air\.copy is unreadable") as stop:
        ask(service.wiring, Group(20))
    assert stop.value.code == "ledger.restored"


def test_a_ledger_that_may_not_be_read_is_no_reason_to_ask_for_ever(service: Service) -> None:
    with_copy(service.wiring)

    class NotMine(LocalFileSystem):
        def list(self, path: str) -> tuple[FileStatus, ...]:
            if path.endswith("/air.copy"):
                raise Denied(path, "permission denied")
            return super().list(path)

    wiring = replace(service.wiring, ports=replace(service.wiring.ports, files=NotMine()))
    with pytest.raises(ManualActionRequired, match=r"air\.copy is unreadable"):
        ask(wiring, Group(20))


def test_no_ledger_is_begun_where_one_that_cannot_be_read_may_explain_the_group(service: Service) -> None:
    two, snapshot = with_copy(service.wiring)
    snapshot.write_bytes(b"damaged")
    with pytest.raises(ManualActionRequired, match=r"air\.copy is unreadable") as stop:
        lost_positions(two, Group(20), "air.lost")
    assert stop.value.code == "ledger.lost_positions"


class Silent(Group):
    """The group's coordinator gives no answer."""

    def group_offsets(self, group: str, wanted: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        self.asked += 1
        raise ServiceUnavailable("kafka.unavailable", "no answer")


def test_a_silent_group_is_asked_once_a_round_and_ledgers_that_are_there_go_on(
    service: Service, caplog: pytest.LogCaptureFixture
) -> None:
    two, _ = with_copy(service.wiring)
    group = Silent(99)
    found = tables(two)
    witness = LostLedgerCheck(group, "g", two)
    for asked in (1, 2):
        for table in found:
            witness.refuse_older_ledger(table, found)
        assert group.asked == asked and caplog.text.count("is not compared with the ledgers") == asked
        witness.new_round()


def test_no_ledger_is_begun_while_the_group_is_silent(service: Service) -> None:
    with pytest.raises(ServiceUnavailable):
        lost_positions(service.wiring, Silent(0), "air.lost")


def test_the_topics_are_listed_once_for_all_new_tables_of_a_round(service: Service) -> None:
    rule = service.wiring.map.tables[0]
    new = tuple(replace(rule, table=f"air.new{number}") for number in range(200))
    wiring = replace(service.wiring, map=replace(service.wiring.map, tables=new))
    group, found = Group(0), tables(wiring)
    witness = LostLedgerCheck(group, "g", wiring)
    for listed in (1, 2):
        Threads(8).map(lambda table: witness.refuse_lost_positions(table, found), found)
        assert (group.listed, group.asked) == (listed, listed * 200)
        witness.new_round()


def test_after_a_rebuild_the_way_that_helps_comes_first(service: Service) -> None:
    take(service.wiring)
    (path,) = local(service.wiring.paths(TABLE).table_directory).rglob("e000002.final")
    state = look(service.wiring.ports.files, service.wiring.paths(TABLE)).state
    path.write_bytes(encode(replace(state, owner=REBUILT)))
    with pytest.raises(ManualActionRequired) as stop:
        ask(service.wiring, Group(16))
    assert stop.value.remedy.startswith("if somebody set the group's offsets, or no record from 15 on")


def test_of_a_topic_partition_that_once_went_back_the_group_proves_nothing(service: Service) -> None:
    wiring = service.wiring
    owned = take(wiring)
    gap = AcceptedGap(
        range=OffsetRange(FLIGHTS, 8, 8),
        reason="log cut off",
        accepted_at=wiring.ports.clock.now(),
        epoch=owned.next_epoch,
    )
    change = FirstPositions(positions=(Position(FLIGHTS, 8, 8),), gaps=(gap,))
    publish(wiring.ports, owned, change)
    ask(wiring, Group(15))


def test_a_map_without_group_offsets_has_no_witness(service: Service) -> None:
    (table,) = tables(service.wiring)
    LostLedgerCheck(Group(99), None, service.wiring).refuse_older_ledger(table, [table])
