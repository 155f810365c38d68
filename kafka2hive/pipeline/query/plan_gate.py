"""Between Spark's triggers and the planner: knows which epoch is under way, and lets none take off once it is closed."""

import threading
from typing import Protocol

from kafka2hive.pipeline.values import PlannedEpoch


class Planner(Protocol):
    """Asked at each trigger, by one thread at a time."""

    def plan(self) -> PlannedEpoch | None:
        """The next epoch; None when nothing is due. What it raises ends the query."""


class PlanGate:
    """A planner around another; an epoch is under way from its planning until `finished`."""

    def __init__(self, planner: Planner) -> None:
        self._planner = planner
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._planning = False
        self._under_way: int | None = None

    def close(self) -> None:
        """From now on nothing is due; an epoch under way goes on."""
        with self._lock:
            self._closed.set()

    def closes_within(self, seconds: float) -> bool:
        """Wait so long, or until it is closed."""
        return self._closed.wait(seconds)

    def finished(self) -> None:
        """The epoch under way has ended, well or not."""
        with self._lock:
            self._under_way = None

    def under_way(self) -> int | None:
        """The number of the epoch between planning and landing."""
        with self._lock:
            return self._under_way

    def busy(self) -> bool:
        with self._lock:
            return self._planning or self._under_way is not None

    def plan(self) -> PlannedEpoch | None:
        """See Planner; None once closed, also for what was planned while it closed."""
        with self._lock:
            if self._closed.is_set():
                return None
            self._planning = True
        planned: PlannedEpoch | None = None
        try:
            planned = self._planner.plan()
        finally:
            planned = self._let_pass(planned)
        return planned

    def _let_pass(self, planned: PlannedEpoch | None) -> PlannedEpoch | None:
        with self._lock:
            self._planning = False
            if self._closed.is_set() or planned is None:
                return None
            self._under_way = planned.number
            return planned
