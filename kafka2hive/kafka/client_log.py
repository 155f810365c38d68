"""The log of one librdkafka client: kept for error messages, and passed on without repetitions."""

import logging
import time

from kafka2hive.kafka.refusal import ClientRefusal, broker_and_text, gravest, refusal_of

# A client retries several times a second while a broker is away or refuses it.
_SILENT_SECONDS = 60.0
_KEPT = 64
# A refused client logs the refusal again within this time: librdkafka waits at most 10 s between tries.
_REPEAT_SECONDS = 12.0


class ClientLog(logging.Handler):
    """A handler whose `logger` belongs to one client. Lines arrive in the thread that polls the client, during the poll."""

    def __init__(self, log: logging.Logger) -> None:
        super().__init__()
        self._log = log
        self._logged_at: dict[tuple[str, str], float] = {}
        self._refusals: dict[tuple[str, str], tuple[float, ClientRefusal]] = {}
        self._last: tuple[float, str] | None = None
        self.logger = logging.Logger(log.name)
        self.logger.addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        line = record.getMessage()
        now = time.monotonic()
        key = broker_and_text(line)
        refusal = refusal_of(line)
        if refusal is not None:
            place = (refusal.broker, refusal.code)
            self._refusals.pop(place, None)  # moves it to the end: gravest prefers the latest
            self._refusals[place] = (now, refusal)
        if record.levelno >= logging.ERROR:
            self._last = (now, f"{key[0]}: {key[1]}" if key[0] else key[1])
        if now - self._logged_at.get(key, -_SILENT_SECONDS) >= _SILENT_SECONDS:
            self._logged_at[key] = now
            self._log.log(record.levelno, "%s", line)
        for kept in (self._logged_at, self._refusals):
            while len(kept) > _KEPT:
                del kept[next(iter(kept))]  # the oldest

    def refusal(self, since: float) -> ClientRefusal | None:
        """Return why brokers refuse the client, or None.

        Refusals from shortly before `since` (time.monotonic) count too: the client may be waiting for its next try.
        """
        recent = since - _REPEAT_SECONDS
        return gravest(refusal for at, refusal in list(self._refusals.values()) if at >= recent)

    def trouble(self, since: float) -> str:
        """Return the last error logged since shortly before `since` (time.monotonic); empty if there was none."""
        recent = since - _REPEAT_SECONDS
        return self._last[1] if self._last is not None and self._last[0] >= recent else ""
