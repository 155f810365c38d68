"""Between Spark and the planner: knows which epoch is under way, and lets none take off once it is closed."""

import threading

from kafka2hive.pipeline.planner_link import PlannerPort
from kafka2hive.pipeline.values import TaskPlan


class TakeoffGate:
    """A PlannerPort around another; an epoch is under way from its planning until `landed`."""

    def __init__(self, planner: PlannerPort) -> None:
        self._planner = planner
        self._lock = threading.Lock()
        self._closed = False
        self._planning = False
        self._under_way: int | None = None

    def close(self) -> None:
        """From now on nothing is due; an epoch under way goes on."""
        with self._lock:
            self._closed = True

    def landed(self) -> None:
        """The epoch under way has ended, well or not."""
        with self._lock:
            self._under_way = None

    def under_way(self) -> int | None:
        """The epoch between planning and landing."""
        with self._lock:
            return self._under_way

    def busy(self) -> bool:
        """Whether an epoch is being planned or under way."""
        with self._lock:
            return self._planning or self._under_way is not None

    def position(self) -> int:
        """See PlannerPort."""
        return self._planner.position()

    def plan(self, start: int) -> int:
        """See PlannerPort; `start` once closed, also for what was planned while it closed."""
        with self._lock:
            self._planning = not self._closed
            if not self._planning:
                return start
        planned = start
        try:
            planned = self._planner.plan(start)
        finally:
            planned = self._take_off(start, planned)
        return planned

    def _take_off(self, start: int, planned: int) -> int:
        with self._lock:
            self._planning = False
            if self._closed or planned == start:
                return start
            self._under_way = planned
            return planned

    def tasks(self, epoch: int) -> tuple[TaskPlan, ...]:
        """See PlannerPort."""
        return self._planner.tasks(epoch)

    def target(self) -> None:
        """See PlannerPort."""
        self._planner.target()
