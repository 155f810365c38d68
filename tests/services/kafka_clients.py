"""What tests ask of a Kafka cluster, whatever its size: topics made, grown, deleted."""

import time
from collections.abc import Mapping
from typing import Protocol

from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic


class KafkaClients(Protocol):
    """A cluster that is reached at `bootstrap`."""

    @property
    def bootstrap(self) -> str:
        """The addresses clients are given."""
        ...

    def admin(self) -> AdminClient:
        """A new admin client; it does not tell of brokers that are away."""
        return AdminClient({"bootstrap.servers": self.bootstrap, "reconnect.backoff.ms": 200, "log_level": 2})

    def wait_for_group_coordinator(self) -> None:
        """The first question about a consumer group creates the topic of all offsets, which takes a new cluster seconds."""
        consumer = Consumer({"bootstrap.servers": self.bootstrap, "group.id": "first", "log_level": 2})
        try:
            consumer.committed([TopicPartition("first", 0)], timeout=120)
        finally:
            consumer.close()

    def create_topic(
        self, name: str, partitions: int = 1, config: Mapping[str, str] | None = None, replicas: int = 1
    ) -> None:
        """Create a topic and wait for it; the brokers choose who has the replicas."""
        topic = NewTopic(
            name, num_partitions=partitions, replication_factor=replicas, config=dict(config or {})
        )
        admin = self.admin()  # must outlive the answer
        admin.create_topics([topic])[name].result(120)
        _wait_until_known(admin, name, partitions)

    def add_partitions(self, name: str, total: int) -> None:
        """Make a topic have `total` partitions, and wait for them."""
        admin = self.admin()
        admin.create_partitions([NewPartitions(name, total)])[name].result(120)
        _wait_until_known(admin, name, total)

    def delete_topic(self, name: str) -> None:
        """Delete a topic and wait for it."""
        admin = self.admin()
        admin.delete_topics([name])[name].result(30)


def _wait_until_known(admin: AdminClient, name: str, partitions: int) -> None:
    """The controller has decided and answered; a broker hears of it a moment later, and would deny it until then."""
    deadline = time.monotonic() + 120
    while True:
        topic = admin.list_topics(name, timeout=30).topics.get(name)
        if topic is not None and topic.error is None and len(topic.partitions) == partitions:
            return
        assert time.monotonic() < deadline, f"{name} with {partitions} partitions is not known"
        time.sleep(0.05)
