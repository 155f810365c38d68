"""Real Kafka: KRaft nodes that are broker and controller at once, and what tests ask of them. Here: one node."""

import time
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

from tests.services.jvm import java_command
from tests.services.kafka_node import CLUSTER_ID, READY, node_properties, prepare
from tests.services.service import Service
from tests.services.service_process import READY_SECONDS, ServiceProcess, run_to_end


class KafkaNodes(Service):
    """Nodes 1 to `count` with their data below `folder`; `properties` are added to each server.properties.

    Topics are never created by themselves.
    """

    cluster_id = CLUSTER_ID

    def __init__(
        self,
        folder: Path,
        count: int,
        properties: Mapping[str, str],
        heap_mb: int,
        more_ports: int = 0,
        options: Sequence[str] = (),
    ) -> None:
        """`more_ports` are for listeners of a kind of its own, `options` the JVM's."""
        self._nodes = {n: ServiceProcess(f"kafka-{n}", [], folder / str(n)) for n in range(1, count + 1)}
        self._properties = dict(properties)
        self._heap_mb = heap_mb
        self._options = tuple(options)
        super().__init__(folder, list(self._nodes.values()), ports=2 * count + more_ports)

    @property
    def bootstrap(self) -> str:
        """The addresses clients are given."""
        return ",".join(f"127.0.0.1:{port}" for port in self._ports[: len(self._nodes)])

    def start_nodes(self, numbers: Iterable[int]) -> None:
        """Start these and wait until they serve, which takes a majority of all to run."""
        started = [self._nodes[n] for n in numbers]
        for node in started:
            node.start()
        for node in started:
            node.wait_until(partial(node.said, READY))

    def admin(self) -> AdminClient:
        """A new admin client; it does not tell of brokers that are away."""
        return AdminClient({"bootstrap.servers": self.bootstrap, "reconnect.backoff.ms": 200, "log_level": 2})

    def wait_for_group_coordinator(self) -> None:
        """The first question about a consumer group creates the topic of all offsets, which takes a new cluster seconds."""
        consumer = Consumer({"bootstrap.servers": self.bootstrap, "group.id": "first", "log_level": 2})
        deadline = time.monotonic() + READY_SECONDS
        try:
            while not _has_coordinator(consumer):
                assert time.monotonic() < deadline, "no broker coordinates consumer groups"
                time.sleep(0.1)
        finally:
            consumer.close()

    def create_topic(
        self, name: str, partitions: int = 1, config: Mapping[str, str] | None = None, replicas: int = 1
    ) -> None:
        """Create a topic and wait for it; the brokers choose who has the replicas."""
        self._create(
            NewTopic(name, num_partitions=partitions, replication_factor=replicas, config=dict(config or {}))
        )

    def create_topics(self, names: Sequence[str], partitions: int, together: int = 100) -> None:
        """Create many topics, `together` with each question."""
        admin = self.admin()
        for begin in range(0, len(names), together):
            topics = [NewTopic(name, partitions, 1) for name in names[begin : begin + together]]
            for answer in admin.create_topics(topics, operation_timeout=120, request_timeout=120).values():
                answer.result(240)
        _wait_until_known(admin, names[-1], partitions)

    def add_partitions(self, name: str, total: int) -> None:
        """Make a topic have `total` partitions, and wait for them."""
        admin = self.admin()
        admin.create_partitions([NewPartitions(name, total)])[name].result(120)
        _wait_until_known(admin, name, total)

    def delete_topic(self, name: str) -> None:
        """Delete a topic and wait for it."""
        admin = self.admin()
        admin.delete_topics([name])[name].result(120)

    def limit_client(self, client_id: str, bytes_a_second: int) -> None:
        """Give the clients of this id a quota of fetched bytes."""
        arguments = [
            *("kafka.admin.ConfigCommand", "--bootstrap-server", self.bootstrap, "--alter"),
            *("--entity-type", "clients", "--entity-name", client_id),
            *("--add-config", f"consumer_byte_rate={bytes_a_second}"),
        ]
        run_to_end("kafka configs", [*java_command("kafka", 128), *arguments], self.folder)

    def _create(self, topic: NewTopic) -> None:
        admin = self.admin()  # must outlive the answer
        admin.create_topics([topic])[topic.topic].result(120)
        _wait_until_known(admin, topic.topic, topic.num_partitions)

    def _configure(self) -> None:
        controllers = dict(zip(self._nodes, self._ports[len(self._nodes) :], strict=False))
        for (number, node), port in zip(self._nodes.items(), self._ports, strict=False):
            properties = self._properties_of(number, port, controllers) | self._properties
            folder = self.folder / str(number)
            prepare(node, folder, properties, self._heap_mb, self._options, self.cluster_id)

    def _properties_of(self, number: int, port: int, controllers: Mapping[int, int]) -> dict[str, str]:
        return node_properties(number, port, controllers)

    def _more_ports(self) -> tuple[int, ...]:
        return self._ports[2 * len(self._nodes) :]

    def _launch(self) -> None:
        self.start_nodes([number for number, node in self._nodes.items() if not node.is_running])


class KafkaBroker(KafkaNodes):
    """A broker of one node."""

    def __init__(self, folder: Path, properties: Mapping[str, str] | None = None, heap_mb: int = 512) -> None:
        # a controller writes twice a second that nothing has happened, for its followers: a third of what an idle node costs
        alone = {"metadata.max.idle.interval.ms": "0"}
        super().__init__(folder, 1, alone | dict(properties or {}), heap_mb)

    @property
    def service(self) -> ServiceProcess:
        """The broker's process."""
        return self._nodes[1]


_NO_COORDINATOR_YET = (
    KafkaError.NOT_COORDINATOR,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
)


def _has_coordinator(consumer: Consumer) -> bool:
    """On a busy machine the client gives up asking while the broker still loads the group's offsets."""
    try:
        consumer.committed([TopicPartition("first", 0)], timeout=120)
    except KafkaException as error:
        if error.args[0].code() not in _NO_COORDINATOR_YET:
            raise
        return False
    return True


def _wait_until_known(admin: AdminClient, name: str, partitions: int) -> None:
    """The controller has decided and answered; a broker hears of it a moment later, and would deny it until then."""
    deadline = time.monotonic() + READY_SECONDS
    while True:
        topic = admin.list_topics(name, timeout=120).topics.get(name)
        if topic is not None and topic.error is None and len(topic.partitions) == partitions:
            return
        assert time.monotonic() < deadline, f"{name} with {partitions} partitions is not known"
        time.sleep(0.05)
