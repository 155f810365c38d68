"""A real Kafka cluster: three KRaft nodes, each broker and controller."""

import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from confluent_kafka import ElectionType, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import NewTopic, PartitionMetadata

from tests.services.kafka_broker import KafkaNodes
from tests.services.service_process import ServiceProcess

_OWN = {
    "broker.session.timeout.ms": "5000",
    "broker.heartbeat.interval.ms": "300",
    # the controller would give leaders back by itself, five minutes after its start
    "auto.leader.rebalance.enable": "false",
}
# the client lost the broker that it had asked, or took its handle apart when it learnt the brokers' real numbers
_CONNECTION_LOST = (KafkaError._TRANSPORT, KafkaError._DESTROY_BROKER)
_TRIES = 5


class KafkaCluster(KafkaNodes):
    """Nodes 1, 2 and 3.

    A node that dies is noticed after five seconds; leaders stay where they are put. Two of three must run for anything
    to be decided (a leader elected, a topic made).
    """

    def __init__(self, folder: Path, properties: Mapping[str, str] | None = None) -> None:
        super().__init__(folder, 3, _OWN | dict(properties or {}), heap_mb=384)

    def node(self, number: int) -> ServiceProcess:
        """One node's process, to be killed or suspended."""
        return self._nodes[number]

    def stop(self) -> None:
        """End all of them, side by side: the last one could not hand over to anybody."""
        with ThreadPoolExecutor(len(self._nodes)) as pool:
            list(pool.map(ServiceProcess.terminate, self._nodes.values()))

    def create_topic_at(self, name: str, replicas: list[list[int]], config: Mapping[str, str]) -> None:
        """As `create_topic`; the replicas lie where you say: for each partition the nodes, the preferred leader first."""
        self._create(
            NewTopic(name, num_partitions=len(replicas), replica_assignment=replicas, config=dict(config))
        )

    def leaders(self, topic: str) -> list[int]:
        """The leader's node of each partition by number; -1: nobody leads it."""
        return [partition.leader for partition in self._partitions(topic)]

    def in_sync(self, topic: str) -> list[set[int]]:
        """The nodes in sync, of each partition by number."""
        return [set(partition.isrs) for partition in self._partitions(topic)]

    def elect_preferred(self, topic: str, partitions: int) -> None:
        """Give each partition back to its preferred leader; those that have it, or whose node is away, stay as they are."""
        asked = [TopicPartition(topic, n) for n in range(partitions)]
        for tries_left in reversed(range(_TRIES)):
            admin = self.admin()  # must outlive the answer
            try:
                admin.elect_leaders(ElectionType.PREFERRED, asked).result(120)
                return
            except KafkaException as error:
                if error.args[0].code() not in _CONNECTION_LOST or not tries_left:
                    raise

    def _partitions(self, topic: str) -> list[PartitionMetadata]:
        # not DescribeTopics: it waits for the broker that was last said to be the controller, also when that is dead
        while not (found := self.admin().list_topics(topic, timeout=120).topics[topic].partitions):
            time.sleep(0.05)  # this broker has not heard of it yet
        return [found[number] for number in sorted(found)]
