"""Records that keep coming, whatever happens to the brokers: each waits until it is acknowledged."""

import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from types import TracebackType

from confluent_kafka import KafkaError, Message, Producer

from tests.services.flights import COUNT, flights
from tests.services.produce import Place

_PATIENCE_SECONDS = 1800
_TICK_SECONDS = 0.05


def some_flights(seed: int, together: int = 30_000) -> Callable[[], bytes]:
    """One flight after another: `together` from a random place of the source, where a month stands together, then others."""
    chance = random.Random(seed)

    def endless() -> Iterator[bytes]:
        while True:
            begin = chance.randrange(COUNT - together)
            yield from flights()[begin : begin + together]

    return endless().__next__


class Stream:
    """Sends `per_second` records a second, round robin over all topic partitions, until the `with` block or `end` ends it.

    `topics`: number of partitions by topic. `payload` makes the next record. `stored` is what the brokers acknowledged
    so far: only grows. An idempotent producer: what is sent again because an answer was lost stands there once.
    """

    def __init__(
        self, bootstrap: str, topics: Mapping[str, int], payload: Callable[[], bytes], per_second: float
    ) -> None:
        self.stored: dict[Place, bytes | None] = {}
        self._targets = [(topic, number) for topic, count in topics.items() for number in range(count)]
        self._payload = payload
        self._per_second = per_second
        self._failures: list[str] = []
        self._sent = 0
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, name="stream", daemon=True)
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "message.timeout.ms": _PATIENCE_SECONDS * 1000,
                "linger.ms": 5,
                "reconnect.backoff.ms": 200,
                "reconnect.backoff.max.ms": 1000,
                "socket.timeout.ms": 10_000,
                "log_level": 2,
            }
        )

    @property
    def waiting(self) -> int:
        """How many records were sent and are not acknowledged yet."""
        return self._sent - len(self.stored)

    def end(self, seconds: float = 120) -> dict[Place, bytes | None]:
        """Send no more, wait for all answers; gives what was acknowledged: everything that was sent, each once."""
        self._end.set()
        self._thread.join(30)
        left = self._producer.flush(seconds)
        assert left == 0, f"{left} records are not acknowledged after {seconds} s"
        assert not self._failures, self._failures[:5]
        assert len(self.stored) == self._sent
        return self.stored

    def __enter__(self) -> "Stream":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end.set()
        self._thread.join(30)
        self._producer.purge()

    def _run(self) -> None:
        began = time.monotonic()
        while not self._end.wait(_TICK_SECONDS):
            due = int((time.monotonic() - began) * self._per_second)
            while self._sent < due:
                topic, number = self._targets[self._sent % len(self._targets)]
                self._producer.produce(topic, self._payload(), None, number, on_delivery=self._report)
                self._sent += 1
            self._producer.poll(0)

    def _report(self, error: KafkaError | None, message: Message) -> None:
        topic, number, offset = message.topic(), message.partition(), message.offset()
        if error is not None:
            self._failures.append(error.str())
        elif offset is None or offset < 0 or (topic, number, offset) in self.stored:
            self._failures.append(f"acknowledged at {topic}-{number} offset {offset}")
        else:
            self.stored[str(topic), int(number or 0), offset] = message.value()
