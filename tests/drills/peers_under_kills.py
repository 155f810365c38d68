"""The same kills for this program and for its peers: what each one's files then hold. Long form only (scripts/drill).

A record is `{"id": n, "at": .., "v": ..}`; records keep coming while the writer is killed with SIGKILL, all of its
processes at once, and started again from the state that it keeps, as its documentation asks. Nothing is asserted
of the peers but that they were at work; this program must be exact.
"""

import itertools
import random
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from tests.benchmarks.contestants import CONTESTANTS, Place
from tests.benchmarks.peers.shape import Shape
from tests.drills.conftest import Figures
from tests.drills.form import Form
from tests.drills.sink_reading import SinkReading, listed_by_hive, listed_by_spark, read_sink
from tests.drills.stream import Stream
from tests.oracle.tree import LocalTree
from tests.services.kafka_broker import KafkaBroker
from tests.services.service_process import ServiceProcess

PER_SECOND = 2_000
CHECKPOINT_SECONDS = 2.0
DRAIN_SECONDS = 300
SHAPE = Shape({"id": "bigint", "at": "timestamp", "v": "double"}, "at", "hour")
WRITERS = ("kafka2hive", "spark_file_sink", "spark_foreach_batch", "flink")


@pytest.mark.timeout(7_200)
@pytest.mark.parametrize("name", WRITERS)
def test_the_same_kills_for_every_sink(
    name: str, form: Form, figures: Figures, kafka: KafkaBroker, unique: str, tmp_path: Path
) -> None:
    chance, kills = random.Random(2026), form.count(3, 20)  # the same moments for everybody
    numbers = itertools.count()

    def record() -> bytes:
        n = next(numbers)
        return b'{"id": %d, "at": "2026-03-01T%02d:00:00Z", "v": %d.5}' % (n, n // 20_000 % 24, n % 1000)

    place, tree = Place(tmp_path, tmp_path.as_uri(), kafka.bootstrap, unique, SHAPE), LocalTree()
    location = CONTESTANTS[name].location(place)
    kafka.create_topic(unique, 4)
    command = CONTESTANTS[name].command(place, CHECKPOINT_SECONDS)
    process = ServiceProcess(name, command, Path.cwd())
    process.output = tmp_path / "output"
    at_work = 0
    with Stream(kafka.bootstrap, {unique: 4}, record, PER_SECOND) as stream:
        try:
            for _ in range(kills):
                before = set(listed_by_hive(tree, location))
                process.start()
                process.wait_until(partial(wrote, tree, location, before), "at work", DRAIN_SECONDS)
                at_work += 1
                time.sleep(chance.uniform(0, 3 * CHECKPOINT_SECONDS))
                process.kill()
            sent = len(stream.end())
            process.start()
            reading = drained(process, lambda: read_sink(tree, listed_by_hive(tree, location), sent))
        finally:
            process.kill()
    assert at_work == kills
    figures(kills=kills, sent=sent, **told(reading))
    if name == "spark_file_sink":
        by_log = read_sink(tree, listed_by_spark(tree, location), sent)
        figures(**{f"by_spark_log_{key}": value for key, value in told(by_log).items()})
    if name == "kafka2hive":
        assert reading.exact, reading


def wrote(tree: LocalTree, location: str, before: set[str]) -> bool:
    """Whether there are files that were not there before."""
    return bool(set(listed_by_hive(tree, location)) - before)


def drained(process: ServiceProcess, read: Callable[[], SinkReading]) -> SinkReading:
    """Wait until all is there, or until nothing has come for ten checkpoints after something came."""
    deadline, quiet = time.monotonic() + DRAIN_SECONDS, time.monotonic()
    first = last = read()
    while time.monotonic() < deadline:
        time.sleep(CHECKPOINT_SECONDS)
        assert process.is_running
        now = read()
        if now != last:
            last, quiet = now, time.monotonic()
        if last.lost == 0 and time.monotonic() > quiet + 3 * CHECKPOINT_SECONDS:
            break
        if last != first and time.monotonic() > quiet + 10 * CHECKPOINT_SECONDS:
            break
    return last


def told(reading: SinkReading) -> dict[str, int]:
    """As figures."""
    return {
        "files": reading.files,
        "lost": reading.lost,
        "doubled": reading.doubled,
        "unreadable": reading.unreadable,
    }
