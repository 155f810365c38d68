"""What one client of librdkafka says in its log: kept for error messages, and passed on without its repetitions."""

import logging
import time

from kafka2hive.kafka.refusal import ClientRefusal, gravest, refusal_of, said

# A client tries again several times a second for as long as a broker is away or refuses it.
_SILENT_SECONDS = 60.0
_KEPT = 64
# A client that is refused says so again within this time: librdkafka's pauses between tries are 10 s at most.
_SAID_AGAIN_SECONDS = 12.0


class ClientLog(logging.Handler):
    """Give `logger` to one client. Its lines arrive while the client is polled, in the thread that polls."""

    def __init__(self, log: logging.Logger) -> None:
        super().__init__()
        self._log = log
        self._said: dict[tuple[str, str], float] = {}
        self._refusals: dict[tuple[str, str], tuple[float, ClientRefusal]] = {}
        self._last: tuple[float, str] | None = None
        self.logger = logging.Logger(log.name)
        self.logger.addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        line = record.getMessage()
        now = time.monotonic()
        key = said(line)
        refusal = refusal_of(line)
        if refusal is not None:
            place = (refusal.broker, refusal.code)
            self._refusals.pop(place, None)  # the last one heard stands last
            self._refusals[place] = (now, refusal)
        if record.levelno >= logging.ERROR:
            self._last = (now, f"{key[0]}: {key[1]}" if key[0] else key[1])
        if now - self._said.get(key, -_SILENT_SECONDS) >= _SILENT_SECONDS:
            self._said[key] = now
            self._log.log(record.levelno, "%s", line)
        for kept in (self._said, self._refusals):
            while len(kept) > _KEPT:
                del kept[next(iter(kept))]  # the oldest

    def refusal(self, since: float) -> ClientRefusal | None:
        """Why brokers refuse the client after `since` (time.monotonic), or since so short before that the next try waits."""
        recent = since - _SAID_AGAIN_SECONDS
        return gravest(refusal for at, refusal in list(self._refusals.values()) if at >= recent)

    def trouble(self, since: float) -> str:
        """The last error that it told of after `since`; empty when it told of none."""
        recent = since - _SAID_AGAIN_SECONDS
        return self._last[1] if self._last is not None and self._last[0] >= recent else ""
