"""Complete partitions on real services: certificates beside what Hive counts, late records, a kill, policies, and an open
transaction.
"""

import json
import os
import signal
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from kafka2hive.config.load import load_map
from kafka2hive.model.offsets import TopicPartition
from kafka2hive.service.wiring import wire
from tests.drills.driver_kills import PROGRAM as TRAPPED
from tests.drills.driver_kills import environment
from tests.drills.failpoint import BEFORE, Failpoint
from tests.harness.package import install
from tests.harness.program import Running, command, run_once, run_once_until
from tests.harness.service_map import ledger_root, location, write_map
from tests.harness.waiting import wait_until
from tests.oracle.ledger_text import LedgerText
from tests.oracle.tree import HdfsTree
from tests.services.hdfs import Hdfs
from tests.services.hive_server import HiveServer
from tests.services.kafka_broker import KafkaBroker
from tests.services.produce import produce

POLICIES = '''"""Two policies: partitions that are full, and one that never answers."""


class Full:
    def __init__(self, context):
        self.rows = int(context.options["rows"])

    def complete(self, buckets, through):
        return [bucket.rows >= self.rows for bucket in buckets]


class Broken:
    def __init__(self, context):
        pass

    def complete(self, buckets, through):
        raise OSError("the calendar of holidays does not answer")
'''
ENTRIES = {"kafka2hive.completion_policies": {"full": "own_policies:Full", "broken": "own_policies:Broken"}}
EACH_DAY = {"field": "at", "path": "dt=%Y-%m-%d"}
CERTIFICATE = "_kafka2hive_complete-"
PAST = [date(2026, 1, day) for day in (29, 30, 31)]
LATE = PAST[1]
"""The day that gets more records after it was certified."""


def open_day() -> date:
    """The running day, or the next one: it is not over for the next 12 hours."""
    return (datetime.now(UTC) + timedelta(hours=12)).date()


def records(day: date, kind: str, ids: Iterable[int]) -> list[bytes]:
    return [json.dumps({"id": n, "kind": kind, "at": f"{day} {n % 24:02d}:30:00"}).encode() for n in ids]


class Shown:
    """What lies beside the data of one table, as `hdfs dfs -ls` and `-cat` show it."""

    def __init__(self, tree: HdfsTree, place: str) -> None:
        self._tree = tree
        self._place = place

    def certificates(self) -> dict[str, list[dict[str, Any]]]:
        """By Hive partition, in the order in which they were written."""
        found: dict[str, list[dict[str, Any]]] = {}
        for path in sorted(self._tree.files(self._place)):
            folder, _, name = path.removeprefix(self._place + "/").rpartition("/")
            if name.startswith(CERTIFICATE) and name.endswith(".json"):
                found.setdefault(folder, []).append(json.loads(self._tree.read(path)))
        return found

    def texts(self) -> dict[str, bytes]:
        paths = [p for p in self._tree.files(self._place) if CERTIFICATE in p and p.endswith(".json")]
        return {path: self._tree.read(path) for path in paths}

    def marked(self) -> set[str]:
        """Hive partitions with an empty _SUCCESS."""
        end = "/_SUCCESS"
        sizes = {path: size for path, size in self._tree.files(self._place).items() if path.endswith(end)}
        assert not any(sizes.values())
        return {path.removeprefix(self._place + "/").removesuffix(end) for path in sizes}

    def unfinished(self) -> list[str]:
        return [p for p in self._tree.files(self._place) if "/_tmp/" in p or p.endswith(".in-progress")]


def counted(hive: HiveServer, table: str, column: str) -> dict[str, int]:
    """What a reader of Hive counts, by Hive partition."""
    rows = hive.query(f"select {column}, count(*) from {table} group by {column}")
    return {f"{column}={value}": count for value, count in rows}


def rows_of(certificates: Mapping[str, list[dict[str, Any]]]) -> dict[str, list[int]]:
    return {partition: [one["rows"] for one in found] for partition, found in certificates.items()}


def asked(config: Path, partition: str, *wait: str) -> tuple[int, str, int]:
    """What a scheduler learns of a Hive partition: exit code, state, rows with a certificate."""
    answer = command("certificate", config, partition, *wait, "--json")
    return answer.code, answer.document["state"], answer.document["rows"]


@pytest.mark.timeout(3600)
def test_days_are_certified_once_they_are_in_hive_again_after_late_records_and_by_policies_of_packages(
    kafka: KafkaBroker,
    hdfs: Hdfs,
    hive: HiveServer,
    hive_database: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    topic, uri, tree = hive_database, f"{hdfs.namenode_url}/{hive_database}", HdfsTree(hdfs.client())
    days, full, broken = (f"{hive_database}.{name}" for name in ("days", "filled", "broken"))
    of_days, of_full, of_broken = (Shown(tree, location(uri, table)) for table in (days, full, broken))
    ledger = LedgerText(tree, ledger_root(uri), days)
    not_over = open_day()
    counts = Counter({f"dt={day}": 300 + 100 * place for place, day in enumerate([*PAST, not_over])})
    history = [
        record
        for partition, count in counts.items()
        for record in records(date.fromisoformat(partition[3:]), "many", range(count))
    ]
    kafka.create_topic(topic, 2)
    stored = produce(kafka.bootstrap, topic, history, 2)

    def table(name: str, bucket: Mapping[str, str], completion: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "table": name,
            "topics": [topic],
            "start": "earliest",
            "columns": {"id": "bigint", "kind": "string", "at": "timestamp"},
            "bucket": bucket,
            "flush": {"interval": "1s"},
            "completion": completion,
        }

    def service_map(*tables: dict[str, Any]) -> Path:
        hive_section = {"url": f"hive://{hive.address}"}
        return write_map(tmp_path, hive_database, kafka.bootstrap, uri, list(tables), hive=hive_section)

    # killed while it writes the second of three certificates
    by_day = table(days, EACH_DAY, {"delay": "1s"})
    config = service_map(by_day)
    mark = str(tmp_path / "mark")
    point = Failpoint("before the second certificate", "rename", CERTIFICATE, BEFORE, mark=mark, count=2)
    with Running(config, program=TRAPPED, env=environment(point)) as killed:
        assert killed.wait() == -signal.SIGKILL, killed.tail()
    assert point.was_hit()
    assert ledger.pending_epoch() is None and len(ledger.newest()["certificate"]) == 3
    assert of_days.unfinished()  # the draft, beside the data
    assert len(of_days.texts()) <= 1 and len(of_days.marked()) <= 1  # they are written side by side
    first = of_days.texts()
    assert command("recover", config).code == 0
    past = {f"dt={day}" for day in PAST}
    assert rows_of(of_days.certificates()) == {partition: [counts[partition]] for partition in past}
    assert of_days.marked() == past and not of_days.unfinished()
    assert first.items() <= of_days.texts().items()
    assert counted(hive, days, "dt") == counts
    (still_open,) = ledger.newest()["open"]
    assert (still_open["partition"], still_open["rows"]) == (f"dt={not_over}", counts[f"dt={not_over}"])
    ends = {number: 1 + max(o for _, n, o in stored if n == number) for number in (0, 1)}
    for partition, (one,) in of_days.certificates().items():
        assert {p["number"]: p["end"] for p in one["positions"]} == ends
        assert one["policy"] == "1s after its end" and one["partition"] == partition
        assert one["complete_through"] > partition[3:]
    assert command("verify", config, "--deep").code == 0
    assert asked(config, f"{days}/dt={LATE}") == (0, "complete", counts[f"dt={LATE}"])
    assert asked(config, f"{days}/dt={not_over}") == (75, "open", 0)
    assert asked(config, f"{days}/dt=2031-01-01", "--wait", "1s") == (75, "absent", 0)

    # late records of a day that is certified; beside it tables whose policies come from a package
    site = tmp_path / "site"
    install(tmp_path, site, "own-policies", "1.0", {"own_policies.py": POLICIES}, ENTRIES)
    by_kind = table(full, {"path": "k={kind}"}, {"plugin": {"name": "full", "options": {"rows": "1000"}}})
    failing = table(broken, EACH_DAY, {"delay": "1s", "plugin": {"name": "broken"}})
    config = service_map(by_day, by_kind, failing)
    refused = command("validate", config)
    assert refused.code == 78 and "no package offers full in kafka2hive.completion_policies" in refused.log
    monkeypatch.syspath_prepend(str(site))
    assert command("validate", config).code == 0
    before = of_days.texts()
    late = records(LATE, "few", range(40))
    produce(kafka.bootstrap, topic, late, 2)
    counts[f"dt={LATE}"] += len(late)
    found: dict[str, dict[str, Any]] = {}

    def status() -> dict[str, dict[str, Any]]:
        tables = command("status", config, "--json").document["tables"]
        found.update({one["table"]: one for one in tables})
        return found

    path = os.pathsep.join(filter(None, (str(site), os.environ.get("PYTHONPATH"))))
    with Running(config, env={"PYTHONPATH": path}) as run:
        run.wait_until(lambda: len(of_days.certificates()[f"dt={LATE}"]) == 2, "certified again", pause=0.5)
        run.wait_until(lambda: bool(of_full.certificates()), "certified by the package", pause=0.5)

        def only_the_failing_policy_is_warned_of() -> bool:
            """A system that is late causes warnings, too, for as long as it is."""
            told = {name: one["warnings"] for name, one in status().items()}
            return not told[days] and not told[full] and len(told[broken]) == 1

        run.wait_until(only_the_failing_policy_is_warned_of, "a warning", pause=0.5)
        # data go on where the policy fails
        more = records(not_over, "few", range(20))
        produce(kafka.bootstrap, topic, more, 2)
        counts[f"dt={not_over}"] += len(more)
        kinds = {"k=many": len(history), "k=few": len(late) + len(more)}
        for name, column, wanted in ((broken, "dt", counts), (days, "dt", counts), (full, "k", kinds)):
            run.wait_until(lambda: counted(hive, name, column) == wanted, f"dumping {name}", pause=1)  # noqa: B023
        assert run.terminate() == 143, run.tail()
    (warning,) = found[broken]["warnings"]
    assert warning.startswith("no partition becomes complete: ")
    assert "the calendar of holidays does not answer" in warning

    again = of_days.certificates()
    assert before.items() <= of_days.texts().items()
    assert rows_of(again)[f"dt={LATE}"] == [counts[f"dt={LATE}"] - len(late), len(late)]
    earlier, later = again[f"dt={LATE}"]
    assert earlier["epochs"][1] < later["epochs"][0]
    assert counted(hive, days, "dt") == counts
    assert {partition: sum(rows) for partition, rows in rows_of(again).items()} == {
        partition: counts[partition] for partition in past
    }
    assert len(history) >= 1000 > len(late) + len(more)
    assert rows_of(of_full.certificates()) == {"k=many": [len(history)]}
    (full_one,) = of_full.certificates()["k=many"]
    assert full_one["policy"] == "plugin full"
    assert counted(hive, full, "k") == kinds
    assert not of_broken.texts() and not of_broken.marked()
    assert asked(config, f"{days}/dt={LATE}", "--wait", "5m") == (0, "complete", counts[f"dt={LATE}"])
    assert asked(config, f"{full}/k=few") == (75, "open", 0)
    assert asked(config, f"{full}/k=many") == (0, "complete", len(history))
    hive.query(f"alter table {full} drop partition (k='many')")
    assert asked(config, f"{full}/k=many") == (76, "unregistered", len(history))
    hive.query(f"alter table {full} add partition (k='many') location '{location(uri, full)}/k=many'")
    audited = command("verify", config, "--deep")
    assert audited.code == 0, audited.out


@pytest.mark.timeout(3600)
def test_no_certificate_is_ahead_of_what_an_open_transaction_holds_back(
    kafka: KafkaBroker, hdfs: Hdfs, unique: str, tmp_path: Path
) -> None:
    uri, tree, table, day = (
        f"{hdfs.namenode_url}/{unique}",
        HdfsTree(hdfs.client()),
        f"lake.{unique}",
        PAST[0],
    )
    of_table, ledger = Shown(tree, location(uri, table)), LedgerText(tree, ledger_root(uri), table)
    held = {
        "table": table,
        "topics": [unique],
        "start": "earliest",
        "columns": {"id": "bigint", "kind": "string", "at": "timestamp"},
        "bucket": EACH_DAY,
        "flush": {"interval": "1s"},
        "completion": {"delay": "1s"},
    }
    config = write_map(tmp_path, unique, kafka.bootstrap, uri, [held], limits={"transaction_wait": "3s"})
    kafka.create_topic(unique, 1)
    produce(kafka.bootstrap, unique, records(day, "before", range(10)), 1)
    patient = {"transactional.id": unique, "transaction.timeout.ms": 900_000}
    transaction = Producer({"bootstrap.servers": kafka.bootstrap, **patient})
    transaction.init_transactions(300)
    transaction.begin_transaction()
    (undecided,) = records(day, "undecided", [10])
    transaction.produce(unique, undecided, partition=0)
    assert transaction.flush(300) == 0
    behind = produce(kafka.bootstrap, unique, records(day, "behind", range(5)), 1)
    assert {offset for _, _, offset in behind} == set(range(11, 16))

    waited = run_once(config)
    assert waited.code == 75, waited.log
    assert "kafka.open_transaction" in waited.log
    assert (
        f"{table}: {unique}-0 ended at offset 16 when the run began, but can be read only up to 10"
        in waited.log
    )
    assert ledger.ends() == {(unique, 0): 10}
    assert sum(each["rows"] for each in ledger.newest()["open"]) == 10
    (tracking,) = ledger.newest()["tracking"]
    assert tracking["through"] == "-", "all is read up to no time: 5 acknowledged records are not"
    assert not of_table.texts() and not of_table.marked()
    told = command("status", config)
    assert "kafka.open_transaction" in told.out and f"{unique}-0 ended at offset 16" in told.out, told.out

    transaction.abort_transaction(300)
    asked, place = wire(load_map(str(config), {})).kafka(), TopicPartition(unique, 0)
    # the coordinator writes the marker after it has answered
    wait_until(lambda: asked.latest([place])[place].offset == 17, "behind the marker", 300)
    run_once_until(config, lambda: not ledger.newest()["open"], "certified")
    assert rows_of(of_table.certificates()) == {f"dt={day}": [15]}
    ((certificate,),) = of_table.certificates().values()
    assert certificate["positions"] == [{"topic": unique, "number": 0, "end": ledger.ends()[unique, 0]}]
    assert not ledger.newest()["open"] and not of_table.unfinished()
    audited = command("verify", config, "--deep")
    assert audited.code == 0, audited.out
