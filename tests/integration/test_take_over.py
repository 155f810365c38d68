"""Taking over from other tools in the middle of a stream: the old table and the new one hold each record once."""

import json
import subprocess
import sys
import textwrap
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Consumer

from tests.drills.sink_reading import ids_in, listed_by_spark
from tests.harness.program import command, run_once
from tests.harness.service_map import location, write_map
from tests.harness.take_over_page import page_script
from tests.oracle.data_files import visible_files
from tests.oracle.tree import HdfsTree
from tests.services.jars import jars
from tests.services.jvm import OPTIONS
from tests.services.produce import produce
from tests.services.service_process import ServiceProcess

if TYPE_CHECKING:
    from tests.services.hdfs import Hdfs
    from tests.services.kafka_broker import KafkaBroker

GOBBLIN = Path(__file__).parent / "gobblin"
PARTITIONS = 2
STUCK = 3_000
"""The record at which the Spark job hangs until it is killed: its batch is begun and never committed."""
SPARK_JOB = f"""
    import os, sys, time
    os.environ["PYSPARK_PYTHON"] = sys.executable
    from pyspark.sql import SparkSession
    from pyspark.sql.functions import col, from_json, udf
    bootstrap, topic, output, checkpoint, jars = sys.argv[1:]
    builder = SparkSession.builder.master("local[1]").config("spark.driver.extraClassPath", jars)
    for key, value in {{
        "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1", "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "1", "spark.hadoop.dfs.replication": "1",
    }}.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    hang = udf(lambda id: id if id != {STUCK} else time.sleep(600), "bigint")
    source = spark.readStream.format("kafka").option("kafka.bootstrap.servers", bootstrap)
    source = source.option("subscribe", topic).option("startingOffsets", "earliest")
    records = source.option("maxOffsetsPerTrigger", 1000).load()
    rows = records.select(from_json(col("value").cast("string"), "id bigint").alias("row")).select("row.*")
    stream = rows.withColumn("id", hang(col("id"))).writeStream.format("parquet").option("path", output)
    stream.option("checkpointLocation", checkpoint).start().awaitTermination()
"""


def records(ids: Iterable[int]) -> list[bytes]:
    return [json.dumps({"id": number}).encode() for number in ids]


def ids_of(tree: HdfsTree, paths: Iterable[str]) -> Counter[int]:
    return sum((ids_in(tree, path) for path in paths), Counter())


def new_map(folder: Path, kafka: "KafkaBroker", uri: str, topic: str) -> tuple[str, Path]:
    table: dict[str, Any] = {
        "table": f"lake.{topic}",
        "topics": [topic],
        "start": "earliest",
        "columns": {"id": "bigint"},
        "bucket": {"path": "dt=%Y-%m"},
    }
    return table["table"], write_map(folder, topic, kafka.bootstrap, uri, [table])


def is_stuck(tree: HdfsTree, checkpoint: str, job: ServiceProcess) -> Callable[[], bool]:
    """Whether the job works on a batch after the second one that it cannot finish."""

    def look() -> bool:
        batches = {
            kind: {int(p.rpartition("/")[2]) for p in tree.files(f"{checkpoint}/{kind}") if p[-1].isdigit()}
            for kind in ("offsets", "commits")
        }
        assert not job.said("Traceback"), job.output.read_text(errors="replace")
        return batches["commits"] >= {0, 1} and max(batches["offsets"]) > max(batches["commits"])

    return look


@pytest.mark.timeout(3600)
def test_a_spark_job_that_was_killed_in_a_batch_is_taken_over_at_the_batch_before(
    kafka: "KafkaBroker", hdfs: "Hdfs", unique: str, tmp_path: Path
) -> None:
    uri, tree = f"{hdfs.namenode_url}/{unique}", HdfsTree(hdfs.client())
    output, checkpoint = f"{uri}/spark/table", f"{uri}/spark/checkpoint"
    kafka.create_topic(unique, PARTITIONS)
    produce(kafka.bootstrap, unique, records(range(4_000)), PARTITIONS)
    script = tmp_path / "job.py"
    script.write_text(textwrap.dedent(SPARK_JOB))
    arguments = [str(script), kafka.bootstrap, unique, output, checkpoint, jars("spark-kafka")]
    options = {"JDK_JAVA_OPTIONS": " ".join(OPTIONS)}  # it lives for a minute
    job = ServiceProcess("job", [sys.executable, *arguments], tmp_path, options)
    job.start()
    try:
        job.wait_until(is_stuck(tree, checkpoint, job), "stuck", 600)
    finally:
        job.kill()
    old = ids_of(tree, listed_by_spark(tree, output))
    assert old and max(old.values()) == 1 and STUCK not in old
    produce(kafka.bootstrap, unique, records(range(4_000, 5_000)), PARTITIONS)

    table, config = new_map(tmp_path, kafka, uri, unique)
    refused = command("init", config, "--offsets-from", f"spark:{checkpoint}")
    assert refused.code == 78 and "offsets.unfinished" in refused.log, refused.log
    committed = max(int(p.rpartition("/")[2]) for p in tree.files(f"{checkpoint}/commits") if p[-1].isdigit())
    source = f"spark:{checkpoint}#{committed}"
    assert source in refused.log
    before = tree.files(uri)
    planned = command("init", config, "--offsets-from", source, "--plan", "--json")
    assert planned.code == 0, planned.log
    (plan,) = planned.document["tables"]
    assert plan["result"] == "would_import_positions"
    assert sum(each["next_offset"] - each["log_start"] for each in plan["positions"]) == sum(old.values())
    assert tree.files(uri) == before
    assert command("init", config, "--offsets-from", source).code == 0
    done = run_once(config)
    assert done.code == 0, done.log
    assert old + ids_of(tree, visible_files(tree, location(uri, table))) == Counter(range(5_000))
    assert command("verify", config, "--deep").code == 0
    again = command("init", config, "--offsets-from", source)
    assert again.code == 78 and "offsets.not_first" in again.out


@pytest.mark.timeout(3600)
def test_a_consumer_group_is_taken_over_where_it_stopped(
    kafka: "KafkaBroker", hdfs: "Hdfs", unique: str, tmp_path: Path
) -> None:
    uri, tree = f"{hdfs.namenode_url}/{unique}", HdfsTree(hdfs.client())
    kafka.create_topic(unique, PARTITIONS)
    produce(kafka.bootstrap, unique, records(range(2_000)), PARTITIONS)
    settings = {"group.id": f"{unique}-old", "auto.offset.reset": "earliest", "enable.auto.commit": False}
    consumer = Consumer({"bootstrap.servers": kafka.bootstrap, **settings})
    consumer.subscribe([unique])
    old: Counter[int] = Counter()
    while sum(old.values()) < 1234:
        for message in consumer.consume(1234 - sum(old.values()), timeout=1):
            assert message.error() is None
            old[json.loads(message.value())["id"]] += 1
    consumer.commit(asynchronous=False)
    consumer.close()
    table, config = new_map(tmp_path, kafka, uri, unique)
    done = command("init", config, "--offsets-from", f"group:{unique}-old")
    assert done.code == 0, done.log
    shown = command("offsets show", config, "--json").document["owners"]
    assert [sum(each["next_offset"] for each in owner["offsets"]) for owner in shown] == [1234]
    assert run_once(config).code == 0
    assert old + ids_of(tree, visible_files(tree, location(uri, table))) == Counter(range(2_000))
    assert command("verify", config, "--deep").code == 0


@pytest.mark.timeout(3600)
def test_a_job_of_gobblin_is_taken_over_at_the_watermarks_of_its_state_store(
    kafka: "KafkaBroker", hdfs: "Hdfs", unique: str, tmp_path: Path
) -> None:
    uri, tree = f"{hdfs.namenode_url}/{unique}", HdfsTree(hdfs.client())
    kafka.create_topic(unique, 3)
    stored = produce(kafka.bootstrap, unique, records(range(4_500)), 3)
    state = tmp_path / "state.json"
    printed = (GOBBLIN / "state.json").read_text()
    state.write_text(printed.replace('"topic.name": "flights"', f'"topic.name": "{unique}"'))
    script = page_script("gobblin_offsets.py", tmp_path)
    done = subprocess.run([sys.executable, script, state], stdout=subprocess.PIPE, text=True, check=True)
    assert sorted(done.stdout.splitlines()) == [f"{unique},0,1300", f"{unique},1,600", f"{unique},2,500"]
    offsets = tmp_path / "offsets.csv"
    offsets.write_text(done.stdout)

    table, config = new_map(tmp_path, kafka, uri, unique)
    assert command("init", config, "--offsets-from", f"csv:{offsets}", "--plan").code == 0
    assert command("init", config, "--offsets-from", f"csv:{offsets}").code == 0
    assert run_once(config).code == 0
    watermarks = {0: 1300, 1: 600, 2: 500}
    unread = Counter(
        json.loads(value or b"")["id"]
        for (_, partition, offset), value in stored.items()
        if offset >= watermarks[partition]
    )
    assert ids_of(tree, visible_files(tree, location(uri, table))) == unread
    assert command("verify", config, "--deep").code == 0
