"""What a use case reports of its progress."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from kafka2hive.model.progress import Advance, Progress


class SeenProgress(Progress):
    """Keeps the `totals` of each work by its name, and what was `done` of it."""

    def __init__(self) -> None:
        self.totals: dict[str, dict[str, int]] = {}
        self.done: dict[str, Counter[str]] = {}

    @contextmanager
    def work(self, name: str, **totals: int) -> Iterator[Advance]:
        done = self.done.setdefault(name, Counter())
        self.totals[name] = totals

        def advance(**amounts: int) -> None:
            done.update(amounts)

        yield advance
