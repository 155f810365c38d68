"""Taking over from Flink SQL by the commands of docs/taking-over.md. Long form only (scripts/drill): Flink is large.

A real job on a real session cluster reads a topic with a consumer group, and writes files at its checkpoints. It is stopped
with a savepoint or killed, mostly while records flow; then each record is in its files or in the new table, once.
"""

import itertools
import json
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition

from tests.drills.conftest import Figures
from tests.drills.form import Form
from tests.drills.sink_reading import ids_in
from tests.drills.stream import Stream
from tests.harness.program import command, run_once
from tests.harness.service_map import location, write_map
from tests.harness.take_over_page import page_commands, page_script
from tests.harness.waiting import wait_until
from tests.oracle.data_files import visible_files
from tests.oracle.tree import HdfsTree
from tests.services.flink import Flink
from tests.services.hadoop_files import write_site
from tests.services.hdfs import Hdfs
from tests.services.jvm import java_command
from tests.services.kafka_broker import KafkaBroker
from tests.services.produce import Place, produce
from tests.services.service_process import ServiceProcess, run_to_end

FED, IDLE = 2, 1
"""Topic partitions that records are sent to while the job runs, and one that gets its first record later."""
PER_SECOND = 1_500
CHECKPOINT_SECONDS = 2
LATER = 300
Stored = dict[Place, bytes | None]


@pytest.fixture(scope="module")
def flink(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flink]:
    """A session cluster for this module."""
    with Flink(tmp_path_factory.mktemp("flink")) as cluster:
        yield cluster


class Job:
    """A job from a topic into files, both named `name`. `format` is that of the files, `options` are the sink's."""

    def __init__(
        self,
        flink: Flink,
        kafka: KafkaBroker,
        hdfs: Hdfs,
        name: str,
        folder: Path,
        format: str,
        **options: str,
    ) -> None:
        self._flink, self._folder = flink, folder
        self._bootstrap, self._options = kafka.bootstrap, options
        self.name, self._format = name, format
        self.uri = f"{hdfs.namenode_url}/{name}"
        self.output, self.checkpoints = f"{self.uri}/flink/table", f"{self.uri}/flink/checkpoints"
        self.savepoints = f"{self.uri}/flink/savepoints"
        self.tree = HdfsTree(hdfs.client())
        self._clients: list[ServiceProcess] = []
        self.id = ""

    def start(self, state: str = "") -> None:
        """Submit the job, continuing from the savepoint or checkpoint `state`, and wait for two checkpoints."""
        source = {
            "connector": "kafka",
            "topic": self.name,
            "properties.bootstrap.servers": self._bootstrap,
            "properties.group.id": self.group,
            "scan.startup.mode": "earliest-offset",
            "format": "json",
        }
        sink = {"connector": "filesystem", "path": self.output, "format": self._format, **self._options}
        statements = (
            f"CREATE TABLE source (id BIGINT) WITH ({_options(source)})",
            f"CREATE TABLE sink (id BIGINT) WITH ({_options(sink)})",
            "INSERT INTO sink SELECT id FROM source",
        )
        script = self._folder / f"{self.name}.sql"
        script.write_text("\n;\n".join(statements))
        settings = self._flink.settings | {
            "pipeline.name": f"{self.name}-{len(self._clients)}",
            "parallelism.default": "2",
            "execution.checkpointing.interval": f"{CHECKPOINT_SECONDS} s",
            "execution.checkpointing.dir": self.checkpoints,
            "execution.checkpointing.externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION",
        }
        if state:
            settings["execution.state-recovery.path"] = state
        words = [f"{key}={value}" for key, value in settings.items()]
        client = ServiceProcess(
            settings["pipeline.name"], [*self._flink.java(256, "Peer"), str(script), *words], self._folder
        )
        self._clients.append(client)
        client.start()
        client.wait_until(lambda: self._find(settings["pipeline.name"]), "submitted")
        client.wait_until(lambda: self.completed() >= 2, "at work")

    @property
    def group(self) -> str:
        return f"{self.name}-old"

    def _find(self, name: str) -> bool:
        jobs = self._flink.get("jobs/overview").get("jobs", [])
        self.id = next((job["jid"] for job in jobs if job["name"] == name), "")
        return bool(self.id)

    def completed(self) -> int:
        """How many checkpoints are complete."""
        return int(self._flink.get(f"jobs/{self.id}/checkpoints").get("counts", {}).get("completed", 0))

    def wait_for_end(self) -> None:
        wait_until(lambda: self._flink.get(f"jobs/{self.id}")["state"] == "FINISHED", "finished")

    def newest_checkpoint(self) -> str:
        """The newest complete checkpoint of this run of the job that is kept."""
        of_job = f"{self.checkpoints}/{self.id}/chk-"
        numbers = [
            int(path.removeprefix(of_job).split("/")[0])
            for path in self.tree.files(f"{self.checkpoints}/{self.id}")
            if path.startswith(of_job) and path.endswith("/_metadata")
        ]
        return f"{of_job}{max(numbers)}"

    def visible(self) -> Counter[int]:
        """The ids in the files that readers of the directory see."""
        return sum((self._ids(path) for path in visible_files(self.tree, self.output)), Counter())

    def hidden(self) -> list[str]:
        """The files that they do not see."""
        return sorted(set(self.tree.files(self.output)) - set(visible_files(self.tree, self.output)))

    def committed(self) -> Counter[int]:
        """The offsets of the consumer group by topic partition."""
        consumer = Consumer({"bootstrap.servers": self._bootstrap, "group.id": self.group})
        try:
            asked = [TopicPartition(self.name, number) for number in range(FED)]
            return Counter({tp.partition: tp.offset for tp in consumer.committed(asked, timeout=60)})
        finally:
            consumer.close()

    def wait_for_group(self, records: int) -> None:
        """Wait until the group has committed so many."""
        wait_until(lambda: self.committed().total() == records, "at the end of the topic")

    def close(self) -> None:
        for client in self._clients:
            client.kill()

    def __enter__(self) -> "Job":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _ids(self, path: str) -> Counter[int]:
        if self._format == "parquet":
            return ids_in(self.tree, path)
        return Counter(json.loads(line)["id"] for line in self.tree.read(path).splitlines())


def _options(pairs: dict[str, str]) -> str:
    return ", ".join(f"'{key}' = '{value}'" for key, value in pairs.items())


class Reader:
    """Does what the page says to its reader, with the page's own words in which only names are replaced."""

    def __init__(self, job: Job, flink: Flink, kafka: KafkaBroker, hdfs: Hdfs, folder: Path) -> None:
        self._job, self._flink, self._folder = job, flink, folder
        self._savepoint = ""
        page_script("flink_offsets.py", folder)
        for kind in ("core", "hdfs"):
            write_site(folder / "conf" / f"{kind}-site.xml", hdfs.site_properties)
        table: dict[str, Any] = {
            "table": f"lake.{job.name}",
            "topics": [job.name],
            "start": "earliest",
            "columns": {"id": "bigint"},
            "bucket": {"path": "dt=%Y-%m"},
        }
        self._table = table["table"]
        self._map = write_map(folder, job.name, kafka.bootstrap, job.uri, [table])
        self._commands = page_commands("Flink")
        programs = [words[0] for words in self._commands]
        assert programs == ["flink", "hdfs", "python3", *["kafka2hive"] * 4]

    def stop(self, drain: bool = True) -> str:
        """Stop the job; return its savepoint."""
        _, *words = self._commands[0]
        places = {"hdfs://namenode:8020/savepoints": self._job.savepoints, "JOB_ID": self._job.id}
        assert places.keys() < set(words) and "--drain" in words
        words = [places.get(word, word) for word in words if drain or word != "--drain"]
        printed = self._flink.command(*words)
        self._savepoint = printed.partition("Savepoint completed. Path: ")[2].split()[0]
        self._job.wait_for_end()
        return self._savepoint

    def positions(self) -> dict[int, int]:
        """The next offset by topic partition, from the savepoint."""
        _, _, *words = self._commands[1]
        words[1] = self._savepoint
        copy = [*java_command("hdfs", 128), "org.apache.hadoop.fs.FsShell", *words]
        run_to_end("hdfs", copy, self._folder)
        _, *words = self._commands[2]
        words, output = words[:-2], self._folder / words[-1]
        words[-1] = self._job.name
        with output.open("w") as file:
            subprocess.run([sys.executable, *words], cwd=self._folder, stdout=file, check=True)
        lines = (line.rsplit(",", 2) for line in output.read_text().splitlines())
        return {int(number): int(offset) for _, number, offset in lines}

    def begin(self) -> None:
        """Import the positions."""
        for _, *words in self._commands[3:6]:
            name = " ".join(itertools.takewhile(lambda word: not word.startswith("-"), words))
            rest = words[len(name.split()) : -2]
            rest = [word.replace("offsets.csv", str(self._folder / "offsets.csv")) for word in rest]
            done = command(name, self._map, *rest)
            assert done.code == 0, done.out + done.log

    def dump(self) -> Counter[int]:
        """Dump all that Kafka holds; return the ids of the new table."""
        assert self._commands[6] == ["kafka2hive", "run", "-c", "MAP"]
        done = run_once(self._map)
        assert done.code == 0, done.log
        tree = self._job.tree
        files = visible_files(tree, location(self._job.uri, self._table))
        return sum((ids_in(tree, path) for path in files), Counter())


def payloads() -> Iterator[bytes]:
    return (b'{"id": %d}' % number for number in itertools.count())


def ids_of(stored: Stored) -> Counter[int]:
    return Counter(json.loads(value or b"")["id"] for value in stored.values())


def take_over(
    job: Job, reader: Reader, stream: Stream, records: Iterator[bytes], bootstrap: str
) -> dict[str, int]:
    """Take over from the stopped job; everything is exactly once. Return figures."""
    old, committed = job.visible(), job.committed()
    positions = reader.positions()
    assert positions.keys() == set(range(FED + IDLE)) and positions[FED] == 0
    reader.begin()
    stored = stream.end()
    stored |= produce(bootstrap, job.name, itertools.islice(records, LATER), FED + IDLE)
    new = reader.dump()
    assert old and new
    assert old + new == ids_of(stored)
    behind = sum(positions[number] - max(committed[number], 0) for number in range(FED))
    return {"in_flink": old.total(), "in_kafka2hive": new.total(), "group_behind": behind}


@pytest.mark.timeout(7_200)
@pytest.mark.parametrize(
    ("format", "options", "is_quiet"),
    [
        ("parquet", {}, False),
        ("parquet", {}, True),
        ("parquet", {"auto-compaction": "true"}, False),
        ("json", {}, False),
    ],
    ids=["parquet", "parquet-quiet", "parquet-compacted", "json"],
)
def test_a_flink_job_that_is_stopped_with_a_savepoint_is_taken_over(
    flink: Flink,
    kafka: KafkaBroker,
    hdfs: Hdfs,
    unique: str,
    tmp_path: Path,
    form: Form,
    figures: Figures,
    format: str,
    options: dict[str, str],
    is_quiet: bool,
) -> None:
    chance = random.Random(form.seed())
    for number in range(form.count(1, 3)):
        name, folder, records = f"{unique}_{number}", tmp_path / str(number), payloads()
        folder.mkdir()
        kafka.create_topic(name, FED + IDLE)
        with (
            Stream(kafka.bootstrap, {name: FED}, records.__next__, PER_SECOND) as stream,
            Job(flink, kafka, hdfs, name, folder, format, **options) as job,
        ):
            reader = Reader(job, flink, kafka, hdfs, folder)
            job.start()
            time.sleep(chance.uniform(0, 2 * CHECKPOINT_SECONDS))
            if is_quiet:
                job.wait_for_group(len(stream.end()))
            reader.stop()
            figures(**take_over(job, reader, stream, records, kafka.bootstrap))


@pytest.mark.timeout(7_200)
def test_a_flink_job_that_was_stopped_without_drain_is_started_and_drained(
    flink: Flink, kafka: KafkaBroker, hdfs: Hdfs, unique: str, tmp_path: Path, figures: Figures
) -> None:
    records = payloads()
    kafka.create_topic(unique, FED + IDLE)
    with (
        Stream(kafka.bootstrap, {unique: FED}, records.__next__, PER_SECOND) as stream,
        Job(flink, kafka, hdfs, unique, tmp_path, "json") as job,
    ):
        reader = Reader(job, flink, kafka, hdfs, tmp_path)
        job.start()
        savepoint = reader.stop(drain=False)
        assert not job.visible(), "rows of JSON are hidden"
        assert job.hidden()
        job.start(savepoint)
        reader.stop()
        assert not job.hidden()
        figures(**take_over(job, reader, stream, records, kafka.bootstrap))


@pytest.mark.timeout(7_200)
def test_a_flink_job_whose_cluster_was_killed_is_started_and_drained(
    flink: Flink, kafka: KafkaBroker, hdfs: Hdfs, unique: str, tmp_path: Path, form: Form, figures: Figures
) -> None:
    records, chance = payloads(), random.Random(form.seed())
    kafka.create_topic(unique, FED + IDLE)
    with (
        Stream(kafka.bootstrap, {unique: FED}, records.__next__, PER_SECOND) as stream,
        Job(flink, kafka, hdfs, unique, tmp_path, "parquet") as job,
    ):
        reader = Reader(job, flink, kafka, hdfs, tmp_path)
        job.start()
        kills = form.count(1, 3)
        for _ in range(kills):
            time.sleep(chance.uniform(0, 2 * CHECKPOINT_SECONDS))
            flink.kill()
            flink.start()
            job.start(job.newest_checkpoint())
        reader.stop()
        figures(kills=kills, hidden_files=len(job.hidden()))
        figures(**take_over(job, reader, stream, records, kafka.bootstrap))
