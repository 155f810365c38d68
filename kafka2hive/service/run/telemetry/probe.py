"""Questions in the background: they show within seconds that a service does not answer, whatever the run itself waits for."""

import math
from collections.abc import Callable

from kafka2hive.hive.port import Hive
from kafka2hive.kafka.port import Kafka
from kafka2hive.model.errors import Kafka2HiveError, SchemaRegistryUnavailable, TableError
from kafka2hive.model.metastore import HiveLoginRefused, MetastoreUnavailable
from kafka2hive.registry.port import Registry
from kafka2hive.service.containment import Containment
from kafka2hive.storage.port import Background, Clock, StorageError, Thread

SILENT_SECONDS = 8.0
"""A question without an answer for this long shows that the service does not answer: a client may wait a minute for it."""
END_SECONDS = 10.0


class Probe:
    """Asks one service the same question again and again, in a thread of its own; at most one question is under way.

    `ask` returns why the service is of no use, None if it answers. What it raises, the next `request` raises.
    `answered_elsewhere` returns when the service last answered the run itself, in monotonic seconds.
    """

    def __init__(
        self,
        name: str,
        ask: Callable[[], str | None],
        background: Background,
        clock: Clock,
        answered_elsewhere: Callable[[], float] = lambda: -math.inf,
    ) -> None:
        self._name = name
        self._ask = ask
        self._background = background
        self._clock = clock
        self._condition = background.condition()
        self._thread: Thread | None = None  # it starts with the first question
        self._asked_at: float | None = None  # of the question under way
        self._reason: str | None = None
        self._error: Exception | None = None
        self._ending = False
        self._containment = Containment()
        self._answered_at = -math.inf
        self._answered_elsewhere = answered_elsewhere

    def request(self, patience: float = 0.0) -> None:
        """Ask, unless a question is under way, and wait at most `patience` seconds for the answer."""
        with self._condition:
            if self._error is not None:
                raise self._error
            if self._asked_at is None and not self._ending:
                self._asked_at = self._clock.monotonic()
                self._condition.notify_all()
                if self._thread is None:
                    self._thread = self._background.start(self._name, self._work)
            self._condition.wait_for(lambda: self._asked_at is None, patience)

    def keep_asking(self, patience: float = 0.0) -> None:
        """Ask as `request` if the service has answered neither this nor the run for SILENT_SECONDS, or is of no use."""
        last = max(self._answered_at, self._answered_elsewhere())
        if self._clock.monotonic() - last >= SILENT_SECONDS or self.silence is not None:
            self.request(patience)

    @property
    def silence(self) -> str | None:
        """Why the service is of no use: by the last answer, or because the question under way has none. None if it answers."""
        with self._condition:
            asked_at, reason, answered_at = self._asked_at, self._reason, self._answered_at
        now, elsewhere = self._clock.monotonic(), self._answered_elsewhere()
        if now - elsewhere < SILENT_SECONDS:
            return None
        if elsewhere > answered_at:
            reason = None  # the service has answered the run since then
        if reason is None and asked_at is not None and now - asked_at >= SILENT_SECONDS:
            return f"no answer within {SILENT_SECONDS:g} s"
        return reason

    def end(self, patience: float = END_SECONDS) -> None:
        """Ask no more. Wait at most `patience` seconds for the answer under way."""
        with self._condition:
            self._ending = True
            self._condition.notify_all()
        if self._thread is not None:
            self._thread.join(patience)

    def _work(self) -> None:
        while True:
            with self._condition:
                self._condition.wait_for(lambda: self._ending or self._asked_at is not None)
                if self._ending:
                    return
            reason: str | None = None
            error: Exception | None = None
            try:
                answer = self._containment.attempt(self._name, self._ask)
                reason = None if isinstance(answer, Exception) else answer[0]
            except (Kafka2HiveError, StorageError) as raised:
                error = raised
            with self._condition:
                self._asked_at, self._reason, self._error = None, reason, error
                self._answered_at = self._clock.monotonic()
                self._condition.notify_all()


def kafka_question(client: Callable[[], Kafka]) -> Callable[[], str | None]:
    """Return a question to Kafka: one small request. `client` is called once, at the first question."""
    clients: list[Kafka] = []

    def ask() -> str | None:
        if not clients:
            clients.append(client())
        try:
            clients[0].cluster(lambda _: False)
        except Kafka2HiveError as error:
            return error.message
        return None

    return ask


def hive_question(hive: Hive) -> Callable[[], str | None]:
    """Return a question to HiveServer2: a login without a session. A server that refuses it answers."""

    def ask() -> str | None:
        try:
            hive.ask()
        except HiveLoginRefused:
            return None
        except MetastoreUnavailable as error:
            return str(error)
        return None

    return ask


def registry_question(registry: Registry) -> Callable[[], str | None]:
    """Return a question to the schema registry: the kinds of its schemas. A server with another answer answers."""

    def ask() -> str | None:
        try:
            registry.kinds()
        except SchemaRegistryUnavailable as error:
            return error.message
        except TableError:
            return None
        return None

    return ask
