"""Records that keep coming, whatever happens to the brokers; in the end Kafka is asked what it holds of them."""

import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from types import TracebackType

from confluent_kafka import KafkaError, Message, Producer

from tests.services.consume import stored_in
from tests.services.flights import COUNT, flights
from tests.services.produce import Place

_PATIENCE_SECONDS = 1800
_TICK_SECONDS = 0.05
# An idempotent producer was seen to send nothing any more after its broker had been restarted twice: another goes on.
_STALLED_SECONDS = 60.0
_GIVEN_UP = (KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT)


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

    `topics`: number of partitions by topic, which nobody else writes to. `payload` makes the next record. `per_second` may
    be a function of the seconds since the start. Its producer is idempotent and waits for brokers that are away; one that is
    acknowledged nothing for a minute is given up, and with it what waits in it. `begins`: what the topic partitions held
    before, by their next offset.
    """

    def __init__(
        self,
        bootstrap: str,
        topics: Mapping[str, int],
        payload: Callable[[], bytes],
        per_second: float | Callable[[float], float],
        begins: Mapping[tuple[str, int], int] | None = None,
    ) -> None:
        self._bootstrap = bootstrap
        self._begins = begins or {}
        self._targets = [(topic, number) for topic, count in topics.items() for number in range(count)]
        self._payload = payload
        self._per_second = per_second
        self._acknowledged: dict[Place, bytes | None] = {}
        self._failures: list[str] = []
        self._sent = 0
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, name="stream", daemon=True)
        self._producer = self._new_producer()

    def end(self, seconds: float = 300) -> dict[Place, bytes | None]:
        """Send no more, wait for all answers; gives what Kafka holds since `begins`, at least all that was acknowledged."""
        self._end.set()
        self._thread.join(240)
        assert not self._thread.is_alive(), "the load does not end"
        left = self._producer.flush(seconds)
        assert left == 0, f"{left} records are not acknowledged after {seconds} s"
        assert not self._failures, self._failures[:5]
        stored = stored_in(self._bootstrap, self._targets, self._begins)
        assert self._acknowledged, "nothing was acknowledged"
        assert self._acknowledged.items() <= stored.items(), "Kafka has lost what it acknowledged"
        return stored

    def __enter__(self) -> "Stream":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end.set()
        self._thread.join(240)
        self._producer.purge()

    def _new_producer(self) -> Producer:
        return Producer(
            {
                "bootstrap.servers": self._bootstrap,
                "enable.idempotence": True,
                "message.timeout.ms": _PATIENCE_SECONDS * 1000,
                "linger.ms": 5,
                "reconnect.backoff.ms": 200,
                "reconnect.backoff.max.ms": 1000,
                "socket.timeout.ms": 10_000,
                "log_level": 2,
            }
        )

    def _run(self) -> None:
        began = moved = last = time.monotonic()
        acknowledged, due = 0, 0.0
        while not self._end.wait(_TICK_SECONDS):
            now = time.monotonic()
            due += (now - last) * (rate if not callable(rate := self._per_second) else rate(now - began))
            last = now
            while self._sent < int(due):
                topic, number = self._targets[self._sent % len(self._targets)]
                self._producer.produce(topic, self._payload(), None, number, on_delivery=self._report)
                self._sent += 1
            self._producer.poll(0)
            if acknowledged < len(self._acknowledged) or len(self._producer) == 0:
                acknowledged, moved = len(self._acknowledged), time.monotonic()
            elif time.monotonic() > moved + _STALLED_SECONDS:
                self._producer.purge()
                self._producer.flush(0)
                self._producer, moved = self._new_producer(), time.monotonic()

    def _report(self, error: KafkaError | None, message: Message) -> None:
        topic, number, offset = message.topic(), message.partition(), message.offset()
        if error is not None and error.code() in _GIVEN_UP:
            pass  # it may have been stored, or not
        elif error is not None:
            self._failures.append(error.str())
        elif offset is None or offset < 0 or (topic, number, offset) in self._acknowledged:
            self._failures.append(f"acknowledged at {topic}-{number} offset {offset}")
        else:
            self._acknowledged[str(topic), int(number or 0), offset] = message.value()
