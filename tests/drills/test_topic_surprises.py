"""Topics that grow, are made again, lose records, are compacted or hold transactions, all under one run."""

import random
import re
import time
from collections import Counter
from pathlib import Path

import pytest
from confluent_kafka import KafkaError, Message, Producer, TopicCollection, TopicPartition

from tests.drills.conftest import Figures
from tests.drills.progress import PATIENCE_SECONDS
from tests.drills.stream import Stream
from tests.harness.program import Running, run_once
from tests.harness.scenario import Scenario, on_disk, payloads_in
from tests.harness.sessions import asleep
from tests.harness.waiting import wait_until
from tests.oracle.exact import ends_of, rows_by_place
from tests.oracle.ledger_text import LedgerText
from tests.services.consume import stored_in
from tests.services.kafka_broker import KafkaBroker
from tests.services.produce import Place, produce

COMPACTING = {
    "cleanup.policy": "compact",
    "min.cleanable.dirty.ratio": "0.001",
    "segment.ms": "100",
    "max.compaction.lag.ms": "100",
}
KEYS = 5


@pytest.mark.timeout(3600)
def test_every_surprise_of_a_topic_is_dumped_exactly_or_stops_its_table_with_the_range(
    kafka: KafkaBroker, figures: Figures, unique: str, tmp_path: Path
) -> None:
    names = ("grown", "remade", "aged", "compacted", "transactions")
    grown, remade, aged, compacted, transactions = topics = [f"{unique}.{name}" for name in names]
    tables = [payloads_in(topic, topic) for topic in topics]
    address = kafka.bootstrap
    for topic in topics:
        kafka.create_topic(topic, config=COMPACTING if topic == compacted else {})
    scenario = Scenario(tmp_path, unique, address, on_disk(tmp_path), tables)
    read = {topic: produce(address, topic, values(100), 1) for topic in (remade, aged)}
    read[transactions] = send_transactions(address, transactions)
    first_id = topic_id(kafka, remade)
    with (
        Stream(address, {grown: 1}, lambda: values(1)[0], 100) as stream,
        Running(scenario.config) as run,
    ):
        run.wait_for_epoch()
        scenario.wait_until_at(run, {(remade, 0): 100, (aged, 0): 100, (transactions, 0): 66})
        with asleep(run.pid):
            kafka.delete_topic(remade)
            again = make_again(kafka, remade)
            missed = produce(address, aged, values(300), 1)
            kafka.add_partitions(grown, 3)
            late = produce(address, grown, values(500), [1, 2])
            delete_before(kafka, aged, 300)
            written = send_compacted(address, compacted)
            read[transactions] |= send_transactions(address, transactions, 66)
        run.wait_until(
            lambda: run.said("kafka.topic_recreated") and run.said("kafka.offsets_lost"),
            "aware of it",
            PATIENCE_SECONDS,
        )
        stored = stream.end()
        read[grown] = stored | late
        ends = ends_of(read[grown]) | {(compacted, 0): len(written), (transactions, 0): 132}
        scenario.wait_until_at(run, ends)
        assert run.terminate() == 143, run.tail()
        log = "\n".join(run.messages())
    assert f"the positions belong to id {first_id}, the topic now has id {topic_id(kafka, remade)}" in log
    assert f"{aged}-0 begins at offset 300, but was read only up to 100: 200 offsets [100, 300)" in log
    for topic in (remade, aged):
        scenario.assert_exactly_once(read[topic], topic, ends={(topic, 0): 100})

    typed = dict.fromkeys(re.findall(r"kafka2hive recover --table \S+ (--accept-gap \S+)", log))
    assert len(typed) == 2, typed
    scenario.recover(*" ".join(typed).replace("'", "").split())
    done = run_once(scenario.config)
    assert done.code == 0, done.log[-3000:]
    scenario.verify()

    read[aged] |= {place: value for place, value in missed.items() if place[2] >= 300}
    for topic, end in ((grown, 0), (aged, 400), (transactions, 132)):
        ends = {(topic, 0): end} if end else ends_of(read[topic])
        scenario.assert_exactly_once(read[topic], topic, ends=ends)
    # both topics' records, though they bear the same offsets
    both = Counter(read[remade].items()) + Counter(again.items())
    assert rows_by_place(scenario.tree, scenario.location(remade)) == both
    newest = rows_by_place(scenario.tree, scenario.location(compacted))
    assert set(newest.values()) == {1} and newest.keys() <= written.items()
    for key in range(KEYS):  # compaction may take all but the newest
        last = max(place for place, value in written.items() if value and value.startswith(b"%d-" % key))
        assert (last, written[last]) in newest
    assert absent(scenario.ledgers[compacted]) == len(written) - len(newest) > 0
    assert absent(scenario.ledgers[transactions]) == 72
    (gap,) = scenario.ledgers[aged].newest()["gap"]
    assert (gap["topic"], gap["number"], gap["start"], gap["end"]) == (aged, 0, 100, 300)
    (gap,) = scenario.ledgers[remade].newest()["gap"]
    assert first_id in gap["how"]
    figures(records=sum(map(len, read.values())), compacted_away=len(written) - len(newest), lost=200)


def values(count: int) -> list[bytes]:
    return [b"%d" % random.getrandbits(64) for _ in range(count)]


def topic_id(broker: KafkaBroker, topic: str) -> str:
    """As Kafka's own tools print it."""
    admin = broker.admin()
    found = str(admin.describe_topics(TopicCollection([topic]))[topic].result(120).topic_id)
    return found.rstrip("=").replace("+", "-").replace("/", "_")


def make_again(broker: KafkaBroker, topic: str) -> dict[Place, bytes | None]:
    """Create the topic that was deleted; fewer records than the old one had."""
    wait_until(lambda: topic not in broker.admin().list_topics(timeout=120).topics, f"rid of {topic}")
    broker.create_topic(topic)
    return produce(broker.bootstrap, topic, values(50), 1)


def delete_before(broker: KafkaBroker, topic: str, offset: int) -> None:
    admin = broker.admin()
    for future in admin.delete_records([TopicPartition(topic, 0, offset)]).values():
        future.result(120)


def send_compacted(bootstrap: str, topic: str) -> dict[Place, bytes | None]:
    """Twenty values of each key in segments of their own, and more until compaction has taken most of them away."""
    written: dict[Place, bytes | None] = {}
    for number in range(20):
        records = [b"%d-%d" % (key, number) for key in range(KEYS)]
        written |= produce(bootstrap, topic, records, 1, [b"%d" % key for key in range(KEYS)])
        time.sleep(0.02)
    deadline = time.monotonic() + 900
    while len(stored_in(bootstrap, [(topic, 0)])) > len(written) - 10 * KEYS:
        assert time.monotonic() < deadline, "the broker did not compact"
        written |= produce(bootstrap, topic, [b"roll"], 1, [b"roll"])
        time.sleep(0.2)
    return written


def send_transactions(bootstrap: str, topic: str, begin: int = 0) -> dict[Place, bytes | None]:
    """Six transactions of ten records, every second one aborted, from offset `begin`; gives the committed records."""
    committed: dict[Place, bytes | None] = {}
    own: dict[Place, bytes | None] = {}

    def report(error: KafkaError | None, message: Message) -> None:
        assert error is None, error
        own[str(message.topic()), int(message.partition() or 0), int(message.offset() or 0)] = message.value()

    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": topic, "log_level": 2})
    producer.init_transactions(300)
    for number in range(6):
        producer.begin_transaction()
        own.clear()
        for value in values(10):
            producer.produce(topic, value, partition=0, on_delivery=report)
        assert producer.flush(300) == 0
        if number % 2:
            producer.abort_transaction(300)
        else:
            producer.commit_transaction(300)
            committed |= own
    assert len(committed) == 30 and min(committed) == (topic, 0, begin)
    return committed


def absent(ledger: LedgerText) -> int:
    """Offsets without a record, of all its epochs; each range is accounted for."""
    accounts = [account for snapshot in ledger.history() for account in snapshot["account"]]
    assert all(a["end"] - a["start"] == a["read"] + a["absent"] for a in accounts)
    return sum(account["absent"] for account in accounts)
