"""A live run tells its tables' conditions on the board beside its heartbeat, whenever they change."""

from collections.abc import Collection
from datetime import UTC, datetime, timedelta

from kafka2hive.ledger.reading.board import Board
from kafka2hive.service.conditions.condition import (
    Retrying,
    RunState,
    Serving,
    Stopped,
    TableCondition,
    Trouble,
    encode,
)
from kafka2hive.service.shared.table_state import SetAside, Table
from kafka2hive.storage.port import Clock


class ConditionTeller:
    """For one thread. A time of the next try is computed once for each setting aside, so that it stands still."""

    def __init__(self, board: Board, clock: Clock) -> None:
        self._board = board
        self._clock = clock
        self._retrying: dict[str, Retrying] = {}
        self._tries: dict[str, tuple[tuple[int, float], str]] = {}

    def tell(self, tables: Collection[Table]) -> None:
        """Tables are read, not changed; other threads may change them meanwhile."""
        self._board.show(encode([self._condition(table) for table in tables]))

    def end(self) -> None:
        self._board.end()

    def _condition(self, table: Table) -> TableCondition:
        missing = tuple(f"topic {topic} does not exist (yet)" for topic in table.missing)
        found = tuple(text for texts in list(table.warnings.values()) for text in texts)
        return TableCondition(table.name, self._state(table), missing + found)

    def _state(self, table: Table) -> RunState:
        """A table that was taken up again, has work, and has not published since, is not served yet: it is being tried."""
        aside = table.aside  # read once
        if aside is None:
            tried = self._retrying.get(table.name)
            if tried is not None and table.failures and table.lag_records:
                return tried
            self._retrying.pop(table.name, None)
            return Serving()
        if aside.needs_manual_action:
            return Stopped(Trouble.of(aside.error))
        retrying = Retrying(Trouble.of(aside.error), self._next_try(table.name, aside))
        self._retrying[table.name] = retrying
        return retrying

    def _next_try(self, name: str, aside: SetAside) -> str:
        known = self._tries.get(name)
        if known is not None and known[0] == (aside.times, aside.until):
            return known[1]
        wait = timedelta(seconds=max(aside.until - self._clock.monotonic(), 0.0))
        moment = datetime.fromtimestamp(self._clock.epoch_ms() / 1000, UTC) + wait
        text = moment.strftime("%Y-%m-%dT%H:%M:%SZ")
        self._tries[name] = ((aside.times, aside.until), text)
        return text
