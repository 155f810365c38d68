"""Set the consumer group back along with a table's positions; otherwise its offsets would look like a lost ledger's."""

import logging
from dataclasses import dataclass

from kafka2hive.kafka.port import Kafka
from kafka2hive.model.errors import Kafka2HiveError, ServiceUnavailable
from kafka2hive.model.offsets import Position, TopicPartition
from kafka2hive.service.tables.ledgers import UnreadableLedger, other_ledgers
from kafka2hive.service.wiring import Wiring

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class GroupMove:
    """One topic partition of the group: its present offset, and the one to which it is set back."""

    topic_partition: TopicPartition
    before: int
    after: int


class ConsumerGroup:
    """The service's group; with `commit_group: false` there is none, and nothing moves."""

    def __init__(self, wiring: Wiring, kafka: Kafka) -> None:
        self._wiring = wiring
        self._kafka = kafka
        self.name = wiring.map.kafka.committed_group

    def moves(self, table: str, positions: dict[TopicPartition, int]) -> tuple[GroupMove, ...]:
        """Return the moves for topic partitions in which the group is ahead of every ledger; `positions` are those of `table`.

        Raises ServiceUnavailable.
        """
        if self.name is None or not positions:
            return ()
        offsets = self._kafka.group_offsets(self.name, sorted(positions))
        explained = self._others(table)
        moves = (
            GroupMove(tp, offset, max(positions[tp], explained.get(tp, 0))) for tp, offset in offsets.items()
        )
        return tuple(sorted((m for m in moves if m.before > m.after), key=lambda m: m.topic_partition))

    def set_back(self, moves: tuple[GroupMove, ...]) -> None:
        """Set the offsets back. Raises ServiceUnavailable if Kafka did not accept all of them."""
        if moves and not self._kafka.commit_group_offsets(
            self.name or "", {move.topic_partition: move.after for move in moves}
        ):
            raise ServiceUnavailable(
                "kafka.unavailable",
                f"the offsets of group {self.name} were not set back to {moves[0].topic_partition}@{moves[0].after}",
                "type the same command again: it resumes where it stopped",
            )

    def _others(self, table: str) -> dict[TopicPartition, int]:
        """Return how far the other ledgers below the root have read; unreadable ledgers are skipped."""
        positions: dict[TopicPartition, int] = {}
        for state in other_ledgers(self._wiring, table):
            for position in () if isinstance(state, UnreadableLedger) else state.positions:
                tp = position.topic_partition
                positions[tp] = max(position.end, positions.get(tp, 0))
        return positions


def set_back_after_rebuild(group: ConsumerGroup, table: str, positions: tuple[Position, ...]) -> None:
    """Set the group back to a rebuilt ledger; otherwise `run` would take it for an older ledger that was put back.

    Offsets beyond the rebuilt positions have no file, so they are read again. If Kafka does not answer, a warning is logged,
    and `run` names the command that sets the group back.
    """
    try:
        moves = group.moves(table, {p.topic_partition: p.end for p in positions})
        group.set_back(moves)
    except Kafka2HiveError as error:
        log.warning("%s is rebuilt, but group %s is not set back: %s", table, group.name, error.message)
        return
    for move in moves:
        log.info(
            "group %s: %s set back from %d to %d", group.name, move.topic_partition, move.before, move.after
        )
