"""What the ledger is given: a file system, a way to do things side by side, a clock, fresh names; and its patience."""

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from kafka2hive.storage.port import Clock, Concurrency, FileSystem

log = logging.getLogger("kafka2hive.ledger")


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often one step is tried, and how long to wait in between (seconds, doubling up to `longest`).

    `attempts` bounds transient errors (Unavailable, OutcomeUnknown); a quota, a full disk or a missing permission
    waits `blocked` seconds between tries, as rule C1 asks: no tight loop.
    """

    attempts: int = 8
    first: float = 0.2
    longest: float = 5.0
    blocked: float = 10.0
    blocked_attempts: int = 3

    def waits(self) -> Iterator[float]:
        wait = self.first
        for _ in range(self.attempts - 1):
            yield wait
            wait = min(wait * 2, self.longest)


@dataclass(frozen=True, slots=True)
class Ports:
    """The ledger's whole outside world. `new_uuid` gives 32 fresh lower-case hex digits at every call."""

    files: FileSystem
    concurrency: Concurrency
    clock: Clock
    new_uuid: Callable[[], str]
    retry_policy: RetryPolicy = field(default_factory=RetryPolicy)
