"""The state of a live run's tables, from the run's memory: no other system is asked, so an outage delays no answer."""

import os
from collections.abc import Callable
from dataclasses import dataclass

from kafka2hive.config.command_blanks import CommandBlanks
from kafka2hive.ledger.look import NewestSnapshot, View
from kafka2hive.model.errors import ServiceUnavailable
from kafka2hive.observe.log import Redaction
from kafka2hive.service.inspect.state import OwnerLife, Runs, state_of
from kafka2hive.service.inspect.status import StatusResult, TableStatus, TableWithoutLedger
from kafka2hive.service.run.outages import OutageWatch, is_kafka
from kafka2hive.service.run.owned_tables import OwnedTables
from kafka2hive.service.run.telemetry.liveness import Liveness
from kafka2hive.service.tables.table_state import Owned, Table
from kafka2hive.service.topics.kafka_view import KafkaView
from kafka2hive.service.wiring import Wiring

StatusText = Callable[[str, StatusResult], str]
"""Returns the JSON document of `status` for a service and its result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveStatus:
    """Any thread may call it. A table that the run has not taken over is in `not_begun`, with its condition."""

    wiring: Wiring
    owned_tables: OwnedTables
    kafka: KafkaView
    liveness: Liveness
    outages: OutageWatch
    encode: StatusText

    def __call__(self) -> bytes:
        """Return the document, with the blanks in its commands filled, and without secrets."""
        service_map = self.wiring.map
        text = CommandBlanks.of_map(service_map, os.environ).fill_json(
            self.encode(service_map.service, self.result())
        )
        return Redaction(service_map.secrets)(text).encode(errors="backslashreplace")

    def result(self) -> StatusResult:
        runs = Runs(frozenset({self.liveness.owner}), {self.liveness.owner: self.liveness.conditions})
        tables = list(self.owned_tables.tables.values())
        owned = [(table, state) for table in tables if isinstance(state := table.ownership, Owned)]
        others = {table.name for table in tables} - {table.name for table, _ in owned}
        outages = self.outages.texts
        return StatusResult(
            tables=tuple(self._table(table, state, runs) for table, state in owned),
            errors=tuple((conflict.table, conflict.error) for conflict in self.owned_tables.conflicts),
            kafka_error="; ".join(text for system, text in outages.items() if is_kafka(system)) or None,
            not_begun=tuple(TableWithoutLedger(name, runs.condition(name, None)) for name in sorted(others)),
            most_tasks=runs.most_tasks,
            decoder=runs.decoder,
            runs=runs,
            storage_error=ServiceUnavailable("storage.unavailable", outages["storage"])
            if "storage" in outages
            else None,
        )

    def _table(self, table: Table, owned: Owned, runs: Runs) -> TableStatus:
        ledger, condition = owned.ledger, runs.condition(table.name, None)
        newest = NewestSnapshot(ledger.state.epoch, ledger.pending)
        return TableStatus(
            view=View(table.paths, ledger.generation, newest, ledger.state),
            state=state_of(
                condition=condition,
                life=OwnerLife.ALIVE,
                in_map=True,
                stop=None,
                table=table.name,
                is_paused=ledger.state.paused is not None,
            ),
            owner_life=OwnerLife.ALIVE,
            warnings=condition.warnings if condition is not None else (),
            ends=self.kafka.high,
            last_epochs=(),
            longest_interval=table.rule.flush.longest_seconds,
            in_hive=frozenset(ledger.state.unregistered) - table.not_in_hive,
            attainment=condition.attainment if condition is not None else None,
        )
