"""The tables that a run has stopped, and which of them somebody has repaired since: the run takes those up again."""

import logging
from collections.abc import Collection

from kafka2hive.ledger.heartbeat import HeartbeatWatch
from kafka2hive.ledger.take_over import NoLedger, the_generation
from kafka2hive.model.errors import ManualActionRequired
from kafka2hive.model.paths.ledger import Generation
from kafka2hive.service.process import process_name, process_of
from kafka2hive.service.tables.table_state import Table
from kafka2hive.service.wiring import Wiring
from kafka2hive.storage.port import StorageError

log = logging.getLogger(__name__)

LOOK_SECONDS = 10.0


class StoppedTables:
    """A table is repaired when its ledger has another generation than the one that this run has stopped at, made by another
    process, and that process has no heartbeat any more.

    `noticed`: by table, the generation of this run's newest look; so each counts once, and a table that stops again waits
    for the next repair.
    """

    def __init__(self, wiring: Wiring, noticed: dict[str, Generation]) -> None:
        self._wiring = wiring
        self._noticed = noticed
        self._me = process_name(wiring.processes.me())
        self._beats = HeartbeatWatch(wiring.ports, wiring.map.storage.ledger_root, wiring.processes)
        self._looked_at = wiring.ports.clock.monotonic()

    def repaired(self, tables: Collection[Table]) -> list[Table]:
        """Those to be started now: one listing for each that is stopped, every LOOK_SECONDS; nothing is waited for.

        Who repairs begins to beat before the take-over. So the generation is looked at first: whoever made it and does not
        beat afterwards has ended.
        """
        stopped = [table for table in tables if table.needs_manual_action]
        now = self._wiring.ports.clock.monotonic()
        if not stopped or now - self._looked_at < LOOK_SECONDS:
            return []
        self._looked_at = now
        taken = [(table, made) for table in stopped if (made := self._made_by_another(table)) is not None]
        alive = self._beats.look() if taken else {}
        if any(beat.repairs and beat.service == self._wiring.map.service for beat in alive.values()):
            return []
        processes = {process_of(owner) for owner in alive}
        return [
            table for table, made in taken if made.owner is None or process_of(made.owner) not in processes
        ]

    def forget(self, table: Table) -> None:
        """Somebody was faster: the generation may be tried later."""
        self._noticed.pop(table.name, None)

    def _made_by_another(self, table: Table) -> Generation | None:
        try:
            generation = the_generation(self._wiring.ports.files, table.paths)
        except (NoLedger, ManualActionRequired, StorageError) as unreadable:
            log.debug("%s stays stopped: %s", table.name, unreadable)
            return None
        mine = generation.owner is not None and process_of(generation.owner) == self._me
        return None if mine or self._noticed.get(table.name) == generation else generation
