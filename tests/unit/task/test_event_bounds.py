"""Bounds of event time: which rows are out of range or late, from the map to the next epoch's plan, accounts and the audit."""

import datetime
import logging
from dataclasses import replace
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka2hive.config.keys import Bucketing, BucketTime, TableRule, TableSettings
from kafka2hive.config.load import load_text
from kafka2hive.config.yaml.problems import MapInvalid
from kafka2hive.kafka.port import ClusterView, TopicView, Watermark
from kafka2hive.kafka.positions import Logs
from kafka2hive.ledger.draft import BoundGoesBack, draft
from kafka2hive.ledger.owned_ledger import OwnedLedger
from kafka2hive.ledger.snapshot.change import Change, Completeness, DataEpoch, NoTracking, RegistrationUpdate
from kafka2hive.ledger.snapshot.codec import decode, encode
from kafka2hive.model.errors import TableError
from kafka2hive.model.files import FileKind, HivePartition
from kafka2hive.model.offsets import (
    AccountingMismatch,
    OffsetAccounting,
    Position,
    RangeAccounting,
    TopicPartition,
)
from kafka2hive.model.paths.ledger import Generation, LedgerPaths
from kafka2hive.model.snapshot import REBUILT, EventBounds, Snapshot, Tracking
from kafka2hive.observe.metrics import ServiceMetrics
from kafka2hive.observe.progress import EpochNumbers, TableNumbers
from kafka2hive.plan import TableBacklog, plan_epoch
from kafka2hive.plan.contract import TableManifest, TaskPlan
from kafka2hive.service.run.telemetry.records import FutureWatch
from kafka2hive.service.tables.manifests import Outcome, check_dead_letters, judge_manifests
from kafka2hive.service.tables.read_through import event_bounds
from kafka2hive.service.tables.report import EpochReport, TableReport
from kafka2hive.service.tables.table_state import MapTable, Table
from kafka2hive.service.verify.snapshot_lines import audit_lines
from kafka2hive.service.verify.units import fetchable_ranges, summary_lines, units_of
from kafka2hive.task.write.bucketer import NO_BUCKET, Bucketer
from tests.harness.fake_consumer import FakeConsumer, FakeLog
from tests.harness.one_task import manifests_of
from tests.harness.task_files import (
    MemoryFiles,
    offsets,
    read_rows,
    table_settings,
    table_task,
    task_settings,
)
from tests.harness.values import data_file, snapshot

DAY = 86_400_000
MINUTE = 60_000
ZONES = ["UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu"]


def ms(*moment: int) -> int:
    return int(datetime.datetime(*moment, tzinfo=datetime.UTC).timestamp()) * 1000  # type: ignore[misc, arg-type]


NOW = ms(2026, 11, 25, 12)
BOUNDS = EventBounds(planned_ms=NOW, max_future_ms=DAY, max_past_ms=400 * DAY)
BY_AT = Bucketing("dt=%Y-%m-%d", BucketTime.EVENT, "at")


def fates(
    bounds: EventBounds | None, times: list[int], written: list[int | None], bucketing: Bucketing = BY_AT
) -> list[str]:
    """Return the Hive partition of each row, or the code for which it has none."""
    rows = pa.record_batch({"at": pa.array(times, pa.int64())})
    bucketer = Bucketer(bucketing, bucketing.zone, rows.schema, NOW, bounds=bounds)
    assigned = bucketer.assign(rows, lambda: pa.array(written, pa.int64()))
    found = [bucketer.paths[n] if n != NO_BUCKET else "" for n in assigned.ids.tolist()]
    for row, reason in zip(assigned.refused.tolist(), assigned.reasons, strict=True):
        assert not found[row]
        found[row] = reason.code
    return found


@given(
    st.lists(
        st.tuples(
            st.integers(ms(2024, 1, 1), ms(2028, 12, 31)),
            st.one_of(st.none(), st.integers(ms(2024, 1, 1), ms(2028, 12, 31))),
        ),
        min_size=1,
        max_size=40,
    ),
    st.sampled_from(ZONES),
    st.one_of(st.none(), st.integers(MINUTE, 500 * DAY)),
    st.one_of(st.none(), st.integers(MINUTE, 500 * DAY)),
    st.one_of(st.none(), st.integers(ms(2024, 1, 1), ms(2028, 12, 31))),
)
def test_a_batch_is_decided_like_one_row_at_a_time_with_pythons_own_clocks(
    times: list[tuple[int, int | None]], zone: str, future: int | None, past: int | None, closed: int | None
) -> None:
    def wall(instant: int) -> datetime.datetime:
        moment = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC) + datetime.timedelta(milliseconds=instant)
        return moment.astimezone(ZoneInfo(zone)).replace(tzinfo=None)

    def expected(event: int, written: int | None) -> str:
        known = NOW if written is None else min(written, NOW, key=wall)
        ahead = (wall(event) - wall(known)) // datetime.timedelta(milliseconds=1)
        if (future is not None and ahead > future) or (past is not None and -ahead > past):
            return "bucket.out_of_range"
        day = wall(event).replace(hour=0, minute=0, second=0, microsecond=0)
        end = (day + datetime.timedelta(days=1)).replace(tzinfo=ZoneInfo(zone))
        late = max(end.timestamp(), end.replace(fold=1).timestamp()) * 1000
        return "bucket.late" if closed is not None and late <= closed else f"dt={day:%Y-%m-%d}"

    bounds = EventBounds(planned_ms=NOW, max_future_ms=future, max_past_ms=past, late_before_ms=closed)
    events, written = [event for event, _ in times], [at for _, at in times]
    found = fates(bounds, events, written, replace(BY_AT, zone=zone))
    assert found == [expected(event, at) for event, at in times]


@pytest.mark.parametrize(
    ("event", "written", "fate"),
    [
        (NOW + DAY, NOW, "dt=2026-11-26"),
        (NOW + DAY + 1, NOW, "bucket.out_of_range"),
        (NOW - 400 * DAY, NOW, "dt=2025-10-21"),
        (NOW - 400 * DAY - 1, NOW, "bucket.out_of_range"),
        # a backlog of years: what is sound by the record's own timestamp is sound whenever it is read
        (ms(2013, 1, 1), ms(2013, 1, 2), "dt=2013-01-01"),
        (ms(2013, 1, 4), ms(2013, 1, 2), "bucket.out_of_range"),
        # a producer whose clock is in the year 2099: the time of planning counts instead of its timestamp
        (ms(2099, 1, 1), ms(2099, 1, 1), "bucket.out_of_range"),
        (NOW, ms(2099, 1, 1), "dt=2026-11-25"),
        # a record without a timestamp
        (NOW, None, "dt=2026-11-25"),
        (ms(2099, 1, 1), None, "bucket.out_of_range"),
    ],
)
def test_a_time_is_compared_with_its_record_or_with_the_plan_if_the_record_is_of_the_future(
    event: int, written: int | None, fate: str
) -> None:
    assert fates(BOUNDS, [event], [written]) == [fate]


def test_without_bounds_nothing_changes() -> None:
    wild = [ms(2099, 1, 1), ms(1900, 1, 1), NOW]
    assert fates(None, wild, [NOW] * 3) == ["dt=2099-01-01", "dt=1900-01-01", "dt=2026-11-25"]
    assert fates(EventBounds(planned_ms=NOW), wild, [NOW] * 3) == fates(None, wild, [NOW] * 3)


def test_the_longest_bounds_do_not_overflow() -> None:
    longest = EventBounds(planned_ms=NOW, max_future_ms=10**18, max_past_ms=10**18)
    wild = [ms(9999, 12, 31), ms(1, 1, 1)]
    assert fates(longest, wild, [NOW, NOW]) == ["dt=9999-12-31", "dt=0001-01-01"]


def test_by_record_time_a_record_of_the_future_is_out_of_range() -> None:
    by_record = Bucketing("dt=%Y-%m-%d", BucketTime.RECORD)
    written: list[int | None] = [NOW, NOW + 2 * DAY, ms(2013, 1, 1)]
    found = fates(replace(BOUNDS, max_past_ms=None), [0, 0, 0], written, by_record)
    assert found == ["dt=2026-11-25", "bucket.out_of_range", "dt=2013-01-01"]


def test_times_out_of_range_leave_no_paths_behind() -> None:
    rows = pa.record_batch({"at": pa.array([NOW + n * DAY for n in range(2, 5_000)], pa.int64())})
    bucketer = Bucketer(BY_AT, "UTC", rows.schema, NOW, bounds=BOUNDS)
    assigned = bucketer.assign(rows, lambda: pa.array([NOW] * len(rows), pa.int64()))
    assert len(assigned.refused) == len(rows) and len(bucketer.paths) <= 1


def test_a_period_is_late_from_its_end_on() -> None:
    for closed, fate in ((ms(2026, 11, 25), "bucket.late"), (ms(2026, 11, 25) - 1, "dt=2026-11-24")):
        assert fates(EventBounds(planned_ms=NOW, late_before_ms=closed), [ms(2026, 11, 24)], [NOW]) == [fate]


def test_what_has_expired_refuses_nothing_once_the_path_names_no_periods() -> None:
    bounds, path = (
        EventBounds(planned_ms=NOW, expired_before_ms=NOW),
        Bucketing("n={at}", BucketTime.EVENT, "at"),
    )
    assert fates(bounds, [ms(2026, 11, 24)], [NOW]) == ["bucket.expired"]
    (fate,) = fates(bounds, [ms(2026, 11, 24)], [NOW], path)
    assert fate.startswith("n=")


# a task


COLUMNS = (("n", "bigint"), ("at", "bigint"))


def run(
    bounds: EventBounds | None, table: TableSettings, *events: bytes
) -> tuple[TableManifest, MemoryFiles]:
    files, log = MemoryFiles(), FakeLog(dict(enumerate(events)), len(events), first_ms=NOW)
    task = replace(table_task("db.t", offsets("t", 0, 0, len(events))), bounds=bounds)
    plan, wanted = TaskPlan(0, (task,)), task_settings("", table, stall_seconds=2.0)
    (manifest,) = manifests_of(plan, wanted, files, FakeConsumer({("t", 0): log}))
    assert manifest.failure is None, manifest.failure
    return manifest, files


def record(n: int, at: int) -> bytes:
    return b'{"n":%d,"at":%d}' % (n, at)


CLOSED = replace(BOUNDS, late_before_ms=ms(2026, 11, 25))
EVENTS = (
    record(0, NOW),
    record(1, NOW + 2 * DAY),
    record(2, ms(2026, 11, 24)),
    record(3, ms(2024, 1, 1)),
    b"bad",
    record(5, ms(2026, 11, 23)),
    record(6, ms(2026, 11, 22)),
)


def judged(manifest: TableManifest, bounds: EventBounds | None, share: float = 1.0) -> Outcome:
    ranges = [account.range for account in manifest.accounts]
    return judge_manifests("db.t", ranges, [manifest], share, frozenset(), "c", "file:///w", bounds)


def test_a_task_counts_late_and_out_of_range_records_and_keeps_every_byte_of_them() -> None:
    table = table_settings("db.t", "json", COLUMNS, bucketing=BY_AT)
    manifest, files = run(CLOSED, table, *EVENTS)
    total = judged(manifest, CLOSED).total
    assert (total.read, total.written, total.dead_lettered) == (7, 1, 6)
    assert (total.out_of_range, total.late, total.bad) == (2, 3, 1)
    letters = read_rows(files, manifest, FileKind.DEAD_LETTER)
    assert {row["offset"]: (row["reason"], row["value"]) for row in letters} == {
        n: (reason, EVENTS[n])
        for n, reason in {
            1: "bucket.out_of_range",
            2: "bucket.late",
            3: "bucket.out_of_range",
            4: "json.syntax",
            5: "bucket.late",
            6: "bucket.late",
        }.items()
    }
    assert {row["_path"] for row in read_rows(files, manifest)} == {"dt=2026-11-25"}


def test_one_late_row_of_several_makes_its_message_one_late_letter() -> None:
    table = replace(table_settings("db.t", "json", COLUMNS, bucketing=BY_AT), rows="lines")
    manifest, files = run(CLOSED, table, b"\n".join(EVENTS[:1] + EVENTS[2:3]), EVENTS[0])
    total = judged(manifest, CLOSED).total
    assert (total.read, total.written, total.dead_lettered, total.late) == (2, 1, 1, 1)
    assert [row["n"] for row in read_rows(files, manifest)] == [0]


def test_late_and_out_of_range_records_do_not_count_towards_the_share_of_dead_letters() -> None:
    few = OffsetAccounting(1_000, 400, dead_lettered=600, out_of_range=300, late=300)
    check_dead_letters("db.t", [offsets("t", 0, 0, 1_000)], few, (), 0.0)
    one_bad = replace(few, written=399, dead_lettered=601)
    with pytest.raises(TableError, match="1 of 1000 records"):
        check_dead_letters("db.t", [offsets("t", 0, 0, 1_000)], one_bad, (), 0.0)
    table = table_settings("db.t", "json", COLUMNS, bucketing=BY_AT)
    manifest, _ = run(CLOSED, table, *EVENTS)
    with pytest.raises(TableError, match=r"1 of 7 records .* Most frequent: 1 of 1 json\.syntax"):
        judged(manifest, CLOSED, share=0.0)


def test_more_late_records_than_dead_letters_or_some_without_bounds_are_a_bug() -> None:
    wrong = RangeAccounting(
        0, offsets("t", 0, 0, 3), OffsetAccounting(3, 2, dead_lettered=1, late=1, out_of_range=1)
    )
    with pytest.raises(AccountingMismatch, match="1 dead-lettered, but 1 out of range"):
        wrong.check()
    table = table_settings("db.t", "json", COLUMNS, bucketing=BY_AT)
    manifest, _ = run(CLOSED, table, *EVENTS)
    with pytest.raises(AccountingMismatch, match="the plan has no bounds"):
        judged(manifest, None)


def test_the_metrics_count_them_apart() -> None:
    metrics = ServiceMetrics("bounds")
    table = TableNumbers("d.t", 1, 9, 9, dead_letters=6, out_of_range=2, late=3)
    for _ in range(2):
        metrics.observe_epoch(EpochNumbers(1, 1.0, (table,)))
    counted = {
        name: metrics.registry.get_sample_value(f"kafka2hive_{name}_total", {"table": "d.t"})
        for name in ("dead_letters", "out_of_range_records", "late_records")
    }
    assert counted == {"dead_letters": 12, "out_of_range_records": 4, "late_records": 6}


# the map


MAP = """\
service: bounds
kafka: {{bootstrap.servers: "127.0.0.1:9092"}}
storage: {{uri: "file:///nowhere"}}
tables: [{{table: d.t, topics: [t], columns: {{at: timestamp, day: date, c: string}}, {more}}}]
"""
BOTH = "late: dead_letter, completion: {delay: 1h}"


def rule_of(more: str) -> TableRule:
    return load_text(MAP.format(more=more), "m", {}).tables[0]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("late: dead_letter", "dead_letter needs completion"),
        ("late: dead_letter, completion: {plugin: {name: x}}", "completion.plugin decides"),
        (BOTH + ", bucket: {time: processing}", "no record is late"),
        ("bucket: {path: 'c={c}', max_future: 1d}", "has no time code"),
        ("bucket: {path: '', max_past: 1d}", "has no time code"),
        ("bucket: {time: processing, max_future: 1d}", "is not used with time processing"),
        ("bucket: {max_past: 1d}", "which is also the bucket's time: set field"),
        ("bucket: {field: at, max_past: 30s}", "must be at least 60s: clocks differ"),
        ("bucket: {field: at, max_future: 1s}", "must be at least 60s: clocks differ"),
        ("bucket: {field: day, max_past: 23h}", "a date means its midnight"),
        ("bucket: {field: at, max_future: -1d}", "expected a duration"),
        ("late: drop", "expected"),
        ("register: complete", "complete needs completion, which says when"),
        ("register: complete, completion: {delay: 1h}", "complete needs the hive section"),
        ("register: last", "expected"),
    ],
)
def test_bounds_that_cannot_work_are_refused(more: str, message: str) -> None:
    with pytest.raises(MapInvalid) as caught:
        rule_of(more)
    assert message in "\n".join(problem.render("m") for problem in caught.value.problems)


# from the ledger to the next plan


def state_of(bounds: EventBounds | None = None, through: str | None = "2026-11-25T12:00:00Z") -> Snapshot:
    tracking = None if through is None else Tracking(1, through)
    tp = TopicPartition("t", 0)
    return snapshot(epoch=4, tracking=tracking, bounds=bounds, positions=(Position(tp, 0, 0),))


def late_before(rule: TableRule, state: Snapshot) -> int | None:
    bounds = event_bounds(rule, state)
    return None if bounds is None else bounds.late_before_ms


def test_periods_close_delay_before_the_time_up_to_which_the_ledger_was_read() -> None:
    rule = rule_of(BOTH)
    assert late_before(rule, state_of()) == NOW - 3_600_000
    assert late_before(rule, state_of(through=None)) is None
    assert late_before(rule, state_of(through="-")) is None
    assert event_bounds(rule_of("completion: {}"), state_of()) is None


def test_a_longer_delay_in_the_map_opens_no_period_again() -> None:
    known = EventBounds(late_before_ms=NOW - 60_000)
    assert late_before(rule_of(BOTH), state_of(known)) == NOW - 60_000


def test_the_plan_gives_each_task_the_bounds_with_the_time_of_planning() -> None:
    rule = rule_of(BOTH + ", bucket: {field: at, max_future: 1d}")
    backlog = TableBacklog(
        table="d.t",
        ledger_id="l",
        generation=1,
        epoch=5,
        ranges=(offsets("t", 0, 0, 9),),
        bytes_per_record=1.0,
        seconds_since_epoch=1e9,
        flush=rule.flush,
        bounds=event_bounds(rule, state_of()),
    )
    limits = load_text(MAP.format(more=BOTH), "m", {}).limits
    ((task,),) = (plan.tables for plan in plan_epoch([backlog], limits, 4, NOW))
    assert task.bounds == EventBounds(planned_ms=NOW, max_future_ms=DAY, late_before_ms=NOW - 3_600_000)
    ((task,),) = (plan.tables for plan in plan_epoch([replace(backlog, bounds=None)], limits, 4, NOW))
    assert task.bounds is None


def after(before: Snapshot, change: Change) -> Snapshot:
    owned = OwnedLedger(LedgerPaths("file:///k", "d.t"), Generation(1, "2026-11-21T08:00:00Z", "me"), before)
    return draft(owned, "s", "2026-11-25T12:00:00Z", change)


def epoch_of(bounds: EventBounds | None, **counts: int) -> DataEpoch:
    account = RangeAccounting(
        0, offsets("t", 0, 0, 9), OffsetAccounting(9, 9 - counts.get("dead_lettered", 0), **counts)
    )
    return DataEpoch(files=(), accounts=(account,), bounds=bounds)


def test_a_snapshot_holds_the_bounds_of_the_newest_epoch_with_records() -> None:
    bounds = replace(BOUNDS, late_before_ms=NOW - DAY)
    data = after(state_of(), epoch_of(bounds, dead_lettered=3, late=2, out_of_range=1))
    assert decode(encode(data)) == data and data.bounds == bounds
    assert b'"format":6' in encode(data) and b"bounds {" in encode(data)
    later = after(data, RegistrationUpdate(completeness=Completeness()))
    assert later.bounds == bounds
    plain = after(later, replace(epoch_of(None), accounts=()))
    assert plain.bounds is None and b'"format":4' in encode(plain)
    assert after(later, RegistrationUpdate(completeness=NoTracking())).bounds == BOUNDS


def test_a_bound_that_goes_back_is_never_committed() -> None:
    before = state_of(EventBounds(late_before_ms=NOW - 60_000))
    with pytest.raises(BoundGoesBack):
        after(before, epoch_of(EventBounds(late_before_ms=NOW - 60_001)))
    assert after(before, epoch_of(None)).bounds is None


def findings(before: Snapshot, after: Snapshot) -> list[str]:
    return [found.message for found in audit_lines([before, after]) if found.code == "verify.bounds"]


def test_the_audit_finds_bounds_that_the_ledger_does_not_explain() -> None:
    first = state_of()
    good = after(
        first, epoch_of(replace(BOUNDS, late_before_ms=NOW), dead_lettered=2, late=1, out_of_range=1)
    )
    assert findings(first, good) == []

    def wrong(bounds: EventBounds | None) -> str:
        (message,) = findings(first, replace(good, bounds=bounds))
        return message

    assert "rows before 2026-11-25T12:00:01Z are late" in wrong(replace(BOUNDS, late_before_ms=NOW + 1000))
    assert "1 dead letters are late, but no period was closed" in wrong(BOUNDS)
    assert "out of range, but no range was set" in wrong(EventBounds(late_before_ms=NOW))
    assert findings(first, replace(good, bounds=None, owner=REBUILT)) == []
    idle = after(good, RegistrationUpdate())
    assert findings(good, idle) == []
    assert "it read no records" in findings(good, replace(idle, bounds=BOUNDS))[0]
    back = replace(idle, accounts=good.accounts, bounds=replace(BOUNDS, late_before_ms=NOW - 1))
    assert any("in the epoch before it" in message for message in findings(good, back))


@pytest.mark.parametrize(
    ("bounds", "counts", "is_decided"),
    [
        (CLOSED, {"dead_lettered": 2, "late": 1}, True),
        (None, {"dead_lettered": 2}, True),
        (None, {"dead_lettered": 2, "late": 1}, False),
        (None, {"dead_lettered": 2, "out_of_range": 2}, False),
    ],
)
def test_the_deep_audit_leaves_out_what_a_rebuilt_ledger_has_no_bounds_of(
    bounds: EventBounds | None, counts: dict[str, int], is_decided: bool
) -> None:
    tp = TopicPartition("t", 0)
    (unit,), _ = units_of([after(state_of(), epoch_of(bounds, **counts))])
    cluster = ClusterView("c", {"t": TopicView("t", "-", (0,))})
    logs = Logs(cluster, {tp: Watermark(0)}, {tp: Watermark(9)}, {tp: Watermark(9)})
    fetchable, gone = fetchable_ranges(unit, logs)
    assert (fetchable == [offsets("t", 0, 0, 9)]) is is_decided
    assert [each.range for each in gone] == ([] if is_decided else [offsets("t", 0, 0, 9)])
    if not is_decided:
        assert summary_lines(gone)[0].startswith("9 offsets of tasks with late or out-of-range records")


# what `status` says without bounds


def published(rule: TableRule, *days: str) -> dict[str, tuple[str, ...]]:
    table = Table(MapTable(rule, LedgerPaths("/ledgers", "d.t"), ("t",)))
    files = tuple(data_file(hive_partition=HivePartition("d.t", day, f"w/{day}")) for day in days)
    change = DataEpoch(files=files, accounts=(), newest_ms=NOW)
    outcome = judge_manifests("d.t", (), (), 1.0, frozenset(), "c", "w")
    report = TableReport(
        table="d.t",
        outcome=replace(outcome, change=change),
        moves=None,  # type: ignore[arg-type]
        state=snapshot(epoch=7, files=files),
        unregistered_before=frozenset(),
    )
    FutureWatch()(EpochReport(1, (report,), tasks_seconds=1, publish_seconds=1, tables=(table,)))
    return table.warnings


def test_a_partition_more_than_a_leap_year_ahead_of_its_records_is_a_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    rule = rule_of("bucket: {field: at}")
    assert published(rule, "dt=2026-11-25", "dt=2027-11-26", "dt=1999-01-01") == {}
    with caplog.at_level(logging.WARNING):
        ((_, (text,)),) = published(rule, "dt=2027-11-28", "dt=2099-01-01").items()
    assert "epoch 7 wrote to 2 partitions more than 366 days ahead" in text and "dt=2099-01-01" in text
    assert "d.t: epoch 7 wrote to 2 partitions" in caplog.text
    by_year = rule_of("bucket: {field: at, path: 'y=%Y'}")
    assert published(by_year, "y=2027") == {} and published(by_year, "y=2028") != {}
    assert published(rule_of("bucket: {path: 'k={c}'}"), "k=2099") == {}
    assert published(rule_of("bucket: {field: at, max_future: 900d}"), "dt=2028-12-31") == {}
