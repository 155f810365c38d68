"""The same kills for this program and for its peers: what each one's files then hold. Long form only (scripts/drill).

A record is `{"id": n, "at": .., "v": ..}`; records keep coming while the writer is killed with SIGKILL, all of its
processes at once, and started again from the state that it keeps, as its documentation asks. Nothing is asserted
of the peers but that they were at work; this program must be exact.
"""

import itertools
import random
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from tests.drills.form import Form
from tests.drills.sink_reading import SinkReading, listed_by_hive, listed_by_spark, read_sink
from tests.drills.stream import Stream
from tests.harness.program import PROGRAM
from tests.oracle.tree import LocalTree
from tests.peers.shape import Shape
from tests.services.java_service import JavaService

if TYPE_CHECKING:
    from tests.drills.conftest import Figures
    from tests.services.kafka_broker import KafkaBroker

PER_SECOND = 2_000
CHECKPOINT_SECONDS = 2.0
DRAIN_SECONDS = 300
SHAPE = Shape({"id": "bigint", "at": "timestamp", "v": "double"}, "at", "hour")


@dataclass(frozen=True, slots=True)
class Writer:
    """`command` of a folder, the broker's address and the topic; `table` below the folder is what readers read."""

    command: Callable[[Path, str, str], list[str]]
    table: str


def ours(folder: Path, bootstrap: str, topic: str) -> list[str]:
    """`kafka2hive run`, as systemd starts it again."""
    table: dict[str, Any] = {
        "table": "drill.records",
        "topics": [topic],
        "start": "earliest",
        "columns": SHAPE.columns,
        "bucket": {"field": "at", "path": f"dt={SHAPE.strftime}"},
        "flush": {"interval": "2s"},
    }
    document = {
        "service": topic,
        "kafka": {"bootstrap.servers": bootstrap},
        "storage": {"uri": folder.as_uri()},
        "trigger": "1s",
        "run_directory": str(folder / "run"),
        "tables": [table],
    }
    config = folder / "map.yaml"
    config.write_text(yaml.safe_dump(document))
    return [*PROGRAM, "run", "-c", str(config)]


def peer(module: str) -> Callable[[Path, str, str], list[str]]:
    """A peer that goes on from its checkpoint directory."""

    def command(folder: Path, bootstrap: str, topic: str) -> list[str]:
        (checkpoint := folder / "checkpoint").mkdir(exist_ok=True)
        return [
            *(sys.executable, "-m", f"tests.peers.{module}", "--continuous", str(CHECKPOINT_SECONDS)),
            *("--bootstrap", bootstrap, "--topic", topic, "--output", (folder / "table").as_uri()),
            *("--shape", str(SHAPE.write(folder / "shape.json")), "--checkpoint", str(checkpoint)),
        ]

    return command


WRITERS = {
    "kafka2hive": Writer(ours, "warehouse/drill.db/records"),
    "spark_file_sink": Writer(peer("spark_file_sink"), "table"),
    "spark_foreach_batch": Writer(peer("spark_foreach_batch"), "table"),
    "flink": Writer(peer("flink"), "table"),
}


@pytest.mark.timeout(7_200)
@pytest.mark.parametrize("name", WRITERS)
def test_the_same_kills_for_every_sink(
    name: str, form: Form, figures: "Figures", kafka: "KafkaBroker", unique: str, tmp_path: Path
) -> None:
    chance, kills = random.Random(2026), form.count(3, 20)  # the same moments for everybody
    numbers = itertools.count()

    def record() -> bytes:
        n = next(numbers)
        return b'{"id": %d, "at": "2026-03-01T%02d:00:00Z", "v": %d.5}' % (n, n // 20_000 % 24, n % 1000)

    writer, tree = WRITERS[name], LocalTree()
    location = (tmp_path / writer.table).as_uri()
    kafka.create_topic(unique, 4)
    command = writer.command(tmp_path, kafka.bootstrap, unique)
    process = JavaService(name, command, Path.cwd())
    process.output = tmp_path / "output"
    at_work = 0
    with Stream(kafka.bootstrap, {unique: 4}, record, PER_SECOND) as stream:
        try:
            for _ in range(kills):
                before = set(listed_by_hive(tree, location))
                process.start()
                process.wait_until(
                    lambda seen=before: set(listed_by_hive(tree, location)) - seen, "at work", DRAIN_SECONDS
                )
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


def drained(process: JavaService, read: Callable[[], SinkReading]) -> SinkReading:
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
