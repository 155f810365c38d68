"""The ledger's ports: file system, concurrency, clock, fresh names; and how often it retries a step."""

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from kafka2hive.storage.port import Clock, Concurrency, FileSystem

log = logging.getLogger("kafka2hive.ledger")


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """The number of tries of a step, and the seconds to wait in between: from `first`, doubled up to `longest`.

    `attempts` bounds transient errors (Unavailable, OutcomeUnknown). After an error that an operator must lift (quota, full
    disk, permission) a step waits `blocked` seconds, and is tried `blocked_attempts` times in all.
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
    """All that the ledger uses for I/O. `new_uuid` returns 32 new lower-case hex digits at each call."""

    files: FileSystem
    concurrency: Concurrency
    clock: Clock
    new_uuid: Callable[[], str]
    retry_policy: RetryPolicy = field(default_factory=RetryPolicy)
