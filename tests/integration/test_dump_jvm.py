"""Spark's JVM dies under a run: it ends with 69, plans nothing more, and the next run goes on right after it."""

from pathlib import Path

import psutil
import pytest

from tests.harness.program import PausedJvm, Running, command, run_once
from tests.harness.service_map import flights_table, ledger_root, location, write_map
from tests.harness.sessions import is_java
from tests.oracle.exact import assert_exactly, assert_settled, ends_of, flight
from tests.oracle.tree import LocalTree
from tests.services.flights import flights
from tests.services.kafka_broker import KafkaBroker
from tests.services.produce import produce

UNAVAILABLE = 69


def jvms(run: Running) -> list[psutil.Process]:
    return [child for child in psutil.Process(run.pid).children() if is_java(child)]


def kill_jvm(run: Running) -> None:
    (jvm,) = jvms(run)
    jvm.kill()


def test_a_jvm_that_is_killed_while_it_starts_ends_the_run_with_69_and_nothing_touched(
    kafka: KafkaBroker, unique: str, tmp_path: Path
) -> None:
    (tmp_path / "disk").mkdir()
    kafka.create_topic(unique, 1)
    table = flights_table(f"{unique}.flights", unique)
    config = write_map(tmp_path, unique, kafka.bootstrap, f"file://{tmp_path}/disk", [table])
    paused = PausedJvm(tmp_path)
    with Running(config, env=paused.environment) as run:
        run.wait_until(paused.is_there, "starting Java")
        kill_jvm(run)
        assert run.wait() == UNAVAILABLE, run.tail()
        assert "Spark did not start" in run.tail()
        assert "Traceback" not in run.tail()
    assert not (tmp_path / "disk" / "kafka2hive" / "kafka_partition_offsets").exists()


@pytest.mark.parametrize("idle", [True, False])
def test_a_run_whose_jvm_is_killed_ends_with_69_and_the_next_one_goes_on(
    kafka: KafkaBroker, unique: str, tmp_path: Path, idle: bool
) -> None:
    uri, table, tree = f"file://{tmp_path}/disk", f"{unique}.flights", LocalTree()
    (tmp_path / "disk").mkdir()
    kafka.create_topic(unique, 2)
    stored = produce(kafka.bootstrap, unique, flights()[:20_000], 2)
    limits = {} if idle else {"epoch_records": 1_000}
    table_entry = flights_table(table, unique)
    config = write_map(tmp_path, unique, kafka.bootstrap, uri, [table_entry], trigger="100ms", limits=limits)
    with Running(config) as run:
        run.wait_until(lambda: run.epochs() > 0, "an epoch")
        if idle:
            run.wait_until(lambda: run.said("lag 0"), "up to date")
        kill_jvm(run)
        assert run.wait() == UNAVAILABLE, run.tail()
        assert run.said("Spark's JVM is gone"), run.tail()
        assert not run.said("Traceback"), run.tail()
    stored |= produce(kafka.bootstrap, unique, flights()[20_000:21_000], 2)
    assert run_once(config).code == 0
    assert_settled(tree, ledger_root(uri), table, location(uri, table), ends_of(stored))
    assert_exactly(tree, location(uri, table), stored, flight)
    verified = command("verify", config)
    assert verified.code == 0, verified.out
