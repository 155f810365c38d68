"""What failed epochs leave in a table's staging directory, on a real HDFS whose quota they would use up."""

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import pytest
from hdfs_native import Client

from tests.harness.program import Running, command, run_once
from tests.harness.service_map import flights_table, ledger_root, location, write_map
from tests.oracle.exact import assert_exactly, assert_settled, ends_of
from tests.oracle.ledger_text import LedgerText
from tests.oracle.tree import HdfsTree
from tests.services.flights import flights
from tests.services.hdfs import Hdfs
from tests.services.kafka_broker import KafkaBroker
from tests.services.produce import produce

EVERY_DAY = {"field": "time_hour", "path": "dt=%Y-%m-%d"}
DAYS = 20


def flight_by_day(payload: bytes) -> tuple[str, dict[str, Any]]:
    """A flight's row, and its bucket by day."""
    values = orjson.loads(payload)
    moment = datetime.fromisoformat(values["time_hour"]).astimezone(UTC).replace(tzinfo=None)
    return f"dt={moment:%Y-%m-%d}", values | {"time_hour": moment}


def of_different_days(first: int, count: int) -> list[bytes]:
    """Return one flight for each of `count` days of the year, from day `first` on."""
    by_day: dict[str, bytes] = {}
    for payload in flights()[::100]:
        by_day.setdefault(flight_by_day(payload)[0], payload)
    return [by_day[day] for day in sorted(by_day)[first : first + count]]


def staged(client: Client, directory: str) -> list[str]:
    """Return the names of a table's staged files."""
    return [entry.path.rpartition("/")[2] for entry in client.list_status(f"{directory}/_tmp")]


@pytest.mark.timeout(3600)
def test_an_epoch_that_is_refused_again_and_again_leaves_nothing(
    kafka: KafkaBroker, hdfs: Hdfs, unique: str, tmp_path: Path
) -> None:
    uri, table = f"{hdfs.namenode_url}/{unique}", f"{unique}.leftovers"
    kafka.create_topic(unique, 1)
    produce(kafka.bootstrap, unique, [*of_different_days(0, DAYS), *[b"{no JSON}"] * DAYS], 1)

    def run_with(share: float) -> tuple[int, str]:
        entry = flights_table(table, unique, bucket=EVERY_DAY, dead_letter_share=share)
        done = run_once(write_map(tmp_path, unique, kafka.bootstrap, uri, [entry]))
        return done.code, done.log

    code, log = run_with(0)
    assert code == 75 and "[dead_letters.too_many]" in log, log[-3000:]
    assert staged(hdfs.client(), f"/{unique}/warehouse/{unique}.db/leftovers") == []
    assert log.count(f"deleted {DAYS + 1} staged files of an epoch that was not committed") == 3, log[-3000:]
    code, log = run_with(0.9)
    assert code == 0, log[-3000:]


@pytest.mark.timeout(3600)
def test_files_of_other_attempts_give_way_to_a_committed_epoch_without_room(
    kafka: KafkaBroker, hdfs: Hdfs, unique: str, tmp_path: Path
) -> None:
    uri, table = f"{hdfs.namenode_url}/{unique}", f"{unique}.crowded"
    directory, client, tree = (
        f"/{unique}/warehouse/{unique}.db/crowded",
        hdfs.client(),
        HdfsTree(hdfs.client()),
    )
    kafka.create_topic(unique, 1)
    stored = produce(kafka.bootstrap, unique, of_different_days(0, 1), 1)
    entry = flights_table(table, unique, bucket=EVERY_DAY)
    config = write_map(tmp_path, unique, kafka.bootstrap, uri, [entry])
    ledger = LedgerText(tree, ledger_root(uri), table)
    with Running(config) as run:
        run.wait_until(lambda: ledger.ends() == {(unique, 0): 1} and not ledger.unfinished(), "settled")
        (file,), epoch = ledger.newest()["file"], ledger.newest()["header"][0]["epoch"]
        for number in range(DAYS):  # what tasks leave that Spark gave up, and that ended only now
            name = re.sub(r"-e\d+-[0-9a-f]{32}", f"-e{epoch + 1:06d}-{number:032x}", file["staged"])
            client.create(name.removeprefix(hdfs.namenode_url)).close()
        summary = client.get_content_summary(directory)
        names = summary.file_count + summary.directory_count
        hdfs.set_quota(directory, names=names + DAYS + 5)  # all files can be staged, few directories made
        stored |= {
            (topic, number, offset): payload
            for (topic, number, offset), payload in produce(
                kafka.bootstrap, unique, of_different_days(1, DAYS), 1
            ).items()
        }
        run.wait_until(lambda: ledger.pending_epoch() is not None, "committed")
        run.wait_until(lambda: run.said("[storage.blocked]"), "without room")
        told = command("status", config, "--table", table, "--json").document["tables"][0]["staged"]
        assert told["others"]["files"] == DAYS and told["committed"]["files"] >= DAYS - 5, told
        run.wait_until(lambda: ledger.ends() == ends_of(stored) and not ledger.unfinished(), "promoted", 300)
        assert staged(client, directory) == []
        assert run.terminate() == 143, run.tail()
    assert_settled(tree, ledger_root(uri), table, location(uri, table), ends_of(stored))
    assert_exactly(tree, location(uri, table), stored, flight_by_day)
