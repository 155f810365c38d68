"""What tests ask of a Kafka cluster, whatever its size: topics made, grown, deleted."""

from collections.abc import Mapping
from typing import Protocol

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

    def create_topic(
        self, name: str, partitions: int = 1, config: Mapping[str, str] | None = None, replicas: int = 1
    ) -> None:
        """Create a topic and wait for it; the brokers choose who has the replicas."""
        topic = NewTopic(
            name, num_partitions=partitions, replication_factor=replicas, config=dict(config or {})
        )
        admin = self.admin()  # must outlive the answer
        admin.create_topics([topic])[name].result(30)

    def add_partitions(self, name: str, total: int) -> None:
        """Make a topic have `total` partitions."""
        admin = self.admin()
        admin.create_partitions([NewPartitions(name, total)])[name].result(30)

    def delete_topic(self, name: str) -> None:
        """Delete a topic and wait for it."""
        admin = self.admin()
        admin.delete_topics([name])[name].result(30)
