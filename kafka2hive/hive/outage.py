"""A pause after an outage of Hive, so that a server that hangs costs one time limit and not one for each table."""

import threading
import time
from collections.abc import Callable
from typing import TypeVar

from kafka2hive.model.metastore import MetastoreUnavailable

Result = TypeVar("Result")

_AWAY_SECONDS = 20.0
_AWAY_TIMES = 5.0


class HiveOutage:
    """Sends one request at a time. After an outage, it sends none for five times as long as the failure took, at least 20 s."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._lock = threading.Lock()
        self._until = 0.0
        self._why = MetastoreUnavailable()

    def ask(self, question: Callable[[], Result]) -> Result:
        """Return the response. Raises MetastoreUnavailable, during the pause at once and with the reason of the last outage."""
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
