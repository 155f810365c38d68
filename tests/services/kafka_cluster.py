"""A real Kafka cluster: three KRaft nodes, each broker and controller."""

from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType

from confluent_kafka import ElectionType, TopicPartition
from confluent_kafka.admin import NewTopic, PartitionMetadata

from tests.services.java_service import JavaService, start_on_free_ports
from tests.services.kafka_clients import KafkaClients
from tests.services.kafka_node import KafkaNode, node_properties
from tests.services.ports import free_ports

NODES = (1, 2, 3)
_OWN = {
    "broker.session.timeout.ms": "5000",
    "broker.heartbeat.interval.ms": "300",
    # the controller would give leaders back by itself, five minutes after its start
    "auto.leader.rebalance.enable": "false",
}


class KafkaCluster(KafkaClients):
    """Nodes 1, 2 and 3 on 127.0.0.1 with their data below `folder`; `properties` are added to each server.properties.

    A node that dies is noticed after five seconds; leaders stay where they are put. Two of three must run for anything
    to be decided (a leader elected, a topic made).
    """

    def __init__(self, folder: Path, properties: Mapping[str, str] | None = None) -> None:
        self._properties = dict(properties or {})
        self._nodes = {n: KafkaNode(f"kafka-{n}", folder / str(n), heap_mb=384) for n in NODES}
        self._ports: dict[int, int] = {}

    @property
    def bootstrap(self) -> str:
        """The addresses clients are given."""
        return ",".join(f"127.0.0.1:{port}" for port in self._ports.values())

    def node(self, number: int) -> JavaService:
        """One node's process, to be killed or suspended."""
        return self._nodes[number].service

    def start(self) -> None:
        """Start all that do not run, and wait until they serve; formats their storage the first time."""
        if not self._ports:
            start_on_free_ports(self._launch_somewhere)
        else:
            self.start_nodes([n for n in NODES if not self.node(n).is_running])

    def start_nodes(self, numbers: Iterable[int]) -> None:
        """Start these and wait until they serve, which takes two of three to run."""
        started = [self._nodes[n] for n in numbers]
        for node in started:
            node.launch()
        for node in started:
            node.wait_until_ready()

    def stop(self) -> None:
        """End all of them, side by side."""
        self._each(lambda number: self.node(number).terminate())

    def create_topic_at(self, name: str, replicas: list[list[int]], config: Mapping[str, str]) -> None:
        """Create a topic whose replicas lie where you say: for each partition the nodes, the preferred leader first."""
        admin = self.admin()
        topic = NewTopic(name, num_partitions=len(replicas), replica_assignment=replicas, config=dict(config))
        admin.create_topics([topic])[name].result(30)

    def leaders(self, topic: str) -> list[int]:
        """The leader's node of each partition by number; -1: nobody leads it."""
        return [partition.leader for partition in self._partitions(topic)]

    def in_sync(self, topic: str) -> list[set[int]]:
        """The nodes in sync, of each partition by number."""
        return [set(partition.isrs) for partition in self._partitions(topic)]

    def elect_preferred(self, topic: str, partitions: int) -> None:
        """Give each partition back to its preferred leader; those that have it, or whose node is away, stay as they are."""
        admin = self.admin()
        admin.elect_leaders(
            ElectionType.PREFERRED, [TopicPartition(topic, n) for n in range(partitions)]
        ).result(30)

    def __enter__(self) -> "KafkaCluster":
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _partitions(self, topic: str) -> list[PartitionMetadata]:
        # not DescribeTopics: it waits for the broker that was last said to be the controller, also when that is dead
        found = self.admin().list_topics(topic, timeout=30).topics[topic].partitions
        return [found[number] for number in sorted(found)]

    def _launch_somewhere(self) -> None:
        ports = free_ports(2 * len(NODES))
        clients = dict(zip(NODES, ports[: len(NODES)], strict=True))
        controllers = dict(zip(NODES, ports[len(NODES) :], strict=True))

        def prepare(number: int) -> None:
            own = node_properties(number, clients[number], controllers)
            self._nodes[number].prepare(own | _OWN | self._properties)

        self._each(prepare)
        try:
            self.start_nodes(NODES)
        except Exception:
            self._each(lambda number: self.node(number).kill())
            raise
        self._ports = clients

    def _each(self, work: Callable[[int], None], numbers: Collection[int] = NODES) -> None:
        with ThreadPoolExecutor(len(numbers)) as pool:
            list(pool.map(work, numbers))
