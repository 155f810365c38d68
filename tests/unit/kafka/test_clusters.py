"""Several Kafka clusters behind one port, each a broker of its own."""

from collections.abc import Collection, Mapping

import pytest

from kafka2hive.config.keys import KafkaOptions
from kafka2hive.kafka.client import KafkaAdmin
from kafka2hive.kafka.clusters import Clusters
from kafka2hive.kafka.port import ClusterView, Watermark
from kafka2hive.model.errors import ServiceUnavailable
from kafka2hive.model.offsets import TopicPartition
from tests.harness.mock_broker import Broker

WEST, EAST = TopicPartition("orders", 0), TopicPartition("east/orders", 0)


class Cut(KafkaAdmin):
    """A client that gets no answer once it is `cut`; `asked` counts the requests."""

    cut = False
    asked = 0

    def cluster(self, is_wanted=lambda _: True) -> ClusterView:  # type: ignore[no-untyped-def]
        self._ask()
        return super().cluster(is_wanted)

    def latest(self, topic_partitions: Collection[TopicPartition]) -> dict[TopicPartition, Watermark]:
        self._ask()
        return super().latest(topic_partitions)

    def group_offsets(
        self, group: str, topic_partitions: Collection[TopicPartition]
    ) -> dict[TopicPartition, int]:
        self._ask()
        return super().group_offsets(group, topic_partitions)

    def _ask(self) -> None:
        self.asked += 1
        if self.cut:
            raise ServiceUnavailable("kafka.unavailable", "no answer", "wait")


def client(broker: Broker) -> Cut:
    return Cut(KafkaOptions((("bootstrap.servers", broker.address),), "g"))


def two(counts: Mapping[str, int]) -> tuple[Clusters, dict[str, Cut], list[Broker]]:
    brokers = {name: Broker() for name in counts}
    for name, count in counts.items():
        brokers[name].produce("orders", count)
    clients = {name: client(broker) for name, broker in brokers.items()}
    groups = dict.fromkeys(counts, "g")
    return Clusters(clients, groups, ["orders", "east/orders"]), clients, list(brokers.values())


def test_topics_of_the_same_name_are_two_topics() -> None:
    clusters, _, _brokers = two({"": 5, "east": 3})
    view = clusters.cluster()
    assert view.topics.keys() >= {"orders", "east/orders"} and view.silent == {}
    assert view.topics["east/orders"].topic_partitions()[0] == EAST
    ends = {tp: mark.offset for tp, mark in clusters.latest([WEST, EAST]).items()}
    assert ends == {WEST: 5, EAST: 3}


def test_a_silent_cluster_is_left_out_keeps_its_topics_and_is_not_asked_again_at_once() -> None:
    clusters, clients, _brokers = two({"": 5, "east": 3})
    clusters.cluster()
    clients["east"].cut = True
    view = clusters.cluster()
    assert "east/orders" in view.topics and list(view.silent) == ["east"]
    assert view.silent["east"].message == "Kafka east: no answer"
    asked = clients["east"].asked
    assert clusters.latest([WEST, EAST]).keys() == {WEST}
    assert clients["east"].asked == asked
    with pytest.raises(ServiceUnavailable, match="Kafka east"):
        clusters.latest([EAST])


def test_a_cluster_that_never_answered_has_the_topics_of_the_map_without_partitions() -> None:
    clusters, clients, _brokers = two({"": 1, "east": 1})
    clients["east"].cut = True
    view = clusters.cluster()
    assert view.topics["east/orders"].partitions == ()
    assert not view.has_answered("east") and view.has_answered("")


def test_a_cluster_that_its_probe_knows_to_be_silent_is_not_asked() -> None:
    clusters, clients, _brokers = two({"": 1, "east": 1})
    clusters.silence = lambda name: "no answer within 8 s" if name == "east" else None
    assert list(clusters.cluster().silent) == ["east"]
    assert clients["east"].asked == 0


def test_a_group_offset_of_a_silent_cluster_is_never_left_out() -> None:
    clusters, clients, _brokers = two({"": 1, "east": 1})
    clients["east"].cut = True
    with pytest.raises(ServiceUnavailable, match="Kafka east"):
        clusters.group_offsets("g", [WEST, EAST])


def test_without_any_cluster_the_request_fails() -> None:
    clusters, clients, _brokers = two({"": 1, "east": 1})
    for each in clients.values():
        each.cut = True
    with pytest.raises(ServiceUnavailable):
        clusters.cluster()
    with pytest.raises(ServiceUnavailable):
        clusters.latest([WEST, EAST])
