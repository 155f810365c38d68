"""Committed files that vanished before they were moved: a person decides, and nothing else is touched."""

import io
import re
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.harness.program import Running, command, command_as_process, run_once, run_once_until
from tests.harness.service_map import flights_table, ledger_root, location, write_map
from tests.oracle.exact import PLACE_COLUMNS, assert_exactly, assert_settled, ends_of, flight
from tests.oracle.ledger_text import LedgerText
from tests.oracle.tree import HdfsTree, Tree
from tests.services.flights import flights
from tests.services.hdfs import Hdfs
from tests.services.kafka_broker import KafkaBroker
from tests.services.produce import produce


def by_day(payload: bytes) -> tuple[str, dict[str, Any]]:
    _, values = flight(payload)
    return f"dt={values['time_hour']:%Y-%m-%d}", values


def undo_promote(tree: Tree, ledger: LedgerText) -> list[dict[str, Any]]:
    """Bring the newest epoch back to the moment after its commit, as if the driver had died there; gives its files."""
    newest = ledger.newest()
    name = f"{ledger.directory()}/e{newest['header'][0]['epoch']:06d}"
    tree.rename(f"{name}.final", f"{name}.pending")
    for file in newest["file"]:
        tree.rename(file["final"], file["staged"])
    assert ledger.pending_epoch() is not None
    return newest["file"]


@pytest.mark.timeout(3600)
def test_lost_files_stop_recover_until_they_are_fetched_again_or_given_up(
    kafka: KafkaBroker, hdfs: Hdfs, unique: str, tmp_path: Path
) -> None:
    uri, table, tree = f"{hdfs.namenode_url}/{unique}", f"{unique}.flights", HdfsTree(hdfs.client())
    place, root = location(uri, table), ledger_root(uri)
    kafka.create_topic(unique, 2)
    stored = produce(kafka.bootstrap, unique, flights()[:20_000], 2)
    config = write_map(
        tmp_path,
        unique,
        kafka.bootstrap,
        uri,
        [flights_table(table, unique, bucket={"field": "time_hour", "path": "dt=%Y-%m-%d"})],
        limits={"epoch_records": 12_000},
    )
    done = run_once(config)
    assert done.code == 0, done.log[-3000:]
    ledger = LedgerText(tree, root, table)
    files = undo_promote(tree, ledger)
    assert len(files) > 3
    again, given_up = files[0], files[-1]
    lost = pq.read_table(io.BytesIO(tree.read(given_up["staged"])), columns=PLACE_COLUMNS).to_pylist()
    gone = {tuple(row[column] for column in PLACE_COLUMNS) for row in lost}
    for file in (again, given_up):
        tree.delete(file["staged"])

    for arguments in (["--plan"], [], []):
        stopped = command("recover", config, "--json", *arguments)
        assert stopped.code == 76, stopped.log
        (result,) = stopped.document["tables"]
        error = result["error"]["message"] + result["error"]["remedy"]
        assert again["final"] in error or given_up["final"] in error
        assert "--refetch" in error and "--accept-loss" in error
        assert ledger.pending_epoch() is not None
    for file in files[1:-1]:  # what is not lost is where it was, or where it belongs
        assert (file["staged"] in tree.files(place)) != (file["final"] in tree.files(place))

    repaired = command(
        "recover", config, "--json", "--refetch", again["final"], "--accept-loss", given_up["final"]
    )
    assert repaired.code == 0, repaired.log
    (result,) = repaired.document["tables"]
    assert sorted(result["repaired"]) == sorted([again["final"], given_up["final"]])

    left = {p: value for p, value in stored.items() if p not in gone}
    assert len(left) == len(stored) - given_up["rows"]
    losses = {loss["path"]: loss["how"] for loss in ledger.newest()["loss"]}
    assert losses == {again["final"]: "refetch", given_up["final"]: "accept-loss"}

    settled = command("recover", config, "--json")
    assert settled.code == 0, settled.log
    before = {**tree.files(place), **dict.fromkeys(ledger.names(), 0)}
    for _ in range(2):
        idle = command("recover", config, "--json")
        assert idle.code == 0, idle.log
        assert idle.document["tables"][0]["rolled_forward"] is None
        assert idle.document["tables"][0]["orphans_deleted"] == 0
        assert {**tree.files(place), **dict.fromkeys(ledger.names(), 0)} == before
    assert_settled(tree, root, table, place, ends_of(stored))
    assert_exactly(tree, place, left, by_day)

    expired = next(path for path in tree.files(place) if path.endswith(".final")).rpartition("/")[0]
    deleted = [path for path in tree.files(place) if path.startswith(f"{expired}/")]
    for path in deleted:
        tree.delete(path)
    assert command("verify", config, "--deep").code == 76
    pattern = f"{given_up['final'].partition('/dt=')[0]}/{expired.rpartition('/')[2]}/*"
    retired = command("recover", config, "--json", "--accept-loss", pattern)
    assert retired.code == 0, retired.log
    assert len(retired.document["tables"][0]["repaired"]) == len(deleted)
    assert command("verify", config, "--deep").code == 0


@pytest.mark.timeout(3600)
def test_a_certified_partition_that_somebody_removed_is_fetched_again_and_certified_anew(
    kafka: KafkaBroker, hdfs: Hdfs, unique: str, tmp_path: Path
) -> None:
    uri, table, tree = f"{hdfs.namenode_url}/{unique}", f"{unique}.flights", HdfsTree(hdfs.client())
    place = location(uri, table)
    kafka.create_topic(unique, 1)
    stored = produce(kafka.bootstrap, unique, flights()[:6_000], 1)
    rule = flights_table(
        table,
        unique,
        bucket={"field": "time_hour", "path": "dt=%Y-%m-%d"},
        completion={"delay": "1s"},
        flush={"interval": "1s"},
    )
    config = write_map(tmp_path, unique, kafka.bootstrap, uri, [rule])
    ledger = LedgerText(tree, ledger_root(uri), table)
    assert run_once(config).code == 0
    run_once_until(config, lambda: not ledger.newest()["open"], "certified")
    day = sorted({path.rpartition("/")[0] for path in tree.files(place) if path.endswith(".final")})[0]
    name = f"{table}/{day.rpartition('/')[2]}"
    before = command("certificate", config, name, "--json")
    assert before.code == 0, before.out

    lost = [path for path in tree.files(place) if path.startswith(f"{day}/") and path.endswith(".final")]
    for path in [path for path in tree.files(place) if path.startswith(f"{day}/")]:
        tree.delete(path)  # the certificate, too
    told = command("certificate", config, name, "--json")
    assert told.code == 76, told.out
    assert {path.rpartition("/")[2] for path in lost} <= {
        finding["where"].rpartition("/")[2] for finding in told.document["findings"]
    }
    planned = command("recover", config, "--plan", "--json")
    (plan,) = planned.document["tables"]
    assert [one["path"].rpartition("/")[2] for one in plan["lost"]] == sorted(
        path.rpartition("/")[2] for path in lost
    )
    done = command("recover", config, "--refetch", f"{plan['lost'][0]['path'].rpartition('/')[0]}/*")
    assert done.code == 0, done.out + done.log
    assert command("certificate", config, name).code == 75, "open until it is certified anew"
    run_once_until(config, lambda: not ledger.newest()["open"], "certified anew")

    after = command("certificate", config, name, "--json")
    assert (after.code, after.document["rows"]) == (0, before.document["rows"]), after.out
    audited = command("verify", config, "--deep", "--json")
    (result,) = audited.document["tables"]
    assert (audited.code, result["findings"], result["rows"]) == (0, [], len(stored)), audited.out
    (status,) = command("status", config, "--json").document["tables"]
    assert (status["losses"], status["refetched"]) == (0, len(lost))
    assert_exactly(tree, place, stored, by_day)


@pytest.mark.timeout(3600)
def test_a_stopped_table_of_two_is_repaired_beside_the_run_by_the_printed_command_without_a_restart(
    kafka: KafkaBroker, hdfs: Hdfs, unique: str, tmp_path: Path
) -> None:
    uri, tree = f"{hdfs.namenode_url}/{unique}", HdfsTree(hdfs.client())
    topics = {f"{unique}.{name}": f"{unique}-{name}" for name in ("harmed", "whole")}
    harmed, whole = topics
    parts = [flights()[n * 3_000 : (n + 1) * 3_000] for n in range(3)]
    for topic in topics.values():
        kafka.create_topic(topic, 2)
    stored = {table: produce(kafka.bootstrap, topic, parts[0], 2) for table, topic in topics.items()}
    bucket = {"field": "time_hour", "path": "dt=%Y-%m-%d"}
    tables = [flights_table(table, topic, bucket=bucket) for table, topic in topics.items()]
    config = write_map(tmp_path, unique, kafka.bootstrap, uri, tables)
    done = run_once(config)
    assert done.code == 0, done.log[-3000:]
    ledgers = {table: LedgerText(tree, ledger_root(uri), table) for table in topics}
    lost = undo_promote(tree, ledgers[harmed])[0]
    tree.delete(lost["staged"])

    def state_of(table: str) -> dict[str, Any]:
        shown = command("status", config, "--json").document["tables"]
        return next(one for one in shown if one["table"] == table)

    with Running(config) as run:
        run.wait_until(
            lambda: state_of(harmed)["state"] == "manual_intervention_required", "a STOP", pause=0.5
        )
        stored[whole] |= produce(kafka.bootstrap, topics[whole], parts[1], 2)
        run.wait_until(lambda: ledgers[whole].ends() == ends_of(stored[whole]), "at the end of the other")
        assert command("status", config).code == 76

        printed = re.findall(
            r"`kafka2hive recover (--table \S+ --refetch \S+) -c \S+`", str(state_of(harmed))
        )
        repaired = command_as_process("recover", config, *printed[0].split())
        assert repaired.code == 0, repaired.out + repaired.log
        assert f"given up or fetched again: {lost['final']}" in repaired.out
        for table, topic in topics.items():
            stored[table] |= produce(kafka.bootstrap, topic, parts[2], 2)
        for table, ledger in ledgers.items():
            run.wait_until(
                lambda ledger=ledger, table=table: ledger.ends() == ends_of(stored[table]),  # type: ignore[misc]
                f"at the end of {table}",
            )
        run.wait_until(lambda: command("status", config).code == 0, "a status without trouble", pause=0.5)
        assert run.said(f"{harmed} was repaired: this run serves it again")
        assert run.terminate() == 143, run.tail()
    for table in topics:
        place = location(uri, table)
        assert_settled(tree, ledger_root(uri), table, place, ends_of(stored[table]))
        assert_exactly(tree, place, stored[table], by_day)
