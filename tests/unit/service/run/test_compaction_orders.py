"""A live run compacts by order: what is complete now, whatever the time of day, recorded once with what became of it."""

from dataclasses import replace
from pathlib import Path

import pytest

from kafka2hive.ledger.inbox import PauseTable, ResumeTable
from kafka2hive.model.errors import Fenced
from kafka2hive.model.snapshot import ForgottenRegistration, RecordedOrder
from kafka2hive.service.compaction.units import CompactionCounts
from kafka2hive.service.run.inbox_watch import LOOK_SECONDS
from kafka2hive.storage.local import LocalFileSystem
from kafka2hive.storage.port import NoRoom
from tests.harness.cli_ledger import local
from tests.harness.compacted_days import DAYS, FLUSH, NAME, Days
from tests.harness.epoch_loop import EARLY
from tests.unit.service.owned_table import restate

CLOSED = 'at: "09:00-07:00"'
"""A window that is closed: the clock begins at 08:00."""


def counts(days: Days) -> CompactionCounts:
    """The result of the only order."""
    ((_, result),) = days.recorded()
    return CompactionCounts.parse(result)


def waits(days: Days) -> str:
    """Why the order waits."""
    return "".join(days.table.warnings.get("compaction order", ()))


@pytest.mark.parametrize("compact", [CLOSED, "share: 0"])
def test_an_order_compacts_outside_of_the_window_and_without_a_share(tmp_path: Path, compact: str) -> None:
    days = Days(tmp_path, compact)
    days.dump(DAYS[0], 3)
    days.idle()
    assert days.runner.jobs == []
    order = days.give()
    days.idle()
    ((unit,),) = days.runner.jobs
    assert len(unit.sources) == 3 and days.recorded() == []
    assert [each.id for each in days.inbox.look()[0]] == [order], "it waits until its end is recorded"
    days.runner.write()
    days.idle(1)
    assert [m.partition.path for m in days.state.moved] == [DAYS[0]]
    assert [each for each, _ in days.recorded()] == [order] and days.state.orders[0].kind == "compact"
    assert counts(days) == CompactionCounts(moved=1, failed_partitions=0, failed={})
    assert days.inbox.look() == ([], [], set())
    days.dump(DAYS[1])
    days.idle()
    assert len(days.runner.jobs) == 1, "the order is over"


def test_an_order_is_for_what_is_complete_when_it_is_begun(tmp_path: Path) -> None:
    days = Days(tmp_path, CLOSED)
    for day in DAYS:
        days.dump(day)
    days.idle()
    days.give()
    days.idle(1)
    days.dump("dt=2025-11-17")
    days.idle()
    for _ in DAYS:
        assert days.recorded() == []
        days.runner.write()
        days.idle(1)
    assert counts(days).moved == len(days.runner.jobs) == 2
    assert [each.partition.path for each in days.state.early] == ["dt=2025-11-17"]


def test_an_order_without_a_complete_partition_is_over_at_once(tmp_path: Path) -> None:
    days = Days(tmp_path)
    days.dump(DAYS[0])
    days.give()
    assert days.loop.plan() is None
    assert counts(days).moved == 0 and days.runner.jobs == []


def test_a_table_that_is_not_compacted_refuses_the_order(tmp_path: Path) -> None:
    days = Days(tmp_path)
    table = days.table
    table.in_map = replace(table.in_map, rule=replace(table.rule, compact=None))
    days.give()
    assert days.loop.plan() is None
    ((_, result),) = days.recorded()
    assert result.startswith(f"[compact.not_in_map] {NAME}") and days.inbox.look() == ([], [], set())


def test_partitions_that_are_early_although_the_map_lost_the_section_are_compacted_by_the_defaults(
    tmp_path: Path,
) -> None:
    days = Days(tmp_path, "share: 0, target: 4B")
    days.dump(DAYS[0], 2)
    table = days.table
    table.in_map = replace(table.in_map, rule=replace(table.rule, compact=None))
    days.idle()
    days.give()
    days.idle()
    assert len(days.runner.jobs[0]) == 1, "256 MiB is the default"
    days.runner.write()
    days.idle(1)
    assert counts(days).moved == 1 and not days.state.early


def test_a_partition_that_fails_is_in_the_answer_and_the_others_move(tmp_path: Path) -> None:
    days = Days(tmp_path, "share: 0")
    for day in DAYS:
        days.dump(day)
    days.idle()
    days.give()
    days.idle(1)
    days.runner.fail("compact.rows")
    days.idle(1)
    days.runner.write()
    days.idle(1)
    answer = counts(days)
    assert (answer.moved, answer.failed_partitions) == (1, 1)
    assert answer.failed[DAYS[0]].startswith("[compact.rows] bad")
    (warning,) = days.table.warnings["compaction"]
    assert "tried again" not in warning, "only an order compacts here"
    days.idle()
    assert len(days.runner.jobs) == 2


def test_an_order_does_not_wait_until_a_failed_partition_is_due_again(tmp_path: Path) -> None:
    days = Days(tmp_path)
    days.dump(DAYS[0])
    days.idle()
    days.runner.fail("compact.rows")
    days.idle(1)
    days.give()
    days.idle(1)
    assert len(days.runner.jobs) == 2
    days.runner.write()
    days.idle(1)
    assert counts(days).moved == 1


def test_an_answer_names_only_the_first_failures() -> None:
    errors = {f"dt={n:02d}": "[compact.rows] bad" for n in range(12)}
    answer = CompactionCounts.of(3, errors)
    assert (answer.moved, answer.failed_partitions, len(answer.failed)) == (3, 12, 10)
    assert CompactionCounts.parse(answer.result) == answer and "dt=00" in answer.failed


def test_an_order_says_why_it_waits(tmp_path: Path) -> None:
    days = Days(tmp_path, CLOSED, "epoch_records: 4", cores=1)
    days.kafka.ends[EARLY] = 4
    days.clock.sleep(FLUSH)
    epoch = days.loop.plan()
    assert epoch is not None
    days.run(epoch, DAYS[0])
    days.idle()
    days.give(PauseTable())
    days.give()
    days.idle(1)
    assert waits(days).endswith("from anna@etl1 to compact waits: the table is paused")
    days.give(ResumeTable())
    days.idle(1)
    assert waits(days).endswith("waits: Spark has a single core, which records need")
    days.runner.present = 2
    days.kafka.ends[EARLY] += 40
    days.clock.sleep(FLUSH)
    epoch = days.loop.plan()
    assert epoch is not None and days.runner.jobs == []
    assert waits(days).endswith(f"waits: {NAME} lags, and records are read first")
    days.run(epoch, DAYS[1])
    days.tables.set_aside(days.table, Fenced("any", "error"))
    days.loop.chores.begin_jobs([], {})
    assert waits(days).endswith("waits: the table is set aside")


def test_late_data_that_open_a_partition_again_end_the_order_without_it(tmp_path: Path) -> None:
    days = Days(tmp_path, CLOSED)
    days.dump(DAYS[0])
    days.idle()
    days.give()
    days.idle(1)
    late = days.plan_more()
    days.runner.write()
    days.run(late, DAYS[0])
    days.clock.sleep(0.1)
    assert days.loop.plan() is None
    assert counts(days).moved == 0 and days.table.units_since is None
    assert [each.partition.path for each in days.state.open] == [DAYS[0]]


def test_an_order_that_is_withdrawn_begins_no_more_units(tmp_path: Path) -> None:
    days = Days(tmp_path, f"{CLOSED}, target: 4B")
    days.dump(DAYS[0], 8)
    days.idle()
    order = days.give()
    days.idle(1)
    local(f"{days.inbox.directory}/{order}.json").unlink()
    days.runner.write()
    days.idle(LOOK_SECONDS)
    assert len(days.runner.jobs) == 1 and days.recorded() == [] and days.table.units_since is None


def test_the_next_owner_goes_on_with_the_order_and_a_fenced_one_records_nothing(tmp_path: Path) -> None:
    days = Days(tmp_path, CLOSED)
    for day in DAYS:
        days.dump(day)
    days.idle()
    order = days.give()
    days.idle(1)
    days.runner.write()
    days.idle(1)
    assert [m.partition.path for m in days.state.moved] == [DAYS[0]] and days.recorded() == []
    days.runner.write()  # all is written, nothing committed
    successor = Days(tmp_path, CLOSED, kafka=days.kafka)
    with pytest.raises(Fenced):
        days.idle()
    successor.clock.sleep(LOOK_SECONDS)
    successor.idle(1)
    ((unit,),) = successor.runner.jobs
    assert unit.home.path == DAYS[1] and unit.generation == successor.table.owned.ledger.generation.number
    successor.runner.write()
    successor.idle(1)
    assert {m.partition.path for m in successor.state.moved} == set(DAYS)
    assert [each for each, _ in successor.recorded()] == [order] and counts(successor).moved == 1
    assert len(successor.visible(DAYS[0])) == len(successor.visible(DAYS[1])) == 1


def test_an_order_whose_end_a_snapshot_records_is_not_recorded_again(tmp_path: Path) -> None:
    days = Days(tmp_path, CLOSED)
    days.dump(DAYS[0])
    days.idle()
    order = days.give()
    days.idle(1)
    days.runner.write()
    record = RecordedOrder(
        id=order, kind="compact", given_by="a", given_at="t", done_at="t", epoch=2, result="done {}"
    )
    restate(days.table, orders=(record,))  # the commit got no clear answer
    days.idle(1)
    assert [each for each, _ in days.recorded()] == [order]
    assert days.inbox.look() == ([], [], set())


def test_a_second_order_waits_for_the_first(tmp_path: Path) -> None:
    days = Days(tmp_path, CLOSED)
    days.dump(DAYS[0])
    days.idle()
    orders = [days.give(), days.give()]
    days.idle(1)
    days.runner.write()
    days.idle(1)
    assert {each for each, _ in days.recorded()} == set(orders)
    assert sorted(CompactionCounts.parse(result).moved for _, result in days.recorded()) == [0, 1]


def test_a_run_of_once_leaves_the_order_to_another_run(tmp_path: Path) -> None:
    days = Days(tmp_path, CLOSED)
    days.dump(DAYS[0])
    days.idle()
    once = Days(tmp_path, CLOSED, kafka=days.kafka, once=True)
    once.give()
    assert once.loop.plan() is None
    assert once.recorded() == [] and len(once.inbox.look()[0]) == 1


def test_an_order_does_not_wait_for_a_partition_whose_registration_is_given_up(tmp_path: Path) -> None:
    days = Days(tmp_path, "share: 0")
    days.dump(DAYS[0])
    days.idle()
    order = days.give()
    days.idle(1)
    given_up = ForgottenRegistration(
        partition=days.state.early[0].partition,
        reason="no",
        accepted_by="anna",
        accepted_at="2025-11-21T08:00:00Z",
        epoch=1,
    )
    restate(days.table, forgotten=(given_up,))
    days.idle(1)
    ((recorded, result),) = days.recorded()
    assert recorded == order and CompactionCounts.parse(result).moved == 0


def test_an_order_to_compact_whose_end_is_not_committed_stays_in_the_inbox(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    days = Days(tmp_path)
    order = days.give()

    def fail(self: LocalFileSystem, path: str) -> None:
        raise NoRoom(path, "quota exceeded")

    with monkeypatch.context() as patch:
        patch.setattr(LocalFileSystem, "create", fail)
        for _ in range(2):
            days.clock.sleep(LOOK_SECONDS)
            days.loop.plan()
    assert [each.id for each in days.inbox.look()[0]] == [order]
    days.idle(600)
    assert [recorded for recorded, _ in days.recorded()] == [order] and days.inbox.look()[0] == []
