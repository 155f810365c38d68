"""`flush: auto` on real services: a trickle waits for its bound and makes few files, a stream is dumped as often as before."""

import datetime
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import pytest
from confluent_kafka import Message, Producer

from tests.harness.program import Running, command
from tests.harness.scenario import Scenario, on_hdfs, payloads_in
from tests.oracle.data_files import visible_files
from tests.oracle.exact import ends_of
from tests.oracle.ledger_text import LedgerText
from tests.services.hdfs import Hdfs
from tests.services.kafka_broker import KafkaBroker
from tests.services.produce import Place, produce

INTERVAL, BOUND, SLACK = 1.0, 12.0, 10.0
"""In seconds; `SLACK`, with what the plain table waited at most, is the time of an epoch and of a look at Kafka."""
RECORD_BYTES, WORTH = 200, 20_000
TRICKLE, STREAM = 2, 600
"""Records a second. The trickle never has a file's worth within the bound, the stream has it within an interval."""
SECONDS = 25.0
BURSTS = 3


@contextmanager
def records(bootstrap: str, topic: str, per_second: int, stored: dict[Place, bytes | None]) -> Iterator[None]:
    """Send so many records a second; on leaving, all are acknowledged and in `stored`."""
    stop, producer = threading.Event(), Producer({"bootstrap.servers": bootstrap, "linger.ms": 5})

    def report(error: object, message: Message) -> None:
        assert error is None, error
        stored[topic, int(message.partition() or 0), int(message.offset() or 0)] = message.value()

    def send() -> None:
        began, sent = time.monotonic(), 0
        while not stop.wait(0.05):
            while sent < (time.monotonic() - began) * per_second:
                producer.produce(
                    topic, b"%0*d" % (RECORD_BYTES, sent), partition=sent % 2, on_delivery=report
                )
                sent += 1
            producer.poll(0)

    thread = threading.Thread(target=send)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
        assert producer.flush(120) == 0


def epochs_of(ledger: LedgerText) -> list[float]:
    """When the table's epochs with records were written, in seconds."""
    dumped = [s["header"][0]["written_at"] for s in ledger.history() if any(a["read"] for a in s["account"])]
    return [datetime.datetime.fromisoformat(at).timestamp() for at in dumped]


@pytest.mark.timeout(3600)
def test_a_trickle_waits_for_its_bound_and_a_stream_and_a_burst_do_not(
    kafka: KafkaBroker, hdfs: Hdfs, unique: str, tmp_path: Path
) -> None:
    trickle, plain, stream = (f"{unique}.{name}" for name in ("trickle", "plain", "stream"))
    small, large = f"{unique}-small", f"{unique}-large"
    for topic in (small, large):
        kafka.create_topic(topic, 2)
    every = {"interval": f"{INTERVAL:g}s"}
    auto = {**every, "max_interval": f"{BOUND:g}s", "min_bytes": WORTH, "bytes": 10 * WORTH}
    scenario = Scenario(
        tmp_path,
        unique,
        kafka.bootstrap,
        on_hdfs(hdfs, unique),
        [
            payloads_in(trickle, small, flush=auto),
            payloads_in(plain, small, flush=every),
            payloads_in(stream, large, flush=auto),
        ],
    )
    assert (
        "due every 1 s with 20.0 kB, every 12 s with less, or 200.0 kB"
        in command("validate", scenario.config).out
    )
    stored: dict[Place, bytes | None] = {}
    with Running(scenario.config) as run:
        with (
            records(kafka.bootstrap, small, TRICKLE, stored),
            records(kafka.bootstrap, large, STREAM, stored),
        ):
            scenario.wait_for_positions(run)
            run.wait_until(lambda: bool(epochs_of(scenario.ledgers[trickle])), "an epoch of the trickle")
            time.sleep(SECONDS)

            def tell_apart() -> bool:
                """On a slow machine the others have few epochs, too: it takes longer until the numbers tell them apart."""
                few, *others = (len(epochs_of(scenario.ledgers[name])) for name in (trickle, plain, stream))
                return all(3 * (few + BURSTS) <= many for many in others)

            run.wait_until(tell_apart, "apart", 600, 1)
        # a burst is dumped at once, although the trickle would wait; others may need the machine just then
        took = []
        for _ in range(BURSTS):
            burst = [b"%0*d" % (RECORD_BYTES, 0)] * (11 * WORTH // RECORD_BYTES)
            stored |= produce(kafka.bootstrap, small, burst, 2)
            scenario.wait_until_at(run, ends_of(stored), plain)  # which is due at once
            began = time.monotonic()
            scenario.wait_until_at(run, ends_of(stored), trickle)
            took.append(time.monotonic() - began)
            if took[-1] < BOUND / 2:
                break
        assert took[-1] < BOUND / 2, took
        scenario.wait_until_at(run, ends_of(stored))
        assert run.terminate() == 143, run.tail()

    epochs = {name: epochs_of(ledger) for name, ledger in scenario.ledgers.items()}
    files = {name: len(visible_files(scenario.tree, scenario.location(name))) for name in epochs}
    few, many = len(epochs[trickle]), len(epochs[plain])
    seconds = epochs[trickle][-1] - epochs[trickle][0]
    assert few <= seconds / BOUND + 3 + len(took) and 3 * few <= many, epochs
    assert 3 * files[trickle] <= files[plain], files
    assert 3 * few <= len(epochs[stream]), epochs
    # a record that an epoch did not have was acknowledged after it was planned, and is in the next one
    longest = {name: max(later - at for at, later in pairwise(found)) for name, found in epochs.items()}
    assert longest[trickle] <= BOUND + SLACK + longest[plain], epochs
    scenario.assert_exactly_once(stored)
    scenario.verify("--deep")
