"""What queries beside a service may show: never less than an earlier one, never more than was produced."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass

Counted = tuple[int, int]
"""The number of rows, and the sum of their ids."""
_NOTHING = (0, 0)


@dataclass(frozen=True, slots=True)
class Floor:
    """What queries had shown when a later one began."""

    partitions: Mapping[str, Counted]
    whole: Counted


class VisibleCounts:
    """The bounds for the results of all queries; safe for threads. Ids are positive, and each is sent once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sent: dict[str, Counted] = {}
        self._seen: dict[str, Counted] = {}
        self._whole = _NOTHING

    def note_sent(self, partition: str, number: int) -> None:
        """Before the record with this id is sent."""
        with self._lock:
            self._sent[partition] = _add(self._sent.get(partition, _NOTHING), (1, number))

    def floor(self) -> Floor:
        """To be asked for when a query begins."""
        with self._lock:
            return Floor(dict(self._seen), self._whole)

    def check_partitions(
        self, shown: Mapping[str, Counted], floor: Floor, only: str | None = None
    ) -> str | None:
        """What is wrong with a result by partition, None if nothing is; `only`: the query asked for this one alone."""
        with self._lock:
            sent = dict(self._sent)
        asked = {only} if only is not None else {*shown, *floor.partitions}
        for partition in sorted(asked):
            least, most = floor.partitions.get(partition, _NOTHING), sent.get(partition, _NOTHING)
            wrong = _wrong(shown.get(partition, _NOTHING), least, most)
            if wrong:
                return f"{partition}: {wrong}"
        with self._lock:
            for partition, counted in shown.items():
                self._seen[partition] = _most(self._seen.get(partition, _NOTHING), counted)
        if only is None:
            whole = _NOTHING
            for counted in shown.values():
                whole = _add(whole, counted)
            return self.check_whole(whole, floor)
        return None

    def check_whole(self, shown: Counted, floor: Floor) -> str | None:
        """The same for the whole table."""
        with self._lock:
            most = _NOTHING
            for counted in self._sent.values():
                most = _add(most, counted)
            wrong = _wrong(shown, floor.whole, most)
            if wrong:
                return f"the table: {wrong}"
            self._whole = _most(self._whole, shown)
        return None


def _wrong(shown: Counted, least: Counted, most: Counted) -> str:
    if any(a < b for a, b in zip(shown, least, strict=True)):
        return f"{shown} rows and sum of ids, after an earlier query had shown {least}"
    if any(a > b for a, b in zip(shown, most, strict=True)):
        return f"{shown} rows and sum of ids, of {most} produced"
    return ""


def _add(a: Counted, b: Counted) -> Counted:
    return a[0] + b[0], a[1] + b[1]


def _most(a: Counted, b: Counted) -> Counted:
    return max(a[0], b[0]), max(a[1], b[1])
