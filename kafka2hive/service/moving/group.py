"""The consumer group after a table's positions went back on purpose: else it would tell of a ledger that is gone."""

from dataclasses import dataclass

from kafka2hive.kafka.client import KafkaAdmin
from kafka2hive.ledger.look import look
from kafka2hive.ledger.take_over import NoLedger
from kafka2hive.model.errors import ServiceUnavailable, Stop
from kafka2hive.model.offsets import TopicPartition
from kafka2hive.service.ledgers import ledger_tables
from kafka2hive.service.wiring import Wiring


@dataclass(frozen=True, slots=True)
class GroupMove:
    """One topic partition of the group: the offset it has, and the one that the service's other tables explain."""

    topic_partition: TopicPartition
    before: int
    after: int


class ConsumerGroup:
    """The service's group; with `commit_group: false` there is none, and nothing moves."""

    def __init__(self, wiring: Wiring, kafka: KafkaAdmin) -> None:
        self._wiring = wiring
        self._kafka = kafka
        self.name = wiring.map.kafka.group if wiring.map.kafka.commit_group else None

    def moves(self, table: str, positions: dict[TopicPartition, int]) -> tuple[GroupMove, ...]:
        """Where the group is ahead of `positions`, those of `table`, and of the other tables'. Raises ServiceUnavailable."""
        if self.name is None or not positions:
            return ()
        found = self._kafka.group_offsets(self.name, sorted(positions))
        explained = self._others(table)
        moves = (
            GroupMove(tp, offset, max(positions[tp], explained.get(tp, 0))) for tp, offset in found.items()
        )
        return tuple(sorted((m for m in moves if m.before > m.after), key=lambda m: m.topic_partition))

    def set_back(self, moves: tuple[GroupMove, ...]) -> None:
        """Raises ServiceUnavailable: not all were taken."""
        if moves and not self._kafka.commit_group_offsets(
            self.name or "", {move.topic_partition: move.after for move in moves}
        ):
            raise ServiceUnavailable(
                "kafka.unavailable",
                f"the offsets of group {self.name} were not set back to {moves[0].topic_partition}@{moves[0].after}",
                "give the same command again: it goes on where it ended",
            )

    def _others(self, table: str) -> dict[TopicPartition, int]:
        positions: dict[TopicPartition, int] = {}
        for paths in ledger_tables(self._wiring):
            if paths.table == table:
                continue
            try:
                state = look(self._wiring.ports.files, paths).state
            except (NoLedger, Stop):
                continue  # it explains nothing
            for position in state.positions if state.service == self._wiring.map.service else ():
                tp = position.topic_partition
                positions[tp] = max(position.end, positions.get(tp, 0))
        return positions
