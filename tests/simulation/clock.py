"""Time in the simulation: it passes only while an actor sleeps, and sleeping lets other actors run."""

from collections.abc import Callable, Iterable
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


class SimulatedClock:
    """The Clock port. `now` never changes, because the protocol must not depend on it."""

    def __init__(self, hand_over: Callable[[], object] = lambda: None) -> None:
        self._hand_over = hand_over
        self._seconds = 0.0

    def now(self) -> str:
        return "2026-11-21T07:48:44Z"

    def epoch_ms(self) -> int:
        return 1_763_711_324_000

    def monotonic(self) -> float:
        return self._seconds

    def sleep(self, seconds: float) -> None:
        self._seconds += seconds
        self._hand_over()


class AnyOrder:
    """The Concurrency port: it runs items in a random order, so that a crash leaves any subset done.

    Running them one after another suffices, because calls of one actor on different paths commute. After an error some of the
    other items still run, as calls that were already under way would.
    """

    def __init__(self, below: Callable[[int], int]) -> None:
        self._below = below

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        todo = list(enumerate(items))
        results: dict[int, Result] = {}
        failure: Exception | None = None
        while todo:
            index, item = todo.pop(self._below(len(todo)))
            if failure is not None and self._below(2):
                continue
            try:
                results[index] = function(item)
            except Exception as error:  # noqa: BLE001 - the port raises it after all running calls have ended
                failure = failure or error
        if failure is not None:
            raise failure
        return [results[index] for index in range(len(results))]
