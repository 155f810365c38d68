"""The simulated topic: which records exist, and in which partition each belongs.

The id of a record is `number:offset`. If a record holds several rows, the ids of the others are `number:offset#1` and so on,
and each may belong in another partition.
"""

from functools import lru_cache

from kafka2hive.model.files import HivePartition
from kafka2hive.model.offsets import OffsetAccounting, OffsetRange, TopicPartition
from kafka2hive.model.paths.path import join
from tests.simulation.places import DEAD_LETTER_LOCATION, DEAD_LETTER_TABLE, TABLE, location_of

BEGAN_MS = 1_763_711_324_000
"""The wall clock when a schedule begins."""
PERIODS, PERIOD_MS = 101, 2_000
"""The periods of partitions end in no order, half of them before a schedule begins: at so many times, so many ms apart."""

LETTERS_OFFSETS = 22
"""A dead letter's day has so many offsets of a topic partition: in the simulation, they are the clock of dead letters."""

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
    path = f"dt={offset // 6}/hr={(number + offset + row) % 2}"
    return HivePartition(table, path, join(location_of(table), path))


def letters_place(offset: int, table: str) -> HivePartition:
    """Return the partition of a dead letter."""
    path = f"source_table={table}/dt={offset // LETTERS_OFFSETS}"
    return HivePartition(DEAD_LETTER_TABLE, path, join(DEAD_LETTER_LOCATION, path))


def letters_end(path: str) -> int:
    """Return the offset at which the day of a dead letters' partition ends: that of all later letters is another one."""
    return (int(path.rpartition("=")[2]) + 1) * LETTERS_OFFSETS


def ends_ms(path: str) -> int:
    """Return when the period of a partition such as `dt=7/hr=0` ends."""
    day = int(path.split("/")[0].removeprefix("dt="))
    return BEGAN_MS + (day * 37 % PERIODS - PERIODS // 2) * PERIOD_MS


def is_late(number: int, offset: int, table: str, late_before_ms: int | None) -> bool:
    """Return whether a row of the record belongs to a period that is closed."""
    rows = range(rows_of(number, offset))
    places = [place for row in rows if (place := place_of(number, offset, table, row)) is not None]
    return late_before_ms is not None and any(
        place.table == table and ends_ms(place.path) <= late_before_ms for place in places
    )


def row_place_of(number: int, offset: int, table: str = TABLE) -> HivePartition:
    """Return the partition of the row that a dead letter becomes when it is replayed."""
    path = f"dt={offset // 6}/hr={(number + offset) % 2}"
    return HivePartition(table, path, join(location_of(table), path))


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
    if expired_before_ms is not None and ends_ms(row_place_of(number, offset).path) <= expired_before_ms:
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
