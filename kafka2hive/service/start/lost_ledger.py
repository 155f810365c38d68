"""The first ledger of a table, unless the consumer group's offsets are evidence that a ledger was lost or replaced (rule R1).

They are never used as positions.
"""

import logging
import math
import threading
from collections.abc import Collection, Iterable, Mapping

from kafka2hive.kafka.port import ClusterView, Kafka
from kafka2hive.ledger.init import init
from kafka2hive.ledger.location import refuse_vanished_ledger
from kafka2hive.ledger.look import NoLedger, look
from kafka2hive.model.errors import ManualActionRequired, ServiceUnavailable
from kafka2hive.model.offsets import UNKNOWN_ID, TopicPartition, cluster_of, name_in_kafka
from kafka2hive.model.snapshot import Snapshot
from kafka2hive.service.tables.ledgers import UnreadableLedger, other_ledgers
from kafka2hive.service.tables.table_state import MapTable
from kafka2hive.service.wiring import Wiring

log = logging.getLogger(__name__)


class LostLedgerCheck:
    """Compares the service's consumer group with ledgers. If the map writes no group offsets, `group` is None."""

    def __init__(self, kafka: Kafka, group: str | None, wiring: Wiring) -> None:
        self._kafka = kafka
        self._group = group
        self._wiring = wiring
        self._asked: dict[TopicPartition, int | None] = {}
        self._cluster: ClusterView | None = None
        self._silent: set[str] = set()  # clusters
        self._asking = threading.Lock()

    def new_round(self) -> None:
        """Begin a round of starts, in which Kafka is asked again even if it did not answer in the last round."""
        with self._asking:
            self._cluster = None
            self._silent.clear()

    def refuse_lost_positions(self, table: MapTable, tables: Collection[MapTable]) -> None:
        """Raise ManualActionRequired if the group has read a topic of `table` further than any ledger below the root.

        Any other ledger below the root explains the group's offset up to its position, also one of another service or of a
        table that left the map. An unreadable ledger does not explain an offset. Raises ServiceUnavailable if Kafka does not
        answer, because a ledger must not be created without this check.
        """
        if self._group is None:
            return
        with self._asking:
            cluster = self._topics_of_round()
        if (silence := cluster.silent.get(table.cluster)) is not None:
            raise silence
        topic_partitions = cluster.topic_partitions(table.topics)
        offsets = self._kafka.group_offsets(self._group, topic_partitions)
        unexplained, unreadable = self._unexplained(table, tables, offsets)
        if unexplained:
            tp, offset = min(unexplained.items())
            raise ManualActionRequired(
                "ledger.lost_positions",
                f"{table.paths.table_directory} does not exist, but group {self._group} has read {tp} up to"
                f" {offset}{_not_read(unreadable)}",
                "restore the ledger; or, to start over on purpose, delete the consumer group or name a new"
                " group in the map (kafka: group.id)",
            )

    def refuse_older_ledger(self, table: MapTable, tables: Collection[MapTable]) -> None:
        """Raise ManualActionRequired if the group has read a topic of `table` further than any ledger explains.

        The group's offsets are written after an epoch is final, so they are never ahead of the ledger from which they come.
        Other ledgers explain offsets as in `refuse_lost_positions`. Topic partitions whose position an accepted gap has set
        back are left out. The group's offsets are requested once per run, before the ledgers are read. If a ledger that may
        explain the offset is unreadable, or Kafka does not answer, a warning is logged instead. A warning also says if somebody
        has set the group back: that has no effect, because the run sets it to the ledger's positions.
        """
        if self._group is None:
            return
        offsets = self._offsets_of_all(table, tables)
        try:
            state = look(self._wiring.ports.files, table.paths).state
        except NoLedger:
            return
        now_id = UNKNOWN_ID if self._cluster is None else self._cluster.id_of(table.cluster)
        is_elsewhere = UNKNOWN_ID not in (state.cluster_id, now_id) and state.cluster_id != now_id
        if is_elsewhere or any(cluster_of(topic) != table.cluster for topic in state.topics):
            return  # the ledger is of another cluster than the offsets, and the comparison with Kafka stops the table
        went_back = {
            gap.range.topic_partition
            for gap in state.gaps
            if gap.range.start == gap.range.end and not gap.moved_to
        }
        positions = {p.topic_partition: p.end for p in state.positions}
        self._tell_set_back(table, tables, offsets, state)
        ahead = {
            tp: offset
            for tp, offset in sorted(offsets.items())
            if offset > positions.get(tp, 0) and tp not in went_back
        }
        if not ahead:
            return
        unexplained, unreadable = self._unexplained(table, tables, ahead)
        if not unexplained:
            return
        tp, offset = min(unexplained.items())
        position = positions.get(tp, 0)
        may_explain = [u for u in unreadable if u.table in _sharing(table, tables)]
        if may_explain:
            log.warning(
                "%s: the ledger is at %s@%d, but group %s is at %d: somebody may have set the group's offsets, or restored"
                " an older ledger%s",
                *(table.name, tp, position, self._group, offset, _not_read(may_explain)),
            )
            return
        set_back = (
            f"if somebody set the group's offsets, or no record from {position} on was dumped:"
            f" `kafka-consumer-groups.sh --bootstrap-server SERVERS --group {self._group}"
            f" --topic {name_in_kafka(tp.topic)}:{tp.number} --reset-offsets --to-offset {position} --execute` (the ledger"
            f" has the table's positions; only `kafka2hive reset --table {table.name} --move-data -c MAP` starts the table over)"
        )
        rebuild = (
            f"if an older ledger was restored: restore the newer one; or move {table.paths.table_directory} away and"
            " rebuild it from the files"
            f" with `kafka2hive recover --rebuild-ledger {table.name} -c MAP`"
        )
        raise ManualActionRequired(
            "ledger.restored",
            f"{table.name}: the ledger is at {tp}@{position}, but group {self._group} is at {offset}. A run never sets the group"
            " ahead of the ledger: somebody set the group's offsets, or restored an older ledger, from which a run would"
            f" read records again{_not_read(unreadable)}",
            f"{set_back}; {rebuild}",
        )

    def _tell_set_back(
        self,
        table: MapTable,
        tables: Collection[MapTable],
        offsets: Mapping[TopicPartition, int],
        state: Snapshot,
    ) -> None:
        """Warn if the group is behind the table's newest epoch, which only a lost commit of the group or a person explains.

        Topics that other tables of the map read are left out, because the group has their least position.
        """
        shared = {topic for other in tables if other is not table for topic in other.topics}
        behind = {
            p.topic_partition: (offsets[p.topic_partition], p.end)
            for p in state.positions
            if p.topic_partition.topic not in shared and offsets.get(p.topic_partition, p.start) < p.start
        }
        if behind:
            tp, (offset, end) = min(behind.items())
            log.warning(
                "%s: group %s is at %s@%d, behind the ledger: somebody set it back, or its last commits were lost. The run"
                " goes on at the ledger's position %d and sets the group to it; to read the topic again, type `kafka2hive"
                " reset --table %s --move-data -c MAP`",
                *(table.name, self._group, tp, offset, end, table.name),
            )

    def _offsets_of_all(self, table: MapTable, tables: Collection[MapTable]) -> dict[TopicPartition, int]:
        """Return the group's offsets in the table's topics. The first request covers the topics of all tables.

        If Kafka does not answer, the result is empty, and one warning per round is logged; the start still checks the names
        of the table's files.
        """
        with self._asking:
            try:
                of_table = set() if table.cluster in self._silent else self._ask(table, tables)
            except ServiceUnavailable as error:
                self._silent.add(table.cluster)
                log.warning(
                    "group %s is not compared with the ledgers at this start, so a restored older ledger may go"
                    " unnoticed: %s",
                    self._group,
                    error.message,
                )
                of_table = set()
            return {tp: offset for tp in of_table if (offset := self._asked[tp]) is not None}

    def _ask(self, table: MapTable, tables: Collection[MapTable]) -> set[TopicPartition]:
        """Request the group's offsets, and return the table's topic partitions. Raises ServiceUnavailable."""
        cluster = self._topics_of_round()

        def topic_partitions(readers: Iterable[MapTable]) -> set[TopicPartition]:
            return set(cluster.topic_partitions({name for reader in readers for name in reader.topics}))

        of_table = topic_partitions([table])
        if of_table - self._asked.keys():
            same_cluster = [other for other in tables if other.cluster == table.cluster]
            new = topic_partitions([table, *same_cluster]) - self._asked.keys()
            offsets = self._kafka.group_offsets(self._group or "", sorted(new))
            self._asked.update({tp: offsets.get(tp) for tp in new})
        return of_table

    def _topics_of_round(self) -> ClusterView:
        """List Kafka's topics, without ids, once for all tables of a round. Raises ServiceUnavailable."""
        if self._cluster is None:
            self._cluster = self._kafka.cluster(lambda _topic: False)
        return self._cluster

    def _unexplained(
        self, table: MapTable, tables: Collection[MapTable], offsets: Mapping[TopicPartition, int]
    ) -> tuple[dict[TopicPartition, int], list[UnreadableLedger]]:
        """Return those of the group's `offsets` that other ledgers have not reached, and the unreadable ledgers."""
        unexplained = {tp: offset for tp, offset in offsets.items() if offset > 0}
        unreadable: list[UnreadableLedger] = []
        if not unexplained:
            return unexplained, unreadable
        for state in other_ledgers(self._wiring, table.name, _sharing(table, tables)):
            if isinstance(state, UnreadableLedger):
                unreadable.append(state)
                continue
            for position in state.positions:
                if position.end >= unexplained.get(position.topic_partition, math.inf):
                    del unexplained[position.topic_partition]
            if not unexplained:
                break
        return unexplained, unreadable


def _sharing(table: MapTable, tables: Collection[MapTable]) -> set[str]:
    """Return the names of other tables of the map that read a topic of `table`."""
    return {t.name for t in tables if t is not table and set(t.topics) & set(table.topics)}


def _not_read(unreadable: Collection[UnreadableLedger]) -> str:
    return "".join(
        f"; the ledger of {u.table} is unreadable, repair it first: {u.error.message}" for u in unreadable
    )


def begin_ledger(
    wiring: Wiring, lost_ledger: LostLedgerCheck, table: MapTable, tables: Collection[MapTable]
) -> None:
    """Create a table's ledger (R1). `tables` are all tables of the service. A second call changes nothing.

    A crash leaves what a crash in `init` leaves. Raises ManualActionRequired if the owner marker or the group's offsets show
    that the table had a ledger before; AmbiguousOutcome, TableError, ServiceUnavailable.
    """
    refuse_vanished_ledger(wiring.ports.files, table.location, table.paths.table_directory)
    lost_ledger.refuse_lost_positions(table, tables)
    init(wiring.ports, table.paths, wiring.map.service, table.location)
