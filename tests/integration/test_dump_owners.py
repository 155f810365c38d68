"""Two runs of one service at once."""

from pathlib import Path

import pytest

from tests.harness.program import Running, command, run_once
from tests.harness.service_map import flights_table, ledger_root, location, write_map
from tests.oracle.exact import assert_exactly, assert_settled, ends_of, flight
from tests.oracle.ledger_text import LedgerText
from tests.oracle.tree import HdfsTree
from tests.services.flights import flights
from tests.services.hdfs import Hdfs
from tests.services.kafka_broker import KafkaBroker
from tests.services.produce import produce

PART = 15_000


@pytest.mark.timeout(3600)
def test_a_second_run_is_refused_and_with_takeover_fences_the_first(
    kafka: KafkaBroker, hdfs: Hdfs, unique: str, tmp_path: Path
) -> None:
    uri, table = f"{hdfs.namenode_url}/{unique}", f"{unique}.flights"
    place, root, tree = (
        location(uri, table),
        ledger_root(uri),
        HdfsTree(hdfs.client()),
    )
    parts = [flights()[n * PART : (n + 1) * PART] for n in range(3)]
    kafka.create_topic(unique, 2)
    stored = produce(kafka.bootstrap, unique, parts[0], 2)
    config = write_map(tmp_path, unique, kafka.bootstrap, uri, [flights_table(table, unique)])

    with Running(config) as first:
        first.wait_until(lambda: first.epochs() > 0, "an epoch")
        ledger = LedgerText(tree, root, table)
        first.wait_until(lambda: ledger.ends() == ends_of(stored) and not ledger.unfinished(), "at rest")
        directory, names = ledger.directory(), ledger.names()

        refused = run_once(config)
        assert refused.code == 72, refused.log[-3000:]
        assert "is owned by a live run" in refused.log
        assert "--takeover" in refused.log
        assert command("recover", config).code == 72
        assert (ledger.directory(), ledger.names()) == (directory, names), "a refused run touched the ledger"

        stored |= produce(kafka.bootstrap, unique, parts[1], 2)
        first.wait_until(lambda: ledger.ends() == ends_of(stored), "at work as if nothing had been")

        with Running(config, "--takeover") as second:
            # the first has nothing to do, and learns it all the same
            assert first.wait() == 73, first.tail()
            assert first.said(f"is gone: another run took {table} over")
            stored |= produce(kafka.bootstrap, unique, parts[2], 2)
            second.wait_until(lambda: ledger.ends() == ends_of(stored), "at the end")
            assert run_once(config).code == 72
            assert second.terminate() == 143, second.tail()
    assert_settled(tree, root, table, place, ends_of(stored))
    assert_exactly(tree, place, stored, flight)
