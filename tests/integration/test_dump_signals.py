"""What ends a run from outside: Ctrl-C while Spark starts, and the time limit that installation.md gives for cron."""

import json
import os
import re
import shlex
import signal
from pathlib import Path

import pytest

from tests.harness.program import PROGRAM, PausedJvm, Running, command, run_once
from tests.harness.service_map import flights_table, ledger_root, location, write_map
from tests.oracle.exact import assert_exactly, assert_settled, ends_of, flight
from tests.oracle.tree import LocalTree
from tests.services.flights import flights
from tests.services.kafka_broker import KafkaBroker
from tests.services.produce import produce

INSTALLATION = Path(__file__).parents[2] / "docs" / "installation.md"


def others(run: Running) -> list[str]:
    """Lines of the log that are no JSON documents, but for Java's about the options of the tests."""
    lines = run.log.read_text().splitlines()
    return [line for line in lines if not is_json(line) and "JDK_JAVA_OPTIONS" not in line]


def is_json(line: str) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_spark_starts_ends_with_its_code_one_line_and_nothing_touched(
    kafka: KafkaBroker, unique: str, tmp_path: Path, number: signal.Signals
) -> None:
    """Ctrl-C goes to all processes of the terminal, SIGTERM to the driver alone; the JVM ends with it."""
    uri = f"file://{tmp_path}/disk"
    (tmp_path / "disk").mkdir()
    kafka.create_topic(unique, 1)
    config = write_map(tmp_path, unique, kafka.bootstrap, uri, [flights_table(f"{unique}.flights", unique)])
    paused = PausedJvm(tmp_path)
    with Running(config, env=paused.environment) as run:
        run.wait_until(paused.is_there, "starting Spark")
        (os.killpg if number is signal.SIGINT else os.kill)(run.pid, number)
        assert run.wait() == 128 + number
        assert run.times_said("interrupted while Spark started") == 1
        assert not run.said("Traceback"), run.tail()
        assert others(run) == []
        run.wait_for_orphans(300)
    assert not (tmp_path / "disk" / "kafka2hive" / "kafka_partition_offsets").exists()


def test_the_time_limit_for_cron_lets_the_epoch_under_way_finish(
    kafka: KafkaBroker, unique: str, tmp_path: Path
) -> None:
    """`timeout` hands on a signal that it gets in the way it sends its own: no need to wait for the limit."""
    found = re.search(r"`(timeout [^`]* 6h)`", INSTALLATION.read_text())
    assert found is not None, "installation.md names no time limit for cron"
    uri, table, tree = f"file://{tmp_path}/disk", f"{unique}.flights", LocalTree()
    (tmp_path / "disk").mkdir()
    kafka.create_topic(unique, 2)
    stored = produce(kafka.bootstrap, unique, flights()[:10_000], 2)

    def limited(records: int) -> Path:
        limits = {"epoch_records": records}
        entries = [flights_table(table, unique)]
        return write_map(tmp_path, unique, kafka.bootstrap, uri, entries, trigger="100ms", limits=limits)

    config = limited(500)
    with Running(config, program=[*shlex.split(found[1]), *PROGRAM]) as run:
        run.wait_for_epoch()
        assert run.terminate() == 128 + signal.SIGTERM, run.tail()
        assert run.said("dumped "), run.tail()
        assert not run.said("Traceback"), run.tail()
        assert not run.said("the tasks of epoch"), run.tail()
        assert others(run) == []
    rest = run_once(limited(10_000))
    assert rest.code == 0, rest.log[-3000:]
    assert_settled(tree, ledger_root(uri), table, location(uri, table), ends_of(stored))
    assert_exactly(tree, location(uri, table), stored, flight)
    assert command("verify", config).code == 0
