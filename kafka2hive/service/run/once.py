"""`--once`: what Kafka holds at the first look is dumped; what was left out is tried again, a few times."""

from collections.abc import Collection

from kafka2hive.kafka.errors import no_answer, unknown_topics
from kafka2hive.kafka.positions import Logs
from kafka2hive.model.errors import TableError
from kafka2hive.model.offsets import TopicPartition
from kafka2hive.service.shared.kafka_view import KafkaOffsets
from kafka2hive.service.shared.table_state import Table

TRIES = 3
ASK_AGAIN_SECONDS = 5.0


class OnceTarget:
    """What a `--once` run dumps. `ends`: where each log ended when it was first seen; nothing beyond is planned.

    A table that starts at a later try has its ends, too.
    """

    def __init__(self) -> None:
        self.ends: dict[TopicPartition, int] = {}
        self.missing = MissingOffsets()

    def note(self, tables: Collection[Table], kafka_offsets: KafkaOffsets) -> None:
        ends = {tp: watermark.offset for tp, watermark in kafka_offsets.logs.latest.items()}
        self.ends = ends | self.ends
        self.missing.note(tables, kafka_offsets)

    def next_try(self, tables: Collection[Table], round_began: float, now: float) -> float | None:
        """When to look again for what was left out (all in monotonic seconds); None: tried often enough, or all is there.

        A table's wait that was over when the round began counts no more: the table had its turn.
        """
        waiting = [
            aside.until
            for table in tables
            if (aside := table.aside) is not None
            and not aside.needs_manual_action
            and aside.times < TRIES
            and aside.until > round_began
        ]
        kafka_at = self.missing.ask_again_at(now)
        return min(waiting + ([] if kafka_at is None else [kafka_at]), default=None)

    def left_out(self, tables: Collection[Table]) -> dict[str, TableError]:
        """By table: what was not dumped, though the map names it: silent topic partitions, unknown topics."""
        unknown = {t.name: unknown_topics(t.name, t.missing) for t in tables if t.missing}
        return self.missing.errors() | unknown


class MissingOffsets:
    """Topic partitions of which the last look gave no offsets, table by table; at most TRIES looks in vain."""

    def __init__(self) -> None:
        self._in_vain = 0
        self._missing: dict[str, tuple[TopicPartition, ...]] = {}

    def __bool__(self) -> bool:
        return bool(self._missing)

    def note(self, tables: Collection[Table], kafka_offsets: KafkaOffsets) -> None:
        """What Kafka lists of these tables but gives no offsets of (nobody leads it, or no answer in time)."""
        self._missing = {t.name: tps for t in tables if (tps := _not_answered(t, kafka_offsets.of(t.name)))}

    def ask_again_at(self, now: float) -> float | None:
        """Nothing else is due: when to look again, in the seconds of `now`; None: all is answered, or asked enough."""
        if not self._missing:
            return None
        self._in_vain += 1
        return now + ASK_AGAIN_SECONDS if self._in_vain < TRIES else None

    def errors(self) -> dict[str, TableError]:
        return {table: no_answer(table, tps) for table, tps in self._missing.items()}


def _not_answered(table: Table, logs: Logs) -> tuple[TopicPartition, ...]:
    of_table = logs.cluster.topic_partitions(table.topics)
    return tuple(tp for tp in of_table if tp not in logs.earliest or tp not in logs.latest)
