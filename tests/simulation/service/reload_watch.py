"""What must hold whenever a simulated process reloads its map."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kafka2hive.config.keys import ServiceMap
from kafka2hive.ledger.owned_ledger import OwnedLedger
from kafka2hive.model.files import HivePartition
from kafka2hive.plan.contract import PlannedEpoch
from kafka2hive.service.run.map_reload import SETTLE_SECONDS
from kafka2hive.service.tables.condition import RELOAD_REFUSED, ReleasedTable, ReloadAnswer
from kafka2hive.service.tables.table_state import Owned
from tests.simulation.service.maps import BY_PATTERN
from tests.simulation.watch import Violation

if TYPE_CHECKING:
    from tests.simulation.service.driver import Process

MAP_TEXT = "service: sim"
"""The text of every map here, in which problems would have their lines."""


class ReloadWatch:
    """Gives the reloads of one process their map, and checks what they do with it."""

    def __init__(self, process: "Process") -> None:
        self._process = process
        self._loaded: ServiceMap | None = None
        self._due: ServiceMap | None = None
        """The map that was loaded in an earlier round, and is not answered yet."""
        self._owned: dict[str, OwnedLedger] = {}
        """The ledgers that the process owned when the round began."""
        self._awaited: dict[str, frozenset[HivePartition]] = {}
        """What Hive had to get then, of tables without an error."""
        self._loaded_at = 0.0
        process.loop.reload.load = self._load
        process.loop.reload.beside = lambda work: work()
        process.loop.reload.tell = self._check

    def _load(self) -> tuple[ServiceMap, str]:
        process = self._process
        process.world.count["reloads begun"] += 1
        self._loaded = process.around.newest_map(process.order.service)
        self._loaded_at = process.clock.monotonic()
        return self._loaded, MAP_TEXT

    def note_round(self) -> None:
        """Before the process plans."""
        self._due = self._loaded
        owned = [t for t in self._process.tables.tables.values() if isinstance(t.ownership, Owned)]
        self._owned = {table.name: table.owned.ledger for table in owned}
        healthy = [table for table in owned if table.aside is None]
        self._awaited = {t.name: t.open_registrations - t.hive.refusals.keys() for t in healthy}

    def check_plan(self, epoch: PlannedEpoch) -> None:
        """Check that no epoch has records of a table that is to be removed. Raises Violation."""
        if self._loaded is None or self._due is not self._loaded:
            return
        planned = {table.table for task in epoch.tasks for table in task.tables}
        entries = {rule.table for rule in self._loaded.tables} | {BY_PATTERN}
        if leaving := planned - entries:
            raise Violation(
                f"{self._process.name} plans records of {sorted(leaving)}, which leave with a reload"
            )

    def _check(self, answer: ReloadAnswer) -> None:
        """Check that a reload leaves exactly the tables of its map, or changes nothing. Raises Violation."""
        process, self._loaded = self._process, None
        world, map = process.world, process.wiring.map
        world.tell(process.name, f"reload: {answer}")
        world.count[f"reloads {answer.outcome}"] += 1
        world.count["reloads answered"] += 1
        world.count["a table removed while a run is alive"] += len(answer.removed)
        world.count["a table added while a run is alive"] += len(answer.added)
        world.count["a table changed while a run is alive"] += len(answer.changed)
        if answer.outcome == RELOAD_REFUSED:
            assert answer.trouble is not None
            if answer.trouble.code != "reload.owned" and not process.causes():
                raise Violation(f"{process.name} refuses a reload though nothing went wrong: {answer}")
        elif answer.map != map.fingerprint:
            raise Violation(f"{process.name} has taken {answer.map}, and has {map.fingerprint}")
        else:
            self._check_removed([name for name in answer.removed if name in self._owned])
        report = process.loop.reload.report
        if report.map != map.fingerprint:
            raise Violation(f"{process.name} has the map {map.fingerprint}, and reports {report.map}")
        if wrong := {each.table for each in report.released} & process.tables.tables.keys():
            raise Violation(f"{process.name} serves {sorted(wrong)}, and reports that others may take them")
        for table in process.tables.tables.values():
            process.check_entry(table)

    def _check_removed(self, tables: Sequence[str]) -> None:
        """Check that Hive had time to get its partitions, and that others may take the tables or have. Raises Violation."""
        process, report = self._process, self._process.loop.reload.report
        early = process.clock.monotonic() < self._loaded_at + SETTLE_SECONDS
        for name in tables:
            ledger = self._owned[name]
            is_mine = process.world.namenode.directory(ledger.directory) is not None
            if is_mine and ReleasedTable(name, ledger.generation.number) not in report.released:
                raise Violation(f"{process.name} has removed {name}, and keeps others from it")
            in_hive = process.around.hive.registered
            lacks = [p for p in self._awaited.get(name, ()) if (p.table, p.path) not in in_hive]
            if early and lacks and not process.around.tables_vanish:
                raise Violation(f"{process.name} has removed {name} before Hive had {lacks[0].path}")
