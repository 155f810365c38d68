"""Compaction beside the epochs of a run: what is begun when, what becomes of failures, and when a partition moves."""

from dataclasses import replace
from pathlib import Path

import pytest

from kafka2hive.model.errors import AmbiguousOutcome
from kafka2hive.model.paths.path import join
from kafka2hive.model.paths.table_directory import staging_directory
from kafka2hive.model.snapshot import ForgottenRegistration, Pause
from kafka2hive.plan.contract import TableFailure, UnitResult
from kafka2hive.service.compaction.chore import FIRST_WAIT
from kafka2hive.service.report.page import page
from kafka2hive.service.report.report import ReportScope, report
from kafka2hive.service.run.owned_tables import CLEANUP_EPOCHS
from tests.harness.cli_ledger import invoke, local
from tests.harness.compacted_days import CONTENT, DAYS, FLUSH, NAME, Days
from tests.harness.epoch_loop import EARLY, next_epoch
from tests.harness.values import file_name
from tests.unit.service.owned_table import restate


def test_a_complete_partition_moves_once_its_units_are_written(tmp_path: Path) -> None:
    days = Days(tmp_path)
    days.dump(DAYS[0], 3)
    assert days.runner.jobs == [], "it is not certified yet"
    days.idle()
    ((order,),) = days.runner.jobs
    assert len(order.sources) == 3 and order.epoch == days.state.epoch + 1
    days.idle()
    assert len(days.runner.jobs) == 1, "one job at a time"
    days.runner.write()
    days.idle()
    assert not days.state.early and [m.partition.path for m in days.state.moved] == [DAYS[0]]
    assert len(days.visible(DAYS[0])) == 1
    assert days.told == [(NAME, True)] and days.table.units_since is None
    assert days.loop.chores.taken_slots == 0


def test_cleanup_beside_units_leaves_their_files_and_epochs_go_on(tmp_path: Path) -> None:
    days = Days(tmp_path)
    days.dump(DAYS[0])
    days.idle()
    days.runner.write()
    end, days.runner.end = days.runner.end, None  # the job goes on
    name = file_name(days.state.ledger_id, days.table.owned.ledger.generation.number, 1)
    orphan = local(join(staging_directory(days.table.location), name.in_state("pending")))
    orphan.write_bytes(CONTENT)
    for _ in range(CLEANUP_EPOCHS):
        days.dump(DAYS[1])
    assert not orphan.exists() and not days.state.moved
    days.runner.end = end
    days.idle()
    assert [m.partition.path for m in days.state.moved] == [DAYS[0]]
    (moved,) = days.visible(DAYS[0])
    assert f"-e{days.state.moved[0].epoch:06d}-" in moved, "its name is that of the epoch that committed it"


def test_files_that_come_before_the_units_are_written_are_further_units(tmp_path: Path) -> None:
    days = Days(tmp_path)
    days.dump(DAYS[0])
    days.idle()
    days.dump(DAYS[0])
    days.runner.write()
    days.clock.sleep(1)
    assert days.loop.plan() is None
    assert not days.state.moved and not days.state.units
    days.idle()
    first, second = days.sources(0), days.sources(1)
    assert len(days.runner.jobs) == 2 and first != second and len(first[0]) == len(second[0]) == 1
    days.runner.write()
    days.idle()
    assert [m.partition.path for m in days.state.moved] == [DAYS[0]]
    assert len(days.visible(DAYS[0])) == 2


def test_units_are_cut_and_at_most_the_share_of_the_cores_is_taken(tmp_path: Path) -> None:
    days = Days(tmp_path, "target: 4B, share: 0.5", "tasks_per_core: 2", slots=8)
    days.dump(DAYS[0], 5)
    days.idle()
    assert [len(sources) for sources in days.sources()] == [1, 1]
    assert days.loop.chores.taken_slots == 4
    epoch = days.plan_more(1)
    assert days.loop.most_tasks == 8
    days.run(epoch, DAYS[1])
    moved: list[str] = []
    for _ in range(3):
        days.runner.write()
        days.idle()
        moved = [m.partition.path for m in days.state.moved]
    assert DAYS[0] in moved and len(days.visible(DAYS[0])) == 5


def test_a_share_of_all_cores_leaves_one_to_epochs(tmp_path: Path) -> None:
    days = Days(tmp_path, "target: 4B, share: 1", slots=2, cores=2)
    days.dump(DAYS[0], 3)
    days.idle()
    assert len(days.runner.jobs[0]) == days.loop.chores.taken_slots == 1


def test_cores_that_spark_may_get_later_are_not_shared(tmp_path: Path) -> None:
    days = Days(tmp_path, "target: 4B, share: 0.5", slots=40, cores=2)  # as with dynamic allocation
    days.dump(DAYS[0], 3)
    days.idle()
    assert len(days.runner.jobs[0]) == 1


def test_a_partition_that_is_open_again_does_not_keep_the_others_waiting(tmp_path: Path) -> None:
    days = Days(tmp_path)
    days.dump(DAYS[0])
    days.dump(DAYS[1])
    days.idle()
    late = days.plan_more()
    days.runner.write()
    days.run(late, DAYS[0])
    days.clock.sleep(0.1)
    assert days.loop.plan() is None
    assert not days.state.moved and [each.partition.path for each in days.state.open] == [DAYS[0]]
    assert days.runner.jobs[-1][0].home.path == DAYS[1], "it may move"
    assert days.table.units_since == days.state.epoch + 1


def test_units_of_a_ledger_that_was_reset_are_given_up(tmp_path: Path) -> None:
    days = Days(tmp_path)
    days.dump(DAYS[0])
    days.idle()
    days.runner.write()
    restate(days.table, ledger_id="f" * 32)  # its first generation may have the number of the former ledger's
    days.idle()
    assert not days.state.moved


def test_nothing_is_begun_while_a_table_lags(tmp_path: Path) -> None:
    lagging = Days(tmp_path, limits="epoch_records: 4")
    lagging.kafka.ends[EARLY] = 4
    lagging.clock.sleep(FLUSH)
    lagging.run(next_epoch(lagging.loop), DAYS[0])
    lagging.kafka.ends[EARLY] += 40
    for _ in range(3):
        lagging.clock.sleep(FLUSH)
        lagging.run(next_epoch(lagging.loop), DAYS[1])
    assert lagging.state.certificates or lagging.state.early[0].certified
    assert lagging.runner.jobs == []


def test_a_paused_table_is_not_compacted(tmp_path: Path) -> None:
    days = Days(tmp_path)
    days.dump(DAYS[0])
    restate(days.table, paused=Pause(since="now", by="me", order="0" * 32, epoch=2))
    days.idle()
    assert days.runner.jobs == []
    restate(days.table, paused=None)
    days.idle()
    assert len(days.runner.jobs) == 1


def test_a_run_on_one_core_says_that_it_does_not_compact(tmp_path: Path) -> None:
    days = Days(tmp_path, slots=1, cores=1)
    days.dump(DAYS[0])
    days.idle()
    assert days.runner.jobs == []
    (warning,) = days.table.warnings["compaction slots"]
    assert "single core" in warning


@pytest.mark.parametrize(("at", "begun"), [("07:00-09:00", 1), ("22:00-08:30", 1), ("09:00-07:00", 0)])
def test_units_are_begun_within_the_window(tmp_path: Path, at: str, begun: int) -> None:
    days = Days(tmp_path, f'at: "{at}"')  # the clock begins at 08:00
    days.dump(DAYS[0])
    days.idle()
    assert len(days.runner.jobs) == begun


def test_a_share_of_nothing_leaves_compaction_to_the_command(tmp_path: Path) -> None:
    days = Days(tmp_path, "share: 0")
    days.dump(DAYS[0])
    days.idle()
    assert days.runner.jobs == []


def test_a_unit_that_fails_delays_its_partition_and_nothing_else(tmp_path: Path) -> None:
    days = Days(tmp_path)
    days.dump(DAYS[0])
    days.dump(DAYS[1])
    days.idle()
    assert days.runner.jobs[-1][0].home.path == DAYS[0]
    days.runner.fail("compact.rows")
    days.idle(1)
    assert days.table.aside is None and not days.state.moved
    assert days.told == [(NAME, False)]
    (warning,) = days.table.warnings["compaction"]
    assert "compact.rows" in warning and DAYS[0] in warning
    assert days.runner.jobs[-1][0].home.path == DAYS[1], "the other one has its turn"
    days.runner.write()
    days.idle(1)
    assert [m.partition.path for m in days.state.moved] == [DAYS[1]]
    assert len(days.runner.jobs) == 2, "it waits"
    days.clock.sleep(FIRST_WAIT)
    days.idle(1)
    days.runner.write()
    days.idle(1)
    assert {m.partition.path for m in days.state.moved} == set(DAYS)
    assert days.table.warnings["compaction"] == ()


def test_an_early_place_that_was_changed_by_hand_is_a_warning(tmp_path: Path) -> None:
    days = Days(tmp_path)
    days.dump(DAYS[0])
    (early,) = days.state.early
    local(join(early.partition.location, "added")).write_bytes(b"")
    days.idle()
    assert days.runner.jobs == [] and days.table.aside is None
    (warning,) = days.table.warnings["compaction"]
    assert "compact.sources" in warning


def test_a_job_that_fails_as_a_whole_is_a_warning(tmp_path: Path) -> None:
    days = Days(tmp_path)
    days.dump(DAYS[0])
    days.idle()
    days.runner.end = RuntimeError("all attempts failed")
    days.idle(1)
    (warning,) = days.table.warnings["compaction"]
    assert "compact.job" in warning and "all attempts failed" in warning
    assert days.loop.chores.taken_slots == 0 and days.table.units_since is None


def test_units_are_given_up_if_the_table_is_taken_over_again(tmp_path: Path) -> None:
    days = Days(tmp_path)
    days.dump(DAYS[0])
    days.idle()
    days.runner.write()
    days.tables.forget(days.table)
    days.idle()
    assert not days.state.moved and len(days.runner.jobs) == 2
    assert days.runner.jobs[1][0].generation == days.table.owned.ledger.generation.number
    days.runner.write()
    days.idle()
    assert [m.partition.path for m in days.state.moved] == [DAYS[0]]


def test_a_job_may_fail_while_its_table_is_not_owned(tmp_path: Path) -> None:
    days = Days(tmp_path)
    days.dump(DAYS[0])
    days.idle()
    days.tables.forget(days.table)
    days.tables.set_aside(days.table, AmbiguousOutcome("ledger.no_answer", "no answer"))
    days.runner.fail("storage.unavailable")
    assert days.loop.plan() is None
    assert days.table.last_state is not None and days.told == [(NAME, False)]
    (warning,) = days.table.warnings["compaction"]
    assert "compact.storage" in warning


def test_status_says_what_is_not_compacted_yet(tmp_path: Path) -> None:
    days = Days(tmp_path)
    arguments = ("status", "-c", str(tmp_path / "map.yaml"), "--table", NAME, "--kafka-timeout", "1")
    assert "not compacted" not in invoke(*arguments).stdout
    days.dump(DAYS[0], 3)
    assert "early: 1 partition with 3 files, of which 0 complete" in invoke(*arguments).stdout
    days.idle()
    assert "early: 1 partition with 3 files, of which 1 complete" in invoke(*arguments).stdout
    days.runner.write()
    days.idle()
    assert "not compacted" not in invoke(*arguments).stdout


@pytest.mark.parametrize("failed", [0, 1])
def test_a_unit_that_was_written_beside_one_that_failed_is_not_used(tmp_path: Path, failed: int) -> None:
    days = Days(tmp_path, "target: 4B, share: 0.5", slots=8)
    days.dump(DAYS[0], 2)
    days.idle()
    assert [len(sources) for sources in days.sources()] == [1, 1]
    days.runner.write()
    assert isinstance(days.runner.end, list)
    task = days.runner.jobs[-1][failed].task
    days.runner.end[failed] = UnitResult(task, failure=TableFailure("compact.rows", "bad", "look"))
    days.idle(1)
    assert not days.state.moved and days.table.units_since is None and days.told == [(NAME, False)]
    assert "compact.rows" in days.table.warnings["compaction"][0]
    days.clock.sleep(FIRST_WAIT)
    days.idle(1)
    assert sum(map(len, days.sources())) == 2, "both files are compacted again"
    days.runner.write()
    days.idle(1)
    assert [m.partition.path for m in days.state.moved] == [DAYS[0]] and len(days.visible(DAYS[0])) == 2
    assert sum(unit.rows for unit in days.state.units) in (0, 10)


def test_sources_that_a_unit_leaves_out_are_another_unit(tmp_path: Path) -> None:
    """Their columns differ from those of the first ones."""
    days = Days(tmp_path)
    days.dump(DAYS[0], 3)
    days.idle()
    days.runner.jobs[-1] = [replace(each, sources=each.sources[:1]) for each in days.runner.jobs[-1]]
    days.runner.write()
    days.idle(1)
    assert not days.state.moved and [len(sources) for sources in days.sources()] == [2]
    days.runner.write()
    days.idle(1)
    assert [m.partition.path for m in days.state.moved] == [DAYS[0]] and len(days.visible(DAYS[0])) == 2


def test_units_without_all_rows_of_the_ledger_move_nothing(tmp_path: Path) -> None:
    days = Days(tmp_path)
    days.dump(DAYS[0], 2)
    days.idle()
    days.runner.write()
    assert isinstance(days.runner.end, list)
    (result,) = days.runner.end
    days.runner.end = [replace(result, written=replace(result.written, rows=9))]
    days.idle(1)
    assert not days.state.moved and days.table.aside is None
    assert "hold 9 rows, the ledger has 10" in days.table.warnings["compaction"][0]


def test_a_source_that_was_replaced_while_it_was_compacted_moves_nothing(tmp_path: Path) -> None:
    days = Days(tmp_path)
    days.dump(DAYS[0])
    days.idle()
    place = local(days.state.early[0].partition.location)
    (source,) = [path for path in place.iterdir() if path.name.endswith(".final")]
    source.rename(source.with_name(source.name.replace(f"{1:032x}", f"{9:032x}")))
    days.dump(DAYS[0])
    days.runner.write()
    days.idle()
    assert not days.state.moved
    assert "compact.sources" in days.table.warnings["compaction"][0]


def test_units_of_a_partition_whose_registration_is_given_up_are_given_up_too(tmp_path: Path) -> None:
    days = Days(tmp_path)
    days.dump(DAYS[0])
    days.idle()
    days.runner.write()
    early = days.state.early[0].partition
    given_up = ForgottenRegistration(
        partition=early, reason="no", accepted_by="anna", accepted_at="2025-11-21T08:00:00Z", epoch=1
    )
    restate(days.table, forgotten=(given_up,))
    days.idle(1)
    assert not days.state.moved and days.table.units_since is None, "their files are orphans now"


def test_the_report_says_early_and_compacted_files_apart_and_no_row_twice(tmp_path: Path) -> None:
    days = Days(tmp_path)
    days.dump(DAYS[0], 3)

    def files() -> list[tuple[str, int, int, int, int]]:
        whole = report(days.wiring, days.kafka, ReportScope(with_hive=False))
        text = page(whole).decode()
        assert ("of them early" in text) and ("what early means" in text) == bool(days.state.early)
        return [
            (each.path, each.files, each.rows, each.early, each.compacted)
            for each in whole.tables[0].partitions
        ]

    assert files() == [(DAYS[0], 3, 15, 3, 0)]
    days.idle()
    days.runner.write()
    days.idle()
    assert files() == [(DAYS[0], 1, 15, 0, 1)]
