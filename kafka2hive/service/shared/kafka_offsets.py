"""What one look at Kafka gave: the logs as they are for everybody, and what each table alone has to know of them."""

from collections.abc import Mapping, Set
from dataclasses import dataclass, field, replace

from kafka2hive.kafka.positions import Logs
from kafka2hive.kafka.views import Watermark
from kafka2hive.model.offsets import TopicPartition


@dataclass(frozen=True, slots=True)
class KafkaOffsets:
    """Tables that share a topic begin and stand at offsets of their own: what is asked about those is kept by table's name.

    `at_start`, `last_read`: see Logs. `unknown`: topic partitions whose record read last could not be asked for this time.
    """

    logs: Logs
    at_start: Mapping[str, Mapping[TopicPartition, Watermark]] = field(default_factory=dict)
    last_read: Mapping[str, Mapping[TopicPartition, int]] = field(default_factory=dict)
    unknown: Mapping[str, Set[TopicPartition]] = field(default_factory=dict)

    def of(self, table: str) -> Logs:
        """What this table goes on by; topic partitions that are unknown to it count as not answered for."""
        logs = replace(
            self.logs, at_start=self.at_start.get(table, {}), last_read=self.last_read.get(table, {})
        )
        unknown = self.unknown.get(table)
        if not unknown:
            return logs
        return replace(
            logs,
            earliest={tp: watermark for tp, watermark in logs.earliest.items() if tp not in unknown},
            latest={tp: watermark for tp, watermark in logs.latest.items() if tp not in unknown},
        )
