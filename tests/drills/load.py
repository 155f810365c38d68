"""Flights that keep coming while something fails."""

import random
import threading
import time
from types import TracebackType
from typing import TYPE_CHECKING

from tests.services.flights import COUNT, flights
from tests.services.produce import Place, produce

if TYPE_CHECKING:
    from tests.services.kafka_broker import KafkaBroker


class Load:
    """Sends `per_second` flights a second to a topic of its own, until the `with` block or `end` ends it.

    Each second's flights stand together in the source, so that an epoch's files go to a few months of all twelve.
    """

    def __init__(
        self, kafka: "KafkaBroker", topic: str, per_second: int, seed: int, partitions: int = 4
    ) -> None:
        self.topic = topic
        self.stored: dict[Place, bytes | None] = {}
        self._kafka = kafka
        self._per_second = per_second
        self._partitions = partitions
        self._chance = random.Random(seed)
        self._end = threading.Event()
        self._failed: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="load", daemon=True)

    def end(self) -> dict[Place, bytes | None]:
        """Send no more; gives what the broker acknowledged. Raises what sending raised."""
        self._end.set()
        self._thread.join()
        if self._failed is not None:
            raise self._failed
        return self.stored

    def __enter__(self) -> "Load":
        self._kafka.create_topic(self.topic, self._partitions)
        self._send()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end.set()
        self._thread.join()

    def _run(self) -> None:
        due = time.monotonic()
        try:
            while not self._end.is_set():
                self._send()
                due += 1.0
                self._end.wait(max(0.0, due - time.monotonic()))
        except BaseException as failed:  # noqa: BLE001 - handed to `end`, which raises it
            self._failed = failed

    def _send(self) -> None:
        begin = self._chance.randrange(COUNT - self._per_second)
        records = flights()[begin : begin + self._per_second]
        self.stored.update(produce(self._kafka.bootstrap, self.topic, records, self._partitions))
