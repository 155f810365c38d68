"""librdkafka's mock broker, inside this process."""

from collections.abc import Iterable
from pathlib import Path

from confluent_kafka import Producer

RECORD = b'{"carrier": "AA", "flight": %d, "time_hour": "2013-01-01T10:00:00Z"}'


class Broker:
    """A mock broker; topics appear with 4 partitions when they are first written to."""

    def __init__(self) -> None:
        self.producer = Producer({"test.mock.num.brokers": 1, "bootstrap.servers": "mock", "log_level": 0})
        (broker,) = self.producer.list_topics(timeout=120).brokers.values()
        self.address = f"{broker.host}:{broker.port}"

    def produce(self, topic: str, count: int) -> None:
        """Flights 0 to count - 1 into partition 0."""
        self.produce_values(topic, [RECORD % number for number in range(count)])

    def produce_values(self, topic: str, values: Iterable[bytes]) -> None:
        """These values into partition 0."""
        for value in values:
            self.producer.produce(topic, value, partition=0)
        assert self.producer.flush(120) == 0


def plain_map(path: Path) -> Path:
    """Without the password, which the mock broker does not want."""
    path.write_text(path.read_text().replace(', sasl.password: "s3cr3t"', ""))
    return path
