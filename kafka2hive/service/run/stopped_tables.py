"""Tables that wait for manual intervention, and how the run notices that a command has repaired them."""

import logging
from collections.abc import Collection

from kafka2hive.ledger.heartbeat import HeartbeatWatch
from kafka2hive.ledger.look import NoLedger, the_generation
from kafka2hive.model.errors import ManualActionRequired
from kafka2hive.model.paths.ledger import Generation
from kafka2hive.service.containment import Containment
from kafka2hive.service.process import process_name, process_of
from kafka2hive.service.tables.table_state import Table
from kafka2hive.service.wiring import Wiring
from kafka2hive.storage.port import StorageError

log = logging.getLogger(__name__)

LOOK_SECONDS = 10.0


class StoppedTables:
    """Finds repaired tables: since the table stopped, another process has taken its ledger over and ended.

    `noticed` has the generation of each table at this run's newest check. So a repair counts once, and a table that stops again
    waits for the next repair.
    """

    def __init__(self, wiring: Wiring, noticed: dict[str, Generation]) -> None:
        self._wiring = wiring
        self._noticed = noticed
        self._me = process_name(wiring.processes.me())
        self._beats = HeartbeatWatch(wiring.ports, wiring.map.storage.ledger_root, wiring.processes)
        self._looked_at = wiring.ports.clock.monotonic()
        self._containment = Containment()

    def repaired(self, tables: Collection[Table]) -> list[Table]:
        """Return the tables to start now. Costs one listing for each stopped table every LOOK_SECONDS, without a wait.

        A repair begins its heartbeat before its take-over. So the generations are read before the heartbeats: if a generation's
        process is without a heartbeat then, the process has ended.
        """
        stopped = [table for table in tables if table.needs_manual_action]
        now = self._wiring.ports.clock.monotonic()
        if not stopped or now - self._looked_at < LOOK_SECONDS:
            return []
        self._looked_at = now
        taken = [(t, generation) for t in stopped if (generation := self._look_at(t)) is not None]
        alive = self._beats.look() if taken else {}
        if any(beat.repairs and beat.service == self._wiring.map.service for beat in alive.values()):
            return []
        processes = {process_of(owner) for owner in alive}
        return [t for t, g in taken if g.owner is None or process_of(g.owner) not in processes]

    def forget(self, table: Table) -> None:
        """Let `repaired` return the table again later, because another process was faster this time."""
        self._noticed.pop(table.name, None)

    def _look_at(self, table: Table) -> Generation | None:
        looks = self._containment.attempt(table.name, lambda: self._made_by_another(table))
        return None if isinstance(looks, Exception) else looks[0]

    def _made_by_another(self, table: Table) -> Generation | None:
        """Return the ledger's generation if another process made it since the newest look of this run."""
        try:
            generation = the_generation(self._wiring.ports.files, table.paths)
        except (NoLedger, ManualActionRequired, StorageError) as unreadable:
            log.debug("%s stays stopped: %s", table.name, unreadable)
            return None
        is_mine = generation.owner is not None and process_of(generation.owner) == self._me
        return None if is_mine or self._noticed.get(table.name) == generation else generation
