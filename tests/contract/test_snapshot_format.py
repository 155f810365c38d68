"""Snapshots of every format version stay readable: frozen files in tests/contract/snapshots, never to be written anew."""

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from kafka2hive.ledger.snapshot.codec import SnapshotDamaged, decode, encode
from kafka2hive.ledger.snapshot.lines import FORMAT
from kafka2hive.model.files import DataFile, FileKind, HivePartition
from kafka2hive.model.offsets import OffsetAccounting, OffsetRange, Position, RangeAccounting, TopicPartition
from kafka2hive.model.snapshot import (
    AcceptedGap,
    AcceptedLoss,
    AddedColumn,
    Certificate,
    CompactionUnit,
    ComparedTable,
    DroppedPartition,
    EarlyPartition,
    EventBounds,
    ForgottenRegistration,
    MovedPartition,
    NewsProgress,
    OpenPartition,
    Pause,
    RecordedOrder,
    ReplayedFile,
    RetiredPartition,
    RunningReplay,
    Snapshot,
    Tracking,
)
from kafka2hive.model.window_counts import WindowCount

FROZEN = Path(__file__).parent / "snapshots"
TABLE = "hdfs://namenode:8020/warehouse/air.db/flights"
LETTERS = "hdfs://namenode:8020/warehouse/air.db/flights_dead_letters"
FIRST = TopicPartition("flights", 0)
PARTITION = HivePartition("air.flights", "dt=2013-01-01", f"{TABLE}/dt=2013-01-01")
NAME = "task_0-6b1f0c52-g000007-e000042-0e6f0e6f0e6f0e6f0e6f0e6f0e6f0e6f.parquet"

FORMAT_1 = Snapshot(
    ledger_id="6b1f0c52a0a94ad3b8b1f0aa2c7d9e11",
    service="flights",
    table="air.flights",
    generation=7,
    owner="etl1-4711-5d0c5d0c5d0c5d0c5d0c5d0c5d0c5d0c",
    epoch=42,
    written_at="2026-11-21T08:12:00Z",
    previous="sha256:" + "41" * 32,
    cluster_id="5L6g3nShT-eMCtK--X86sw",
    location=TABLE,
    start="latest",
    newest_ms=1_795_249_926_692,
    files=(
        DataFile(
            kind=FileKind.DATA,
            staged=f"{TABLE}/_tmp/dt=2013-01-01_{NAME}.pending",
            final=f"{TABLE}/dt=2013-01-01/dt=2013-01-01_{NAME}.final",
            hive_partition=PARTITION,
            length=1234,
            rows=98,
            checksum="crc32:0badcafe",
            task=0,
            ranges=(OffsetRange(FIRST, 100, 200),),
        ),
        DataFile(
            kind=FileKind.DEAD_LETTER,
            staged=f"{TABLE}/_tmp/letters_{NAME}.pending",
            final=f"{LETTERS}/source_table=air.flights/dt=2026-11-21/letters_{NAME}.final",
            hive_partition=HivePartition(
                "air.flights_dead_letters",
                "source_table=air.flights/dt=2026-11-21",
                f"{LETTERS}/source_table=air.flights/dt=2026-11-21",
            ),
            length=321,
            rows=1,
            checksum="crc32:00000001",
            task=0,
            ranges=(OffsetRange(FIRST, 100, 200),),
        ),
    ),
    positions=(
        Position(FIRST, 100, 200, "qkzX1cYfTJ2mJ5o3nXkqFw", 3),
        Position(TopicPartition("flüge ost", 1), 7, 7),
    ),
    accounts=(
        RangeAccounting(0, OffsetRange(FIRST, 100, 200), OffsetAccounting(99, 98, 0, 0, 1, 1, 30_000)),
    ),
    gaps=(
        AcceptedGap(
            range=OffsetRange(FIRST, 10, 20),
            reason="gone from Kafka before it was read",
            accepted_at="2026-11-20T03:00:00Z",
            epoch=17,
        ),
    ),
    losses=(
        AcceptedLoss(
            path=f"{TABLE}/dt=2012-12-31/a.parquet.final",
            remedy="accept-loss",
            rows=12,
            accepted_at="2026-11-20T03:10:00Z",
            epoch=18,
        ),
    ),
    unregistered=(PARTITION,),
    registered=(HivePartition("air.flights", "dt=2013-01-02", f"{TABLE}/dt=2013-01-02"),),
    compared=(
        ComparedTable(
            table="air.flights",
            location=TABLE,
            format="parquet",
            columns="flight bigint, price decimal(10,2)",
            partition_columns="dt string, hr string",
        ),
    ),
    forgotten=(
        ForgottenRegistration(
            partition=HivePartition("air.flights", "dt=2012-12-31", f"{TABLE}/dt=2012-12-31"),
            reason="Hive: Permission denied",
            accepted_by="etl1-4242-7b0d7b0d7b0d7b0d7b0d7b0d7b0d7b0d",
            accepted_at="2026-11-20T03:20:00Z",
            epoch=19,
        ),
    ),
)


def test_format_1_reads_as_it_always_did() -> None:
    assert decode((FROZEN / "format-1.snapshot").read_bytes()) == FORMAT_1


FORMAT_2 = replace(
    FORMAT_1,
    added=(
        AddedColumn(
            name="tailnum",
            type="string",
            schema="id 7, version 2 of flights-value",
            added_at="2026-11-21T08:11:00Z",
            epoch=41,
        ),
    ),
)


def test_format_2_has_added_columns_beside() -> None:
    assert decode((FROZEN / "format-2.snapshot").read_bytes()) == FORMAT_2


FORMAT_3 = replace(
    FORMAT_2,
    files=(replace(FORMAT_1.files[0], rows=103), FORMAT_1.files[1]),
    accounts=(
        RangeAccounting(0, OffsetRange(FIRST, 100, 200), OffsetAccounting(99, 98, 0, 0, 1, 1, 30_000, 5)),
    ),
)
"""Its records became more rows than one each."""


def test_format_3_has_more_rows_than_records() -> None:
    assert decode((FROZEN / "format-3.snapshot").read_bytes()) == FORMAT_3


FORMAT_4 = replace(
    FORMAT_3,
    tracking=Tracking(12, "2026-11-21T08:11:58Z"),
    open=(OpenPartition(partition=PARTITION, since=42, opened_at="2026-11-21T08:12:00Z", files=1, rows=103),),
    certificates=(
        Certificate(
            partition=HivePartition("air.flights", "dt=2012-12-30", f"{TABLE}/dt=2012-12-30"),
            since=12,
            files=3,
            rows=841,
            through="2026-11-21T08:11:58Z",
            policy="1h after its end",
            success_file="_SUCCESS",
        ),
    ),
)
"""Its table's complete partitions are told from others."""


def test_format_4_tells_complete_partitions_from_others() -> None:
    assert decode((FROZEN / "format-4.snapshot").read_bytes()) == FORMAT_4


FORMAT_5 = replace(
    FORMAT_4, reopened=(HivePartition("air.flights", "dt=2012-12-29", f"{TABLE}/dt=2012-12-29"),)
)
"""A certificate of the snapshot before could not be written."""


def test_format_5_opens_partitions_again() -> None:
    assert decode((FROZEN / "format-5.snapshot").read_bytes()) == FORMAT_5


FORMAT_6 = replace(
    FORMAT_5,
    orders=(
        RecordedOrder(
            id="0c9d" * 8,
            kind="pause",
            given_by="anna@etl1",
            given_at="2026-11-21T08:11:50Z",
            done_at="2026-11-21T08:11:55Z",
            epoch=41,
            result="done",
        ),
    ),
    paused=Pause(since="2026-11-21T08:11:55Z", by="anna@etl1", order="0c9d" * 8, epoch=41),
    replayed=(
        ReplayedFile(
            path=f"{LETTERS}/source_table=air.flights/dt=2026-11-20/letters_{NAME.replace('e000042', 'e000041')}.final",
            task=0,
            account=OffsetAccounting(
                read=9, written=5, filtered=1, tombstones=1, dead_lettered=2, more_rows=3
            ),
        ),
    ),
)
"""An operator has paused the table, and dead letters of an earlier epoch were replayed."""


WITH_BOUNDS = replace(
    FORMAT_5,
    files=(replace(FORMAT_5.files[0], rows=101), replace(FORMAT_1.files[1], rows=3)),
    accounts=(
        RangeAccounting(
            0, OffsetRange(FIRST, 100, 200), OffsetAccounting(99, 96, 0, 0, 3, 1, 30_000, 5, 1, 1)
        ),
    ),
    bounds=EventBounds(
        planned_ms=1_795_249_927_000, max_future_ms=86_400_000, late_before_ms=1_795_246_318_000
    ),
)
"""Some of its records were out of range or late, which format 6 tells, too."""


def test_format_6_refuses_records_by_their_event_time() -> None:
    frozen = (FROZEN / "format-6-bounds.snapshot").read_bytes()
    assert decode(frozen) == WITH_BOUNDS
    assert encode(WITH_BOUNDS) == frozen


REPLAYING = replace(
    FORMAT_6,
    paused=None,
    replaying=RunningReplay(order="5e3a" * 8, through=41, files=1, account=FORMAT_6.replayed[0].account),
)
"""An order has begun to replay dead letters, which format 6 tells, too."""


def test_format_6_has_a_replay_under_way() -> None:
    frozen = (FROZEN / "format-6-replaying.snapshot").read_bytes()
    assert decode(frozen) == REPLAYING
    assert encode(REPLAYING) == frozen


WITH_PLACES = replace(
    FORMAT_5,
    closed_through="2026-11-21T00:00:00Z",
    early=(
        EarlyPartition(
            partition=HivePartition("air.flights", "dt=2026-11-21", f"{TABLE}/_open/dt=2026-11-21"),
            since=40,
            closes="2026-11-22T00:00:00Z",
            files=3,
            rows=841,
            certified=41,
        ),
    ),
    units=(
        CompactionUnit(
            partition=HivePartition("air.flights", "dt=2026-11-20", f"{TABLE}/dt=2026-11-20"),
            task=2,
            first="e000007-0-" + "0e6f" * 8,
            last="e000041-1-" + "0e6f" * 8,
            sources=12,
            rows=4711,
        ),
    ),
    moved=(
        MovedPartition(
            partition=HivePartition("air.flights", "dt=2026-11-20", f"{TABLE}/dt=2026-11-20"),
            early=f"{TABLE}/_open/dt=2026-11-20",
            epoch=42,
            late=0,
        ),
    ),
)


def test_format_6_has_early_places_units_and_moves() -> None:
    frozen = (FROZEN / "format-6-compaction.snapshot").read_bytes()
    assert decode(frozen) == WITH_PLACES
    assert encode(WITH_PLACES) == frozen


WITH_RETIREMENT = replace(
    WITH_PLACES,
    moved=(replace(WITH_PLACES.moved[0], right_since="2026-11-21T09:00:00Z"),),
    retired=(
        RetiredPartition(
            partition=HivePartition("air.flights", "dt=2026-11-18", f"{TABLE}/dt=2026-11-18"),
            early=f"{TABLE}/_open/dt=2026-11-18",
            through=30,
            epoch=42,
        ),
    ),
)


def test_format_7_has_retired_places_and_since_when_locations_are_right() -> None:
    frozen = (FROZEN / "format-7.snapshot").read_bytes()
    assert decode(frozen) == WITH_RETIREMENT
    assert encode(WITH_RETIREMENT) == frozen


WITH_EXPIRY = replace(
    WITH_RETIREMENT,
    bounds=EventBounds(planned_ms=1_795_249_927_000, expired_before_ms=1_795_132_800_000),
    dropped=(
        DroppedPartition(
            partition=HivePartition("air.flights", "dt=2025-10-17", f"{TABLE}/dt=2025-10-17"),
            epoch=41,
            gone_since="2026-11-21T09:00:00Z",
        ),
        DroppedPartition(
            partition=HivePartition("air.flights", "dt=2025-10-18", f"{TABLE}/dt=2025-10-18"), epoch=42
        ),
    ),
)


def test_format_8_has_what_has_expired_and_is_dropped() -> None:
    frozen = (FROZEN / "format-8.snapshot").read_bytes()
    assert decode(frozen) == WITH_EXPIRY
    assert encode(WITH_EXPIRY) == frozen


AGAIN = replace(
    WITH_EXPIRY,
    compared=(replace(FORMAT_1.compared[0], created="Sat Nov 21 08:10:00 UTC 2026"),),
    lapsed=(HivePartition("air.flights", "dt=2013-01-03", f"{TABLE}/dt=2013-01-03"),),
)
"""Hive's table was dropped and created again."""


def test_format_9_has_registrations_that_have_lapsed_with_hives_table() -> None:
    frozen = (FROZEN / "format-9.snapshot").read_bytes()
    assert decode(frozen) == AGAIN
    assert encode(AGAIN) == frozen
    assert [each.created for each in decode(frozen).compared] == ["Sat Nov 21 08:10:00 UTC 2026"]


WAITING = replace(AGAIN, withheld=(HivePartition("air.flights", "dt=2013-01-20", f"{TABLE}/dt=2013-01-20"),))
"""A partition waits for its certificate (`register: complete`)."""


def test_format_10_has_partitions_that_wait_for_their_certificate() -> None:
    frozen = (FROZEN / "format-10.snapshot").read_bytes()
    assert decode(frozen) == WAITING
    assert encode(WAITING) == frozen


WITH_NEWS = replace(WAITING, told=(NewsProgress("airflow", 41), NewsProgress("catalogue", 17)))


def test_format_11_has_how_far_receivers_have_taken_the_news() -> None:
    frozen = (FROZEN / "format-11.snapshot").read_bytes()
    assert decode(frozen) == WITH_NEWS
    assert encode(WITH_NEWS) == frozen


WITH_COUNTS = replace(
    WITH_NEWS,
    windows=(
        WindowCount(
            topic_partition=FIRST,
            start="2026-11-21T08:00:00Z",
            seconds=600,
            records=98,
            dead_lettered=1,
            bytes=29_900,
            first=100,
            last=198,
        ),
        WindowCount(
            topic_partition=FIRST,
            start="",
            seconds=600,
            records=1,
            dead_lettered=0,
            bytes=100,
            first=199,
            last=199,
        ),
    ),
)


def test_format_12_has_counts_by_time() -> None:
    frozen = (FROZEN / "format-12.snapshot").read_bytes()
    assert decode(frozen) == WITH_COUNTS
    assert encode(WITH_COUNTS) == frozen


MOVED = replace(
    WITH_NEWS,
    gaps=(
        *WITH_NEWS.gaps,
        AcceptedGap(
            range=OffsetRange(TopicPartition("weather", 3), 70, 70),
            reason="goes on in east/weather-3, the same Kafka cluster",
            accepted_at="2026-11-21T08:12:00Z",
            epoch=42,
            moved_to="east/weather",
        ),
    ),
)
"""The cluster of a topic got another name in the map."""


def test_format_12_may_have_where_the_reading_of_a_topic_goes_on() -> None:
    frozen = (FROZEN / "format-12-moved.snapshot").read_bytes()
    assert decode(frozen) == MOVED
    assert encode(MOVED) == frozen
    assert decode(frozen).gaps[-1].target == TopicPartition("east/weather", 3)


def test_an_older_program_reads_a_snapshot_that_says_when_hives_table_was_created() -> None:
    compared = (replace(FORMAT_1.compared[0], created="Sat Nov 21 08:10:00 UTC 2026"),)
    data = encode(replace(FORMAT_1, compared=compared))
    assert b'"created":"Sat Nov 21' in data and b'header {"format":1,' in data


def test_format_6_has_orders_a_pause_and_replayed_letters() -> None:
    assert decode((FROZEN / "format-6.snapshot").read_bytes()) == FORMAT_6


@pytest.mark.parametrize(
    ("number", "snapshot"),
    [
        (1, FORMAT_1),
        (2, FORMAT_2),
        (3, FORMAT_3),
        (4, FORMAT_4),
        (5, FORMAT_5),
        (6, FORMAT_6),
        (7, WITH_RETIREMENT),
        (8, WITH_EXPIRY),
        (9, AGAIN),
        (10, WAITING),
        (11, WITH_NEWS),
        (FORMAT, WITH_COUNTS),
    ],
)
def test_what_is_written_now_is_frozen_under_its_version(number: int, snapshot: Snapshot) -> None:
    """Where nothing needs a newer one, an older program reads what this one writes."""
    assert encode(snapshot) == (FROZEN / f"format-{number}.snapshot").read_bytes()


def test_every_single_changed_or_missing_byte_is_noticed() -> None:
    data = (FROZEN / "format-1.snapshot").read_bytes()
    for at in range(len(data)):
        for damaged in (
            data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :],
            data[:at] + data[at + 1 :],
            data[:at],
        ):
            with pytest.raises(SnapshotDamaged):
                decode(damaged)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"epoch":42', b'"epoch":"42"'),
        (b'"newest_ms":1795249926692', b'"newest_ms":1.5'),
        (b'"start":100', b'"start":100.0'),
        (b'"end":200', b'"end":true'),
        (b'["flights",0,100,200]', b'["flights",0,100,200.5]'),
        (b'["flights",0,100,200]', b"[null,0,100,200]"),
        (b'"length":1234', b'"length":99999999999999999999999'),
        (b'"topic":"flights"', b'"topic":5'),
        (b'"previous":"sha256:41', b'"previous":null,"x":"'),
        (b'"format":"parquet"', b'"format":7'),
        (b'"reason":"Hive: Permission denied"', b'"reason":null'),
    ],
)
def test_a_value_of_another_type_is_damage_even_under_a_right_checksum(old: bytes, new: bytes) -> None:
    body = (FROZEN / "format-1.snapshot").read_bytes().rpartition(b"checksum ")[0]
    assert old in body
    body = body.replace(old, new)
    with pytest.raises(SnapshotDamaged):
        decode(body + b"checksum sha256:" + hashlib.sha256(body).hexdigest().encode() + b"\n")
