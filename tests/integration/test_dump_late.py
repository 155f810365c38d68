"""Records out of range and late records on real services: letters and no rows, which `verify --deep` decides the same way."""

import json
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.harness.program import Running, command, run_once
from tests.harness.service_map import ledger_root, location, write_map
from tests.oracle.ledger_text import LedgerText
from tests.oracle.tree import HdfsTree
from tests.services.hdfs import Hdfs
from tests.services.hive_server import HiveServer
from tests.services.kafka_broker import KafkaBroker
from tests.services.produce import produce

CERTIFICATE = "_kafka2hive_complete-"
NOON = datetime.now(UTC).replace(hour=12, minute=0, second=0, microsecond=0)
DAYS = [f"{NOON - timedelta(days=ago):%Y-%m-%d}" for ago in (3, 2)]
OPEN_DAY = f"{NOON + timedelta(hours=12):%Y-%m-%d}"
"""The next day, which does not end while the test runs."""
FUTURE, PAST = "2099-01-01", f"{NOON - timedelta(days=500):%Y-%m-%d}"


def records(day: str, ids: Iterable[int]) -> list[bytes]:
    return [json.dumps({"id": n, "at": f"{day} {n % 10:02d}:30:00"}).encode() for n in ids]


def counted(hive: HiveServer, table: str) -> dict[str, int]:
    return dict(hive.query(f"select dt, count(*) from {table} group by dt"))


@pytest.mark.timeout(3600)
def test_records_out_of_range_and_late_records_are_letters_that_every_reader_of_the_ledger_decides_alike(
    kafka: KafkaBroker, hdfs: Hdfs, hive: HiveServer, hive_database: str, tmp_path: Path
) -> None:
    topic, uri, tree = hive_database, f"{hdfs.namenode_url}/{hive_database}", HdfsTree(hdfs.client())
    plain, strict, shuffled = (f"{hive_database}.{name}" for name in ("plain", "strict", "shuffled"))
    letters = f"{hive_database}.letters"
    bucket = {"field": "at", "path": "dt=%Y-%m-%d"}
    bounds = {"max_future": "2d", "max_past": "400d"}

    def table(name: str, **more: Any) -> dict[str, Any]:
        return {
            "table": name,
            "topics": [topic],
            "start": "earliest",
            "columns": {"id": "bigint", "at": "timestamp"},
            "bucket": bucket,
            "flush": {"interval": "1s"},
            "completion": {"delay": "1s"},
            "dead_letter_share": 0,
            **more,
        }

    refusing = {"bucket": bucket | bounds, "late": "dead_letter"}
    shuffle = {"sql": "SELECT * FROM records", "shuffle": "bucket"}
    config = write_map(
        tmp_path,
        hive_database,
        kafka.bootstrap,
        uri,
        [table(plain), table(strict, **refusing), table(shuffled, **refusing, **shuffle)],
        hive={"url": f"hive://{hive.address}"},
        dead_letters={"table": letters},
    )
    ledgers = {name: LedgerText(tree, ledger_root(uri), name) for name in (plain, strict, shuffled)}
    certified: dict[str, set[str]] = {}

    def certificates(name: str) -> Counter[str]:
        paths = [p for p in tree.files(location(uri, name)) if CERTIFICATE in p and p.endswith(".json")]
        return Counter(p.rpartition("/")[0].rpartition("=")[2] for p in paths)

    def is_certified(name: str) -> bool:
        certified[name] = set(certificates(name))
        return certified[name] >= set(DAYS)

    def warnings_of(name: str) -> list[str]:
        told = command("status", config, "--json").document["tables"]
        return [text for one in told if one["table"] == name for text in one["warnings"]]

    kafka.create_topic(topic, 2)
    rows = Counter({day: 100 + 50 * place for place, day in enumerate([*DAYS, OPEN_DAY])})
    wild = records(FUTURE, range(7)) + records(PAST, range(5))
    produce(kafka.bootstrap, topic, [r for day, n in rows.items() for r in records(day, range(n))] + wild, 2)
    shown = command("preview", config, "--table", strict, "--records", "1000", "--json")
    assert Counter(one["reason"] for one in shown.document["tables"][0]["dead_letters"]) == {
        "bucket.out_of_range": 12
    }

    # complete days are closed; the days of wild records never become partitions
    with Running(config) as run:
        for name in ledgers:
            run.wait_until(lambda: is_certified(name), f"certificates of {name}", pause=0.5)  # noqa: B023
        warning = (
            "1 partition more than 366 days ahead of its records' Kafka timestamps, such as dt=2099-01-01"
        )
        run.wait_until(lambda: any(warning in text for text in warnings_of(plain)), "warned", pause=0.5)
        run.wait_until(
            lambda: not any(ledger.newest()["unregistered"] for ledger in ledgers.values()), "all in Hive"
        )
        assert run.terminate() == 143, run.tail()
    assert counted(hive, plain) == {**rows, FUTURE: 7, PAST: 5}
    for name in (strict, shuffled):
        assert counted(hive, name) == rows
        assert certified[name] == set(DAYS)

    # records of closed days, of an open day and of the future
    late = [r for day in DAYS for r in records(day, range(500, 530))]
    more = records(OPEN_DAY, range(500, 520))
    produce(kafka.bootstrap, topic, late + more + records(FUTURE, [500]), 2)
    assert run_once(config).code == 0
    rows[OPEN_DAY] += len(more)
    assert counted(hive, plain) == {**rows, FUTURE: 8, PAST: 5} | {day: rows[day] + 30 for day in DAYS}
    for name in (strict, shuffled):
        assert counted(hive, name) == rows
        assert certificates(name) == Counter(DAYS), "a certified day never changes"
        found = hive.query(
            f"select reason, count(*) from {letters} where source_table='{name}' group by reason"
        )
        assert dict(found) == {"bucket.out_of_range": 13, "bucket.late": 60}
        accounts = [a for text in ledgers[name].history() for a in text["account"]]
        assert sum(a.get("late", 0) for a in accounts) == 60
        assert sum(a.get("out_of_range", 0) for a in accounts) == 13
        (limits,) = ledgers[name].newest()["bounds"]
        assert (limits["max_future_ms"], limits["max_past_ms"]) == (172_800_000, 34_560_000_000)
    assert ledgers[plain].newest()["bounds"] == []

    document = command("status", config, "--json").document
    by_name = {one["table"]: one for one in document["tables"]}
    assert any(epoch["records"]["late"] == 60 for epoch in by_name[strict]["last_epochs"])
    assert by_name[strict]["bounds"]["late_before_ms"] is not None and by_name[plain]["bounds"] is None
    text = command("status", config).out
    assert "60 late" in text and "records of periods that ended by" in text

    # the judge decides by the ledger alone, also where the map has other bounds by now
    assert (audited := command("verify", config, "--deep")).code == 0, audited.out
    lost = next(
        path
        for path in tree.files(location(uri, letters))
        if f"source_table={strict}/" in path and path.endswith(".final")
    )
    tree.delete(lost)
    assert command("verify", config).code == 76
    repaired = command("recover", config, "--table", strict, "--refetch", lost)
    assert repaired.code == 0, repaired.out + repaired.log
    changed = {"bucket": bucket | {"max_future": "3d"}, "late": "dead_letter"}
    config = write_map(
        tmp_path,
        hive_database,
        kafka.bootstrap,
        uri,
        [table(plain), table(strict, **changed), table(shuffled, **refusing, **shuffle)],
        hive={"url": f"hive://{hive.address}"},
        dead_letters={"table": letters},
    )
    assert (audited := command("verify", config, "--deep")).code == 0, audited.out
