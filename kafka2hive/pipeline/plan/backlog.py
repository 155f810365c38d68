"""What waits for a table in Kafka, and whether it is worth an epoch."""

from dataclasses import dataclass

from kafka2hive.config.values import Flush
from kafka2hive.model.offsets import OffsetRange


@dataclass(frozen=True, slots=True)
class TableBacklog:
    """One table as the planner sees it: everything between its ledger's position and Kafka's watermarks.

    `ranges`: one per topic partition, position to end, possibly empty. `bytes_per_record` is the driver's estimate of
    a record's size in Kafka (taken from earlier epochs); `seconds_since_epoch` since the table's last epoch began to
    be planned, infinity when there was none in this run. `epoch` is the number its next snapshot will have.
    """

    table: str
    ledger_id: str
    generation: int
    epoch: int
    ranges: tuple[OffsetRange, ...]
    bytes_per_record: float
    seconds_since_epoch: float
    flush: Flush

    @property
    def records(self) -> int:
        """Offsets that wait; those without a record (compacted, markers) count too."""
        return sum(r.end - r.start for r in self.ranges)

    @property
    def bytes(self) -> float:
        """Bytes that wait, estimated."""
        return self.records * self.bytes_per_record


def is_due(backlog: TableBacklog) -> bool:
    """Say whether the table deserves an epoch now: something waits, and long enough or enough of it.

    This is how file sizes are controlled: at the source, by waiting.
    """
    if not any(r.end > r.start for r in backlog.ranges):
        return False
    flush = backlog.flush
    return backlog.seconds_since_epoch >= flush.interval_seconds or backlog.bytes >= flush.bytes
