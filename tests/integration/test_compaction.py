"""Compaction on real services: partitions begin early, move once, and Hive counts the same before, during and after.

ANALYZE and MSCK run beside it, and the command is killed at each step.
"""

import json
import os
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from pyhive.exc import OperationalError

from tests.drills.driver_kills import PROGRAM as TRAPPED
from tests.drills.driver_kills import environment
from tests.drills.failpoint import AFTER, BEFORE, HOLD, Failpoint
from tests.drills.warm_program import WarmProgram
from tests.harness.clock import MovedClock
from tests.harness.program import (
    Finished,
    Running,
    command,
    command_as_process,
    in_time,
    run_once,
    run_once_until,
)
from tests.harness.service_map import ledger_root, location, write_map
from tests.integration.damage import rewrite, with_value
from tests.oracle.ledger_text import LedgerText
from tests.oracle.tree import HdfsTree
from tests.services.hdfs import Hdfs
from tests.services.hive_server import HiveServer
from tests.services.kafka_broker import KafkaBroker
from tests.services.produce import produce

DAYS = [date(2026, 1, day) for day in (29, 30, 31)]
ROUNDS = 2
KILLS = [
    Failpoint("a unit is half written", "create", r"/_tmp/.*\.in-progress", AFTER),
    Failpoint(
        "all units are staged, nothing is committed", "create", r"g\d+\..*/e\d+\..*in-progress", BEFORE
    ),
    Failpoint("committed", "rename", r"e\d+\.pending$", AFTER),
    Failpoint("the compacted file is at home", "rename", r"/dt=[^/]+\.final$", AFTER),
    Failpoint("final, not certified", "rename", r"e\d+\.final$", AFTER),
    Failpoint("certified, Hive does not know", "set_location", "/dt=", BEFORE),
    Failpoint("Hive knows, the ledger does not", "set_location", "/dt=", AFTER),
]
"""Right after and right before the steps of K3 to K6."""


def records(day: date, first: int, count: int) -> list[bytes]:
    return [
        json.dumps({"id": n, "kind": "many", "at": f"{day} {n % 24:02d}:30:00"}).encode()
        for n in range(first, first + count)
    ]


RETIREMENT = [
    Failpoint("retired", "rename", r"e\d+\.pending$", AFTER),
    Failpoint("retired, final", "rename", r"e\d+\.final$", AFTER),
    Failpoint("the text file is a draft", "close", r"/_moved-[^/]*$", AFTER),
    Failpoint("the text file is to be put", "rename", r"/moved-[^/]*$", BEFORE),
    Failpoint("the text file is there", "rename", r"/moved-[^/]*$", AFTER),
    Failpoint("one early file is deleted", "delete", r"/_open/.*\.final", AFTER),
    Failpoint("one more is to be deleted", "delete", r"/_open/.*\.final", BEFORE, count=2),
]
"""The steps of K8, each from what the one before has left."""
FORMATS: dict[str, dict[str, Any]] = {
    "days": {},
    "orc": {"format": "orc"},
    "json": {"format": "json"},
    "text": {"format": "text", "compression": "none"},
}
DAY_SECONDS = 86_400


def marked(point: Failpoint, folder: Path) -> Failpoint:
    """The same one, which says when it is hit."""
    return replace(point, mark=str(folder / "mark"))


class Compacted:
    """A table on real services whose days begin early: what Hive counts, and where Hive has its partitions."""

    def __init__(self, hive: HiveServer, table: str, place: str) -> None:
        self.hive, self.table, self.place = hive, table, place

    def counted(self) -> dict[str, int]:
        rows = self.hive.query(f"select dt, id from {self.table}")  # no job: it takes a second less
        assert len(set(rows)) == len(rows), [row for row, times in Counter(rows).items() if times > 1]
        return dict(Counter(f"dt={day}" for day, _ in rows))

    def place_of(self, partition: str) -> str:
        """Whether Hive has the partition `early`, at its `home`, or elsewhere."""
        day = partition.removeprefix("dt=")
        rows = self.hive.query(f"describe formatted {self.table} partition (dt='{day}')")
        (where,) = (row[1].strip() for row in rows if row[0].strip() == "Location:")
        places = {f"{self.place}/_open/{partition}": "early", f"{self.place}/{partition}": "home"}
        return places.get(where, str(where))

    def put_back(self, partition: str) -> None:
        """Do what ANALYZE does at its end if the partition moved since its beginning."""
        day = partition.removeprefix("dt=")
        where = f"{self.place}/_open/{partition}"
        self.hive.query(f"alter table {self.table} partition (dt='{day}') set location '{where}'")

    def create_statistics(self, day: date) -> None:
        """Have the metastore create its own table of column statistics, which direct SQL only expects to be there."""
        look = f"describe formatted {self.table} partition (dt='{day}') id"
        self.hive.query("set metaconf:hive.metastore.try.direct.sql=false", look)


def table_of(name: str, topic: str, *paths: str, **keys: Any) -> dict[str, Any]:
    return {
        "table": name,
        "topics": [topic],
        "start": "earliest",
        "columns": {"id": "bigint", "kind": "string", "at": {"type": "timestamp", "from": list(paths)}},
        "bucket": {"field": "at", "path": "dt=%Y-%m-%d"},
        "flush": {"interval": "1s"},
        "completion": {"delay": "1s"},
        "dead_letter_share": 1.0,
        **keys,
    }


COMPACT = {"compact": {"target": "64MiB"}}
ONLY_BY_ORDER = {"compact": {"target": "64MiB", "share": 0}}


def early_days(
    kafka: KafkaBroker,
    days: Compacted,
    topic: str,
    uri: str,
    directory: Path,
    compact: Mapping[str, Any] = COMPACT,
) -> tuple[Path, Counter[str]]:
    """Dump ROUNDS times 100 records of each day, all to early places. Return the map, and the rows by partition."""
    kafka.create_topic(topic, 2)
    config = write_map(
        directory,
        topic,
        kafka.bootstrap,
        uri,
        [table_of(days.table, topic, "$.at", **compact)],
        hive={"url": f"hive://{days.hive.address}"},
    )
    counts: Counter[str] = Counter()
    for number in range(ROUNDS):
        for day in DAYS:
            produce(kafka.bootstrap, topic, records(day, number * 1000, 100), 2)
            counts[f"dt={day}"] += 100
        assert run_once(config).code == 0
    assert {p: days.place_of(p) for p in counts} == dict.fromkeys(counts, "early")
    return config, counts


@pytest.mark.timeout(3600)
def test_days_are_compacted_once_and_hive_counts_the_same_whatever_is_killed_or_put_back(
    kafka: KafkaBroker, hdfs: Hdfs, hive: HiveServer, hive_database: str, tmp_path: Path
) -> None:
    topic, uri, tree = hive_database, f"{hdfs.namenode_url}/{hive_database}", HdfsTree(hdfs.client())
    name = f"{hive_database}.days"
    days = Compacted(hive, name, location(uri, name))
    ledger = LedgerText(tree, ledger_root(uri), name)
    config, counts = early_days(kafka, days, topic, uri, tmp_path)
    assert days.counted() == counts
    hive.query(f"msck repair table {name} sync partitions")
    assert days.counted() == counts
    run_once_until(config, lambda: is_certified(ledger), "certified")
    newest = ledger.newest()

    planned = command("compact", config, "--table", name, "--plan", "--json").document
    assert [p["partition"] for p in planned["partitions"]] == sorted(counts)
    assert all(p["files"] >= ROUNDS and p["units"] == 1 for p in planned["partitions"])
    assert ledger.newest() == newest

    with WarmProgram(tmp_path / "killed.log") as program:
        for point in KILLS:
            program.kill_at("compact", config, marked(point, tmp_path), "--table", name)
            assert days.counted() == counts, point.name
    days.create_statistics(DAYS[0])
    with ThreadPoolExecutor(1) as pool:
        analyze = pool.submit(hive.query, f"analyze table {name} compute statistics for columns")
        time.sleep(1)
        done = command("compact", config, "--table", name, "--json")
        assert done.code == 0, done.log
        assert days.counted() == counts
        analyze.result()
    assert days.counted() == counts
    assert not ledger.newest()["early"]
    assert {m["partition"] for m in ledger.newest()["moved"]} == set(counts)

    days.put_back(f"dt={DAYS[0]}")
    hive.query(f"msck repair table {name} sync partitions")
    corrected = command("compact", config, "--table", name, "--json").document
    assert f"dt={DAYS[0]}" in corrected["corrected"]
    assert {p: days.place_of(p) for p in counts} == dict.fromkeys(counts, "home")
    assert days.counted() == counts

    # late records go home; a service sets locations again, at its start as every minute
    for late in DAYS[1:]:
        produce(kafka.bootstrap, topic, records(late, 900_000, 50), 2)
        counts[f"dt={late}"] += 50
    days.put_back(f"dt={DAYS[2]}")
    with Running(config) as run:
        run.wait_until(lambda: days.counted() == counts, "late rows", pause=1)
        run.wait_until(lambda: days.place_of(f"dt={DAYS[2]}") == "home", "set again", pause=1)
        assert run.terminate() == 143, run.tail()
    assert days.counted() == counts
    audited = command("verify", config, "--deep")
    assert audited.code == 0, audited.out
    shown = command("where", config, f"{topic}-0@0", "--json").document
    assert "compacted in epoch" in json.dumps(shown)
    for partition in counts.keys() - {f"dt={late}" for late in DAYS[1:]}:  # late rows open these again
        assert command("certificate", config, f"{name}/{partition}", "--wait", "5m").code == 0
    files = [
        p for p in tree.files(days.place) if "/_" not in p.removeprefix(days.place) and p.endswith(".final")
    ]
    assert len(files) < len(counts) * 4


@pytest.mark.timeout(3600)
def test_each_partition_stays_where_it_is_whatever_the_map_says_and_after_the_ledger_is_rebuilt(
    kafka: KafkaBroker, hdfs: Hdfs, hive: HiveServer, hive_database: str, tmp_path: Path
) -> None:
    topic, uri, tree = hive_database, f"{hdfs.namenode_url}/{hive_database}", HdfsTree(hdfs.client())
    name, first, second = f"{hive_database}.days", f"dt={DAYS[0]}", f"dt={DAYS[1]}"
    days = Compacted(hive, name, location(uri, name))
    ledger = LedgerText(tree, ledger_root(uri), name)
    kafka.create_topic(topic, 1)

    def configured(*paths: str, **keys: Any) -> Path:
        return write_map(
            tmp_path,
            hive_database,
            kafka.bootstrap,
            uri,
            [table_of(name, topic, *paths, **keys)],
            hive={"url": f"hive://{hive.address}"},
            dead_letters={"table": f"{hive_database}.dead_letters"},
        )

    # a day that begins before the map has `compact` stays at home
    produce(kafka.bootstrap, topic, records(DAYS[0], 0, 20), 1)
    assert run_once(configured("$.at")).code == 0
    missed = [one.replace(b'"at"', b'"when"') for one in records(DAYS[1], 500, 10)]
    produce(kafka.bootstrap, topic, records(DAYS[0], 100, 20) + records(DAYS[1], 200, 20) + missed, 1)
    assert run_once(configured("$.at", **COMPACT)).code == 0
    assert days.counted() == {first: 40, second: 20}
    assert (days.place_of(first), days.place_of(second)) == ("home", "early")

    # rows of replayed letters go to the early place, and move with the others
    config = configured("$.at", "$.when", **COMPACT)
    replayed = command("dead-letters replay", config, "--table", name, "--json")
    assert replayed.code == 0 and replayed.document["written"] == 10, replayed.log
    assert days.counted() == {first: 40, second: 30} and days.place_of(second) == "early"
    run_once_until(config, lambda: all(e["certified"] for e in ledger.newest()["early"]), "certified")

    # nothing is committed while Hive's table is another one
    before = ledger.newest()
    hive.query(f"alter table {name} change column kind sort string cascade")
    refused = command("compact", config, "--table", name)
    assert refused.code == 75 and "hive." in refused.out, refused.out
    assert ledger.newest()["early"] == before["early"] and not ledger.newest()["unit"]
    hive.query(f"alter table {name} change column sort kind string cascade")
    compacted = command("compact", config, "--table", name, "--json")
    assert compacted.code == 0 and compacted.document["partitions"][0]["rows"] == 30, compacted.log
    assert days.counted() == {first: 40, second: 30} and days.place_of(second) == "home"
    audited = command("verify", config, "--deep")
    assert audited.code == 0, audited.out
    for offset in (45, 65):
        shown = json.dumps(command("where", config, f"{topic}-0@{offset}", "--json").document)
        assert "compacted in epoch" in shown and "_open" not in shown

    # a rebuilt ledger knows what has moved, and no other time zone sends it back
    path = f"{ledger_root(uri)}/kafka_partition_offsets/{name}"
    tree.rename(path, f"{uri}/lost-ledger")
    rebuilt = command("recover", config, "--rebuild-ledger", name, "--accept-gap", f"{topic}:0")
    assert rebuilt.code == 0, rebuilt.out
    assert [m["partition"] for m in ledger.newest()["moved"]] == [second]
    produce(kafka.bootstrap, topic, records(DAYS[0], 704, 12) + records(DAYS[1], 800, 12), 1)
    config = configured("$.at", "$.when", zone="Etc/GMT+5", **COMPACT)
    assert run_once(config).code == 0
    places = {day: days.place_of(day) for day in days.counted()}
    assert places == dict.fromkeys(places, "home") and sum(days.counted().values()) == 94
    done = command("compact", config, "--table", name, "--json")
    assert done.code == 0 and done.document["corrected"] == [], done.log


@pytest.mark.timeout(3600)
def test_a_run_compacts_complete_days_while_it_dumps_and_is_killed_in_between(
    kafka: KafkaBroker, hdfs: Hdfs, hive: HiveServer, hive_database: str, tmp_path: Path
) -> None:
    topic, uri, tree = hive_database, f"{hdfs.namenode_url}/{hive_database}", HdfsTree(hdfs.client())
    name = f"{hive_database}.days"
    today = (datetime.now(UTC) + timedelta(hours=12)).date()  # a day that is not over for 12 hours
    days = Compacted(hive, name, location(uri, name))
    ledger = LedgerText(tree, ledger_root(uri), name)
    config, counts = early_days(kafka, days, topic, uri, tmp_path)
    assert ledger.newest()["early"] and not ledger.newest()["moved"], "`--once` compacts nothing"

    with ExitStack() as beside:
        stop = Event()
        beside.callback(stop.set)
        pool = beside.enter_context(ThreadPoolExecutor(2))
        dumped = pool.submit(produce_until, stop, kafka.bootstrap, topic, today)
        queries: list[int] = []
        queried = pool.submit(count_until, stop, days, counts, f"dt={today}", queries)
        for moment in (BEFORE, AFTER):
            point = Failpoint(
                f"{moment} a file comes home", "rename", HOMEWARD, moment, str(tmp_path / moment)
            )
            with Running(config, program=TRAPPED, env=environment(point)) as run:
                assert run.wait() == -signal.SIGKILL and point.was_hit(), run.tail()
        # the others are left, unless the machine is busy; whatever of them is done when the kill comes
        with Running(config) as run:
            run.wait_until(
                lambda: run.said("early files of dt=") or moved(ledger) == {f"dt={day}" for day in DAYS},
                "a unit",
                pause=0.01,
            )
            run.kill_driver()
        with Running(config) as run:
            run.wait_until(lambda: len(ledger.newest()["moved"]) == len(DAYS), "all days moved", pause=1)
            run.wait_until(lambda: {days.place_of(p) for p in counts} == {"home"}, "known to Hive", pause=1)
            epochs = run.epochs()
            run.wait_until(lambda: run.epochs() > epochs, "another epoch")
            run.wait_until(lambda: len(queries) > 3 or queried.done(), "queried often")
            stop.set()
            rows = dumped.result()
            queried.result()
            counts[f"dt={today}"] = rows
            run.wait_until(lambda: days.counted() == counts, "everything dumped", pause=1)
            assert days.place_of(f"dt={today}") == "early"
            assert run.terminate() == 143, run.tail()
    assert days.counted() == counts
    audited = command("verify", config, "--deep")
    assert audited.code == 0, audited.out
    assert "compacted in epoch" in json.dumps(command("where", config, f"{topic}-0@0", "--json").document)
    for day in DAYS:
        assert command("certificate", config, f"{name}/dt={day}", "--wait", "5m").code == 0
        files = [p for p in tree.files(f"{days.place}/dt={day}") if p.endswith(".final")]
        assert len([p for p in files if "/_" not in p.removeprefix(days.place)]) == 1, files


@pytest.mark.timeout(3600)
def test_a_live_run_compacts_by_order_and_the_next_one_goes_on_with_it_after_a_kill(
    kafka: KafkaBroker, hdfs: Hdfs, hive: HiveServer, hive_database: str, tmp_path: Path
) -> None:
    topic, uri, tree = hive_database, f"{hdfs.namenode_url}/{hive_database}", HdfsTree(hdfs.client())
    name, inbox = f"{hive_database}.days", f"{ledger_root(uri)}/inbox/{hive_database}"
    days = Compacted(hive, name, location(uri, name))
    ledger = LedgerText(tree, ledger_root(uri), name)
    config, counts = early_days(kafka, days, topic, uri, tmp_path, ONLY_BY_ORDER)

    def complete() -> bool:
        return all(each["certified"] for each in ledger.newest()["early"])

    def waiting() -> list[str]:
        return [path for path in tree.files(inbox) if "/" not in path.removeprefix(inbox + "/")]

    # the run is killed when the first day comes home; the command before it, which would go on in its place
    mark = str(tmp_path / "mark")
    point = Failpoint("a day comes home", "rename", HOMEWARD, AFTER, mark, signal=HOLD)
    with Running(config, program=TRAPPED, env=environment(point)) as run:
        run.wait_until(lambda: run.said("the query runs") and complete(), "complete", pause=1)
        assert not ledger.newest()["moved"], "only an order compacts here"
        given = subprocess.Popen(
            [*TRAPPED, "compact", "--table", name, "-c", str(config)],
            env={**os.environ, **environment()},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        run.wait_until(point.was_hit, "at the first day")
        given.kill()
        log = given.communicate(timeout=240)[1]
        run.kill_driver()
    assert "a run is alive, so it gets an order" in log, log
    assert len(waiting()) == 1 and not ledger.newest()["order"]

    with Running(config) as run:
        run.wait_until(lambda: not waiting(), "done with the order", pause=1)
        assert moved(ledger) == set(counts)
        (line,) = ledger.newest()["order"]
        assert (line["kind"], line["result"]) == (
            "compact",
            'done {"moved":2,"failed_partitions":0,"failed":{}}',
        )
        assert "@" in line["by"] and line["id"] in waiting_done(tree, inbox)
        assert sum(len(each["unit"]) for each in ledger.history()) == len(DAYS), "each day moved once"

        more = date(2026, 2, 1)
        for number in range(ROUNDS):
            produce(kafka.bootstrap, topic, records(more, number * 1000, 100), 2)
            counts[f"dt={more}"] += 100
            run.wait_until(lambda: days.counted() == counts, "dumped", pause=1)
        run.wait_until(complete, "complete", pause=1)
        generation = ledger.generation()
        done = command("compact", config, "--table", name, "--json")
        assert done.code == 0, done.out + done.log[-3000:]
        (told,) = done.document["partitions"]
        assert (told["partition"], told["rows"], told["written_files"]) == (f"dt={more}", 200, 1)
        assert told["files"] >= ROUNDS and told["bytes"] > told["written_bytes"] > 0
        assert done.document["order"]["kind"] == "compact" and ledger.generation() == generation
        run.wait_until(lambda: {days.place_of(p) for p in counts} == {"home"}, "known to Hive", pause=1)
        assert days.counted() == counts
        assert run.terminate() == 143, run.tail()
    audited = command("verify", config, "--deep")
    assert audited.code == 0, audited.out


def waiting_done(tree: HdfsTree, inbox: str) -> str:
    """The names of the orders that left the inbox, as one text."""
    return " ".join(tree.files(f"{inbox}/done"))


HOMEWARD = r" -> .*/days/dt=[^/]*/[^/]*\.final$"


def produce_until(stop: Event, bootstrap: str, topic: str, day: date) -> int:
    """Produce records of a day that is not over; return how many."""
    count = 0
    while not stop.wait(0.5):
        produce(bootstrap, topic, records(day, 5_000_000 + count, 10), 2)
        count += 10
    return count


def is_certified(ledger: LedgerText) -> bool:
    """Whether each day is complete, those at early places, too."""
    newest = ledger.newest()
    return not newest["open"] and all(each["certified"] for each in newest["early"])


def moved(ledger: LedgerText) -> set[str]:
    """The partitions that have moved home."""
    return {each["partition"] for each in ledger.newest()["moved"]}


def count_until(
    stop: Event, days: Compacted, whole: Mapping[str, int], growing: str, queries: list[int]
) -> None:
    """Query: each complete day has all rows at every moment, the growing one never fewer; its rows go to `queries`."""
    least = 0
    while not stop.is_set():
        shown = days.counted()
        grown = shown.pop(growing, 0)
        assert shown == whole and grown >= least, (shown, grown, least)
        least = grown
        queries.append(grown)


class Retired:
    """Tables whose partitions are compacted, and whose early files are deleted as the clock is moved."""

    def __init__(
        self,
        kafka: KafkaBroker,
        hdfs: Hdfs,
        hive: HiveServer,
        database: str,
        folder: Path,
        *names: str,
        **keys: Any,
    ) -> None:
        """`keys` are further keys of each table in the map."""
        self.uri, self.tree, self.hive = f"{hdfs.namenode_url}/{database}", HdfsTree(hdfs.client()), hive
        self.tables = {name: f"{database}.{name}" for name in names}
        self.compacted = {
            n: Compacted(hive, table, location(self.uri, table)) for n, table in self.tables.items()
        }
        self.clock, self.topic, self.bootstrap = MovedClock(folder), database, kafka.bootstrap
        kafka.create_topic(self.topic, 1)
        self.config = write_map(
            folder,
            database,
            kafka.bootstrap,
            self.uri,
            [
                table_of(self.tables[n], self.topic, "$.at", writer=FORMATS[n], **COMPACT, **keys)
                for n in names
            ],
            hive={"url": f"hive://{hive.address}"},
        )
        self.counts: Counter[str] = Counter()
        self.produced = 0
        ledgers = [LedgerText(self.tree, ledger_root(self.uri), table) for table in self.tables.values()]
        with Running(self.config) as run:
            for number, day in enumerate((DAYS[0], DAYS[0], DAYS[1])):
                self.produce(day)
                run.wait_until(lambda: all(len(self.early(n)) > number for n in names), "dumped", pause=1)  # noqa: B023
            run.wait_until(lambda: all(map(self._is_complete, ledgers)), "complete", pause=1)
            assert run.terminate() == 143, run.tail()
        with ThreadPoolExecutor() as pool:
            finished = list(pool.map(self.compact, names))
        assert [done.code for done in finished] == [0] * len(names), [done.log[-3000:] for done in finished]

    def _is_complete(self, ledger: LedgerText) -> bool:
        return all(each["certified"] for each in ledger.newest()["early"])

    def produce(self, *days: date) -> None:
        for day in days:
            produce(self.bootstrap, self.topic, records(day, self.produced, 20), 1)
            self.counts[f"dt={day}"] += 20
            self.produced += 20

    def dump(self, *days: date) -> None:
        self.produce(*days)
        assert run_once(self.config).code == 0

    @property
    def environment(self) -> dict[str, str]:
        """Of programs that see the moved clock."""
        path = os.pathsep.join([environment()["PYTHONPATH"], self.clock.env["PYTHONPATH"]])
        return {**environment(), **self.clock.env, "PYTHONPATH": path}

    def compact(self, name: str) -> Finished:
        env = self.environment
        arguments = ("compact", self.config, "--table", self.tables[name], "--json")
        return in_time(lambda: command_as_process(*arguments, program=TRAPPED, env=env))

    def early(self, name: str) -> list[str]:
        """The files at early places that a reader sees."""
        place = f"{self.compacted[name].place}/_open"
        return [path for path in self.tree.files(place) if path.rpartition("/")[2][0] != "_"]


@pytest.mark.timeout(3600)
def test_early_files_are_deleted_once_whatever_is_killed(
    kafka: KafkaBroker, hdfs: Hdfs, hive: HiveServer, hive_database: str, tmp_path: Path
) -> None:
    world = Retired(kafka, hdfs, hive, hive_database, tmp_path, "days")
    days, clock, counts, first = world.compacted["days"], world.clock, world.counts, f"dt={DAYS[0]}"
    ledger = LedgerText(world.tree, ledger_root(world.uri), days.table)
    small = world.early("days")
    assert len(small) >= 3 and all(m["right_since"] for m in ledger.newest()["moved"])
    # a location that was put back begins the two days anew, for its partition alone
    clock.move(DAY_SECONDS)
    days.put_back(first)
    assert world.compact("days").document["corrected"] == [first]
    assert days.place_of(first) == "home"
    clock.move(2 * DAY_SECONDS - 3600)
    assert world.compact("days").document["retired"] == [] and world.early("days") == small

    clock.move(2 * DAY_SECONDS + 300)
    with WarmProgram(tmp_path / "killed.log", world.environment) as program:
        for point in RETIREMENT:
            if point.name == "one more is to be deleted":
                clock.move(4 * DAY_SECONDS)  # the other partition has two files
            program.kill_at("compact", world.config, marked(point, tmp_path), "--table", days.table)
            assert days.counted() == counts, point.name
    assert {p: days.place_of(p) for p in counts} == dict.fromkeys(counts, "home")
    for _ in range(2):
        done = world.compact("days")
        assert done.code == 0, done.log
    assert not ledger.newest()["retired"] and not ledger.newest()["moved"]
    assert len(world.early("days")) == 2 and all("/moved-" in path for path in world.early("days"))


@pytest.mark.timeout(3600)
def test_verify_and_a_rebuilt_ledger_agree_when_early_files_are_gone_and_an_older_ledger_is_noticed(
    kafka: KafkaBroker, hdfs: Hdfs, hive: HiveServer, hive_database: str, tmp_path: Path
) -> None:
    world = Retired(kafka, hdfs, hive, hive_database, tmp_path, "days")
    days, tree, uri = world.compacted["days"], world.tree, world.uri
    first, config, counts, small = f"dt={DAYS[0]}", world.config, world.counts, world.early("days")
    ledger = LedgerText(tree, ledger_root(uri), days.table)
    world.clock.move(2 * DAY_SECONDS + 300)
    assert len(world.compact("days").document["retired"]) == 2
    assert len(world.early("days")) == 2

    # an older ledger, from before the files were deleted, is noticed
    kept = sorted(f"{ledger.directory()}/{name}" for name in ledger.names() if name.endswith(".final"))
    newest = max(path for path in kept if ledger.read(path)["moved"] and not ledger.read(path)["retired"])
    later = [path for path in kept if path > newest]
    for path in later:
        tree.rename(path, f"{uri}/{path.rpartition('/')[2]}")
    refused = world.compact("days")
    assert refused.code == 76 and "ledger.restored" in refused.out, refused.out
    for path in later:
        tree.rename(f"{uri}/{path.rpartition('/')[2]}", path)

    # everything that reads ledger and files agrees; late records go home, and are not looked after
    world.dump(DAYS[1])
    assert days.counted() == counts and not ledger.newest()["moved"]
    audited = command("verify", config, "--deep")
    assert audited.code == 0 and "moved-" not in audited.out, audited.out
    shown = json.dumps(command("where", config, f"{world.topic}-0@0", "--json").document)
    assert "compacted in epoch" in shown and "_open" not in shown
    assert command("certificate", config, f"{days.table}/{first}", "--wait", "5m").code == 0
    accepted = command("recover", config, "--accept-loss", small[0])
    assert accepted.code == 0 and not ledger.newest()["loss"], accepted.out

    # a lost ledger is rebuilt, though the files that told its offsets are gone
    tree.rename(f"{ledger_root(uri)}/kafka_partition_offsets/{days.table}", f"{uri}/lost-ledger")
    rebuilt = command("recover", config, "--rebuild-ledger", days.table)
    assert rebuilt.code == 0, rebuilt.out
    assert not ledger.newest()["early"] and not ledger.newest()["moved"]
    audited = command("verify", config, "--deep")
    assert audited.code == 0, audited.out
    world.dump(DAYS[1])
    assert days.counted() == counts and all("/moved-" in path for path in world.early("days"))


@pytest.mark.timeout(3600)
def test_lost_compacted_files_come_back_from_early_files_and_from_kafka_and_no_repair_hides_rows(
    kafka: KafkaBroker, hdfs: Hdfs, hive: HiveServer, hive_database: str, tmp_path: Path
) -> None:
    metadata = {"topic": "k_topic", "partition": "k_partition", "offset": "k_offset"}
    world = Retired(kafka, hdfs, hive, hive_database, tmp_path, "days", metadata=metadata)
    days, tree, config, counts = world.compacted["days"], world.tree, world.config, world.counts
    ledger, first = LedgerText(tree, ledger_root(world.uri), days.table), f"dt={DAYS[0]}"

    def lose() -> str:
        """Remove the compacted file of the first day by hand."""
        home = f"{days.place}/{first}/"
        (path,) = (p for p in tree.files(days.place) if p.startswith(home) and p.endswith(".final"))
        tree.delete(path)
        assert days.counted() == counts - Counter({first: counts[first]})
        (lost,) = command("recover", config, "--plan", "--json").document["tables"][0]["lost"]
        assert lost["path"].endswith(path.rpartition("/")[2]) and lost["rows"] == counts[first]
        return str(lost["path"])

    def repaired(*arguments: str) -> None:
        assert command("verify", config).code == 76
        done = command("recover", config, *arguments)
        assert done.code == 0, done.out + done.log
        assert days.counted() == counts
        assert ledger.newest()["loss"][-1]["how"] == "refetch"
        audited = command("verify", config, "--deep", "--json")
        assert audited.code == 0, audited.out
        (told,) = audited.document["tables"]
        assert (told["not_checked"], told["rows"]) == ([], counts.total())
        run_once_until(config, lambda: not ledger.newest()["open"], "certified again")
        sealed = command("certificate", config, f"{days.table}/{first}", "--json")
        assert sealed.code == 0 and sealed.document["rows"] == counts[first], sealed.out

    # all early files are there: no record is read again, and no row is given up
    repaired("--accept-loss", lose())
    # one early file is gone, too: the other rows come from the early files that are left
    lost, small = lose(), [path for path in world.early("days") if f"/{first}/" in path]
    tree.delete(small[0])
    planned = command("recover", config, "--plan")
    assert f"from {len(small) - 1} early file" in planned.out and "1 early file from Kafka" in planned.out
    refused = command("recover", config, "--refetch", small[0])
    assert refused.code == 76 and "refetch.compacted" in refused.out, refused.out
    done = command("recover", config, "--refetch", lost, "--accept-loss", small[0])
    assert done.code == 0, done.out + done.log
    assert days.counted() == counts
    # early files are deleted only once the new file is whole; then Kafka alone has the rows
    assert world.compact("days").code == 0  # a repair begins the time at the early place anew
    world.clock.move(2 * DAY_SECONDS + 300)
    assert len(world.compact("days").document["retired"]) == 2
    assert len(world.early("days")) == 2
    repaired("--refetch", lose())
    assert command("status", config, "--json").document["tables"][0]["losses"] == 1  # the early file

    # a compacted file with another value is found by Kafka's records, which no file but this one has
    wrong = next(f["final"] for s in ledger.history()[::-1] for f in s["file"] if f["kind"] == "compacted")
    rewrite(hdfs.client(), ledger, wrong, with_value("kind", 0, "few"))
    deep = command("verify", config, "--deep", "--json")
    found = [f for f in deep.document["tables"][0]["findings"] if f["code"] != "verify.chain"]
    (one,) = found
    assert one["code"] == "verify.different" and wrong in one["message"], found
    assert one["where"].startswith(f"{world.topic}-0@"), found


@pytest.mark.timeout(3600)
def test_a_run_deletes_early_files_and_a_query_that_is_sent_there_fails_in_all_formats(
    kafka: KafkaBroker, hdfs: Hdfs, hive: HiveServer, hive_database: str, tmp_path: Path
) -> None:
    world = Retired(kafka, hdfs, hive, hive_database, tmp_path, *FORMATS)
    world.clock.move(2 * DAY_SECONDS + 300)
    with Running(world.config, env=world.clock.env) as run:
        run.wait_until(lambda: all(len(world.early(name)) == 2 for name in FORMATS), "deleted", pause=1)
        assert run.terminate() == 143, run.tail()
    for name, table in world.compacted.items():
        assert all("/moved-" in path for path in world.early(name))
        assert table.counted() == world.counts, name
        table.put_back(f"dt={DAYS[0]}")
        for query in ("select id from", "select count(distinct id) from"):
            with pytest.raises(OperationalError):
                hive.query(f"{query} {table.table} where dt='{DAYS[0]}'")
