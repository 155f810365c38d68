"""Late records over two days, with and without `shuffle: bucket`: one file for each bucket instead of one per task and bucket."""

from collections import Counter
from functools import partial
from pathlib import Path

import orjson
import pytest

from tests.drills.spark_workers import kill_all_workers_at
from tests.harness.program import Running, command
from tests.harness.service_map import PLACE, ledger_root, location, write_map
from tests.oracle.data_files import visible_rows
from tests.oracle.exact import ends_of
from tests.oracle.ledger_text import LedgerText
from tests.oracle.tree import HdfsTree
from tests.services.hdfs import Hdfs
from tests.services.kafka_broker import KafkaBroker
from tests.services.produce import Place, produce

RECORDS, TOPIC_PARTITIONS, HOURS = 120_000, 2, 48
PADDING = "x" * 400


def _record(i: int) -> bytes:
    if i % 5_000 == 3:
        return b'{"id": "no number"}'
    hour = i // 7 % HOURS  # late: each task has records of all of them
    at = None if i % 5_000 == 4 else f"2013-01-{1 + hour // 24:02} {hour % 24:02}:{i % 60:02}:00"
    return orjson.dumps({"id": i, "at": at, "padding": PADDING})


def _is_read(ledger: LedgerText, ends: dict[tuple[str, int], int]) -> bool:
    return ledger.ends() == ends


@pytest.mark.timeout(3600)
def test_each_bucket_of_an_epoch_is_one_file_also_when_workers_die(
    kafka: KafkaBroker, hdfs: Hdfs, unique: str, tmp_path: Path
) -> None:
    uri, tree = f"{hdfs.namenode_url}/{unique}", HdfsTree(hdfs.client())
    kafka.create_topic(unique, TOPIC_PARTITIONS)
    records = [_record(i) for i in range(RECORDS)]
    stored: dict[Place, bytes | None] = {}

    def send() -> None:
        stored.update(produce(kafka.bootstrap, unique, records, TOPIC_PARTITIONS))

    send()
    every = {
        "topics": [unique],
        "start": "earliest",
        "metadata": PLACE,
        "flush": {"interval": "1s"},
        "columns": {"id": "bigint", "at": "timestamp"},
        "bucket": {"field": "at", "path": "dt=%Y-%m-%d/hr=%H"},
        "sql": "SELECT * FROM records WHERE id % 10 <> 7",
    }
    names = moved, kept = f"{unique}.moved", f"{unique}.kept"
    entries = [{**every, "table": moved, "shuffle": "bucket"}, {**every, "table": kept}]
    limits = {"tasks_per_core": 8}
    config = write_map(tmp_path, unique, kafka.bootstrap, uri, entries, limits=limits)
    ledgers = {name: LedgerText(tree, ledger_root(uri), name) for name in names}
    with Running(config) as run:
        staged = f"{location(uri, moved)}/_tmp"
        kill_all_workers_at(run, lambda: bool(tree.files(staged)), "a file behind the shuffle", send)
        for name, ledger in ledgers.items():
            run.wait_until(partial(_is_read, ledger, ends_of(stored)), f"all of {name} is read", 900, 0.2)
        assert run.terminate() == 143, run.tail()
    wanted = {
        at
        for at, value in stored.items()
        if isinstance(n := orjson.loads(value or b"{}")["id"], int) and n % 10 != 7 and n % 5_000 != 4
    }
    shape: dict[str, Counter[tuple[int, str]]] = {}
    for name in names:
        rows = list(visible_rows(tree, location(uri, name)))
        found = [tuple(row.values[column] for column in PLACE.values()) for row in rows]
        assert len(found) == len(set(found)) and set(found) == wanted
        shape[name] = Counter(
            (snapshot["header"][0]["epoch"], file["partition"])
            for snapshot in ledgers[name].history()
            for file in snapshot.get("file", [])
            if file["kind"] == "data"
        )
    assert len(shape[moved]) >= HOURS and set(shape[moved].values()) == {1}
    tasks: dict[int, set[int]] = {}
    for (epoch, _), files in shape[kept].items():
        tasks.setdefault(epoch, set()).add(files)
    assert all(len(each) == 1 for each in tasks.values()), shape  # each task has records of all hours
    assert max(max(each) for each in tasks.values()) > 1, shape
    verified = command("verify", config)
    assert verified.code == 0, verified.out
    letters = {
        name: sum(a["dead_lettered"] for snapshot in ledger.history() for a in snapshot["account"])
        for name, ledger in ledgers.items()
    }
    assert letters == dict.fromkeys(names, 2 * len(stored) // 5_000)
