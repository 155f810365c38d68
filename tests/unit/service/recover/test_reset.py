"""`kafka2hive reset`: one guarded command, that a crash at any step leaves for a second call to complete."""

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from kafka2hive.config.load import load_map
from kafka2hive.ledger.init import init
from kafka2hive.ledger.location import read_marker, refuse_vanished_ledger
from kafka2hive.ledger.look import NoLedger, look
from kafka2hive.ledger.ports import RetryPolicy
from kafka2hive.ledger.repair.reset import put_files_away
from kafka2hive.ledger.snapshot.codec import encode
from kafka2hive.model.errors import ConfigError, Fenced, ManualActionRequired, ServiceUnavailable
from kafka2hive.model.files import HivePartition
from kafka2hive.model.offsets import TopicPartition
from kafka2hive.model.paths.path import base_name
from kafka2hive.model.paths.table_directory import early_place
from kafka2hive.model.snapshot import EarlyPartition
from kafka2hive.service.recover.consumer_group import ConsumerGroup
from kafka2hive.service.recover.reset import ResetPlan, ResetRequest, ResetResult, ResetStage, reset
from kafka2hive.service.wiring import Wiring
from kafka2hive.storage.local import LocalFileSystem, LocalWriter
from kafka2hive.storage.port import OutcomeUnknown
from tests.harness.beating import beating_owner
from tests.harness.cli_ledger import TABLE, Service, invoke, local, pending_service, tree
from tests.harness.fake_kafka import FakeKafka
from tests.unit.cli.test_cli_owner import without_beats
from tests.unit.service.later_epochs import FLIGHTS, take


@dataclass
class Kafka(FakeKafka):
    """The consumer group's offsets; `broken`: it does not take new ones."""

    offsets: dict[TopicPartition, int] = field(default_factory=lambda: {FLIGHTS: 15})
    broken: bool = False

    def group_offsets(self, group: str, wanted: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        return {tp: offset for tp, offset in self.offsets.items() if tp in wanted}

    def commit_group_offsets(self, group: str, offsets: Mapping[TopicPartition, int]) -> bool:
        if not self.broken:
            self.offsets |= offsets
        return not self.broken


def go(_plan: ResetPlan) -> None:
    """It is meant."""


def start_over(
    wiring: Wiring, kafka: Kafka, move: bool, confirm: Callable[[ResetPlan], None] = go, **options: Any
) -> ResetResult:
    group = ConsumerGroup(wiring, kafka)
    return reset(wiring, group, ResetRequest(TABLE, move, **options), confirm)


@pytest.fixture
def service(tmp_path: Path) -> Service:
    """Epoch 2 is committed and not visible; a foreign file lies beside the Hive partitions."""
    service = pending_service(tmp_path)
    location = local(service.wiring.map.tables[0].location)
    (location / "_SUCCESS").touch()
    return service


def visible(wiring: Wiring) -> list[str]:
    location = local(wiring.map.tables[0].location)
    return sorted(
        str(p.relative_to(location))
        for p in location.rglob("*.final")
        if not any(part[0] in "_." for part in p.relative_to(location).parts)
    )


def assert_started_over(wiring: Wiring, kafka: Kafka, old: str, finals: list[str], move: bool) -> None:
    """The old ledger is whole in the archive, nothing stands in the way of a new one, and no file is lost."""
    paths, location = wiring.paths(TABLE), wiring.map.tables[0].location
    with pytest.raises(NoLedger):
        look(wiring.ports.files, paths)
    refuse_vanished_ledger(wiring.ports.files, location, paths.table_directory)
    homes = [home for home in local(paths.resets).iterdir() if (home / "table").exists()]
    (home,) = homes
    (generation,) = [path for path in home.iterdir() if path.name.startswith("g0")]
    assert (generation / "e000002.final").exists() or (generation / "e000002.pending").exists()
    aside = local(location) / "_kafka2hive_reset" / home.name
    assert json.loads((aside / "_kafka2hive_owner").read_text())["ledger"] == old
    assert not local(paths.archives).exists()
    assert not (local(location) / "_tmp").exists()
    assert visible(wiring) == ([] if move else finals)
    if move:
        assert sorted(str(p.relative_to(aside)) for p in aside.rglob("dt=*/*.final")) == finals
    assert (local(location) / "_SUCCESS").exists()
    assert kafka.offsets == {FLIGHTS: 0}
    init(wiring.ports, paths, wiring.map.service, location)
    owned = take(wiring)
    assert owned.state.ledger_id != old and owned.state.positions == ()
    assert read_marker(wiring.ports.files, location) == owned.state.ledger_id


@pytest.mark.parametrize("move", [False, True])
def test_a_table_is_started_over_in_one_command(service: Service, move: bool) -> None:
    wiring, kafka = service.wiring, Kafka()
    old = look(wiring.ports.files, wiring.paths(TABLE)).state.ledger_id
    result = start_over(wiring, kafka, move)
    assert result.done and result.plan.stage is ResetStage.NEW and result.left_pending is None
    finals = [f"dt=2013-01-01/{base_name(file.final)}" for file in service.files]
    assert_started_over(wiring, kafka, old, finals, move)
    with_ledger = look(wiring.ports.files, wiring.paths(TABLE)).state.ledger_id
    assert with_ledger != old


def test_a_plan_touches_nothing(service: Service, tmp_path: Path) -> None:
    before = tree(tmp_path)
    kafka = Kafka()
    result = start_over(service.wiring, kafka, move=True, plan_only=True)
    assert not result.done and result.plan.record is not None
    assert result.plan.record.positions == (("flights", 0, 15),)
    assert [(m.before, m.after) for m in result.plan.group_moves] == [(15, 0)]
    assert tree(tmp_path) == before and kafka.offsets == {FLIGHTS: 15}


def test_what_is_not_confirmed_touches_nothing(service: Service, tmp_path: Path) -> None:
    class No(Exception):
        pass

    def refuse(_plan: ResetPlan) -> None:
        raise No

    before = tree(tmp_path)
    with pytest.raises(No):
        start_over(service.wiring, Kafka(), move=True, confirm=refuse)
    assert tree(tmp_path) == before


class Killed(BaseException):
    """kill -9."""


class Dying(LocalFileSystem):
    """The process is killed at its `last` change of the file system: before it, or after it was carried out."""

    def __init__(self, last: int, after: bool) -> None:
        super().__init__()
        self.left = last
        self._after = after

    def _step(self, change: Callable[[], Any]) -> Any:
        self.left -= 1
        if self.left < 0 or (self.left == 0 and not self._after):
            raise Killed
        result = change()
        if self.left == 0:
            raise Killed
        return result

    def create(self, path: str) -> LocalWriter:
        writer: LocalWriter = self._step(lambda: super(Dying, self).create(path))
        return writer

    def rename(self, source: str, target: str) -> None:
        self._step(lambda: super(Dying, self).rename(source, target))

    def delete(self, path: str) -> bool:
        return bool(self._step(lambda: super(Dying, self).delete(path)))

    def mkdirs(self, path: str) -> None:
        self._step(lambda: super(Dying, self).mkdirs(path))


class OneByOne:
    """The Concurrency port: a kill ends all."""

    def map(self, function: Callable[[Any], Any], items: Iterable[Any]) -> list[Any]:
        return [function(item) for item in items]


def steps(folder: Path) -> int:
    """How many changes of the file system a reset makes at most, here."""
    service = with_letters_and_archive(folder)
    files = Dying(10_000, after=True)
    start_over(dying(service, files), Kafka(), move=True)
    return 10_000 - files.left


def with_letters_and_archive(folder: Path) -> Service:
    """A table with everything that a reset puts away: an archive, dead letters, an orphan, a pending epoch's files."""
    folder.mkdir(exist_ok=True)
    service = pending_service(folder)
    wiring = service.wiring
    archived = local(wiring.paths(TABLE).archives) / "init" / "e000000.final"
    archived.parent.mkdir(parents=True)
    archived.write_bytes(b"an archived snapshot")
    letters = local(wiring.map.dead_letters.location) / f"source_table={TABLE}" / "dt=2013-01-01"
    letters.mkdir(parents=True)
    (letters / "letter.final").write_bytes(b"a dead letter")
    location = local(wiring.map.tables[0].location)
    (location / "_SUCCESS").touch()
    return service


def dying(service: Service, files: LocalFileSystem) -> Wiring:
    wiring = service.wiring
    ports = replace(wiring.ports, files=files, concurrency=OneByOne())
    return replace(wiring, ports=ports, owner_names=set())


@pytest.mark.parametrize("move", [False, True])
@pytest.mark.parametrize("after", [False, True])
def test_a_kill_at_any_step_leaves_the_old_ledger_or_a_stop_and_a_second_call_completes(
    tmp_path: Path, move: bool, after: bool
) -> None:
    total = steps(tmp_path / "count")
    assert total > 12
    stopped = 0
    for step in range(1, total + 1):
        service = with_letters_and_archive(tmp_path / f"at-{step}")
        wiring, kafka = service.wiring, Kafka()
        old = look(wiring.ports.files, wiring.paths(TABLE)).state.ledger_id
        files = Dying(step, after)
        try:
            start_over(dying(service, files), kafka, move)
        except Killed:
            stopped += assert_guarded(wiring, old)
        except NoLedger:
            raise AssertionError(f"step {step}") from None
        else:
            assert files.left > 0
        if local(wiring.paths(TABLE).table_directory).exists():
            result = start_over(wiring, kafka, move)
            assert result.done
        finals = [f"dt=2013-01-01/{base_name(file.final)}" for file in service.files]
        assert_started_over(wiring, kafka, old, finals, move)
        letters = local(wiring.map.dead_letters.location) / f"source_table={TABLE}"
        assert letters.exists() is not move
    assert stopped > 3, "no kill came between the fence and the end"


def assert_guarded(wiring: Wiring, old: str) -> bool:
    """A start finds the old ledger, or refuses, or finds all done. Whether it refuses."""
    try:
        assert look(wiring.ports.files, wiring.paths(TABLE)).state.ledger_id == old
    except NoLedger:
        assert read_marker(wiring.ports.files, wiring.map.tables[0].location) is None
    except ManualActionRequired as stop:
        assert stop.code == "ledger.generations" and "kafka2hive reset" in stop.remedy
        return True
    return False


def test_a_group_that_is_not_set_back_keeps_the_table_stopped_until_a_second_call(service: Service) -> None:
    wiring, kafka = service.wiring, Kafka(broken=True)
    old = look(wiring.ports.files, wiring.paths(TABLE)).state.ledger_id
    with pytest.raises(ServiceUnavailable, match="not set back"):
        start_over(wiring, kafka, move=True)
    assert assert_guarded(wiring, old)
    with pytest.raises(ConfigError, match="--move-data"):
        start_over(wiring, kafka, move=False)
    kafka.broken = False
    result = start_over(wiring, kafka, move=True)
    assert result.plan.stage is ResetStage.UNFINISHED
    assert_started_over(
        wiring, kafka, old, [f"dt=2013-01-01/{base_name(f.final)}" for f in service.files], move=True
    )


def test_a_ledger_that_was_put_back_meanwhile_is_left_alone(service: Service, tmp_path: Path) -> None:
    wiring = service.wiring
    with pytest.raises(ServiceUnavailable):
        start_over(wiring, Kafka(broken=True), move=True)
    (generation,) = local(wiring.paths(TABLE).resets).glob("*/g0*")
    (local(wiring.paths(TABLE).table_directory) / generation.name).mkdir()
    local(service.files[0].hive_partition.location).mkdir()  # its data
    before = tree(tmp_path)
    with pytest.raises(ManualActionRequired, match=r"reset of air\.flights has put the ledger away") as stop:
        start_over(wiring, Kafka(), move=True)
    assert stop.value.code == "reset.conflict" and tree(tmp_path) == before


def test_a_table_that_is_stopped_by_a_lost_file_can_be_started_over(service: Service) -> None:
    """The last one: files are promoted side by side, and what has begun before the first error is finished."""
    wiring, kafka = service.wiring, Kafka()
    *there, lost = range(len(service.files))
    service.staged(lost).unlink()
    old = look(wiring.ports.files, wiring.paths(TABLE)).state.ledger_id
    result = start_over(wiring, kafka, move=True)
    assert result.left_pending is not None and result.left_pending.code == "ledger.missing"
    moved = [f"dt=2013-01-01/{base_name(service.files[n].final)}" for n in there]
    assert_started_over(wiring, kafka, old, moved, move=True)


def test_what_a_zombie_makes_again_is_joined_to_what_was_moved(service: Service) -> None:
    wiring, kafka = service.wiring, Kafka(broken=True)
    old = look(wiring.ports.files, wiring.paths(TABLE)).state.ledger_id
    with pytest.raises(ServiceUnavailable):
        start_over(wiring, kafka, move=True)
    again = local(service.files[0].hive_partition.location)
    again.mkdir()
    (again / "late.final").touch()
    kafka.broken = False
    assert start_over(wiring, kafka, move=True).done
    finals = sorted(
        ["dt=2013-01-01/late.final", *(f"dt=2013-01-01/{base_name(f.final)}" for f in service.files)]
    )
    assert_started_over(wiring, kafka, old, finals, move=True)


def test_other_tables_of_the_service_keep_their_share_of_the_group(service: Service) -> None:
    wiring, kafka = service.wiring, Kafka({FLIGHTS: 15})
    rule = wiring.map.tables[0]
    owned = take(wiring)
    other = local(wiring.paths("air.copy").table_directory) / owned.generation.name
    other.mkdir(parents=True)
    (other / "e000002.final").write_bytes(encode(replace(owned.state, table="air.copy")))
    two = replace(wiring, map=replace(wiring.map, tables=(rule, replace(rule, table="air.copy"))))
    assert start_over(two, kafka, move=False).plan.group_moves == ()
    assert kafka.offsets == {FLIGHTS: 15}


def test_a_call_that_wakes_after_another_one_has_ended_the_reset_moves_nothing(service: Service) -> None:
    wiring = service.wiring
    result = start_over(wiring, Kafka(), move=True)
    assert result.plan.record is not None
    new = local(service.files[0].hive_partition.location) / "new.final"
    new.parent.mkdir()
    new.touch()
    with pytest.raises(Fenced, match="another call has ended the reset"):
        put_files_away(wiring.ports, wiring.paths(TABLE), result.plan.record)
    assert new.exists()


class Unclear(LocalFileSystem):
    """The answers to the first renames of every source are lost; they were carried out, or not."""

    def __init__(self, done: bool) -> None:
        super().__init__()
        self._done = done
        self._asked: set[str] = set()

    def rename(self, source: str, target: str) -> None:
        if source in self._asked:
            super().rename(source, target)
            return
        self._asked.add(source)
        if self._done:
            super().rename(source, target)
        raise OutcomeUnknown(source, "no answer")


@pytest.mark.parametrize("done", [False, True])
def test_lost_answers_are_looked_at(service: Service, done: bool) -> None:
    wiring, kafka = service.wiring, Kafka()
    old = look(wiring.ports.files, wiring.paths(TABLE)).state.ledger_id
    ports = replace(wiring.ports, files=Unclear(done), retry_policy=RetryPolicy(first=0.0))
    assert start_over(replace(wiring, ports=ports), kafka, move=True).done
    finals = [f"dt=2013-01-01/{base_name(f.final)}" for f in service.files]
    assert_started_over(wiring, kafka, old, finals, move=True)


def test_a_later_reset_puts_the_next_ledger_beside_the_first(service: Service) -> None:
    wiring, kafka = service.wiring, Kafka()
    for _ in range(2):
        assert start_over(wiring, kafka, move=True).done
        init(wiring.ports, wiring.paths(TABLE), wiring.map.service, wiring.map.tables[0].location)
        take(wiring)
    assert len(list(local(wiring.paths(TABLE).resets).iterdir())) == 2


def test_the_command_asks_for_the_name_and_says_what_becomes_of_the_rows(
    service: Service, tmp_path: Path
) -> None:
    service.map.write_text(service.map.read_text().replace("kafka: {", "kafka: {commit_group: false, "))
    load_map(str(service.map), {})
    base = ("reset", "--table", TABLE, "-c", str(service.map))
    before = tree(tmp_path)
    for wrong in (
        (),
        ("--keep-data", "--move-data"),
        ("--keep-data",),
        ("--keep-data", "--yes", "air.flight"),
    ):
        assert invoke(*base, *wrong).exit_code == 2
    assert (
        invoke(
            "reset", "--table", "air.flihgts", "--keep-data", "--yes", "air.flihgts", "-c", str(service.map)
        ).exit_code
        == 78
    )
    plan = invoke(*base, "--keep-data", "--plan")
    assert plan.exit_code == 0 and "ROWS ARE DOUBLED" in plan.stdout
    assert "`retain` never drops the partitions that hold them" in plan.stdout
    moved = invoke(*base, "--move-data", "--plan")  # the map names no Hive
    assert "partitions that you registered stay in Hive" in moved.stdout
    assert tree(tmp_path) == before
    done = invoke(*base, "--move-data", "--yes", TABLE, "--json")
    assert done.exit_code == 0, done.output
    document = json.loads(done.stdout)
    assert document["done"] and document["positions"] == [
        {"topic": "flights", "partition": 0, "next_offset": 15}
    ]
    nothing = invoke(*base, "--move-data", "--yes", TABLE)
    assert nothing.exit_code == 0 and "nothing to start over" in nothing.stdout


def test_a_live_owner_is_left_alone_until_takeover_is_given(service: Service, tmp_path: Path) -> None:
    service.map.write_text(service.map.read_text().replace("kafka: {", "kafka: {commit_group: false, "))
    base = ("reset", "--table", TABLE, "--keep-data", "--yes", TABLE, "-c", str(service.map))
    with beating_owner(service.map, TABLE):
        before = without_beats(tmp_path)
        refused = invoke(*base)
        assert refused.exit_code == 72, refused.output
        planned = invoke(*base, "--plan")
        assert planned.exit_code == 0, planned.output
        assert without_beats(tmp_path) == before
        assert invoke(*base, "--takeover").exit_code == 0


def with_early_partition(service: Service) -> Path:
    """Let the newest snapshot have an early partition with a file. Return the file."""
    wiring = service.wiring
    view = look(wiring.ports.files, wiring.paths(TABLE))
    location = wiring.map.tables[0].location
    place = HivePartition(TABLE, "dt=2013-01-02", early_place(location, "dt=2013-01-02"))
    line = EarlyPartition(
        partition=place, since=1, closes="2013-01-03T00:00:00Z", files=1, rows=1, certified=0
    )
    (path,) = local(view.directory).glob(f"e{view.state.epoch:06d}.*")
    path.write_bytes(encode(replace(view.state, early=(line,))))
    file = local(place.location) / "x.parquet.final"
    file.parent.mkdir(parents=True)
    file.touch()
    return file


@pytest.mark.parametrize("options", [{}, {"plan_only": True}, {"take_over": True}])
def test_early_files_are_not_left_to_a_ledger_that_does_not_know_them(
    service: Service, tmp_path: Path, options: dict[str, Any]
) -> None:
    """The next ledger would count none of them, and a partition could never move over them."""
    with_early_partition(service)
    before, kafka = tree(tmp_path), Kafka()
    with pytest.raises(ManualActionRequired, match="1 partition at early places") as stop:
        start_over(service.wiring, kafka, move=False, **options)
    assert stop.value.code == "reset.early"
    assert tree(tmp_path) == before and kafka.offsets == {FLIGHTS: 15}


def test_early_files_are_moved_away_with_the_visible_ones(service: Service) -> None:
    early = with_early_partition(service)
    assert start_over(service.wiring, Kafka(), move=True).done
    assert not early.exists()
    location = local(service.wiring.map.tables[0].location)
    assert [path.name for path in location.glob("_kafka2hive_reset/*/_open/dt=*/*")] == ["x.parquet.final"]
    assert [child.name for child in location.iterdir() if child.name[0] != "_"] == []
