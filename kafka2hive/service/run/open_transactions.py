"""Open transactions hold records back: the last stable offset stays below the high watermark.

Kafka has acknowledged the records between these two offsets, also to producers without transactions, but readers with
`read_committed` do not get them yet.
"""

import logging
from dataclasses import dataclass, field

from kafka2hive.kafka.positions import Logs
from kafka2hive.model.offsets import TopicPartition
from kafka2hive.model.text import counted, utc_text
from kafka2hive.service.tables.table_state import HeldRecords, Table
from kafka2hive.storage.port import Clock

log = logging.getLogger(__name__)

NOTICED_SECONDS = 30.0
"""A transaction is reported if it is open for longer than this."""
_ABOUT = "transactions"


@dataclass(frozen=True, slots=True)
class HeldLog:
    """A log whose last stable offset has been `stable` since `since_ms` (wall clock). `records` offsets are held back."""

    topic_partition: TopicPartition
    stable: int
    records: int
    since_ms: int

    def __str__(self) -> str:
        return (
            f"{self.topic_partition}: a transaction at offset {self.stable} has been open since"
            f" {utc_text(self.since_ms // 1000)} and holds back all later records, even those of other producers"
        )


def held_back(logs: Logs, topic_partition: TopicPartition) -> int:
    """Count the offsets between the last stable offset and the high watermark; 0 if one of the two is unknown."""
    stable, high = logs.latest.get(topic_partition), logs.high.get(topic_partition)
    return 0 if stable is None or high is None else max(high.offset - stable.offset, 0)


@dataclass(slots=True)
class OpenTransactions:
    """The open transactions of a run's topics, updated under the run's lock after each look at Kafka."""

    _clock: Clock
    _held: dict[TopicPartition, HeldLog] = field(default_factory=dict)
    _logged: set[TopicPartition] = field(default_factory=set)

    def update(self, logs: Logs) -> None:
        """Note which records are held back, and log those that have been held back for NOTICED_SECONDS."""
        now_ms = self._clock.epoch_ms()
        for tp in logs.latest.keys() & logs.high.keys():
            self._note(tp, logs.latest[tp].offset, held_back(logs, tp), now_ms)
        noticed = {tp for tp, held in self._held.items() if now_ms - held.since_ms >= NOTICED_SECONDS * 1000}
        for tp in sorted(noticed - self._logged):
            log.warning("%s", self._held[tp])
        for tp in sorted(self._logged - noticed):
            log.info("%s: the transaction is over, and readers get the records", tp)
        self._logged = noticed

    def show(self, table: Table, logs: Logs | None) -> None:
        """Note the table's held records, and warn it of those that `update` has logged. None: its logs were not read."""
        topic_partitions = () if logs is None else logs.cluster.topic_partitions(table.topics)
        of_table = [self._held[tp] for tp in topic_partitions if tp in self._held]
        table.held = HeldRecords(
            sum(held.records for held in of_table),
            min((held.since_ms for held in of_table), default=None),
        )
        texts = sorted(str(held) for held in of_table if held.topic_partition in self._logged)
        more = (f"and {counted(len(texts) - 5, 'topic partition')} more",) if len(texts) > 5 else ()
        table.warnings[_ABOUT] = (*texts[:5], *more)

    def since_ms(self, topic_partition: TopicPartition) -> int | None:
        """Return the wall clock at which the last stable offset stopped moving; None if no record is held back."""
        held = self._held.get(topic_partition)
        return None if held is None else held.since_ms

    def _note(self, tp: TopicPartition, stable: int, records: int, now_ms: int) -> None:
        known = self._held.get(tp)
        if not records:
            self._held.pop(tp, None)
        else:
            since_ms = known.since_ms if known is not None and known.stable == stable else now_ms
            self._held[tp] = HeldLog(tp, stable, records, since_ms)
