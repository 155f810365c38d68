"""A ledger is deleted and rebuilt from the data files: the next run goes on exactly once, on real services."""

from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.harness.epochs import begin, dump, wiring_of
from tests.harness.program import command, run_once
from tests.harness.service_map import flights_table, ledger_root, location, write_map
from tests.integration.test_dump_losses import undo_promote
from tests.oracle.data_files import visible_files
from tests.oracle.exact import assert_exactly, ends_of, flight
from tests.oracle.ledger_text import LedgerText
from tests.oracle.tree import HdfsTree
from tests.services.flights import flights
from tests.services.hdfs import Hdfs
from tests.services.kafka_broker import KafkaBroker
from tests.services.produce import produce


@pytest.mark.timeout(3600)
def test_a_deleted_ledger_is_rebuilt_from_the_files_and_the_next_run_goes_on_exactly_once(
    kafka: KafkaBroker, hdfs: Hdfs, unique: str, tmp_path: Path
) -> None:
    uri, table, client = f"{hdfs.namenode_url}/{unique}", f"{unique}.flights", hdfs.client()
    tree, place, root = HdfsTree(client), location(uri, table), ledger_root(uri)
    kafka.create_topic(unique, 2)
    stored = produce(kafka.bootstrap, unique, flights()[:20_000], 2)
    config = write_map(tmp_path, unique, kafka.bootstrap, uri, [flights_table(table, unique)])
    wiring = wiring_of(config)
    begin(wiring, table)
    dump(wiring, table, most=2_000, tasks=2)
    dump(wiring, table, most=3_000)
    dump(wiring, table, tasks=2)
    before = LedgerText(tree, root, table)
    ledger_id = before.newest()["header"][0]["ledger"]

    # the newest epoch is half visible, and an orphan of no committed epoch lies beside it
    files = undo_promote(tree, before)
    tree.rename(files[0]["staged"], files[0]["final"])
    orphan = files[1]["staged"].replace("-e000004-", "-e000009-")
    client.create(urlsplit(orphan).path).close()
    there = command("recover", config, "--rebuild-ledger", table)
    assert there.code == 76 and "rebuild.ledger_there" in there.out
    assert client.delete(urlsplit(root).path, True)
    assert command("recover", config).code == 76  # ledger.vanished

    everything = tree.files(uri)
    planned = command("recover", config, "--rebuild-ledger", table, "--plan", "--json")
    assert planned.code == 0, planned.out + planned.log
    assert tree.files(uri) == everything
    (result,) = planned.document["tables"]
    assert result["rebuilt"]["ledger"] == ledger_id
    assert result["rebuilt"]["rows"] == len(stored)
    assert 0 < result["rebuilt"]["pending_files"] < result["rebuilt"]["files"]

    hidden = next(path for path in visible_files(tree, place) if path != files[0]["final"])
    tree.rename(hidden, f"{uri}/hidden")
    stopped = command("recover", config, "--rebuild-ledger", table)
    assert stopped.code == 76 and "rebuild.unproven" in stopped.out, stopped.out
    assert f"--accept-gap {unique}:0" in stopped.out
    assert tree.files(root) == {}
    tree.rename(f"{uri}/hidden", hidden)

    rebuilt = command("recover", config, "--rebuild-ledger", table, "--json")
    assert rebuilt.code == 0, rebuilt.out + rebuilt.log
    (result,) = rebuilt.document["tables"]
    assert result["files"]["renamed"] == len(files) - 1
    assert {p["partition"]: p["next_offset"] for p in result["resumes_at"]} == {0: 10_000, 1: 10_000}
    audited = command("verify", config, "--deep", "--json")
    assert audited.code == 0, audited.out
    assert audited.document["tables"][0]["rows"] == len(stored)
    where = command("where", config, f"{unique}-0@1500", "--json").document["tables"][0]
    assert where["files"]

    more = stored | produce(kafka.bootstrap, unique, flights()[20_000:24_000], 2)
    done = run_once(config)
    assert done.code == 0, done.log[-3000:]
    assert_exactly(tree, place, more, flight)
    ledger = LedgerText(tree, root, table)
    state = ledger.newest()
    assert {(p["topic"], p["number"]): p["end"] for p in state["position"]} == ends_of(more)
    assert state["header"][0]["ledger"] == ledger_id
    assert command("verify", config, "--deep").code == 0
