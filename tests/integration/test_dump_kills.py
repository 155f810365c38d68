"""`kill -9` of the driver, again and again, and a `recover` with no run: still each flight exactly once."""

import random
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.integration.flights_topic import FlightsTopic
from tests.integration.product import Running, command
from tests.integration.service_map import flights_table, ledger_root, location, raw_table, write_map
from tests.oracle.exact import (
    assert_exactly,
    assert_same_bytes,
    assert_settled,
    ends_of,
    flight,
    flights_by_month,
)
from tests.oracle.ledger_text import LedgerText
from tests.oracle.tree import HdfsTree
from tests.services.flights import COUNT

if TYPE_CHECKING:
    from tests.services.hdfs import Hdfs
    from tests.services.hive_server import HiveServer
    from tests.services.kafka_broker import KafkaBroker

KILLS = 20
# flights and payloads together; an epoch takes a second or so
EPOCH_RECORDS = 14_000


def kill_at_a_random_moment(
    run: Running, number: int, chance: random.Random, ledgers: list[LedgerText]
) -> bool:
    """A tenth while it starts; the others after the first epoch: half within a commit, half at any time.

    Says whether the service was at work: its query ran, and much was left to dump.
    """
    if number % 10 == 3:
        time.sleep(chance.uniform(0, 8))
    else:
        run.wait_until(lambda: run.epochs() > 0, "an epoch")
        if number % 2:
            run.wait_until(lambda: is_committing(ledgers), "a commit", pause=0.0005)
        else:
            end = time.monotonic() + chance.uniform(0, 2.5)
            while time.monotonic() < end and run.epochs() < 3:  # on a fast machine the data must last
                time.sleep(0.01)
    run.kill_driver()
    return run.epochs() > 0


def is_committing(ledgers: list[LedgerText]) -> bool:
    """Some epoch is committed and not finished at this moment, which lasts some milliseconds."""
    return any(name.endswith(".pending") for ledger in ledgers for name in ledger.names())


@pytest.fixture
def processes() -> Iterator[ExitStack]:
    """Every run of the test; at its end nothing of them is left."""
    with ExitStack() as stack:
        yield stack


@pytest.mark.timeout(3000)
def test_twenty_kills_lose_nothing_and_double_nothing(
    processes: ExitStack,
    kafka: "KafkaBroker",
    hdfs: "Hdfs",
    hive: "HiveServer",
    hive_database: str,
    flights_topic: FlightsTopic,
    tmp_path: Path,
) -> None:
    runs: list[Running] = []
    seed = random.randrange(1 << 32)
    chance = random.Random(seed)
    uri, topic = f"{hdfs.namenode_url}/{hive_database}", flights_topic.name
    json, raw = f"{hive_database}.flights", f"{hive_database}.payloads"
    config = write_map(
        tmp_path,
        hive_database,
        kafka.bootstrap,
        uri,
        [flights_table(json, topic), raw_table(raw, topic)],
        hive={"url": f"hive://{hive.address}"},
        limits={"epoch_records": EPOCH_RECORDS},
    )
    tree, root = HdfsTree(hdfs.client()), ledger_root(uri)
    ledgers = [LedgerText(tree, root, table) for table in (json, raw)]

    def left() -> int:
        read = sum(p["end"] for ledger in ledgers for p in ledger.newest()["position"])
        return 2 * COUNT - read

    at_work = unfinished = 0
    for number in range(KILLS):
        run = processes.enter_context(Running(config))  # its orphans live on while the next one starts
        at_work += kill_at_a_random_moment(run, number, chance, ledgers)
        unfinished += any(ledger.pending_epoch() is not None for ledger in ledgers)
        if number:
            runs[-1].wait_for_orphans(30)
        runs.append(run)
    assert left() > 0, f"too little data for so many kills (seed {seed})"
    assert at_work >= KILLS * 3 // 4, f"seed {seed}"
    assert unfinished, f"no kill hit a commit (seed {seed})"

    run = processes.enter_context(Running(config))  # dies at the moment of the last commit
    run.wait_until(lambda: left() == 0, "at the end", 600)
    run.kill_driver()
    recovered = command("recover", config, "--json")
    assert recovered.code == 0, recovered.log
    assert {t["result"] for t in recovered.document["tables"]} == {"done"}
    assert all(ledger.generation() >= KILLS * 3 // 4 for ledger in ledgers), f"seed {seed}"

    ends = ends_of(flights_topic.stored)
    for table in (json, raw):
        assert_settled(tree, root, table, location(uri, table), ends)
    assert_exactly(tree, location(uri, json), flights_topic.stored, flight)
    assert_same_bytes(tree, location(uri, raw), flights_topic.stored)
    by_month = flights_by_month(flights_topic.stored)
    assert Counter(dict(hive.query(f"select dt, count(*) from {json} group by dt"))) == by_month
    assert hive.query(f"select count(*) from {raw}") == [(COUNT,)]
