"""A real Kafka with a quota below what is to be read: the run says that it is throttled, and dumps everything."""

from pathlib import Path

import pytest

from tests.harness.program import run_once
from tests.harness.service_map import ledger_root, location, raw_table, write_map
from tests.oracle.exact import assert_same_bytes, assert_settled, ends_of
from tests.oracle.tree import LocalTree
from tests.services.flights import flights
from tests.services.kafka_broker import KafkaBroker
from tests.services.produce import produce


@pytest.mark.timeout(3600)
def test_a_run_below_a_quota_says_so_and_dumps_everything(
    kafka: KafkaBroker, unique: str, tmp_path: Path
) -> None:
    uri, table = f"file://{tmp_path}/disk", f"{unique}.slow"
    kafka.create_topic(unique, 1)
    stored = produce(kafka.bootstrap, unique, flights()[:20_000], 1)
    kafka.limit_client(unique, 200_000)
    brokers = {"bootstrap.servers": kafka.bootstrap, "client.id": unique}
    config = write_map(tmp_path, unique, brokers, uri, [raw_table(table, unique)])
    once = run_once(config)
    assert once.code == 0, once.log[-3000:]
    assert "Kafka throttles this client: broker 127.0.0.1:" in once.log
    assert_settled(LocalTree(), ledger_root(uri), table, location(uri, table), ends_of(stored))
    assert_same_bytes(LocalTree(), location(uri, table), stored)
