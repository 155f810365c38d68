"""Kafka's group offsets as a witness against a vanished ledger (rule R1): they are never a position."""

from collections.abc import Iterable

from kafka2hive.kafka.client import KafkaAdmin
from kafka2hive.ledger.look import look
from kafka2hive.ledger.ports import Ports
from kafka2hive.ledger.take_over import NoLedger
from kafka2hive.model.errors import Stop
from kafka2hive.model.offsets import TopicPartition
from kafka2hive.service.table import Table


class Witness:
    """Asks the service's consumer group; `group` None: the map writes no group offsets, so there is no witness."""

    def __init__(self, kafka: KafkaAdmin, group: str | None, ports: Ports) -> None:
        self._kafka = kafka
        self._group = group
        self._ports = ports

    def refuse_lost_positions(self, table: Table, tables: Iterable[Table]) -> None:
        """Raises Stop when the group has read a topic of `table` further than any ledger of the service says.

        A topic that another table of the service reads explains the group's offset up to that table's position.
        """
        if self._group is None:
            return
        topics = self._kafka.cluster().topics
        wanted = [tp for name in table.topics if name in topics for tp in topics[name].topic_partitions()]
        witnessed = self._kafka.group_offsets(self._group, wanted)
        explained = self._positions(t for t in tables if t is not table and set(t.topics) & set(table.topics))
        for tp, offset in sorted(witnessed.items()):
            if offset > explained.get(tp, 0):
                raise Stop(
                    "ledger.witness",
                    f"{table.paths.table_directory} is not there, but group {self._group} has read {tp} up to {offset}",
                    "restore the ledger; or, for a new beginning on purpose, delete that consumer group or name another"
                    " one in the map (kafka: group.id)",
                )

    def _positions(self, tables: Iterable[Table]) -> dict[TopicPartition, int]:
        positions: dict[TopicPartition, int] = {}
        for table in tables:
            try:
                state = table.tenure.state if table.tenure else look(self._ports.files, table.paths).state
            except NoLedger:
                continue
            for position in state.positions:
                tp = position.topic_partition
                positions[tp] = max(position.end, positions.get(tp, 0))
        return positions
