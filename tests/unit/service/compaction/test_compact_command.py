"""`compact` looks at Hive's locations, and deletes early files, by the rules of a run: K7 and K8 of docs/protocol.md."""

from dataclasses import replace
from pathlib import Path

import pytest

from kafka2hive.ledger.init import init
from kafka2hive.ledger.look import look
from kafka2hive.ledger.snapshot.codec import encode
from kafka2hive.model.errors import ExitCode
from kafka2hive.model.files import FileKind, HivePartition
from kafka2hive.model.paths.path import join
from kafka2hive.model.paths.table_directory import early_place
from kafka2hive.model.snapshot import EarlyPartition, MovedPartition, Snapshot, Tracking
from kafka2hive.model.text import utc_text
from kafka2hive.service.compaction.command import CompactRequest, CompactResult, compact
from tests.harness.cli_ledger import local, wired
from tests.harness.clock import SkippedTime
from tests.harness.fake_hive import FakeHive, with_hive
from tests.harness.values import data_file, file_name

NAME, DAY, OTHER = "air.days", "dt=2025-11-08", "dt=2025-11-09"
KEEP = 2 * 86_400
MAP = """\
hive: {url: "hive://127.0.0.1:9"}
defaults: {start: earliest, format: raw}
tables:
  - {table: air.days, topics: [days], completion: {delay: 1s}, compact: {keep: 2d}, bucket: {path: "dt=%Y-%m-%d"}}
"""


class Days:
    """A stopped table with a partition that has moved: its early file, its compacted one, and Hive at its home."""

    def __init__(self, folder: Path) -> None:
        self.clock, self.hive = SkippedTime(), FakeHive()
        real = wired(folder, MAP)
        real = replace(real, ports=replace(real.ports, clock=self.clock))
        self.wiring = with_hive(real, self.hive)
        self.location = real.map.tables[0].location
        self.paths = real.paths(NAME)
        init(real.ports, self.paths, real.map.service, self.location)
        self.home = HivePartition(NAME, DAY, join(self.location, DAY))
        self.early = replace(self.home, location=early_place(self.location, DAY))
        ledger = self.state.ledger_id
        self.early_file = self.put(self.early, file_name(ledger, 0, 0).in_state("final"))
        compacted = file_name(ledger, 0, 1).in_state("final")
        self.compacted = self.put(self.home, compacted)
        moved = MovedPartition(partition=self.home, early=self.early.location, epoch=1, late=0)
        file = data_file(
            kind=FileKind.COMPACTED,
            final=join(self.home.location, compacted),
            hive_partition=self.home,
            length=4,
        )
        self.write(
            1, files=(file,), location=self.location, moved=(moved,), closed_through="2025-11-09T00:00:00Z"
        )
        self.write(2, files=())
        self.hive.where[self.home.name] = self.home.location

    @property
    def state(self) -> Snapshot:
        return look(self.wiring.ports.files, self.paths).state

    def write(self, epoch: int, **changes: object) -> None:
        """Write a snapshot as if this epoch had been committed."""
        view = look(self.wiring.ports.files, self.paths)
        state = replace(view.state, epoch=epoch, **changes)  # type: ignore[arg-type]
        local(f"{view.directory}/e{epoch:06d}.final").write_bytes(encode(state))

    def put(self, place: HivePartition, name: str) -> Path:
        file = local(join(place.location, name))
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"rows")
        return file

    def compact(self, seconds: float = 0) -> CompactResult:
        self.clock.seconds += seconds
        return compact(self.wiring, CompactRequest(NAME))

    @property
    def since(self) -> str:
        (line,) = self.state.moved
        return line.right_since

    def early_names(self) -> list[str]:
        return sorted(path.name for path in local(self.early.location).iterdir())


@pytest.fixture
def days(tmp_path: Path) -> Days:
    return Days(tmp_path)


def test_early_files_are_deleted_two_days_after_a_look_that_found_the_location_right(days: Days) -> None:
    first = days.compact()
    assert first.exit_code is ExitCode.DONE and first.retired == ()
    began = days.since
    assert began == utc_text(days.clock.epoch_ms() / 1000)
    assert days.compact(KEEP - 1).retired == () and days.since == began and days.early_file.exists()
    done = days.compact(1)
    assert (done.retired, done.deleted) == ((days.home,), 1)
    assert [name.partition("-")[0] for name in days.early_names()] == ["moved"]
    assert days.compacted.exists() and days.state.moved == () == days.state.retired


def test_a_partition_that_hive_lacks_is_at_no_early_place(days: Days) -> None:
    days.compact()
    days.hive.where.clear()
    assert days.compact(KEEP).retired == (days.home,)


def test_a_location_that_was_put_back_is_recorded_then_corrected_and_its_time_begins_again(
    days: Days,
) -> None:
    days.compact()
    days.hive.where[days.home.name] = days.early.location
    at_the_statement: list[str] = []

    def note(words: str) -> None:
        if words.startswith("set"):
            at_the_statement.append(days.since)

    days.hive.before = note
    result = days.compact(2 * KEEP)
    assert at_the_statement == [""], "a crash after the statement would hide that it was put back"
    assert result.corrected == (days.home,) and result.retired == () and days.early_file.exists()
    assert days.hive.where[days.home.name] == days.home.location
    assert days.compact(1).retired == () and days.since == utc_text(days.clock.epoch_ms() / 1000)
    assert days.compact(KEEP - 1).retired == ()
    assert days.compact(1).retired == (days.home,)


def test_a_correction_that_hive_refuses_is_said_and_keeps_the_early_files(days: Days) -> None:
    days.compact()
    days.hive.where[days.home.name] = days.early.location
    days.hive.refused = {DAY}
    for _ in range(2):
        result = days.compact(KEEP)
        assert result.exit_code is ExitCode.SET_ASIDE and days.early_file.exists()
        assert result.refused == ((days.home, "no permission"),)


def test_without_an_answer_of_hive_nothing_is_retired(days: Days) -> None:
    days.compact()
    days.hive.is_down = True
    result = days.compact(2 * KEEP)
    assert result.exit_code is ExitCode.UNAVAILABLE and result.retired == () and days.early_file.exists()
    assert days.since, "nobody has found it put back"


def test_a_look_that_takes_minutes_does_not_retire(days: Days) -> None:
    days.compact()

    def slow(words: str) -> None:
        days.clock.seconds += 61

    days.hive.before = slow
    assert days.compact(KEEP).retired == () and days.early_file.exists()


def test_a_home_that_was_changed_keeps_the_early_files(days: Days) -> None:
    days.compact()
    days.compacted.write_bytes(b"cut")
    result = days.compact(2 * KEEP)
    assert [problem.code for problem in result.problems] == ["compact.home_changed"]
    assert result.exit_code is ExitCode.SET_ASIDE and days.early_file.exists() and days.since


def test_an_early_partition_that_others_have_put_at_its_home_is_corrected_at_once(days: Days) -> None:
    early = HivePartition(NAME, OTHER, early_place(days.location, OTHER))
    line = EarlyPartition(
        partition=early, since=1, closes="2025-11-10T00:00:00Z", files=1, rows=1, certified=0
    )
    days.write(3, early=(line,), tracking=Tracking(1, "2025-11-09T00:00:00Z"))
    days.hive.where[early.name] = join(days.location, OTHER)
    result = days.compact()
    assert result.corrected == (early,) and days.hive.where[early.name] == early.location
    assert [each.partition for each in result.partitions] == [early]
