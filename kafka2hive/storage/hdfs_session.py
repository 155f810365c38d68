"""One connection to HDFS, and whether what it shows can be believed (ADR 0002, point 7)."""

import threading
from typing import Any

from kafka2hive.storage.guard import Guard


class Doubts:
    """Of one process, over all its connections: answers that did not come. Any thread may count; none is ever taken back.

    Who never asked for a change (`changes`) needs no proof, and makes none: `verify` changes nothing.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._count = 0
        self.changes = False

    @property
    def count(self) -> int:
        """How many answers did not come so far."""
        return self._count

    def add(self) -> None:
        """One more; also when what was asked long ago is given up only now."""
        with self._lock:
            self._count += 1


class Session:
    """`client` is a hdfs_native.Client. `guard` and `doubts` are handed on when a connection is given up for a new one.

    A connection has settled the doubts that were there before the newest journaled change it brought an acknowledgement of
    was sent; a new one has settled none.
    """

    def __init__(self, client: Any, guard: Guard, doubts: Doubts) -> None:
        self.client = client
        self.guard = guard
        self.doubts = doubts
        self._lock = threading.Lock()
        self._settled = 0

    @property
    def in_doubt(self) -> bool:
        """Whether a question over this connection needs a proof first."""
        return self._settled < self.doubts.count

    def settle(self, doubts: int) -> None:
        """A journaled change was acknowledged; `doubts` had been counted when it was sent."""
        with self._lock:
            self._settled = max(self._settled, doubts)
