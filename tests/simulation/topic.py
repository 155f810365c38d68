"""The simulated topic: which records exist, and where each belongs. A record's id is `number:offset`."""

from functools import lru_cache

from kafka2hive.model.files import HivePartition
from kafka2hive.model.layout import join
from kafka2hive.model.offset_accounting import OffsetAccounting
from kafka2hive.model.offsets import OffsetRange, TopicPartition
from tests.simulation.places import DEAD_LETTER_LOCATION, DEAD_LETTER_TABLE, TABLE, location_of

RECORD_BYTES = 6_000_000
"""As the planner hears of it: so much that a few records make a task, and an epoch has several."""

TOPIC_PARTITIONS = (TopicPartition("flights", 0), TopicPartition("flights", 1))


@lru_cache(10_000)
def place_of(number: int, offset: int, table: str = TABLE) -> HivePartition | None:
    """Where a record must become visible in a table fed by its topic, None for an offset without a record.

    Partitions come and go with the offsets, so a forgotten registration is not made by chance by a later epoch.
    """
    if offset % 13 == 5:
        return None
    if offset % 11 == 7:
        path = f"source_table={table}/dt={offset // 22}"
        return HivePartition(DEAD_LETTER_TABLE, path, join(DEAD_LETTER_LOCATION, path))
    path = f"dt={offset // 6}/hr={(number + offset) % 2}"
    return HivePartition(table, path, join(location_of(table), path))


def records_by_place(ranges: tuple[OffsetRange, ...], table: str = TABLE) -> dict[HivePartition, list[str]]:
    """Record ids of the ranges, in order, by place."""
    places: dict[HivePartition, list[str]] = {}
    for r in ranges:
        number = r.topic_partition.number
        for offset in range(r.start, r.end):
            place = place_of(number, offset, table)
            if place is not None:
                places.setdefault(place, []).append(f"{number}:{offset}")
    return places


def account_of(r: OffsetRange, table: str = TABLE) -> OffsetAccounting:
    """What becomes of the offsets of a range."""
    places = [place_of(r.topic_partition.number, offset, table) for offset in range(r.start, r.end)]
    absent = places.count(None)
    dead = sum(place is not None and place.table == DEAD_LETTER_TABLE for place in places)
    read = len(places) - absent
    return OffsetAccounting(
        read=read, written=read - dead, dead_lettered=dead, absent=absent, bytes=RECORD_BYTES * read
    )
