"""`run --once` dumps what Kafka holds for every table, also for one that can only be started at a later try."""

import logging
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kafka2hive.kafka.port import ClusterView, TopicView, Watermark, any_topic
from kafka2hive.ledger.heartbeat import ProcessIdentity
from kafka2hive.ledger.look import look
from kafka2hive.ledger.start import Owners, StartRequest, start
from kafka2hive.model.errors import (
    ExitCode,
    ManualActionRequired,
    ServiceUnavailable,
    TableError,
)
from kafka2hive.model.files import HivePartition
from kafka2hive.model.offsets import OffsetRange, Position, TopicPartition
from kafka2hive.service.hive.registrar import RefusedByHive, RegisteredInHive
from kafka2hive.service.run.once import without_waits_for_permissions
from kafka2hive.service.tables.table_state import Unowned
from kafka2hive.storage.port import Denied, FileSystem, StorageWriter
from tests.harness.cli_ledger import wired
from tests.harness.epoch_loop import (
    EARLY,
    LATE,
    AtOnce,
    Clock,
    FullForDrafts,
    HiveAnswers,
    Kafka,
    make_loop,
    make_loop_and_tables,
    make_wiring,
    next_epoch,
    no_rows,
    only_tombstones,
    planned,
    run,
)
from tests.harness.owner import new_owner
from tests.harness.values import snapshot


def test_a_table_that_starts_at_a_later_try_is_dumped_up_to_its_end(tmp_path: Path) -> None:
    kafka = Kafka()
    loop = make_loop(make_wiring(tmp_path), kafka)
    first = next_epoch(loop)
    assert planned(first) == [OffsetRange(EARLY, 0, 7)]
    run(loop, first)
    second = next_epoch(loop)
    assert planned(second) == [OffsetRange(LATE, 0, 11)]
    run(loop, second)
    assert loop.plan() is None


@pytest.mark.parametrize(("generation", "epoch"), [(0, -1), (0, 1), (-1, 0), (1, 0)])
def test_tasks_of_another_generation_or_epoch_set_the_table_aside_and_commit_nothing(
    tmp_path: Path, generation: int, epoch: int
) -> None:
    wiring = make_wiring(tmp_path)
    loop, owned_tables = make_loop_and_tables(wiring, Kafka())
    first = next_epoch(loop)
    table = owned_tables.tables["air.early"]
    before = wiring.ports.files.list(table.owned.ledger.directory)
    late = [
        replace(m, generation=m.generation + generation, epoch=m.epoch + epoch)
        for m in only_tombstones(first)
    ]
    directory = table.owned.ledger.directory
    loop.on_epoch(1, late)
    assert table.aside is not None and table.aside.error.code == "task.wrong_epoch"
    assert wiring.ports.files.list(directory) == before


def test_a_table_whose_tasks_die_is_set_aside_and_its_offsets_are_named_as_everywhere(tmp_path: Path) -> None:
    loop, owned_tables = make_loop_and_tables(make_wiring(tmp_path), Kafka())
    for _ in range(2):  # the first time says nothing yet
        loop.on_failed(next_epoch(loop).number, "SIGKILL")
    aside = owned_tables.tables["air.early"].aside
    assert aside is not None and aside.error.code == "task.killed"
    assert "they read early-0@[0, 7): SIGKILL" in aside.error.message


def test_the_number_of_tasks_follows_the_executors_from_plan_to_plan(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Executors register late: 2 cores at the first plan, 6 at the next."""
    kafka, cores = Kafka(), iter([2, 6, 6])
    kafka.ends[EARLY] = 10**8
    with caplog.at_level(logging.INFO):
        loop, _ = make_loop_and_tables(make_wiring(tmp_path), kafka, slots=lambda: next(cores))
        tasks: list[int] = []
        for _ in range(3):
            tasks.append(len((epoch := next_epoch(loop)).tasks))
            loop.on_epoch(epoch.number, no_rows(epoch, record_bytes=500))
    assert tasks == [2, 6, 6]
    assert loop.most_tasks == 6
    assert [m for m in caplog.messages if "at most" in m] == [
        "an epoch has at most 2 tasks now",
        "an epoch has at most 6 tasks now",
    ]


@pytest.mark.parametrize("late", [7, 0], ids=["others have records", "others have none"])
def test_a_table_with_sql_starts_when_the_others_have_their_first_epoch(tmp_path: Path, late: int) -> None:
    planned_by_spark: list[str] = []
    kafka = Kafka()
    kafka.ends = {EARLY: 11, LATE: late}
    tables = (
        "tables: [{table: air.early, topics: [early], format: json, columns: {a: int}, sql: SELECT a FROM records},"
        " {table: air.late, topics: [late], format: raw}]"
    )
    real = wired(tmp_path, f"defaults: {{start: earliest}}\n{tables}", service="once")
    loop, _ = make_loop_and_tables(
        replace(real, ports=replace(real.ports, clock=Clock())),
        kafka,
        schemas=AtOnce(),
        check_select=lambda settings: planned_by_spark.append(settings.table) if settings.sql else None,
    )
    assert planned_by_spark == []
    if late:
        first = next_epoch(loop)
        assert planned(first) == [OffsetRange(LATE, 0, 7)] and planned_by_spark == []
        run(loop, first)
    second = next_epoch(loop)
    assert planned(second) == [OffsetRange(EARLY, 0, 11)] and planned_by_spark == ["air.early"]
    run(loop, second)
    assert loop.plan() is None


def test_spark_is_not_asked_for_its_cores_while_nothing_waits(tmp_path: Path) -> None:
    def slots() -> int:
        raise AssertionError("Spark is asked")

    kafka = Kafka()
    kafka.ends = {EARLY: 0, LATE: 0}
    loop, _ = make_loop_and_tables(make_wiring(tmp_path), kafka, once=False, slots=slots)
    assert loop.plan() is None
    assert loop.most_tasks is None


def test_a_run_takes_time_names_and_threads_from_its_wiring_alone(tmp_path: Path) -> None:
    worked_on: list[str] = []

    class OneByOne:
        def map(self, function: Callable[[Any], Any], items: Iterable[Any]) -> list[Any]:
            results = []
            for table in items:
                worked_on.append(table.name)
                results.append(function(table))
            return results

    class Elsewhere:
        def me(self) -> ProcessIdentity:
            return ProcessIdentity("elsewhere", "boot", 42, 7)

        def is_gone(self, identity: ProcessIdentity) -> bool:
            return False

    real = make_wiring(tmp_path)
    ports = replace(real.ports, new_uuid=iter([f"{n:032x}" for n in range(100)]).__next__)
    wiring = replace(real, ports=ports, processes=Elsewhere(), side_by_side=OneByOne())
    loop, owned_tables = make_loop_and_tables(wiring, Kafka())
    epoch = next_epoch(loop)
    assert epoch.tasks[0].tables[0].planned_at_ms == wiring.ports.clock.epoch_ms()
    owned = owned_tables.tables["air.early"].owned.ledger
    assert owned.generation.owner is not None
    assert owned.generation.owner.startswith("elsewhere-42-")
    assert int(owned.generation.owner[-16:], 16) < 100
    assert worked_on[:3] == ["air.early", "air.late", "air.early"]


def test_what_comes_after_the_first_look_is_left_for_the_next_run(tmp_path: Path) -> None:
    kafka = Kafka()
    loop = make_loop(make_wiring(tmp_path), kafka)
    first = next_epoch(loop)
    kafka.ends[EARLY] = 100
    run(loop, first)
    second = next_epoch(loop)
    assert planned(second) == [OffsetRange(LATE, 0, 11)]


def test_it_ends_although_hive_refuses_a_table_for_ever(tmp_path: Path) -> None:
    hive = HiveAnswers()
    loop, _ = make_loop_and_tables(make_wiring(tmp_path), Kafka(), registrar=hive)
    first = next_epoch(loop)
    run(loop, first)
    error = TableError("hive.columns", "air.early: Hive has no column b")
    hive.events.append(RefusedByHive("air.early", error))
    second = next_epoch(loop)
    run(loop, second)
    assert loop.plan() is None


def test_it_gives_a_table_up_whose_commits_are_refused_again_and_again(tmp_path: Path) -> None:
    wiring = make_wiring(tmp_path)
    full = replace(wiring, ports=replace(wiring.ports, files=FullForDrafts(wiring.ports.files)))
    loop = make_loop(full, Kafka())
    epochs = 0
    while (epoch := loop.plan()) is not None:
        run(loop, epoch)
        epochs = epoch.number
        assert epochs < 20, "it tries for ever"
    assert epochs > 1


class NotForUs:
    """A file system on which the user may not write the ledger of `air.early`."""

    def __init__(self, files: FileSystem) -> None:
        self._files = files

    def create(self, path: str) -> StorageWriter:
        if "early" in path:
            raise Denied(path, "Permission denied: user=etl")
        return self._files.create(path)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._files, name)


def test_a_table_without_permission_is_left_out_at_once_and_the_others_are_dumped(tmp_path: Path) -> None:
    wiring = make_wiring(tmp_path)
    denied = replace(wiring, ports=replace(wiring.ports, files=NotForUs(wiring.ports.files)))
    loop, tables = make_loop_and_tables(without_waits_for_permissions(denied), Kafka(), schemas=AtOnce())
    began = wiring.ports.clock.monotonic()
    epoch = next_epoch(loop)
    assert planned(epoch) == [OffsetRange(LATE, 0, 11)]
    run(loop, epoch)
    assert loop.plan() is None
    assert wiring.ports.clock.monotonic() - began == 0, "it waits for nobody"
    ((name, error),) = tables.troubles()
    assert (name, error.code, error.exit_code) == ("air.early", "storage.denied", ExitCode.SET_ASIDE)


def test_topic_partitions_that_kafka_gives_no_offsets_of_are_asked_for_again(tmp_path: Path) -> None:
    kafka = Kafka()
    loop, owned_tables = make_loop_and_tables(make_wiring(tmp_path), kafka)
    first = next_epoch(loop)
    run(loop, first)
    kafka.silent_for = 2
    second = next_epoch(loop)
    assert planned(second) == [OffsetRange(LATE, 0, 11)]
    run(loop, second)
    assert loop.plan() is None
    assert owned_tables.set_aside_tables() == []


def test_a_table_is_set_aside_in_the_end_when_kafka_gives_no_offsets_of_a_topic_partition(
    tmp_path: Path,
) -> None:
    kafka = Kafka()
    loop, owned_tables = make_loop_and_tables(make_wiring(tmp_path), kafka)
    first = next_epoch(loop)
    run(loop, first)
    kafka.silent_for = 1000
    assert loop.plan() is None
    (table,) = owned_tables.set_aside_tables()
    assert table.aside is not None and table.aside.error.code == "kafka.no_answer"
    assert "late-0" in str(table.aside.error) and table.aside.error.exit_code == 75


def test_topics_that_kafka_does_not_have_set_their_table_aside_and_nothing_else_is_lost(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    wiring = make_wiring(tmp_path, early="early, erly, aerly")
    kafka = Kafka()
    loop, owned_tables = make_loop_and_tables(wiring, kafka)
    taken = []
    while (epoch := loop.plan()) is not None:
        taken += planned(epoch)
        run(loop, epoch)
    assert sorted(taken) == [OffsetRange(EARLY, 0, 7), OffsetRange(LATE, 0, 11)]
    (table,) = owned_tables.set_aside_tables()
    assert table.name == "air.early" and table.aside is not None
    assert table.aside.error.code == "kafka.unknown_topic" and table.aside.error.exit_code == 75
    assert "is set aside for the rest of this run: [kafka.unknown_topic]" in caplog.text
    assert "aerly, erly" in table.aside.error.message


def test_a_service_waits_for_topics_that_kafka_does_not_have(tmp_path: Path) -> None:
    loop, owned_tables = make_loop_and_tables(make_wiring(tmp_path, early="early, erly"), Kafka(), once=False)
    run(loop, next_epoch(loop))
    loop.plan()
    assert [table.name for table in owned_tables.set_aside_tables()] == ["air.late"]


@pytest.mark.parametrize("forgotten", [False, True])
def test_the_lag_of_a_table_that_is_set_aside_is_counted_and_grows(tmp_path: Path, forgotten: bool) -> None:
    kafka = Kafka()
    loop, owned_tables = make_loop_and_tables(make_wiring(tmp_path), kafka, once=False)
    loop.plan()
    early = owned_tables.tables["air.early"]
    if forgotten:
        early.forget()
    owned_tables.set_aside(early, TableError("a.b", "no room"))
    for end in (50, 90):
        kafka.ends[EARLY] = end
        loop.plan()
        assert early.lag == end


def test_a_table_set_aside_whose_broker_is_silent_stops_no_other(tmp_path: Path) -> None:
    class Silent(Kafka):
        """Gives `late` alone no answer, as for a topic whose only broker hangs."""

        def latest(self, wanted: Collection[TopicPartition]) -> dict[TopicPartition, Watermark]:
            if set(wanted) == {LATE}:
                raise ServiceUnavailable("kafka.unavailable", "no answer for late-0")
            return super().latest(wanted)

    loop, owned_tables = make_loop_and_tables(make_wiring(tmp_path), Silent(), once=False)
    late = owned_tables.tables["air.late"]
    late.ownership = Unowned(snapshot(service="once", table="air.late", positions=(Position(LATE, 0, 0),)))
    assert [table.name for table in owned_tables.set_aside_tables()] == ["air.late"]
    assert planned(next_epoch(loop)) == [OffsetRange(EARLY, 0, 7)]


class Remade(Kafka):
    """Topic `early` was made again, with fewer records, right after the ids were asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.id_known, self.id_now = "id-early", "id-early"

    def remake(self) -> None:
        self.id_now, self.ends[EARLY] = "id-new", 2

    def cluster(self, is_wanted: Callable[[str], bool] = any_topic) -> ClusterView:
        self.id_known, known = self.id_now, super().cluster(is_wanted)
        return replace(known, topics={**known.topics, "early": TopicView("early", self.id_known, (0,))})


@pytest.mark.parametrize(
    ("remade", "code"), [(True, "kafka.topic_recreated"), (False, "kafka.log_truncated")]
)
def test_a_live_run_looks_at_the_ids_of_topics_before_it_calls_a_log_truncated(
    tmp_path: Path, remade: bool, code: str
) -> None:
    kafka = Remade()
    loop, owned_tables = make_loop_and_tables(make_wiring(tmp_path), kafka, once=False)
    run(loop, next_epoch(loop))
    if remade:
        kafka.remake()
    else:
        kafka.ends[EARLY] = 2
    loop.plan()
    aside = owned_tables.tables["air.early"].aside
    assert aside is not None and aside.error.code == code


@pytest.mark.parametrize("once", [True, False])
def test_a_kafka_that_goes_away_ends_a_run_of_once_and_not_a_service(tmp_path: Path, once: bool) -> None:
    class Away(Kafka):
        def latest(self, wanted: Collection[TopicPartition]) -> dict[TopicPartition, Watermark]:
            if self.silent_for > 0:
                raise ServiceUnavailable("kafka.unavailable", "no answer")
            return super().latest(wanted)

    kafka = Away()
    loop, _ = make_loop_and_tables(make_wiring(tmp_path), kafka, once=once)
    run(loop, next_epoch(loop))
    kafka.silent_for = 100
    if not once:
        assert loop.plan() is None
        return
    with pytest.raises(ServiceUnavailable):
        loop.plan()


def test_what_hive_takes_does_not_take_a_table_up_that_needs_a_person(tmp_path: Path) -> None:
    hive = HiveAnswers()
    loop, owned_tables = make_loop_and_tables(make_wiring(tmp_path), Kafka(), once=False, registrar=hive)
    run(loop, next_epoch(loop))
    early, day = owned_tables.tables["air.early"], HivePartition("air.early", "dt=2026-11-24", "file:///w/dt")
    refused = RefusedByHive("air.early", TableError("hive.refused", "no"), frozenset({day}))
    owned_tables.note_refusal(refused)
    owned_tables.set_aside(early, ManualActionRequired("ledger.missing", "gone", "mend"))
    hive.events.append(RegisteredInHive(frozenset({day})))
    loop.plan()
    assert early.needs_manual_action and early.hive.refusals == {}


def test_a_run_of_once_does_not_wait_for_a_table_that_needs_a_person(tmp_path: Path) -> None:
    wiring = make_wiring(tmp_path)
    loop = make_loop(wiring, Kafka())
    while (epoch := loop.plan()) is not None:
        run(loop, epoch)
    cut_off = Kafka()
    cut_off.ends[EARLY] = 2
    loop, owned_tables = make_loop_and_tables(wiring, cut_off, schemas=AtOnce())
    assert loop.plan() is None
    (table,) = owned_tables.set_aside_tables()
    assert table.needs_manual_action


def test_a_run_goes_on_when_the_ledger_of_a_table_that_it_has_stopped_is_taken_over(tmp_path: Path) -> None:
    kafka, wiring = Kafka(), make_wiring(tmp_path)
    loop, owned_tables = make_loop_and_tables(wiring, kafka, once=False)
    clock = wiring.ports.clock
    clock.sleep(10)
    loop.start_tables()
    run(loop, next_epoch(loop))
    kafka.ends = {EARLY: 2, LATE: 11}
    loop.plan()
    assert owned_tables.tables["air.early"].needs_manual_action
    other = StartRequest(wiring.paths("air.early"), lambda: None, Owners(new_owner))
    repaired = start(wiring.ports, other).owned
    kafka.ends[LATE] = 20
    clock.sleep(1000)
    second = next_epoch(loop)
    assert planned(second) == [OffsetRange(LATE, 11, 20)]
    run(loop, second)
    clock.sleep(1000)
    assert loop.plan() is None
    loop.record_registrations()
    assert look(wiring.ports.files, wiring.paths("air.early")).generation == repaired.generation


DAY, NEXT_DAY = (HivePartition("air.early", f"dt=2026-11-{day}", f"file:///w/dt={day}") for day in (24, 25))


def refusal(*partitions: HivePartition) -> RefusedByHive:
    return RefusedByHive("air.early", TableError("hive.refused", partitions[0].path), frozenset(partitions))


def test_what_hive_takes_ends_no_set_aside_for_another_reason(tmp_path: Path) -> None:
    hive = HiveAnswers()
    loop, owned_tables = make_loop_and_tables(make_wiring(tmp_path), Kafka(), once=False, registrar=hive)
    run(loop, next_epoch(loop))
    early = owned_tables.tables["air.early"]
    owned_tables.note_refusal(refusal(DAY))
    owned_tables.set_aside(early, TableError("hive.refused", "its partitions cannot be compared"))
    hive.events.append(RegisteredInHive(frozenset({DAY})))
    loop.plan()
    assert early.hive.refusals == {} and early.aside is not None


def test_a_table_serves_again_once_hive_takes_the_last_partition_that_it_refused(tmp_path: Path) -> None:
    hive = HiveAnswers()
    loop, owned_tables = make_loop_and_tables(make_wiring(tmp_path), Kafka(), once=False, registrar=hive)
    run(loop, next_epoch(loop))
    early = owned_tables.tables["air.early"]
    hive.events += [refusal(DAY), refusal(NEXT_DAY), RegisteredInHive(frozenset({DAY}))]
    loop.plan()
    assert early.aside is not None and early.aside.error.message == NEXT_DAY.path
    hive.events.append(RegisteredInHive(frozenset({NEXT_DAY})))
    loop.plan()
    assert early.aside is None


@pytest.mark.parametrize("is_behind", [True, False])
def test_a_run_of_once_that_hive_lets_go_on_too_late_says_that_records_are_left(
    tmp_path: Path, is_behind: bool
) -> None:
    """The registrar's answer comes after the last plan."""
    hive, kafka = HiveAnswers(), Kafka()
    loop, owned_tables = make_loop_and_tables(make_wiring(tmp_path), kafka, registrar=hive, schemas=AtOnce())
    early = owned_tables.tables["air.early"]
    if not is_behind:
        run(loop, next_epoch(loop))
    else:
        loop.plan()
    hive.events.append(refusal(DAY))
    loop.record_registrations()
    assert early.aside is not None
    hive.events.append(RegisteredInHive(frozenset({DAY})))
    loop.record_registrations()
    assert [name for name, _ in owned_tables.troubles()] == (["air.early"] if is_behind else [])
