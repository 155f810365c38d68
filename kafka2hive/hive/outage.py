"""After a request without a response none is sent for a while: a server that hangs costs one time limit, not one a table."""

import threading
import time
from collections.abc import Callable
from typing import TypeVar

from kafka2hive.model.metastore import MetastoreUnavailable

Result = TypeVar("Result")

_AWAY_SECONDS = 20.0
_AWAY_TIMES = 5.0


class HiveOutage:
    """One request at a time. After an outage the next is sent no sooner than five times as long as that one took."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._lock = threading.Lock()
        self._until = 0.0
        self._why = MetastoreUnavailable()

    def ask(self, question: Callable[[], Result]) -> Result:
        """The response. Raises MetastoreUnavailable: at once while Hive is away, with the reason of the last outage."""
        with self._lock:
            began = self._now()
            if began < self._until:
                raise type(self._why)(str(self._why))
            try:
                return question()
            except MetastoreUnavailable as error:
                ended = self._now()
                self._until = ended + max(_AWAY_SECONDS, _AWAY_TIMES * (ended - began))
                self._why = error
                raise
