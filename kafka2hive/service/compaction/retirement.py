"""The chore that records looks at Hive's locations and deletes early files: rules K7 and K8 of docs/protocol.md."""

import logging
import math
from collections.abc import Callable, Sequence
from functools import partial

from kafka2hive.ledger.retire import Looks, RetirementResult
from kafka2hive.ledger.snapshot.compaction import counted_partitions, watched_partitions
from kafka2hive.ledger.turns import Turns
from kafka2hive.model.files import HivePartition
from kafka2hive.observe.log import RECURRING
from kafka2hive.service.chores.port import HiveLooks, TableOwner, publish_alone, work_on_serving
from kafka2hive.service.hive.places import LocationLook, keep_places
from kafka2hive.service.hive.registrar import RegistrarEvent
from kafka2hive.service.tables.table_state import Table
from kafka2hive.service.wiring import Wiring

log = logging.getLogger(__name__)

DELETE_SECONDS = 10.0
"""How often the early files of retired partitions are deleted."""


class RetirementChore:
    """Keeps the looks at the locations of moved partitions, and retires early places."""

    def __init__(
        self,
        wiring: Wiring,
        owner: TableOwner,
        hive: HiveLooks,
        listeners: Sequence[Callable[[RetirementResult], None]] = (),
    ) -> None:
        """Each of the `listeners` gets the result of each round of a table."""
        self._wiring = wiring
        self._owner = owner
        self._hive = hive
        self._listeners = listeners
        self._looks: dict[str, Looks] = {}
        self._turns: dict[str, Turns[HivePartition]] = {}
        self._deleted_at = wiring.ports.clock.monotonic()

    def forget(self, table: Table) -> None:
        self._looks.pop(table.name, None)
        self._turns.pop(table.name, None)

    def watch(self, table: Table) -> None:
        """As in LookingChore. A withheld partition that somebody has added at its empty home stays there (G3)."""
        state, ledger = table.owned.state, table.owned.ledger
        waiting = frozenset(state.withheld) - ledger.released
        self._hive.watch(table.name, watched_partitions(state) - waiting, counted_partitions(state))

    def release(self) -> None:
        """Do nothing: a look changes nothing that a new owner could not correct."""

    def note(self, event: RegistrarEvent) -> None:
        if isinstance(event, LocationLook):
            for table in self._owner.tables.values():
                self._owner.attempt(table, partial(self._note, event))

    def _note(self, event: LocationLook, table: Table) -> None:
        right = {p: event.at for p in event.right if p.table == table.name}
        put_back = frozenset(p for p in event.put_back if p.table == table.name)
        if right or put_back:
            known = self._looks.get(table.name, Looks())
            self._looks[table.name] = Looks({**known.right, **right}, known.put_back | put_back)

    def delete_now(self) -> None:
        """Delete early files at the next step, whenever that was done last."""
        self._deleted_at = -math.inf

    def step(self, *, is_idle: bool) -> None:
        """Record the looks, retire early places, and delete their files."""
        now = self._wiring.ports.clock.monotonic()
        deletes = now - self._deleted_at >= DELETE_SECONDS
        if deletes:
            self._deleted_at = now

        def has_work(table: Table) -> bool:
            return table.name in self._looks or (deletes and bool(table.owned.state.retired))

        work_on_serving(self._owner, has_work, self._retire)

    def _retire(self, table: Table) -> None:
        looks = self._looks.pop(table.name, Looks())
        kept = keep_places(
            ports=self._wiring.ports,
            owned=table.owned.ledger,
            rule=table.rule,
            looks=looks,
            publish=partial(publish_alone, self._owner, table),
            turns=self._turns.setdefault(table.name, Turns()),
        )
        for listener in self._listeners:
            listener(kept)
        for problem in kept.problems:
            log.warning("%s: %s", table.name, problem, extra=RECURRING)
