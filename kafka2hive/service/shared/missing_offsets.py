"""Topic partitions that Kafka gives no offsets of: `--once` asks again, and does not say at the end that all is dumped."""

from collections.abc import Collection

from kafka2hive.kafka.errors import no_answer
from kafka2hive.kafka.positions import Logs
from kafka2hive.model.errors import TableError
from kafka2hive.model.offsets import TopicPartition
from kafka2hive.service.shared.kafka_offsets import KafkaOffsets
from kafka2hive.service.shared.table_state import Table

ASK_AGAIN_SECONDS = 5.0


class Unanswered:
    """What the last look left out, table by table; at most `tries` looks in vain."""

    def __init__(self, tries: int) -> None:
        self._tries = tries
        self._in_vain = 0
        self._silent: dict[str, tuple[TopicPartition, ...]] = {}

    def __bool__(self) -> bool:
        return bool(self._silent)

    def note(self, tables: Collection[Table], kafka_offsets: KafkaOffsets) -> None:
        """What Kafka lists of these tables but gives no offsets of (nobody leads it, or no answer in time)."""
        self._silent = {
            t.name: silent for t in tables if (silent := _not_answered(t, kafka_offsets.of(t.name)))
        }

    def ask_again_at(self, now: float) -> float | None:
        """Nothing else is due: when to look again, in the seconds of `now`; None: all is answered, or asked enough."""
        if not self._silent:
            return None
        self._in_vain += 1
        return now + ASK_AGAIN_SECONDS if self._in_vain < self._tries else None

    def errors(self) -> dict[str, TableError]:
        """By table: what was not dumped."""
        return {table: no_answer(table, silent) for table, silent in self._silent.items()}


def _not_answered(table: Table, logs: Logs) -> tuple[TopicPartition, ...]:
    return tuple(
        tp
        for topic in table.topics
        if topic in logs.cluster.topics
        for tp in logs.cluster.topics[topic].topic_partitions()
        if tp not in logs.earliest or tp not in logs.latest
    )
