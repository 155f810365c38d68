"""Set the consumer group back together with a table's positions. Otherwise a run would conclude that a ledger was lost."""

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
    """The change of the group's offset in one topic partition."""

    topic_partition: TopicPartition
    before: int
    after: int


class ConsumerGroup:
    """The service's consumer group. If the map has `commit_group: false`, `name` is None and offsets are not changed."""

    def __init__(self, wiring: Wiring, kafka: Kafka) -> None:
        self._wiring = wiring
        self._kafka = kafka
        self.name = wiring.map.kafka.committed_group

    def moves(self, table: str, positions: dict[TopicPartition, int]) -> tuple[GroupMove, ...]:
        """Return the moves for topic partitions in which the group is ahead of all ledgers.

        `positions` are the new positions of `table`. Raises ServiceUnavailable.
        """
        if self.name is None or not positions:
            return ()
        offsets = self._kafka.group_offsets(self.name, sorted(positions))
        explained = self._other_positions(table)
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
                "type the same `kafka2hive reset` command again: it resumes where it stopped",
            )

    def _other_positions(self, table: str) -> dict[TopicPartition, int]:
        """Return the greatest positions of the other ledgers below the root; unreadable ledgers are skipped."""
        positions: dict[TopicPartition, int] = {}
        for state in other_ledgers(self._wiring, table):
            for position in () if isinstance(state, UnreadableLedger) else state.positions:
                tp = position.topic_partition
                positions[tp] = max(position.end, positions.get(tp, 0))
        return positions


def set_back_after_rebuild(group: ConsumerGroup, table: str, positions: tuple[Position, ...]) -> None:
    """Set the group back to a rebuilt ledger's positions, so that `run` does not take the ledger for a restored older one.

    The records beyond the rebuilt positions are not in any file, so they are read again. If Kafka does not answer, a warning is
    logged; then `run` names the command that sets the group back.
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
