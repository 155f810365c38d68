"""`retain` drops and deletes by its own looks in Hive: rules E1 to E4 of docs/protocol.md, without a run."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from kafka2hive.ledger.init import init
from kafka2hive.ledger.look import look
from kafka2hive.ledger.retention import KEEP_SECONDS
from kafka2hive.ledger.snapshot.codec import encode
from kafka2hive.ledger.snapshot.expiry import NEEDS_HIVE
from kafka2hive.model.errors import ConfigError, ExitCode
from kafka2hive.model.files import HivePartition
from kafka2hive.model.metastore import MetastoreRefused
from kafka2hive.model.snapshot import Certificate, ComparedTable, DroppedPartition, Snapshot
from kafka2hive.service.retention.command import RetainRequest, RetainResult, retain
from kafka2hive.storage.concurrency import SystemClock
from kafka2hive.storage.port import Denied
from tests.harness.beating import beating_owner
from tests.harness.cli_ledger import local, tree, wired
from tests.harness.clock import SkippedTime
from tests.harness.fake_hive import FakeHive, with_hive
from tests.harness.seen_progress import SeenProgress
from tests.harness.values import file_name

NAME = "air.days"
DAYS = ("dt=2025-11-08", "dt=2025-11-09", "dt=2025-11-12")
"""The clock stands at 2025-11-21T08:00: the first two have expired."""
HIVE = 'hive: {url: "hive://127.0.0.1:9"}\n'
MAP = """\
defaults: {start: earliest, format: raw}
tables:
  - {table: air.days, topics: [days], retain: 10d, bucket: {path: "dt=%Y-%m-%d"}}
"""


class Days:
    """A stopped table with a file in each day, all registered in Hive."""

    def __init__(self, folder: Path, service_map: str = HIVE + MAP) -> None:
        self.folder, self.clock, self.hive = folder, SkippedTime(), FakeHive()
        real = wired(folder, service_map)
        real = replace(real, ports=replace(real.ports, clock=self.clock))
        self.wiring = with_hive(real, None if real.map.hive is None else self.hive)
        self.location = real.map.tables[0].location
        self.paths = real.paths(NAME)
        init(real.ports, self.paths, real.map.service, self.location)
        self.restate(location=self.location, newest_ms=self.clock.epoch_ms())
        self.homes = tuple(HivePartition(NAME, day, f"{self.location}/{day}") for day in DAYS)
        for home in self.homes:
            self.put(home.path, file_name(self.state.ledger_id, 0, 0).in_state("final"))
            self.hive.where[home.name] = home.location

    @property
    def state(self) -> Snapshot:
        return look(self.wiring.ports.files, self.paths).state

    def restate(self, **changes: object) -> None:
        """Change the newest snapshot in place, as if an earlier epoch had said so."""
        view = look(self.wiring.ports.files, self.paths)
        path = local(f"{view.directory}/e{view.state.epoch:06d}.final")
        path.write_bytes(encode(replace(view.state, **changes)))  # type: ignore[arg-type]

    def put(self, day: str, name: str, content: bytes = b"rows") -> Path:
        file = local(f"{self.location}/{day}/{name}")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        return file

    def retain(self, seconds: float = 0, *, plan_only: bool = False, take_over: bool = False) -> RetainResult:
        self.clock.seconds += seconds
        return retain(self.wiring, RetainRequest(NAME, plan_only=plan_only, take_over=take_over))

    def present(self) -> list[str]:
        return sorted(child.name for child in local(self.location).iterdir() if "=" in child.name)

    @property
    def lines(self) -> dict[str, str]:
        return {line.partition.path: line.gone_since for line in self.state.dropped}


def test_what_has_expired_is_dropped_and_its_files_are_deleted_a_day_after_hive_lacks_it(
    tmp_path: Path,
) -> None:
    days = Days(tmp_path)
    days.put(DAYS[0], "_SUCCESS", b"")
    first = days.retain()
    assert first.exit_code is ExitCode.DONE and first.deleted == 0
    assert first.dropping == days.homes[:2] and all(days.lines.values())
    assert [name for name in days.hive.asked if name.startswith("drop")] == [f"drop {d}" for d in DAYS[:2]]
    assert list(days.hive.where) == [days.homes[2].name]
    assert days.retain(KEEP_SECONDS - 1).deleted == 0 and days.present() == sorted(DAYS)
    progress = SeenProgress()
    days.wiring = replace(days.wiring, progress=progress)
    done = days.retain(1)
    assert (done.deleted, done.cleared) == (3, days.homes[:2])
    assert progress.done[f"drop expired partitions of {NAME}"] == {"partitions": 2, "files": 3}
    assert days.present() == [DAYS[2]] and days.lines == {}
    assert days.retain().partitions == ()


def test_a_partition_that_is_back_is_dropped_again_and_its_day_begins_again(tmp_path: Path) -> None:
    days = Days(tmp_path)
    days.retain()
    days.clock.seconds += KEEP_SECONDS
    days.hive.where[days.homes[0].name] = days.homes[0].location
    recorded: list[str] = []

    def note(words: str) -> None:
        if words.startswith("drop"):
            recorded.append(days.lines[DAYS[0]])

    days.hive.before = note
    assert days.retain().cleared == days.homes[1:2]
    assert recorded == [""], "it was recorded as back before the statement was sent"
    assert days.present() == [DAYS[0], DAYS[2]] and days.lines[DAYS[0]]
    assert days.retain(KEEP_SECONDS - 1).cleared == ()
    assert days.retain(1).cleared == days.homes[:1]


def elsewhere(days: Days) -> None:
    days.hive.where[days.homes[0].name] = "file:///elsewhere"


def down_from_the_first_on(days: Days) -> None:
    days.hive.is_down = True


def refused_to_say(days: Days) -> None:
    def refuse(words: str) -> None:
        if words == f"look {DAYS[0]}":
            raise MetastoreRefused("no permission")

    days.hive.before = refuse


@pytest.mark.parametrize(
    ("happens", "code"),
    [
        (elsewhere, ExitCode.SET_ASIDE),
        (refused_to_say, ExitCode.SET_ASIDE),
        (down_from_the_first_on, ExitCode.UNAVAILABLE),
    ],
)
def test_only_a_look_of_this_command_that_lacks_a_partition_deletes_its_files(
    tmp_path: Path, happens: Callable[[Days], None], code: ExitCode
) -> None:
    days = Days(tmp_path)
    days.retain()
    happens(days)
    result = days.retain(2 * KEEP_SECONDS)
    assert result.exit_code is code and DAYS[0] in days.present()
    assert days.homes[0] not in result.cleared and days.lines[DAYS[0]], "Hive lacked it when it was dropped"


def test_what_hive_refuses_to_drop_stays_and_is_said(tmp_path: Path) -> None:
    days = Days(tmp_path)
    days.hive.refused = {DAYS[0]}
    result = days.retain()
    assert result.refused == ((days.homes[0], "no permission"),) and result.exit_code is ExitCode.SET_ASIDE
    assert days.lines[DAYS[0]] == "" and days.lines[DAYS[1]]
    days.retain(2 * KEEP_SECONDS)
    assert days.present() == [DAYS[0], DAYS[2]]


def without(days: Days, verb: str, part: str) -> None:
    """Let the file system refuse each call of this method whose path has `part`."""
    real = days.wiring.ports.files

    class Refusing:
        def __getattr__(self, name: str) -> object:
            method = getattr(real, name)
            if name != verb:
                return method

            def call(path: str, *rest: object) -> object:
                if part in path:
                    raise Denied(path, "no permission")
                return method(path, *rest)

            return call

    days.wiring = replace(days.wiring, ports=replace(days.wiring.ports, files=Refusing()))  # type: ignore[arg-type]


def test_a_partition_waits_until_its_certificate_is_written(tmp_path: Path) -> None:
    days = Days(tmp_path)
    certificate = Certificate(
        partition=days.homes[0],
        since=0,
        files=1,
        rows=1,
        through="2025-11-20T00:00:00Z",
        policy="p",
        success_file="",
    )
    days.restate(certificates=(certificate,))
    whole = days.wiring
    without(days, "create", f"{DAYS[0]}/")
    result = days.retain()
    assert [each.waits for each in result.partitions] == ["its certificate is not written yet", ""]
    assert list(days.lines) == [DAYS[1]]
    days.wiring = whole
    days.retain()
    assert list(days.lines) == [DAYS[1], DAYS[0]]


def test_a_partition_waits_for_hive_s_confirmation(tmp_path: Path) -> None:
    days = Days(tmp_path)
    days.restate(unregistered=days.homes[1:2])
    waits = ["", "Hive has not confirmed it yet"]
    assert [each.waits for each in days.retain(plan_only=True).partitions] == waits
    assert [each.waits for each in days.retain().partitions] == waits
    assert list(days.lines) == [DAYS[0]]


def test_the_plan_changes_nothing(tmp_path: Path) -> None:
    days = Days(tmp_path)
    before = tree(tmp_path)
    planned = days.retain(plan_only=True)
    assert [each.partition for each in planned.partitions] == list(days.homes[:2])
    assert planned.expired_before == "2025-11-11T08:00:00Z"
    assert tree(tmp_path) == before and days.hive.asked == [] and days.state.dropped == ()


def test_a_table_without_retain_is_refused_and_stays_as_it_is(tmp_path: Path) -> None:
    days = Days(tmp_path, HIVE + MAP.replace(" retain: 10d,", ""))
    before = tree(tmp_path)
    with pytest.raises(ConfigError, match="has no `retain`"):
        days.retain()
    assert tree(tmp_path) == before


def test_files_of_others_keep_a_partition_and_its_directory(tmp_path: Path) -> None:
    days = Days(tmp_path)
    foreign = days.put(DAYS[0], "part-0.parquet")
    first = days.retain()
    assert first.exit_code is ExitCode.DONE and list(days.lines) == [DAYS[1]]
    assert "part-0.parquet" in first.partitions[0].waits
    foreign.rename(foreign.with_name("part-1.parquet"))
    foreign.with_name("part-1.parquet").rename(local(f"{days.location}/{DAYS[1]}/part-1.parquet"))
    done = days.retain(KEEP_SECONDS)
    assert [path.rpartition("/")[2] for path in done.foreign] == ["part-1.parquet"]
    assert done.exit_code is ExitCode.SET_ASIDE
    assert [child.name for child in local(f"{days.location}/{DAYS[1]}").iterdir()] == ["part-1.parquet"]


def test_a_live_run_keeps_its_table_unless_the_command_says_take_over(tmp_path: Path) -> None:
    days = Days(tmp_path)
    with beating_owner(tmp_path / "map.yaml", NAME):
        ports = replace(days.wiring.ports, clock=SystemClock())
        result = retain(replace(days.wiring, ports=ports), RetainRequest(NAME))
        assert result.exit_code is ExitCode.OWNED and days.lines == {} and not days.hive.asked
        taken = retain(replace(days.wiring, ports=ports), RetainRequest(NAME, take_over=True))
        assert taken.exit_code is ExitCode.DONE and days.lines


def test_without_hive_only_what_hive_was_never_told_of_is_dropped(tmp_path: Path) -> None:
    days = Days(tmp_path, MAP)
    days.restate(unregistered=days.homes[:1])
    result = days.retain()
    assert list(days.lines) == [DAYS[0]] and all(days.lines.values())
    assert [each.waits for each in result.partitions if each.partition == days.homes[1]] == [NEEDS_HIVE]
    compared = ComparedTable(table=NAME, location="", format="", columns="", partition_columns="")
    known = days.state.compared
    days.restate(compared=(compared,))
    assert days.retain(2 * KEEP_SECONDS).cleared == ()
    days.restate(compared=known)
    assert days.retain().cleared == days.homes[:1] and days.present() == [DAYS[1], DAYS[2]]


def test_a_map_that_has_hive_again_looks_before_it_deletes(tmp_path: Path) -> None:
    days = Days(tmp_path)
    line = DroppedPartition(partition=days.homes[0], epoch=0, gone_since="2025-11-19T08:00:00Z")
    days.restate(dropped=(line,))
    result = days.retain()
    assert result.cleared == () and days.homes[0].path in days.present()
    assert f"drop {DAYS[0]}" in days.hive.asked


def test_a_file_that_cannot_be_deleted_is_said_and_the_next_command_deletes_the_rest(tmp_path: Path) -> None:
    days = Days(tmp_path)
    days.retain()
    directory, whole = local(f"{days.location}/{DAYS[1]}"), days.wiring
    without(days, "delete", DAYS[1])
    failed = days.retain(KEEP_SECONDS)
    assert failed.exit_code is not ExitCode.DONE and failed.error is not None
    assert failed.cleared == days.homes[:1] and directory.exists()
    days.wiring = whole
    assert days.retain().cleared == days.homes[1:2]


def test_partitions_beyond_the_most_that_a_snapshot_lists_wait_and_the_command_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kafka2hive.ledger.retention.MOST_DROPPED", 1)
    days = Days(tmp_path)
    result = days.retain()
    assert list(days.lines) == [DAYS[0]], "that which ended first"
    assert ["repeat the command" in each.waits for each in result.partitions] == [False, True]


def test_what_another_ledger_or_a_later_epoch_wrote_is_not_deleted(tmp_path: Path) -> None:
    days = Days(tmp_path)
    days.retain()
    ledger = days.state.ledger_id
    others = [
        days.put(DAYS[0], file_name("f" * 32, 0, 0).in_state("final")),
        days.put(DAYS[0], file_name(ledger, 0, 9, uuid="1" * 32).in_state("final")),
        days.put(DAYS[0], file_name(ledger, 0, 0, uuid="2" * 32).in_state("pending")),
        days.put(DAYS[0], "_SUCCESS", b"not empty"),
    ]
    done = days.retain(KEEP_SECONDS)
    assert all(path.exists() for path in others)
    assert done.deleted == 2 and done.exit_code is ExitCode.SET_ASIDE
