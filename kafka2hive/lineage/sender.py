"""Sends OpenLineage events to a server from a separate thread, so that no epoch waits for the server."""

import logging
from collections import deque
from collections.abc import Callable

import orjson

from kafka2hive.config.keys import LineageOptions
from kafka2hive.lineage.events import LineageEvent, LineageSource
from kafka2hive.model.text import counted
from kafka2hive.observe.post import HttpAddress, NoReply, Rejected, bearer
from kafka2hive.storage.port import Background, Thread

log = logging.getLogger(__name__)

ENDPOINT = "/api/v1/lineage"
MOST_WAITING = 10_000
"""Events that wait for the server; one takes about 1 kB. If more come, the oldest are dropped."""
_FIRST_WAIT, _LONGEST_WAIT = 1.0, 60.0


class LineageSender:
    """Keeps events until the server has taken them, at most MOST_WAITING. `count` is called with an outcome and a number.

    An event that the server did not answer is sent again with growing waits; one that it rejects is dropped. The log says when
    trouble begins and when it ends.
    """

    def __init__(
        self,
        options: LineageOptions,
        source: LineageSource,
        background: Background,
        count: Callable[[str, int], None],
    ) -> None:
        self._options = options
        self._address = HttpAddress(options.url, options.ca_file, "lineage.ca_file", bearer(options.token))
        self._source = source
        self._background = background
        self._count = count
        self._condition = background.condition()
        self._waiting: deque[LineageEvent] = deque()
        self._is_sending = False
        self._ending = False
        self._dropped = 0
        self._in_trouble = False
        self._thread: Thread | None = None  # it starts with the first event

    def put(self, event: LineageEvent) -> None:
        """Add an event; never waits for the server."""
        with self._condition:
            if len(self._waiting) >= MOST_WAITING:
                self._waiting.popleft()
                self._drop(1)
            self._waiting.append(event)
            self._condition.notify_all()
        if self._thread is None:
            self._thread = self._background.start("lineage", self._work)

    def end(self, seconds: float) -> None:
        """Send what waits, for at most `seconds`, each event once; the rest is dropped and logged."""
        with self._condition:
            self._ending = True
            self._condition.notify_all()
        if self._thread is not None:
            self._thread.join(seconds)
        with self._condition:
            self._drop(len(self._waiting) + self._is_sending)
            self._waiting.clear()
            if self._dropped:
                log.warning(
                    "%s of this run did not reach %s; the tables are not affected",
                    counted(self._dropped, "lineage event"),
                    self._options.url,
                )

    def _work(self) -> None:
        while (event := self._next()) is not None and self._send(event):
            pass

    def _next(self) -> LineageEvent | None:
        """Wait for an event; None if the run ends and none waits."""
        with self._condition:
            self._condition.wait_for(lambda: bool(self._waiting) or self._ending)
            self._is_sending = bool(self._waiting)
            return self._waiting.popleft() if self._waiting else None

    def _send(self, event: LineageEvent) -> bool:
        """Send the event until the server takes or rejects it; return False if the run ends before that."""
        body = orjson.dumps(self._source.document(event))
        wait = _FIRST_WAIT
        while True:
            try:
                self._address.post(body, "application/json", ENDPOINT)
            except Rejected as error:
                self._note_trouble(f"rejects events, which are dropped: {error}")
                with self._condition:
                    self._is_sending = False
                    self._drop(1)
                return True
            except NoReply as error:
                self._note_trouble(f"does not take events, which wait ({MOST_WAITING:,} at most): {error}")
                with self._condition:
                    self._condition.wait_for(lambda: self._ending, wait)
                    if self._ending:
                        return False  # `end` drops what is left
                wait = min(2 * wait, _LONGEST_WAIT)
            else:
                with self._condition:
                    self._is_sending = False
                self._count("sent", 1)
                if self._in_trouble:
                    self._in_trouble = False
                    log.info("the lineage server %s takes events again", self._options.url)
                return True

    def _note_trouble(self, what: str) -> None:
        if not self._in_trouble:
            self._in_trouble = True
            log.warning("the lineage server %s %s; the tables are not affected", self._options.url, what)

    def _drop(self, events: int) -> None:
        if events:
            self._dropped += events
            self._count("dropped", events)
