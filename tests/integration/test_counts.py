"""A table's counts by time are those of the produced records, over kills around commits, and agree with what producers tell."""

import json
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.drills.driver_kills import PROGRAM, environment
from tests.drills.failpoint import AFTER, BEFORE, Failpoint
from tests.harness.program import Running, command
from tests.harness.service_map import ledger_root, write_map
from tests.oracle.ledger_text import LedgerText
from tests.oracle.tree import HdfsTree
from tests.services.hdfs import Hdfs
from tests.services.kafka_broker import KafkaBroker
from tests.services.produce import produce

NOON = 1_795_262_400_000
"""2026-11-21T12:00:00Z."""
ROUND = 600
PARTITIONS = 2
BAD = 7
"""Every so many records, one is a dead letter."""


def times(number: int) -> list[int]:
    """The timestamps of a round: over ten minutes, that of the next round overlap."""
    return [NOON + (number * ROUND // 2 + n) * 1000 for n in range(ROUND)]


def records(number: int) -> list[bytes | None]:
    return [
        None if n % 11 == 3 else b"{" if n % BAD == 0 else json.dumps({"id": number * ROUND + n}).encode()
        for n in range(ROUND)
    ]


@pytest.mark.timeout(1800)
def test_counts_are_those_of_the_produced_records_over_kills(
    kafka: KafkaBroker, hdfs: Hdfs, unique: str, tmp_path: Path
) -> None:
    uri, table = f"{hdfs.namenode_url}/{unique}", f"{unique}.t"
    ledger = LedgerText(HdfsTree(hdfs.client()), ledger_root(uri), table)
    kafka.create_topic(unique, PARTITIONS)
    entry = {
        "table": table,
        "topics": [unique],
        "start": "earliest",
        "columns": {"id": "bigint"},
        "flush": {"interval": "1s"},
        "dead_letter_share": 1,
        "counts": {"window": "5m"},
    }
    config = write_map(tmp_path, unique, kafka.bootstrap, uri, [entry])
    sent: Counter[tuple[int, str, str]] = Counter()

    def send(number: int) -> None:
        payloads, moments = records(number), times(number)
        produce(kafka.bootstrap, unique, payloads, PARTITIONS, times=moments)
        for n, (payload, moment) in enumerate(zip(payloads, moments, strict=True)):
            minute = (moment - NOON) // 300_000 * 5
            key = (n % PARTITIONS, f"2026-11-21T{12 + minute // 60}:{minute % 60:02}:00Z")
            sent[*key, "records"] += 1
            sent[*key, "dead_lettered"] += payload == b"{"
            sent[*key, "bytes"] += len(payload or b"")

    def counted(*more: str) -> list[dict[str, Any]]:
        done = command("counts", config, "--table", table, "--json", *more)
        assert done.code == 0, done.out + done.log
        return list(done.document["windows"])

    def assert_all_counted() -> None:
        windows = counted("--by-partition")
        assert all(window["whole"] for window in windows)
        assert (
            Counter(
                {
                    (window["partition"], window["start"], name): window[name]
                    for window in windows
                    for name in ("records", "dead_lettered", "bytes")
                }
            )
            == +sent
        )

    deaths = (
        (r"/e\d+\.pending$", BEFORE),  # staged, and not committed: read again
        (r"/e\d+\.pending$", AFTER),  # committed, and not promoted
        (r"/e\d+\.final$", AFTER),
    )
    for number, (pattern, moment) in enumerate(deaths):
        send(number)
        place = Failpoint(
            f"death-{number}",
            "rename",
            rf"/{table}/.*{pattern}",
            moment,
            mark=str(tmp_path / f"mark-{number}"),
            count=2 if number == 0 else 1,
        )
        with Running(config, "--once", program=PROGRAM, env=environment(place)) as run:
            assert run.wait() == -signal.SIGKILL, run.tail()
        assert place.was_hit()
        snapshots = {each["header"][0]["epoch"]: each for each in (*ledger.history(), ledger.newest())}
        committed = sum(each["read"] for snapshot in snapshots.values() for each in snapshot["account"])
        assert sum(window["records"] for window in counted()) == committed, "also of a pending epoch"
    with Running(config, "--once") as run:
        assert run.wait() == 0, run.tail()
    assert_all_counted()
    later = counted("--from", "2026-11-21T12:10:00Z", "--to", "2026-11-21T12:15:00Z")
    assert [window["start"] for window in later] == ["2026-11-21T12:10:00Z"]
    assert later[0]["records"] == sum(
        count
        for (_, start, name), count in sent.items()
        if (start, name) == ("2026-11-21T12:10:00Z", "records")
    )
    assert {each["start"] for snapshot in ledger.history() for each in snapshot["window"]} >= {
        "2026-11-21T12:00:00Z"
    }
    assert "incomplete" not in command("counts", config, "--table", table).out
    assert command("verify", config, "--deep").code == 0

    told = f"{unique}-counts"
    kafka.create_topic(told, 2)

    def tell(producer: str, wrong: int = 0) -> None:
        """Each producer tells its half of each window."""
        half = int(producer)
        sums = {start: 0 for _, start, _ in sent}
        for (number, start, name), count in sent.items():
            sums[start] += count if name == "records" and number == half else 0
        messages: list[bytes | None] = [
            json.dumps(
                {
                    "topic": unique,
                    "window": start,
                    "seconds": 300,
                    "records": records + wrong,
                    "producer": producer,
                }
            ).encode()
            for start, records in sums.items()
        ]
        produce(kafka.bootstrap, told, messages, [half])

    def compared() -> tuple[int, set[str]]:
        done = command("counts", config, "--table", table, "--against", told, "--json")
        return done.code, {window["verdict"] for window in done.document["windows"]}

    tell("0")
    assert compared() == (76, {"more"}), "the other producer has not told its half"
    tell("1")
    assert compared() == (0, {"agree"})
    tell("1", wrong=1)
    assert compared() == (76, {"fewer"})
    assert (
        "the table has fewer, and Kafka holds no more"
        in command("counts", config, "--table", table, "--against", told).out
    )
    tell("1")
    assert compared() == (0, {"agree"}), "a later count replaces an earlier one"
    send(len(deaths))
    for producer in ("0", "1"):
        tell(producer)
    assert compared() == (75, {"agree", "behind"})
    with Running(config) as run:
        waited = command("counts", config, "--table", table, "--against", told, "--wait", "10m")
        assert waited.code == 0, waited.out + waited.log
        assert run.terminate() == 143, run.tail()
    produce(kafka.bootstrap, told, [b"{"], [0])
    broken = command("counts", config, "--table", table, "--against", told)
    assert broken.code == 76 and f"{told}-0@" in broken.out
