"""The check that tables read their records before Kafka deletes them."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from kafka2hive.kafka.port import Kafka, TopicSettings
from kafka2hive.model.errors import TableError
from kafka2hive.model.offsets import TopicPartition
from kafka2hive.model.text import counted, duration
from kafka2hive.service.validate.check import Check, Passed, Warned

_SHARES = (1 / 64, 1 / 16, 1 / 8, 1 / 4)
"""Fractions of a topic's retention. For each one, Kafka is asked which records it deletes within that time."""


@dataclass(frozen=True, slots=True)
class Unread:
    """A table, and where its unread records begin: `positions` has the offset by topic partition."""

    table: str
    positions: Mapping[TopicPartition, int]


def check_retention(
    kafka: Kafka, tables: Collection[Unread], settings: Mapping[str, TopicSettings], now_ms: int
) -> list[Check]:
    """Return one check per table, which warns if Kafka may delete unread records within a quarter of their topic's retention.

    The warning names the topic partition that loses records first. Only `retention.ms` is considered, with the timestamps of
    the records. Raises ServiceUnavailable.
    """
    kept = {topic: known for topic, s in settings.items() if (known := _retention_ms(s)) is not None}
    wanted = {tp for table in tables for tp in table.positions if tp.topic in kept}
    deleted_within = _deletions(kafka, wanted, kept, now_ms)
    return [
        Check("kafka", f"{table.table}: retention", _of_table(table, deleted_within, kept))
        for table in tables
    ]


def _retention_ms(settings: TopicSettings) -> int | None:
    """Return how long the topic keeps records; None if it keeps them for ever, or if this is not known."""
    kept = settings.retention_ms
    deletes = "delete" in (settings.cleanup_policy or "delete")
    return kept if kept is not None and kept > 0 and deletes else None


def _deletions(
    kafka: Kafka, wanted: Collection[TopicPartition], kept: Mapping[str, int], now_ms: int
) -> dict[float, dict[TopicPartition, int]]:
    """Return, for each share of the retention, the first offset that Kafka still has when that time has passed."""
    ends = kafka.latest(wanted)
    result: dict[float, dict[TopicPartition, int]] = {}
    for share in _SHARES:
        result[share] = {}
        for retention in sorted({kept[tp.topic] for tp in wanted}):
            of_these = [tp for tp in wanted if kept[tp.topic] == retention]
            oldest_ms = now_ms - retention + round(retention * share)
            offsets = kafka.offsets_for_times(of_these, oldest_ms)
            result[share] |= {
                tp: mark.offset if mark.offset >= 0 else ends[tp].offset  # every record is older
                for tp, mark in offsets.items()
                if mark.offset >= 0 or tp in ends
            }
    return result


def _of_table(
    table: Unread, deleted_within: Mapping[float, Mapping[TopicPartition, int]], kept: Mapping[str, int]
) -> Passed | Warned:
    for share in _SHARES:
        endangered = {
            tp: offset - table.positions[tp]
            for tp, offset in deleted_within[share].items()
            if offset > table.positions.get(tp, offset)
        }
        if endangered:
            soonest = min(endangered, key=lambda tp: (kept[tp.topic], tp))
            return Warned(_loss(table.table, soonest, endangered, kept[soonest.topic] / 1000 * share))
    if not any(tp.topic in kept for tp in table.positions):
        return Passed("Kafka keeps its records for ever, or does not say how long")
    return Passed("no unread record is deleted within a quarter of its topic's retention")


def _loss(
    table: str, first: TopicPartition, endangered: Mapping[TopicPartition, int], seconds: float
) -> TableError:
    where = f"{first} loses records within {duration(seconds)} unless they are read"
    return TableError(
        "doctor.retention",
        f"{table}: {where} ({counted(sum(endangered.values()), 'record')} in"
        f" {counted(len(endangered), 'topic partition')}; only retention.ms is considered)",
        "`kafka2hive status -c MAP` shows why the table is behind; raise retention.ms of the topic until the table has caught up",
    )
