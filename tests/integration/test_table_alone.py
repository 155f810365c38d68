"""What belongs to one table stops no other, on real services: a record of the far future, and commands beside a start."""

import json
import threading
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import pytest

from kafka2hive.model.offsets import TopicPartition
from tests.harness.program import Running, command_as_process, run_once
from tests.harness.service_map import ledger_root, location, write_map
from tests.oracle.ledger_text import LedgerText
from tests.oracle.tree import HdfsTree
from tests.services.hdfs import Hdfs
from tests.services.kafka_broker import KafkaBroker
from tests.services.produce import produce

STARTS = 3
COLUMNS = {"id": "bigint", "valid_to": "timestamp"}


def are_at(ledgers: Sequence[LedgerText], ends: Mapping[TopicPartition, int]) -> bool:
    return all(ledger.ends() == ends for ledger in ledgers)


def test_a_record_of_the_last_second_of_the_year_9999_stops_no_table(
    kafka: KafkaBroker, hdfs: Hdfs, unique: str, tmp_path: Path
) -> None:
    """The hour of New York in which the record lies ends in the year 10000 of UTC."""
    uri, tree = f"{hdfs.namenode_url}/{unique}", HdfsTree(hdfs.client())
    kafka.create_topic(unique, 1)
    texts = [
        {"id": 99, "valid_to": "9999-12-31T23:59:59Z"},
        {"id": 1, "valid_to": "0001-01-02T00:00:00Z"},
        {"id": 2, "valid_to": "2026-01-02T12:00:00Z"},
    ]
    produce(kafka.bootstrap, unique, [json.dumps(text).encode() for text in texts], 1)
    common = {"topics": [unique], "columns": COLUMNS}
    bucket = {"field": "valid_to", "path": "dt=%Y-%m-%d/hr=%H"}
    far, other = f"{unique}.far", f"{unique}.other"
    tables = [
        {"table": far, "zone": "America/New_York", "bucket": bucket, "completion": {}, **common},
        {"table": other, "bucket": {"time": "record"}, **common},
    ]
    config = write_map(
        tmp_path,
        unique,
        kafka.bootstrap,
        uri,
        tables,
        defaults={"start": "earliest", "flush": {"interval": "1s"}},
    )
    for _ in range(2):  # the second start asks the policy again
        assert (done := run_once(config)).code == 0, done.log[-3000:]
    for table in (far, other):
        assert LedgerText(tree, ledger_root(uri), table).ends() == {TopicPartition(unique, 0): 3}
    hours = {path.rpartition("/")[0] for path in tree.files(location(uri, far)) if path.endswith(".final")}
    assert f"{location(uri, far)}/dt=9999-12-31/hr=18" in hours
    status = command_as_process("status", config)
    assert status.code == 0, status.out + status.log


@pytest.mark.timeout(1800)
def test_a_command_for_one_table_in_the_second_of_a_start_never_ends_the_run(
    kafka: KafkaBroker, hdfs: Hdfs, unique: str, tmp_path: Path
) -> None:
    uri, tree = f"{hdfs.namenode_url}/{unique}", HdfsTree(hdfs.client())
    kafka.create_topic(unique, 1)
    names = [f"{unique}.t{number}" for number in range(4)]
    tables = [
        {"table": name, "topics": [unique], "format": "raw", "bucket": {"time": "record"}} for name in names
    ]
    config = write_map(
        tmp_path,
        unique,
        kafka.bootstrap,
        uri,
        tables,
        defaults={"start": "earliest", "flush": {"interval": "1s"}},
    )
    assert run_once(config).code == 0
    for start in range(1, STARTS + 1):
        produce(kafka.bootstrap, unique, [b"x"] * 10, 1)
        over = threading.Event()

        def repeat(over: threading.Event = over) -> None:
            while not over.is_set():
                command_as_process("resume", config, "--table", names[-1], "--timeout", "1s")

        operator = threading.Thread(target=repeat)
        operator.start()
        try:
            with Running(config) as run:
                run.wait_for_epoch()
                over.set()
                operator.join()
                ledgers = [LedgerText(tree, ledger_root(uri), name) for name in names]
                dumped = partial(are_at, ledgers, {TopicPartition(unique, 0): 10 * start})
                run.wait_until(dumped, "every table is dumped")
                assert run.alive, run.tail()
                assert run.terminate() == 143, run.tail()
        finally:
            over.set()
            operator.join()
