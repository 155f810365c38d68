"""Kafka's group offsets as a witness against a vanished or an older ledger (rule R1): they are never a position."""

import threading
from collections.abc import Collection, Iterable

from kafka2hive.kafka.port import Kafka
from kafka2hive.ledger.look import look
from kafka2hive.ledger.take_over import NoLedger
from kafka2hive.model.errors import Stop
from kafka2hive.model.offsets import TopicPartition
from kafka2hive.model.snapshot import Snapshot
from kafka2hive.service.ledgers import ledger_tables
from kafka2hive.service.table import Table
from kafka2hive.service.wiring import Wiring


class Witness:
    """Asks the service's consumer group; `group` None: the map writes no group offsets, so there is no witness."""

    def __init__(self, kafka: Kafka, group: str | None, wiring: Wiring) -> None:
        self._kafka = kafka
        self._group = group
        self._wiring = wiring
        self._asked: dict[TopicPartition, int | None] = {}
        self._asking = threading.Lock()

    def refuse_lost_positions(self, table: Table, tables: Collection[Table]) -> None:
        """Raises Stop when the group has read a topic of `table` further than any ledger of the service says.

        A topic that another table of the service reads explains the group's offset up to that table's position; so
        does the ledger of a table that left the map (renamed, removed): its position is kept.
        """
        if self._group is None:
            return
        topics = self._kafka.cluster().topics
        wanted = [tp for name in table.topics if name in topics for tp in topics[name].topic_partitions()]
        witnessed = self._kafka.group_offsets(self._group, wanted)
        if not witnessed:
            return
        explained = self._positions(t for t in tables if t is not table and set(t.topics) & set(table.topics))
        if any(offset > explained.get(tp, 0) for tp, offset in witnessed.items()):
            explained = self._left_the_map({t.name for t in tables}, explained)
        for tp, offset in sorted(witnessed.items()):
            if offset > explained.get(tp, 0):
                raise Stop(
                    "ledger.witness",
                    f"{table.paths.table_directory} is not there, but group {self._group} has read {tp} up to {offset}",
                    "restore the ledger; or, for a new beginning on purpose, delete that consumer group or name another"
                    " one in the map (kafka: group.id)",
                )

    def refuse_older_ledger(self, table: Table, tables: Collection[Table]) -> None:
        """Raises Stop when the group has read a topic of `table` further than its ledger, and nothing explains it.

        The group's offsets are written after an epoch is final, so they are never ahead of the table they come from. They
        may come from another table, as in refuse_lost_positions. Of a topic partition whose position once went back by
        an accepted gap they prove nothing. The group is asked once a run, and before the ledgers are read.
        """
        if self._group is None:
            return
        witnessed = self._offsets_of_all(table, tables)
        try:
            state = look(self._wiring.ports.files, table.paths).state
        except NoLedger:
            return
        went_back = {gap.range.topic_partition for gap in state.gaps if gap.range.start == gap.range.end}
        positions = {p.topic_partition: p.end for p in state.positions}
        ahead = {
            tp: offset
            for tp, offset in sorted(witnessed.items())
            if offset > positions.get(tp, 0) and tp not in went_back
        }
        if not ahead:
            return
        explained = self._positions(t for t in tables if t is not table and set(t.topics) & set(table.topics))
        explained = self._left_the_map({t.name for t in tables}, explained)
        for tp, offset in ahead.items():
            if offset > explained.get(tp, 0):
                at = positions.get(tp, 0)
                raise Stop(
                    "ledger.restored",
                    f"{table.name}: the ledger stands at {tp}@{at}, but group {self._group} has read it up to {offset}: an"
                    " older ledger was put back, and what was read since would be read again",
                    f"put the newer ledger back; or move {table.paths.table_directory} away and rebuild it from the files"
                    f" with `kafka2hive recover --rebuild-ledger {table.name}`; or, when nothing from {at} on was dumped:"
                    f" `kafka-consumer-groups --group {self._group} --topic {tp.topic}:{tp.number} --reset-offsets"
                    f" --to-offset {at} --execute`",
                )

    def _offsets_of_all(self, table: Table, tables: Collection[Table]) -> dict[TopicPartition, int]:
        """The group's offsets in the table's topics; the first question is about the topics of all tables."""
        topics = self._kafka.cluster().topics

        def of(some: Iterable[Table]) -> set[TopicPartition]:
            names = {name for t in some for name in t.topics if name in topics}
            return {tp for name in names for tp in topics[name].topic_partitions()}

        wanted = of([table])
        with self._asking:
            if wanted - self._asked.keys():
                left = of([table, *tables]) - self._asked.keys()
                found = self._kafka.group_offsets(self._group or "", sorted(left))
                self._asked.update({tp: found.get(tp) for tp in left})
            return {tp: offset for tp in wanted if (offset := self._asked[tp]) is not None}

    def _left_the_map(
        self, names: Collection[str], explained: dict[TopicPartition, int]
    ) -> dict[TopicPartition, int]:
        """`explained`, and what ledgers of this service say that are no table's of the map any more."""
        explained = dict(explained)
        for paths in ledger_tables(self._wiring):
            if paths.table in names:
                continue
            try:
                state = look(self._wiring.ports.files, paths).state
            except (NoLedger, Stop):
                continue  # it explains nothing
            if state.service == self._wiring.map.service:
                _join(explained, state)
        return explained

    def _positions(self, tables: Iterable[Table]) -> dict[TopicPartition, int]:
        positions: dict[TopicPartition, int] = {}
        for table in tables:
            try:
                tenure = table.tenure
                state = tenure.state if tenure else look(self._wiring.ports.files, table.paths).state
            except NoLedger:
                continue
            _join(positions, state)
        return positions


def _join(positions: dict[TopicPartition, int], state: Snapshot) -> None:
    for position in state.positions:
        tp = position.topic_partition
        positions[tp] = max(position.end, positions.get(tp, 0))
