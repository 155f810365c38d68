"""Retention on real services: what has expired leaves Hive first and HDFS a day later, and never comes back."""

import json
import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kafka2hive.model.text import utc_text
from tests.drills.driver_kills import PROGRAM as TRAPPED
from tests.drills.driver_kills import environment
from tests.drills.failpoint import AFTER, BEFORE, Failpoint
from tests.harness.clock import MovedClock
from tests.harness.program import TRIES, Finished, Running, command, command_as_process, run_once
from tests.harness.service_map import ledger_root, location, put_file, write_map
from tests.oracle.ledger_text import LedgerText
from tests.oracle.tree import HdfsTree
from tests.services.hdfs import Hdfs
from tests.services.hive_server import HiveServer
from tests.services.kafka_broker import KafkaBroker
from tests.services.produce import produce

DAY_SECONDS = 86_400
ROUNDS = 2
DROPS = [
    Failpoint("dropped in the ledger", "rename", r"e\d+\.pending$", AFTER),
    Failpoint("to be dropped from Hive", "drop_partition", "/dt=", BEFORE),
    Failpoint("dropped from Hive, the ledger does not know", "drop_partition", "/dt=", AFTER),
]
DELETES = [
    Failpoint("one file is deleted", "delete", r"/dt=.*\.final", AFTER),
    Failpoint("a directory is to be deleted", "delete", r"/dt=[^/]*$", BEFORE),
    Failpoint("all is deleted, the ledger does not know", "create", r"g\d+\..*/e\d+\..*in-progress", BEFORE),
]
"""The steps of E2 to E4, each from what the one before has left."""
RUN_DROPS, RUN_DELETES = DROPS[2], DELETES[0]


class Retained:
    """A table of days, of which the first three are older than the ten days of `retain`, and what Hive counts of it."""

    def __init__(
        self,
        kafka: KafkaBroker,
        hdfs: Hdfs,
        hive: HiveServer | None,
        topic: str,
        directory: Path,
        **keys: Any,
    ) -> None:
        self._hive, self.topic, self.bootstrap, self.directory = hive, topic, kafka.bootstrap, directory
        self.table, self.tree = f"{topic}.days", HdfsTree(hdfs.client())
        uri = f"{hdfs.namenode_url}/{topic}"
        self.place, self.ledger = (
            location(uri, self.table),
            LedgerText(self.tree, ledger_root(uri), self.table),
        )
        today = datetime.now(UTC).date()
        self.days = [today - timedelta(days=ago) for ago in (14, 13, 12, 1)]
        self.clock = MovedClock(directory)
        kafka.create_topic(topic, 2)
        table: dict[str, Any] = {
            "table": self.table,
            "topics": [topic],
            "start": "earliest",
            "columns": {"id": "bigint", "at": "timestamp"},
            "bucket": {"field": "at", "path": "dt=%Y-%m-%d"},
            "flush": {"interval": "1s"},
            "retain": "10d",
            "dead_letter_share": 0.0,
            **keys,
        }
        sections = {} if hive is None else {"hive": {"url": f"hive://{hive.address}"}}
        self.config = write_map(directory, topic, self.bootstrap, uri, [table], **sections)
        del table["retain"]
        (directory / "keeping").mkdir()
        self.keeping = write_map(directory / "keeping", topic, self.bootstrap, uri, [table], **sections)

    @property
    def hive(self) -> HiveServer:
        assert self._hive is not None, "this map has no hive section"
        return self._hive

    def dump(self, *days: date, first: int = 0) -> None:
        """Dump records of these days by a map without `retain`."""
        self.produce(*days, first=first)
        assert run_once(self.keeping).code == 0

    def produce(self, *days: date, first: int = 0) -> None:
        for day in days:
            records = [
                json.dumps({"id": n, "at": f"{day} {n % 24:02d}:30:00"}).encode()
                for n in range(first, first + 50)
            ]
            produce(self.bootstrap, self.topic, records, 2)

    def retain(self, *options: str, point: Failpoint | None = None) -> Finished:
        arguments = ("--table", self.table, "--json", *options)
        return command_as_process("retain", self.config, *arguments, program=TRAPPED, env=self._env(point))

    def killed(self, point: Failpoint) -> None:
        marked = replace(point, mark=str(self.directory / "mark"))
        done = self.retain(point=marked)
        assert done.code == -signal.SIGKILL and marked.was_hit(), (point.name, done.log)

    def run(self, *options: str, point: Failpoint | None = None) -> Running:
        return Running(self.config, *options, program=TRAPPED, env=self._env(point))

    def killed_run(self, point: Failpoint) -> None:
        """Runs of `--once` until one is killed: a run whose look in Hive met an outage leaves the work to the next."""
        marked = replace(point, mark=str(self.directory / "mark"))
        for _ in range(TRIES):
            with self.run("--once", "--takeover", point=marked) as run:
                if run.wait() != 0:
                    break
        assert run.wait() == -signal.SIGKILL and marked.was_hit(), run.tail()

    def run_once_until(self, ready: Callable[[], bool], what: str) -> None:
        """Runs of `--once` until all of the work is done. Each must end well, also one that leaves work to the next."""
        for _ in range(TRIES):
            with self.run("--once", "--takeover") as run:
                assert run.wait() == 0, run.tail()
            if ready():
                return
        raise AssertionError(f"not {what} by {TRIES} runs:\n{run.tail()}")

    def _env(self, point: Failpoint | None) -> dict[str, str]:
        env = {**environment(point), **self.clock.env}
        return env | {
            "PYTHONPATH": os.pathsep.join([environment()["PYTHONPATH"], self.clock.env["PYTHONPATH"]])
        }

    def counted(self) -> dict[str, int]:
        """Rows by day, as Hive counts them."""
        return dict(Counter(f"dt={day}" for day, _ in self.hive.query(f"select dt, id from {self.table}")))

    def partitions(self) -> list[str]:
        return sorted(row[0] for row in self.hive.query(f"show partitions {self.table}"))

    def files(self, day: date) -> list[str]:
        return sorted(self.tree.files(f"{self.place}/dt={day}"))

    def line(self, day: date) -> Mapping[str, Any] | None:
        """The newest snapshot's dropped line of a day."""
        lines = self.ledger.newest()["dropped"]
        return next((line for line in lines if line["partition"] == f"dt={day}"), None)

    def retention(self) -> Mapping[str, Any]:
        """What `status` tells about expired partitions."""
        (table,) = command("status", self.config, "--table", self.table, "--json").document["tables"]
        assert isinstance(table["retention"], dict)
        return table["retention"]

    def drops(self, place: str) -> dict[str, Any]:
        """What `where` tells about the partitions of an offset's files, by partition."""
        answer = command("where", self.config, place, "--json")
        assert answer.code == 0, answer.log
        (table,) = answer.document["tables"]
        return {file["path"].split("/")[-2]: file["dropped"] for file in table["files"]}

    def certificate(self, day: date) -> tuple[int, str]:
        """What a scheduler learns that would wait for a day: exit code and state."""
        answer = command("certificate", self.config, f"{self.table}/dt={day}", "--wait", "10m", "--json")
        return answer.code, answer.document["state"]


def without_rows() -> bytes:
    """A Parquet file without rows: a query skips it, while Hive before 4 fails on an empty file."""
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"id": pa.array([], pa.int64())}), sink)
    return bytes(sink.getvalue())


@pytest.mark.timeout(3600)
def test_expired_days_leave_hive_then_hdfs_and_never_come_back_whatever_is_killed(
    kafka: KafkaBroker, hdfs: Hdfs, hive: HiveServer, hive_database: str, tmp_path: Path
) -> None:
    world = Retained(kafka, hdfs, hive, hive_database, tmp_path)
    old, foreign, young = world.days[:2], world.days[2], world.days[3]
    for number in range(ROUNDS):
        world.dump(*world.days, first=100 * number)
    every = world.counted()
    assert every == {f"dt={day}": 100 for day in world.days}
    notes = f"{world.place}/dt={foreign}/notes.txt"
    put_file(world.config, notes, without_rows())

    planned = world.retain("--plan")
    assert planned.code == 0, planned.log
    shown = {each["partition"]: each for each in planned.document["partitions"]}
    assert list(shown) == [f"dt={day}" for day in (*old, foreign)]
    assert [shown[f"dt={day}"]["waits"] for day in old] == [None, None] and notes in shown[f"dt={foreign}"][
        "waits"
    ]
    assert world.counted() == every and not world.ledger.newest()["dropped"]

    for point in DROPS:
        world.killed(point)
    done = world.retain()
    assert done.code == 0 and done.document["dropping"] == [f"dt={day}" for day in old], done.log
    left = {f"dt={day}": 100 for day in (foreign, young)}
    assert world.counted() == left and world.partitions() == sorted(left)
    assert all(world.files(day) for day in old), "a query that began before may still read them"

    # somebody adds one of them again: it is dropped again, and its day begins anew
    since = world.line(old[0])
    assert since is not None and since["gone_since"]
    world.clock.move(DAY_SECONDS - 600)
    hive.query(f"msck repair table {world.table}")
    assert world.partitions() == sorted(every)
    assert world.retain().code == 0
    again = world.line(old[0])
    assert (
        again is not None and again["gone_since"] > since["gone_since"] and world.partitions() == sorted(left)
    )

    # late records are dead letters, whose share does not matter, and no audit misses anything
    world.dump(old[0], first=1000)
    assert world.counted() == left
    letters = command("dead-letters list", world.config, "--json").out
    assert "bucket.expired" in letters, letters
    audited = command("verify", world.config, "--deep")
    assert audited.code == 0, audited.out

    world.clock.move(DAY_SECONDS)  # the day of the second look is not over for the partition that was back
    assert world.retain().document["cleared"] == []
    world.clock.move(2 * DAY_SECONDS)
    deleted = [path for day in old for path in world.files(day)]
    for point in DELETES:
        world.killed(point)
    done = world.retain()
    assert done.code == 0 and done.document["cleared"] == [f"dt={day}" for day in old], done.log
    assert not world.ledger.newest()["dropped"]
    assert not {f"{world.place}/dt={day}" for day in old} & set(world.tree.directories(world.place))
    hive.query(f"msck repair table {world.table} sync partitions")
    assert world.counted() == left and world.partitions() == sorted(left)

    accepted = command("recover", world.config, "--accept-loss", deleted[0])
    assert accepted.code == 0 and not world.ledger.newest()["loss"], accepted.out
    world.dump(young, first=2000)
    audited = command("verify", world.config, "--deep")
    assert audited.code == 0 and world.counted() == left | {f"dt={young}": 150}, audited.out


@pytest.mark.timeout(3600)
def test_a_run_drops_what_has_expired_and_deletes_it_a_day_later_while_records_flow(
    kafka: KafkaBroker, hdfs: Hdfs, hive: HiveServer, hive_database: str, tmp_path: Path
) -> None:
    world = Retained(kafka, hdfs, hive, hive_database, tmp_path)
    old, young = world.days[:3], world.days[3]
    world.dump(*world.days)
    every = world.counted()
    left = {f"dt={young}": 50}

    purge = f"alter table {world.table} set tblproperties ('external.table.purge'='%s')"
    hive.query(purge % "true")
    refused = world.retain()
    assert refused.code == 75 and len(refused.document["refused"]) == 3, refused.log
    assert "SET TBLPROPERTIES ('external.table.purge'='false')" in refused.document["refused"][0]["reason"]
    assert world.counted() == every, "Hive would have deleted the files at once"
    hive.query(purge % "false")

    world.killed_run(RUN_DROPS)
    assert len(world.partitions()) == len(every) - 1, "killed after the first of them left Hive"
    with world.run("--takeover") as run:
        run.wait_until(lambda: world.partitions() == sorted(left), "dropped from Hive", pause=1)
        world.produce(old[0], young, first=100)  # 50 of them are late
        run.wait_until(lambda: world.counted() == {f"dt={young}": 100}, "dumped", pause=1)
        run.wait_until(
            lambda: all((world.line(day) or {}).get("gone_since") for day in old), "recorded", pause=1
        )
        assert all(world.files(day) for day in old)
        assert not run.said("[bucket.") and run.terminate() == 143, run.tail()
    letters = command("dead-letters list", world.config, "--json").out
    assert letters.count("bucket.expired") >= 1, letters

    world.clock.move(DAY_SECONDS // 2)
    hive.query(f"msck repair table {world.table}")
    assert world.partitions() == sorted(every)
    met_again = utc_text(time.time() + DAY_SECONDS // 2)
    world.run_once_until(
        lambda: all((world.line(day) or {}).get("gone_since", "") >= met_again for day in old),
        "dropped again",
    )
    assert world.partitions() == sorted(left)
    world.clock.move(DAY_SECONDS * 5 // 4)
    with world.run("--once") as run:
        assert run.wait() == 0, run.tail()
    assert all(world.files(day) for day in old), "their day began anew"

    world.clock.move(2 * DAY_SECONDS)
    world.killed_run(RUN_DELETES)
    world.run_once_until(lambda: not world.ledger.newest()["dropped"], "deleted")
    assert not {f"{world.place}/dt={day}" for day in old} & set(world.tree.directories(world.place))
    hive.query(f"msck repair table {world.table} sync partitions")
    assert world.counted() == {f"dt={young}": 100}
    audited = command("verify", world.config, "--deep")
    assert audited.code == 0, audited.out


@pytest.mark.timeout(600)
def test_dead_letters_expire_by_the_day_on_which_they_were_read(
    kafka: KafkaBroker, hdfs: Hdfs, hive: HiveServer, hive_database: str, tmp_path: Path
) -> None:
    world = Retained(kafka, hdfs, hive, hive_database, tmp_path, dead_letter_share=1.0)
    young, letters = world.days[3], f"{hive_database}.{hive_database}_dead_letters"
    bad = [json.dumps({"id": "none", "at": f"{young} 00:30:00"}).encode()] * 3
    produce(world.bootstrap, world.topic, bad, 2)
    world.produce(young)
    world.clock.move(-20 * DAY_SECONDS)
    with world.run("--once") as run:
        assert run.wait() == 0, run.tail()
    world.clock.move(0)
    produce(world.bootstrap, world.topic, bad, 2)
    world.run_once_until(
        lambda: [bool(line["gone_since"]) for line in world.ledger.newest()["dropped"]] == [True], "dropped"
    )
    counted = f"select count(*) from {letters} where source_table = '{world.table}'"
    assert hive.query(counted) == [(3,)], "the run has dropped the old ones"
    (home,) = [line["location"] for line in world.ledger.newest()["dropped"]]
    assert len(world.tree.files(home)) >= 1 and world.counted() == {f"dt={young}": 50}
    listed = command("dead-letters list", world.config, "--json").document
    assert (listed["dead_letters"], listed["expired"], listed["not_read"]) == (3, 3, [])
    assert command("verify", world.config, "--deep").code == 0

    world.clock.move(DAY_SECONDS + 600)
    done = world.retain()
    assert done.code == 0 and len(done.document["cleared"]) == 1, done.log
    assert not world.tree.files(home) and not world.ledger.newest()["dropped"]
    audited = command("verify", world.config, "--deep")
    assert audited.code == 0, audited.out
    listed = command("dead-letters list", world.config, "--json").document
    assert (listed["dead_letters"], listed["expired"], listed["not_read"]) == (3, 3, [])


def test_a_table_without_retain_keeps_everything(
    kafka: KafkaBroker, hdfs: Hdfs, hive: HiveServer, hive_database: str, tmp_path: Path
) -> None:
    world = Retained(kafka, hdfs, hive, hive_database, tmp_path)
    world.dump(world.days[0])
    world.config = world.keeping
    refused = world.retain()
    assert refused.code == 78 and "retain.not_in_map" in refused.log + refused.out
    assert world.counted() == {f"dt={world.days[0]}": 50}


@pytest.mark.timeout(3600)
def test_status_where_and_certificate_tell_what_was_dropped_before_and_after_its_files_are_deleted(
    kafka: KafkaBroker, hdfs: Hdfs, hive: HiveServer, hive_database: str, tmp_path: Path
) -> None:
    world = Retained(kafka, hdfs, hive, hive_database, tmp_path, completion={"delay": "1s"})
    old, young, place = world.days[0], world.days[3], f"{hive_database}-0@0"
    never = old - timedelta(days=1)
    world.dump(old, young)
    time.sleep(2)
    world.dump()
    assert [world.certificate(day) for day in (old, young)] == [(0, "complete")] * 2
    assert world.drops(place) == {f"dt={old}": None, f"dt={young}": None}

    assert world.retain().code == 0
    assert world.partitions() == [f"dt={young}"]
    own = [path for path in world.files(old) if not path.endswith("_SUCCESS")]
    (waiting,) = world.retention()["dropped"]
    assert (waiting["partition"], waiting["files"]) == (f"dt={old}", len(own)) and waiting["bytes"] > 0
    line = world.line(old)
    assert line is not None and waiting["gone_since"] == line["gone_since"] < waiting["deletable_from"]
    told = world.drops(place)
    assert (told[f"dt={young}"], told[f"dt={old}"]["deleted_at"]) == (None, None)
    assert told[f"dt={old}"]["deletable_from"] == waiting["deletable_from"]
    assert [world.certificate(day) for day in (never, old, young)] == [
        (78, "expired"),
        (78, "dropped"),
        (0, "complete"),
    ]

    world.clock.move(DAY_SECONDS + 600)
    assert world.retain().document["cleared"] == [f"dt={old}"]
    assert world.retention()["dropped"] == [] and world.retention()["expired_before"]
    assert world.drops(place)[f"dt={old}"]["deleted_at"] > told[f"dt={old}"]["deletable_from"]
    text = command("where", world.config, place).out
    assert not any(path in text for path in own) and "its files were deleted by " in text, text
    assert [world.certificate(day)[1] for day in (never, old, young)] == ["expired", "dropped", "complete"]


@pytest.mark.timeout(3600)
def test_without_hive_expired_days_leave_hdfs_a_day_after_that_was_recorded_whatever_is_killed(
    kafka: KafkaBroker, hdfs: Hdfs, unique: str, tmp_path: Path
) -> None:
    world = Retained(kafka, hdfs, None, unique, tmp_path)
    old, young = world.days[:3], world.days[3]
    world.dump(*world.days)
    planned = world.retain("--plan")
    assert [each["waits"] for each in planned.document["partitions"]] == [None] * 3, planned.log
    every = [path for day in world.days for path in world.files(day)]

    world.killed_run(DROPS[0])
    world.run_once_until(lambda: bool(world.ledger.newest()["dropped"]), "recorded")
    lines = [world.line(day) for day in old]
    assert all(line is not None and line["gone_since"] for line in lines)
    pending = [line["partition"] for line in world.ledger.newest()["unregistered"]]
    assert pending == [f"dt={young}"]
    world.clock.move(DAY_SECONDS - 600)
    world.run_once_until(lambda: True, "ended")
    assert [path for day in world.days for path in world.files(day)] == every, (
        "a reader may have begun before"
    )

    world.produce(old[0], young, first=100)  # 50 of them are late
    world.clock.move(DAY_SECONDS + 600)
    for point in DELETES:
        world.killed_run(point)
    world.run_once_until(lambda: not world.ledger.newest()["dropped"], "deleted")
    assert not {f"{world.place}/dt={day}" for day in old} & set(world.tree.directories(world.place))
    assert set(world.files(young)) > {path for path in every if f"/dt={young}/" in path}
    letters = command("dead-letters list", world.config, "--json").out
    assert "bucket.expired" in letters, letters
    audited = command("verify", world.config, "--deep")
    assert audited.code == 0, audited.out
