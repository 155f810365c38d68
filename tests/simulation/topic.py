"""The simulated topic: which records exist, and in which partition each belongs.

The id of a record is `number:offset`. If a record holds several rows, the ids of the others are `number:offset#1` and so on,
and each may belong in another partition.
"""

from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from kafka2hive.model.files import HivePartition
from kafka2hive.model.offsets import OffsetAccounting, OffsetRange, TopicPartition
from kafka2hive.model.paths.path import join
from tests.simulation.places import DEAD_LETTER_LOCATION, DEAD_LETTER_TABLE, TABLE, location_of

BEGAN_MS = 1_763_711_324_000
"""The wall clock when a schedule begins."""
PERIODS, PERIOD_MS = 101, 2_000
"""The periods of partitions end in no order, half of them before a schedule begins: at so many times, so many ms apart.

This holds for the tables of services. Each period of TABLE is a day, which the partition's path names.
"""
BUCKET_PATH = "dt={group}/on=%Y-%m-%d-{half}"
DAY_MS = 86_400_000
FIRST_DAY = date(2015, 1, 1)
DAYS_BEFORE, DAYS_APART = 200, 10
"""The periods of TABLE begin so many days before FIRST_DAY, and are so many days apart."""

LETTERS_OFFSETS, LETTERS_DAYS = 22, 100
"""A dead letter's day has so many offsets of a topic partition, and the next one is so many days later: offsets are the clock."""

RECORD_BYTES = 6_000_000
"""The size that the planner is given: so large that a few records fill a task, and an epoch has several tasks."""

TOPIC_PARTITIONS = (TopicPartition("flights", 0), TopicPartition("flights", 1))


@lru_cache(10_000)
def place_of(number: int, offset: int, table: str = TABLE, row: int = 0) -> HivePartition | None:
    """Return the partition in which a row must become visible, None for an offset without a record.

    Partitions come and go with the offsets, so that no later epoch brings back a forgotten registration by chance.
    """
    if offset % 13 == 5:
        return None
    if offset % 11 == 7:
        return letters_place(offset, table)
    return _row_place(number + row, offset, table)


def _row_place(number: int, offset: int, table: str) -> HivePartition:
    group = offset // 6
    day = group * 37 % PERIODS * DAYS_APART - DAYS_BEFORE
    path = f"dt={group}/on={FIRST_DAY + timedelta(day)}-{(number + offset) % 2}"
    return HivePartition(table, path, join(location_of(table), path))


def letters_place(offset: int, table: str) -> HivePartition:
    """Return the partition of a dead letter."""
    path = f"source_table={table}/dt={_day_of_letters(offset)}"
    return HivePartition(DEAD_LETTER_TABLE, path, join(DEAD_LETTER_LOCATION, path))


def _day_of_letters(offset: int) -> date:
    return FIRST_DAY + timedelta(offset // LETTERS_OFFSETS * LETTERS_DAYS)


def newest_ms(offset: int) -> int:
    """Return the timestamp of the newest record if `offset` is the lowest position: no letter gets into an earlier day."""
    return (_day_of_letters(offset) - date(1970, 1, 1)).days * DAY_MS


@lru_cache(1_000)
def ends_ms(partition: HivePartition) -> int:
    """Return when the period of a partition ends, or the day of dead letters."""
    if partition.table in (TABLE, DEAD_LETTER_TABLE):
        day = date.fromisoformat(partition.path.rpartition("=")[2][:10])
        return ((day - date(1970, 1, 1)).days + 1) * DAY_MS
    group = int(partition.path.split("/")[0].removeprefix("dt="))
    return BEGAN_MS + (group * 37 % PERIODS - PERIODS // 2) * PERIOD_MS


def closes_of(path: str, zone: str) -> str:
    """Return the end of the period of a partition of TABLE in a time zone, as a snapshot has it."""
    day = date.fromisoformat(path.rpartition("=")[2][:10]) + timedelta(1)
    end = datetime(day.year, day.month, day.day, tzinfo=ZoneInfo(zone))
    return end.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def is_late(number: int, offset: int, table: str, late_before_ms: int | None) -> bool:
    """Return whether a row of the record belongs to a period that is closed."""
    rows = range(rows_of(number, offset))
    places = [place for row in rows if (place := place_of(number, offset, table, row)) is not None]
    return late_before_ms is not None and any(
        place.table == table and ends_ms(place) <= late_before_ms for place in places
    )


def row_place_of(number: int, offset: int, table: str = TABLE) -> HivePartition:
    """Return the partition of the row that a dead letter becomes when it is replayed."""
    return _row_place(number, offset, table)


def replay_of(
    record: str,
    epoch: int,
    table: str = TABLE,
    late_before_ms: int | None = None,
    expired_before_ms: int | None = None,
) -> str:
    """Return what a letter becomes if `epoch` replays it: it depends on the epoch, so that a map may mend or miss it.

    A late one stays a letter, by the bound of the epoch that read it; an expired one, by the bound of the one that replays it.
    """
    number, offset = map(int, record.split(":"))
    if is_late(number, offset, table, late_before_ms) or is_late(number, offset, table, expired_before_ms):
        return "again"
    if expired_before_ms is not None and ends_ms(row_place_of(number, offset)) <= expired_before_ms:
        return "again"
    return ("row", "again", "row", "filtered")[(number + offset + epoch) % 4]


def records_by_place(
    ranges: tuple[OffsetRange, ...], table: str = TABLE, late_before_ms: int | None = None
) -> dict[HivePartition, list[str]]:
    """Return the ids of the ranges' rows, in order, by partition; late records are dead letters."""
    places: dict[HivePartition, list[str]] = {}
    for r in ranges:
        number = r.topic_partition.number
        for offset in range(r.start, r.end):
            if is_late(number, offset, table, late_before_ms):
                places.setdefault(letters_place(offset, table), []).append(f"{number}:{offset}")
                continue
            place = place_of(number, offset, table)
            if place is not None:
                places.setdefault(place, []).append(f"{number}:{offset}")
            for further in range(1, rows_of(number, offset)):
                place = place_of(number, offset, table, further)
                assert place is not None
                places.setdefault(place, []).append(f"{number}:{offset}#{further}")
    return places


WINDOW_SECONDS = 60


def windows_of(
    r: OffsetRange, table: str = TABLE, late_before_ms: int | None = None
) -> tuple[tuple[str, int, str, int, int, int, int, int, int], ...]:
    """Return the counts of a range's records by time, as the lines of a snapshot have them; some have no timestamp."""
    number = r.topic_partition.number
    windows: dict[str, list[int]] = {}
    for offset in range(r.start, r.end):
        if place_of(number, offset, table) is not None:
            minute = BEGAN_MS // 60_000 + offset * 5 % 3 + offset // 20
            start = (
                "" if offset % 17 == 3 else f"{datetime.fromtimestamp(minute * 60, UTC):%Y-%m-%dT%H:%M:%SZ}"
            )
            windows.setdefault(start, []).append(offset)
    dead = {
        offset
        for offset in range(r.start, r.end)
        if is_late(number, offset, table, late_before_ms)
        or ((place := place_of(number, offset, table)) is not None and place.table == DEAD_LETTER_TABLE)
    }
    return tuple(
        (
            r.topic_partition.topic,
            number,
            start,
            WINDOW_SECONDS,
            len(offsets),
            len(dead.intersection(offsets)),
            RECORD_BYTES * len(offsets),
            offsets[0],
            offsets[-1],
        )
        for start, offsets in windows.items()
    )


def rows_of(number: int, offset: int) -> int:
    """Return how many rows a record becomes: few records hold several; a dead letter counts as one, an absent offset as 0."""
    place = place_of(number, offset)
    if place is None or place.table == DEAD_LETTER_TABLE:
        return int(place is not None)
    return 3 if offset % 8 == 1 else 1


def account_of(r: OffsetRange, table: str = TABLE, late_before_ms: int | None = None) -> OffsetAccounting:
    """Return what becomes of the offsets of a range."""
    number = r.topic_partition.number
    late = [offset for offset in range(r.start, r.end) if is_late(number, offset, table, late_before_ms)]
    places = [place_of(number, offset, table) for offset in range(r.start, r.end)]
    absent = places.count(None)
    dead = sum(place is not None and place.table == DEAD_LETTER_TABLE for place in places)
    read = len(places) - absent
    rows = sum(1 if offset in late else rows_of(number, offset) for offset in range(r.start, r.end))
    return OffsetAccounting(
        read=read,
        written=read - dead - len(late),
        dead_lettered=dead + len(late),
        absent=absent,
        bytes=RECORD_BYTES * read,
        more_rows=rows - read,
        late=len(late),
    )
