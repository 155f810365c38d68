"""The texts that commands write into a pipe, word by word."""

from kafka2hive.cli.render.offsets import render_init
from kafka2hive.cli.render.recover import render_recover
from kafka2hive.cli.render.retain import render_retain
from kafka2hive.cli.render.status import render_status, retention_lines, trouble_lines
from kafka2hive.cli.terminal.document import resume_lines
from kafka2hive.cli.terminal.screen import Screen
from kafka2hive.kafka.port import Watermark
from kafka2hive.model.errors import ManualActionRequired
from kafka2hive.model.files import FileMoves, HivePartition
from kafka2hive.model.offsets import OffsetAccounting, OffsetRange, Position, TopicPartition
from kafka2hive.model.snapshot import AcceptedGap
from kafka2hive.service.init.init import InitOutcome, InitResult, InitTable
from kafka2hive.service.inspect.state import LastOutcome, NotRunning, OwnerLife
from kafka2hive.service.inspect.status import (
    DroppedFiles,
    EpochStatus,
    RetentionStatus,
    StatusResult,
    TableStatus,
)
from kafka2hive.service.inspect.where import PartitionDrop
from kafka2hive.service.recover.result import RecoveredTable, RecoverRequest, RecoverResult, Recovery
from kafka2hive.service.retention.command import RetainRequest, RetainResult
from kafka2hive.service.retention.expired import ExpiredPartition
from kafka2hive.service.tables.condition import Stopped, TableCondition, Trouble
from tests.harness.values import data_file, view_of

PIPE = Screen()
FIRST = TopicPartition("flights", 0)
GENERATION = "g000007.20130101T000000Z-data-node-3-4711-" + "0" * 32
NOW = 1_357_000_000.0  # 2013-01-01 00:26:40 UTC


def _positions(*ends: int) -> tuple[Position, ...]:
    return tuple(Position(TopicPartition("flights", number), end, end) for number, end in enumerate(ends))


def test_recover_shows_the_counts_and_where_the_next_run_resumes() -> None:
    moves = FileMoves(created=5, renamed=3, already_there=2, retried=1)
    table = RecoveredTable(
        "air.flights",
        Recovery.DONE,
        GENERATION,
        epoch=42,
        rolled_forward=41,
        moves=moves,
        orphans_deleted=4,
        registered=2,
        unregistered=0,
        resumes_at=_positions(15_000, 15_001),
    )
    assert render_recover("demo", RecoverRequest(), RecoverResult((table,)), PIPE).splitlines() == [
        "air.flights  recovered  epoch 42, g000007",
        "  rolled forward: epoch 41, 5 files = 3 renamed + 2 already there",
        "  1 rename retried",
        "  Hive: 2 partitions registered, 0 still pending",
        "  deleted: 4 orphans (staged files and drafts that are not used)",
        "  the next run resumes at flights  0:15,000 1:15,001",
        "service demo: 1 table recovered",
    ]


def test_a_stop_is_shown_with_its_way_on_and_the_exit_code() -> None:
    error = ManualActionRequired("ledger.missing", "file:///a.final: neither there nor staged", "type this")
    table = RecoveredTable("air.flights", Recovery.STOPPED, error=error)
    assert render_recover("demo", RecoverRequest(), RecoverResult((table,)), PIPE).splitlines() == [
        "air.flights  STOP: manual intervention required",
        "  [ledger.missing] file:///a.final: neither there nor staged",
        "    what to do: type this",
        "service demo: 1 of 1 table needs attention (exit code 76)",
    ]


def test_a_stop_that_the_last_run_reported_is_told_once_with_since_when_and_the_way_on() -> None:
    trouble = Trouble("kafka.offsets_gone", "5 offsets are gone", "kafka2hive recover --accept-gap")
    since = TableCondition("air.flights", Stopped(trouble, "2013-01-01T00:00:00Z"))
    last = LastOutcome("2013-01-01T00:21:40Z", True, since)
    assert [line.plain for line in trouble_lines(Stopped(trouble), last, NOW)] == [
        "  manual intervention required since 2013-01-01T00:00:00Z when the last run ended, 5 min ago:"
        " [kafka.offsets_gone] 5 offsets are gone",
        "    what to do: kafka2hive recover --accept-gap",
    ]
    other = Stopped(Trouble("ledger.missing", "a file is missing"))
    assert len(trouble_lines(other, last, NOW)) == 3


def test_status_shows_lag_age_pending_work_owner_and_last_epochs() -> None:
    gap = AcceptedGap(range=OffsetRange(FIRST, 0, 0), reason="aged out", accepted_at="then", epoch=1)
    view = view_of(
        GENERATION,
        table="air.flights",
        epoch=41,
        files=(data_file(),) * 4,
        newest_ms=1_356_999_990_000,
        positions=(Position(FIRST, 10, 20),),
        gaps=(gap,),
    )
    account = OffsetAccounting(read=1_234, written=1_234, bytes=5_000)
    last = EpochStatus(40, "2013-01-01T00:26:30Z", 2, 7, account)
    table = TableStatus(view, NotRunning(), OwnerLife.DEAD, (), {FIRST: Watermark(12_020)}, (last,))
    text = render_status("demo", StatusResult((table,), (), None), PIPE, NOW)
    assert [line for line in text.splitlines() if not set(line) <= {"─", "━", "-"}] == [
        "                                                                       not in",
        "table         state         epoch      lag   newest record   pending     Hive",
        "air.flights   not running      41   12,000   10.0 s old      4 files        0",
        "pending: files of a committed epoch that readers do not see yet: for seconds, or until the next start or"
        " `kafka2hive recover -c MAP`",
        "air.flights",
        "  owner: process 4711 on host data-node-3 since 2013-01-01T00:00:00Z, generation 7, no live run",
        "  epoch 41 is committed, but not finalised: the next start or `recover` rolls it forward",
        "  accepted so far: 1 gap, 0 lost files",
        "  resumes at flights  0:20",
        "epoch   written      records    bytes   files   dead   absent",
        "   40   10.0 s ago     1,234   5.0 kB       2      0        0",
    ]


def test_many_topic_partitions_take_one_line() -> None:
    assert resume_lines(_positions(*[10] * 500)) == [
        "flights  500 topic partitions, positions add up to 5,000 (--json lists each)"
    ]


def test_init_says_what_it_made_and_what_was_there() -> None:
    result = InitResult(
        (
            InitTable("air.flights", "file:///l/air.flights", InitOutcome.MADE),
            InitTable("air.planes", "file:///l/air.planes", InitOutcome.EXISTS),
        )
    )
    assert render_init(result, PIPE).splitlines() == [
        "air.flights  made",
        "  file:///l/air.flights",
        "air.planes  already there",
        "  file:///l/air.planes",
    ]


def test_an_init_without_any_table_says_why() -> None:
    assert "no topic matches" in render_init(InitResult(()), PIPE)


def test_status_says_what_has_expired_and_what_the_files_of_dropped_partitions_wait_for() -> None:
    def dropped(day: int, since: str = "", files: int | None = 2) -> DroppedFiles:
        partition = HivePartition("air.flights", f"dt={day}", f"/w/dt={day}")
        return DroppedFiles(partition, PartitionDrop(7, since), files, None if files is None else 1500)

    monday, tuesday = "2013-01-07T08:00:00Z", "2013-01-08T08:00:00Z"
    expired, days = "2012-12-01T00:00:00Z", 864_000.0
    assert retention_lines(None) == []
    assert retention_lines(RetentionStatus(days)) == ["retain 10.0 d: nothing has expired yet"]
    assert retention_lines(RetentionStatus(days, expired, (dropped(2, monday), dropped(3)))) == [
        f"periods that ended by {expired} have expired (retain 10.0 d): their records become dead letters",
        f"dropped: 2 partitions, 4 files with 3.0 kB; the next can be deleted from {tuesday};"
        " Hive may still have 1 of them, for example dt=3",
    ]
    gone = RetentionStatus(None, expired, (dropped(2, monday, None),), (("dt=1", "it is not complete yet"),))
    assert retention_lines(gone) == [
        f"periods that ended by {expired} have expired (no `retain` in the map): their records become dead letters",
        f"dropped: 1 partition; the next can be deleted from {tuesday}",
        "expired, not dropped yet: dt=1, it is not complete yet",
    ]
    many = RetentionStatus(days, expired, waits=tuple((f"dt={day}", "why") for day in range(12)))
    assert retention_lines(many)[-1] == "expired, not dropped yet: 2 more (all: --json)"


def test_a_partition_that_hive_does_not_drop_is_not_called_dropped() -> None:
    kept, gone = (HivePartition("a.b", f"dt=2026-11-{day}", "hdfs://n:1/b") for day in (24, 25))
    result = RetainResult(
        "a.b",
        "2026-11-26T00:00:00Z",
        (ExpiredPartition(kept, 1, 2_400), ExpiredPartition(gone, 0, 0)),
        dropping=(kept, gone),
        refused=((kept, "it would delete the files"),),
    )
    text = render_retain(RetainRequest("a.b"), result, Screen())
    assert "dt=2026-11-24  1 file, 2.4 kB: expired, but Hive still has it" in text
    assert "dt=2026-11-25  dropped" in text
