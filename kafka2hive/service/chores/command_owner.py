"""A command as the owner of one table: it does a run's chores in this process, without a run (docs/architecture.md, Chores)."""

from collections.abc import Callable, Iterable, Mapping

from kafka2hive.config.keys import TableRule
from kafka2hive.ledger.epoch import publish
from kafka2hive.ledger.inbox import Order
from kafka2hive.ledger.owned_ledger import OwnedLedger
from kafka2hive.ledger.ports import Ports
from kafka2hive.ledger.register import keep_locations
from kafka2hive.ledger.snapshot.change import Change
from kafka2hive.model.errors import Kafka2HiveError
from kafka2hive.model.files import HivePartition
from kafka2hive.model.metastore import MetastoreUnavailable, Partitions
from kafka2hive.model.snapshot import ORDER_DONE
from kafka2hive.service.chores.port import Result
from kafka2hive.service.hive.dropped import DropLookResult, DroppedPartitions, look_and_drop
from kafka2hive.service.hive.places import LocationLook
from kafka2hive.service.hive.registrar import RegistrarEvent
from kafka2hive.service.tables.table_state import MapTable, Owned, Table
from kafka2hive.storage.port import Clock


class CommandOwner:
    """A TableOwner of the one table that a command has taken over. An error in the work on it ends the command.

    `prepare` completes each change before its commit, for example by a comparison with Hive; an error of it ends the command.
    """

    def __init__(
        self,
        ports: Ports,
        rule: TableRule,
        owned: OwnedLedger,
        prepare: Callable[[Change], Change] = lambda change: change,
    ) -> None:
        state = Owned(owned, rule.settings(rule.columns), admitted=True)
        self.table = Table(MapTable(rule, owned.paths, topics=()), state=state)
        self._ports = ports
        self._prepare = prepare

    @property
    def tables(self) -> Mapping[str, Table]:
        return {self.table.name: self.table}

    def serving(self) -> list[Table]:
        return [self.table]

    def attempt(self, table: Table, work: Callable[[Table], Result]) -> list[Result]:
        return [work(table)]

    def map_tables(self, tables: Iterable[Table], work: Callable[[Table], Result]) -> list[Result]:
        return [work(table) for table in tables]

    def publish(self, table: Table, change: Change) -> None:
        """Commit the change, and make it visible. Raises what publishing raises."""
        published = publish(self._ports, table.owned.ledger, self._prepare(change))
        table.state = Owned(published.owned, table.owned.settings, admitted=True)

    def carry_out(self, table: Table, order: Order, result: str | Kafka2HiveError = ORDER_DONE) -> None:
        """Raise the error for which the order is refused. Record nothing: the order is in no inbox, the command is the answer."""
        if isinstance(result, Kafka2HiveError):
            raise result


class LooksOfCommand:
    """HiveLooks for a command and its one table; the command waits for the answers.

    Each partition is looked for once, and once more if the ledger has recorded since that Hive has it again, or that its
    location was put back.

    - `outage`: why Hive did not answer; then it is not asked again. None if it did.
    - `corrected`: the locations that were put back and have been corrected. `refused`: those that Hive does not correct, and why.
    """

    def __init__(self, hive: Partitions | None, clock: Clock) -> None:
        self.outage: MetastoreUnavailable | None = None
        self.corrected: frozenset[HivePartition] = frozenset()
        self.refused: dict[HivePartition, str] = {}
        self._hive = hive
        self._clock = clock
        self._began = clock.monotonic()
        self._dropped = DroppedPartitions()
        self._watched: frozenset[HivePartition] = frozenset()
        self._counted: frozenset[HivePartition] = frozenset()
        self._compared: frozenset[HivePartition] = frozenset()
        self._put_back: frozenset[HivePartition] = frozenset()

    def watch(
        self, table: str, partitions: frozenset[HivePartition], counted: frozenset[HivePartition]
    ) -> None:
        self._watched, self._counted = partitions, counted

    def drop(self, table: str, dropped: Mapping[HivePartition, bool]) -> None:
        self._dropped.replace(table, dropped)

    @property
    def is_done(self) -> bool:
        """Whether all partitions were looked for, or Hive does not answer."""
        if self._hive is None or self.outage is not None:
            return True
        return self._dropped.next_look > self._began and not self._due(1)

    def look(self) -> list[RegistrarEvent]:
        """Look for the next partitions in Hive, as the registrar of a run does. Return the answers."""
        if self._hive is None or self.is_done:
            return []
        return [*self._look_for_dropped(self._hive), *self._compare_locations(self._hive)]

    def _look_for_dropped(self, hive: Partitions) -> list[DropLookResult]:
        """Look for the next dropped partitions, and drop those that Hive has (E3)."""
        due = self._dropped.take(self._began, hive.look_size)  # a look puts the next one after this time
        looks, self.outage = look_and_drop(hive, due, self._clock)
        return [event for look, at in looks for event in self._dropped.by_table(look, at)]

    def _due(self, most: int) -> list[HivePartition]:
        """Return the locations to compare next: first those that were put back and may be corrected now (K8)."""
        return sorted(self._put_back - self._counted) or sorted(self._watched - self._compared)[:most]

    def _compare_locations(self, hive: Partitions) -> list[LocationLook]:
        """Compare the next locations (K7)."""
        due = self._due(hive.look_size)
        if not due or self.outage is not None:
            return []
        asked_at = self._clock.epoch_ms() / 1000
        self._compared |= frozenset(due)
        self._put_back -= frozenset(due)
        check = keep_locations(hive, due, is_counted=self._counted.__contains__)
        self._put_back |= check.put_back
        self.corrected |= check.corrected
        self.refused |= check.refused
        self.outage = check.outage
        return [LocationLook(check.right, check.put_back, asked_at)]
