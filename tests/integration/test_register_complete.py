"""Hive gets a partition when it is complete: nothing of an hour before its certificate, then all of it, over kills."""

import signal
from collections import Counter
from datetime import date
from pathlib import Path

import pytest

from tests.drills.driver_kills import PROGRAM as TRAPPED
from tests.drills.driver_kills import environment
from tests.drills.failpoint import AFTER, Failpoint
from tests.harness.program import Running, command, run_once_until
from tests.harness.service_map import ledger_root, location, write_map
from tests.integration.test_dump_complete import (
    CERTIFICATE,
    EACH_DAY,
    LATE,
    PAST,
    Shown,
    asked,
    counted,
    open_day,
    records,
    rows_of,
)
from tests.oracle.ledger_text import LedgerText
from tests.oracle.tree import HdfsTree
from tests.services.hdfs import Hdfs
from tests.services.hive_server import HiveServer
from tests.services.kafka_broker import KafkaBroker
from tests.services.produce import produce

OLDER = date(2026, 1, 28)


@pytest.mark.timeout(3600)
def test_hive_gets_a_day_with_its_certificate_and_not_before(
    kafka: KafkaBroker, hdfs: Hdfs, hive: HiveServer, hive_database: str, tmp_path: Path
) -> None:
    topic, uri, tree = hive_database, f"{hdfs.namenode_url}/{hive_database}", HdfsTree(hdfs.client())
    table = f"{hive_database}.days"
    shown, ledger = Shown(tree, location(uri, table)), LedgerText(tree, ledger_root(uri), table)
    not_over = open_day()
    counts = Counter({f"dt={day}": 200 + 100 * place for place, day in enumerate([*PAST, not_over])})
    kafka.create_topic(topic, 2)
    for partition, count in counts.items():
        produce(kafka.bootstrap, topic, records(date.fromisoformat(partition[3:]), "many", range(count)), 2)
    entry = {
        "table": table,
        "topics": [topic],
        "start": "earliest",
        "columns": {"id": "bigint", "kind": "string", "at": "timestamp"},
        "bucket": EACH_DAY,
        "flush": {"interval": "1s"},
        "completion": {"delay": "1s"},
        "register": "complete",
    }
    hive_section = {"url": f"hive://{hive.address}"}
    config = write_map(tmp_path, hive_database, kafka.bootstrap, uri, [entry], hive=hive_section)
    past, waiting = {f"dt={day}" for day in PAST}, f"dt={not_over}"

    def in_hive() -> set[str]:
        return {path for (path,) in hive.query(f"show partitions {table}")}

    # killed between the last certificate and the registrations
    mark = str(tmp_path / "mark")
    point = Failpoint("after the last certificate", "rename", CERTIFICATE, AFTER, mark=mark, count=len(past))
    with Running(config, program=TRAPPED, env=environment(point)) as killed:
        assert killed.wait() == -signal.SIGKILL, killed.tail()
    assert point.was_hit()
    assert {one["partition"] for one in ledger.newest()["withheld"]} == past | {waiting}
    assert set(shown.certificates()) == past, "all rows and all certificates are there"
    assert in_hive() == set() and counted(hive, table, "dt") == {}
    (told,) = command("status", config, "--json").document["tables"]
    assert {one["partition"] for one in told["withheld"]} == past | {waiting}
    (found,) = command("where", config, f"{topic}-0@0", "--json").document["tables"]
    assert [file["withheld"] for file in found["files"]] == [True] * len(found["files"]) and found["files"]
    assert "not in Hive before the certificate" in command("where", config, f"{topic}-0@0").out
    assert asked(config, f"{table}/dt={LATE}")[1] == "unregistered"
    assert asked(config, f"{table}/{waiting}") == (75, "open", 0)

    # the next owner registers what has a certificate, and nothing else
    assert command("recover", config).code == 0
    assert in_hive() == past
    assert counted(hive, table, "dt") == {partition: counts[partition] for partition in past}
    assert [one["partition"] for one in ledger.newest()["withheld"]] == [waiting]
    assert asked(config, f"{table}/dt={LATE}") == (0, "complete", counts[f"dt={LATE}"])
    assert command("verify", config, "--deep").code == 0
    assert "not in Hive before its certificate" in command("status", config, "--table", table).out

    # somebody adds every directory: verify says how to take out what is too early
    hive.query(f"msck repair table {table}")
    audited = command("verify", config)
    assert audited.code == 76 and f"ALTER TABLE {table} DROP PARTITION (`dt`='{not_over}')" in audited.out
    hive.query(f"ALTER TABLE {table} DROP PARTITION (`dt`='{not_over}')")
    assert command("verify", config).code == 0

    # a live run: late records of a registered day are seen at once, those of a new day when it is complete
    late = records(LATE, "few", range(40))
    produce(kafka.bootstrap, topic, late, 2)
    counts[f"dt={LATE}"] += len(late)
    counts[f"dt={OLDER}"] = 70
    produce(kafka.bootstrap, topic, records(OLDER, "few", range(70)), 2)
    with Running(config) as run:
        run.wait_until(lambda: in_hive() == {*past, f"dt={OLDER}"}, "in Hive", pause=0.5)
        assert rows_of(shown.certificates())[f"dt={OLDER}"] == [70]
        assert counted(hive, table, "dt") == {p: counts[p] for p in (*past, f"dt={OLDER}")}
        run.wait_until(lambda: len(shown.certificates()[f"dt={LATE}"]) == 2, "certified again", pause=0.5)
        assert run.terminate() == 143, run.tail()
    assert [one["partition"] for one in ledger.newest()["withheld"]] == [waiting]

    # a run of --once registers what it has certified before it ends
    before = date(2026, 1, 27)
    counts[f"dt={before}"] = 30
    produce(kafka.bootstrap, topic, records(before, "few", range(30)), 2)
    run_once_until(config, lambda: bool(shown.certificates().get(f"dt={before}")), "certified")
    assert counted(hive, table, "dt").get(f"dt={before}") == 30
    assert waiting not in in_hive()

    # with `register: first` again, what waits is registered at once
    first = {**entry, "register": "first"}
    config = write_map(tmp_path, hive_database, kafka.bootstrap, uri, [first], hive=hive_section)
    run_once_until(config, lambda: waiting in in_hive(), "in Hive")
    assert counted(hive, table, "dt") == counts
    assert not ledger.newest()["withheld"] and command("verify", config, "--deep").code == 0
