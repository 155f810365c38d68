"""How long one file of a task, and one table of it, is worth trying: bounded in tries and in time, so that an outage of
HDFS still fails the table soon."""

from collections import Counter

from kafka2hive.storage.port import Clock, StorageError

MOST_TRIES = 16
SECONDS = 30.0
SECOND_READS = 2
_SECOND_READ_WITHIN_SECONDS = 60.0
_FIRST_WAIT = 0.05
_LONGEST_WAIT = 2.0


class Tries:
    """What is left for one file. The time runs from the first failure; waits double."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._failed_at: float | None = None
        self._tries = 1
        self._wait = _FIRST_WAIT
        self.given_up = False
        """Set by whoever has no more use for the file: no further try is made. Any thread may set it."""

    def again(self, error: StorageError) -> None:
        """Wait before the next try. Raises `error` when nothing is left."""
        now = self._clock.monotonic()
        if self._failed_at is None:
            self._failed_at = now
        if self.given_up or self._tries >= MOST_TRIES or now - self._failed_at >= SECONDS:
            raise error
        self._tries += 1
        self._clock.sleep(self._wait)
        self._wait = min(self._wait * 2, _LONGEST_WAIT)


class SecondReads:
    """How often a task may read a table again: `most` times each, within a minute of the task's first failure."""

    def __init__(self, clock: Clock, most: int = SECOND_READS) -> None:
        self._clock = clock
        self._most = most
        self._begun: Counter[str] = Counter()
        self._failed_at: float | None = None

    def may_begin(self, table: str) -> bool:
        """The table failed: whether to read it once more. Counts it."""
        now = self._clock.monotonic()
        if self._failed_at is None:
            self._failed_at = now
        if self._begun[table] >= self._most or now - self._failed_at >= _SECOND_READ_WITHIN_SECONDS:
            return False
        self._begun[table] += 1
        return True
