"""One service with many small tables, without faults: whether an hour makes its epochs, its memory or its threads grow.

Each table has a topic of its own, and all share one map with `flush: auto`. A few topics get most of the load, as a
few of a company's do. No process is hurt: growth shows only in a run that lasts, and faults are the other form's.
"""

import itertools
import random
import statistics
import sys
import threading
import time
import urllib.request
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from confluent_kafka import KafkaError, Message, Producer

from tests.benchmarks.modes.dumps import namenode_calls_so_far
from tests.benchmarks.process_tree import Session
from tests.drills.followed_log import FollowedLog
from tests.harness.program import Running
from tests.harness.scenario import Scenario, on_hdfs, payloads_in
from tests.harness.service_map import ledger_root
from tests.oracle.exact import Inexact, rows_by_place
from tests.services.hdfs import Hdfs
from tests.services.kafka_broker import KafkaBroker
from tests.services.ports import free_ports
from tests.services.produce import Place
from tests.soak.samples import Epoch, Sample, Sampler

NAME = "many"
TOPIC_PARTITIONS = 5
RECORD_BYTES = 200
SAMPLE = 10
"""So many tables are compared while the service runs; each look costs calls of the NameNode, which are counted."""
LEDGER_SECONDS = 60.0
BROKER = {"log.index.size.max.bytes": "65536", "num.io.threads": "4"}
"""An index of a topic partition takes its whole size of address space: 10 MB by default."""
BROKER_HEAP_MB = 1024
TRIGGER = "10s"
"""The map's default; other tests look twice a second."""
END_SECONDS = 1800


def payload(topic: str, number: int, offset: int) -> bytes:
    """What the record at this place is, so that no check need keep it."""
    return f"{topic}-{number}@{offset} ".encode().ljust(RECORD_BYTES, b".")


class ManyTopics:
    """Sends `per_second` records a second until the `with` block ends: the n-th topic gets 1/n as many as the first.

    `waiting` has by topic when each record was acknowledged (Unix seconds) that no epoch has read; `take` removes them.
    """

    def __init__(
        self, bootstrap: str, topics: Sequence[str], per_second: float, chance: random.Random
    ) -> None:
        self.stored: Counter[tuple[str, int]] = Counter()
        self.failures: list[str] = []
        self._topics, self._per_second, self._chance = topics, per_second, chance
        self._weights = list(itertools.accumulate(1 / rank for rank in range(1, len(topics) + 1)))
        self._waiting: dict[str, deque[float]] = {topic: deque() for topic in topics}
        self.sent: Counter[tuple[str, int]] = Counter()
        self._producer = Producer(
            {"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 50, "log_level": 2}
        )
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, name="many-topics", daemon=True)

    def __enter__(self) -> "ManyTopics":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join(120)

    def end(self) -> None:
        """Send no more, and wait for all answers. Raises AssertionError: one was not stored, or not where it belongs."""
        self.__exit__()
        assert self._producer.flush(300) == 0, "records are not acknowledged"
        assert not self.failures, self.failures[:5]
        assert self.stored == self.sent

    def take(self, topic: str, count: int) -> float | None:
        """Forget the oldest `count` records that wait; gives when the first of them was acknowledged."""
        waiting = self._waiting[topic]
        oldest = waiting[0] if waiting and count else None
        for _ in range(min(count, len(waiting))):
            waiting.popleft()
        return oldest

    def _run(self) -> None:
        began, sent = time.monotonic(), 0
        while not self._end.wait(0.1):
            due = int((time.monotonic() - began) * self._per_second)
            for topic in self._chance.choices(self._topics, cum_weights=self._weights, k=max(due - sent, 0)):
                number = self._chance.randrange(TOPIC_PARTITIONS)
                value = payload(topic, number, self.sent[topic, number])
                self._producer.produce(topic, value, None, number, on_delivery=self._report)
                self.sent[topic, number] += 1
            sent = max(sent, due)
            self._producer.poll(0)

    def _report(self, error: KafkaError | None, message: Message) -> None:
        topic, number, offset = str(message.topic()), int(message.partition() or 0), message.offset()
        if error is not None:
            self.failures.append(error.str())
        elif offset is None or message.value() != payload(topic, number, offset):
            self.failures.append(f"stored at {topic}-{number} offset {offset}: {message.value()!r}")
        else:
            self.stored[topic, number] += 1
            self._waiting[topic].append(time.time())


@dataclass(slots=True)
class Watch:
    """Follows the run's log: its epochs, and how old the oldest record was that each of them made visible."""

    log: FollowedLog
    topics: ManyTopics
    began: float
    epochs: list[Epoch] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)

    def read_on(self) -> None:
        now = time.time()
        for record in self.log.read_on():
            if record.get("event") != "epoch":
                continue
            parts: dict[str, dict[str, Any]] = record["tables"]
            ages = [
                now - oldest
                for table, part in parts.items()
                if (oldest := self.topics.take(topic_of(table), part["records"])) is not None
            ]
            self.seen |= parts.keys()
            self.epochs.append(
                Epoch(
                    at=round(time.monotonic() - self.began, 1),
                    tables=len(parts),
                    records=record["records"],
                    seconds=record["seconds"],
                    phases=record["phases"],
                    oldest=round(max(ages, default=0.0), 1),
                    middle=round(statistics.median(ages), 1) if ages else 0.0,
                )
            )


def topic_of(table: str) -> str:
    return table.replace(f"{NAME}.t", f"{NAME}-")


@dataclass(slots=True)
class ManyTables:
    """The service of `count` tables, and what was seen of it."""

    count: int
    folder: Path
    chance: random.Random
    kafka: KafkaBroker
    hdfs: Hdfs
    figures: dict[str, Any] = field(default_factory=dict)

    def scenario(self, port: int) -> Scenario:
        tables = [
            payloads_in(f"{NAME}.t{number:04}", f"{NAME}-{number:04}", flush="auto")
            for number in range(self.count)
        ]
        self._timed(
            "topics_seconds",
            lambda: self.kafka.create_topics([topic_of(t.name) for t in tables], TOPIC_PARTITIONS),
        )
        storage = on_hdfs(self.hdfs, NAME)
        own = {"trigger": TRIGGER, "metrics": {"port": port}}
        return Scenario(self.folder, NAME, self.kafka.bootstrap, storage, tables, **own)

    def _timed(self, name: str, do: Callable[[], Any]) -> Any:
        began = time.monotonic()
        done = do()
        self.figures[name] = round(time.monotonic() - began, 1)
        return done

    def run(
        self,
        seconds: float,
        per_second: float,
        chapter: float,
        taken: list[Sample],
        path: Path,
        epochs: list[Epoch],
    ) -> None:
        """Run the service that long under load, then let `run --once` read the rest, and compare every table with Kafka."""
        (port,) = free_ports(1)
        scenario = self.scenario(port)
        names = list(scenario.tables)
        with ManyTopics(
            self.kafka.bootstrap, [topic_of(n) for n in names], per_second, self.chance
        ) as topics:
            time.sleep(5)  # most tables have a record when the service begins
            calls = namenode_calls_so_far(self.hdfs).total()
            with Running(scenario.config) as run:
                session, watch = Session(run.pid), Watch(FollowedLog(run.log), topics, run.began, epochs)
                ledgers = Ledgers(scenario, self.chance.sample(names, min(SAMPLE, len(names))))
                sampler = Sampler(
                    taken,
                    path,
                    lambda: (0, run.pid, run.began),
                    lambda: len(watch.epochs),
                    ledgers.files,
                    lambda: {
                        "cpu_seconds": round(session.cpu, 1),
                        "namenode_calls": namenode_calls_so_far(self.hdfs).total() - calls,
                    },
                )
                with sampler:
                    self._watch(run, session, watch, scenario, (run.began + seconds, chapter, port))
                self.figures |= {
                    "records": topics.stored.total(),
                    "cpu_seconds": round(session.cpu, 1),
                    "namenode_calls": namenode_calls_so_far(self.hdfs).total() - calls,
                    "log_mb": round(run.log.stat().st_size / 1e6, 2),
                    "seconds": round(time.monotonic() - run.began, 1),
                }
                topics.end()
                assert self._timed("stop_seconds", run.terminate) == 143, run.tail()
                watch.read_on()
        with Running(scenario.config, "--once") as last:
            assert self._timed("once_seconds", lambda: last.wait(END_SECONDS)) == 0, last.tail()
        self._timed("oracle_seconds", lambda: self._compare_all(scenario, topics))
        self._timed("verify_seconds", scenario.verify)

    def _watch(
        self,
        run: Running,
        session: Session,
        watch: Watch,
        scenario: Scenario,
        until: tuple[float, float, int],
    ) -> None:
        end, chapter, port = until
        check_at = time.monotonic() + chapter
        while time.monotonic() < end:
            time.sleep(1)
            assert run.alive, f"the service has ended:\n{run.tail()}"
            session.sample()
            epochs = len(watch.epochs)
            watch.read_on()
            for epoch in watch.epochs[epochs:]:
                _say(f"{epoch.at:.0f} s: {epoch.text()}")
            if "first_epoch_seconds" not in self.figures and watch.epochs:
                self.figures["first_epoch_seconds"] = watch.epochs[0].at
            if time.monotonic() >= check_at:
                check_at = time.monotonic() + chapter
                began = time.monotonic()
                rows = sum(
                    self._compare_prefix(scenario, watch.topics, name)
                    for name in self.chance.sample(list(scenario.tables), min(SAMPLE, self.count))
                )
                self.figures["metrics_mb"], self.figures["metrics_seconds"] = _metrics(port)
                _say(
                    f"{rows:,} rows of {SAMPLE} tables are exact ({time.monotonic() - began:.1f} s); {self.figures}"
                )

    def _compare_prefix(self, scenario: Scenario, topics: ManyTopics, name: str) -> int:
        """What a table shows now: at least what its ledger had finished before, each record once, nothing Kafka lacks."""
        ledger = scenario.ledgers[name]
        before = ledger.ends()
        if before and ledger.pending_epoch() is not None:
            before = {}  # its files are becoming visible just now
        rows = rows_by_place(scenario.tree, scenario.location(name))
        assert_prefix(name, rows, before, topics.sent)
        return len(rows)

    def _compare_all(self, scenario: Scenario, topics: ManyTopics) -> None:
        for name in scenario.tables:
            topic = topic_of(name)
            mine = {
                (topic, number, offset): payload(topic, number, offset)
                for number in range(TOPIC_PARTITIONS)
                for offset in range(topics.stored[topic, number])
            }
            ends = {(topic, number): topics.stored[topic, number] for number in range(TOPIC_PARTITIONS)}
            scenario.assert_exactly_once(mine, name, ends=ends)


@dataclass(slots=True)
class Ledgers:
    """The files of some tables' ledgers: listed once a minute, because the calls are counted among the service's."""

    scenario: Scenario
    names: Sequence[str]
    _files: dict[str, int] = field(default_factory=dict)
    _due: float = 0.0

    def files(self) -> dict[str, int]:
        if time.monotonic() >= self._due:
            self._due = time.monotonic() + LEDGER_SECONDS
            self._files = {
                path: length
                for name in self.names
                for path, length in self.scenario.tree.files(
                    f"{ledger_root(self.scenario.uri)}/kafka_partition_offsets/{name}"
                ).items()
            }
        return self._files


def assert_prefix(
    name: str,
    rows: Counter[tuple[Place, bytes | None]],
    least: Mapping[tuple[str, int], int],
    most: Mapping[tuple[str, int], int],
) -> None:
    """Raise Inexact unless the rows are records of Kafka, each once: all below `least`, and none from `most` on."""
    ends: Counter[tuple[str, int]] = Counter()
    for ((topic, number, offset), value), times in rows.items():
        if times != 1 or value != payload(topic, number, offset) or offset >= most[topic, number]:
            raise Inexact(f"{name} has {times} times {value!r} as {topic}-{number} offset {offset}")
        ends[topic, number] += 1
    for place, end in least.items():
        if ends[place] < end:
            raise Inexact(f"{name} has {ends[place]} records of {place}, its ledger had {end} before")


def _metrics(port: int) -> tuple[float, float]:
    """How many megabytes the service tells Prometheus, and in how many seconds."""
    began = time.monotonic()
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=120) as answer:
        size = len(answer.read())
    return round(size / 1e6, 2), round(time.monotonic() - began, 2)


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()
