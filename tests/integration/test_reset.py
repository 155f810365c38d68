"""A table is put back, moved and started over on a real Kafka and a real HDFS."""

from pathlib import Path

import pytest

from tests.harness.program import command, run_once
from tests.harness.service_map import flights_table, ledger_root, location, write_map
from tests.oracle.data_files import visible_files
from tests.oracle.exact import assert_exactly, ends_of, flight
from tests.oracle.ledger_text import LedgerText
from tests.oracle.tree import HdfsTree
from tests.services.flights import flights
from tests.services.hdfs import Hdfs
from tests.services.kafka_broker import KafkaBroker
from tests.services.produce import produce

PART = 6_000


@pytest.mark.timeout(3600)
def test_an_older_ledger_is_refused_a_moved_table_is_accepted_and_a_table_is_started_over(
    kafka: KafkaBroker, hdfs: Hdfs, unique: str, tmp_path: Path
) -> None:
    uri, table, client = f"{hdfs.namenode_url}/{unique}", f"{unique}.flights", hdfs.client()
    tree, place, root = HdfsTree(client), location(uri, table), ledger_root(uri)
    kafka.create_topic(unique, 2)
    stored = produce(kafka.bootstrap, unique, flights()[:PART], 2)
    rule = flights_table(table, unique)
    config = write_map(tmp_path, unique, kafka.bootstrap, uri, [rule])
    first = run_once(config)
    assert first.code == 0, first.log[-3000:]
    ledger = LedgerText(tree, root, table)
    backup = {name: tree.read(f"{ledger.directory()}/{name}") for name in ledger.names()}
    stored |= produce(kafka.bootstrap, unique, flights()[PART : 2 * PART], 2)
    assert run_once(config).code == 0
    newer, names = ledger.directory(), ledger.names()

    # somebody puts the ledger of the first run back
    aside = f"{root}/newer"
    tree.rename(newer, aside)
    _write(client, newer, backup)
    before = _data_and_ledgers(tree, uri)
    refused = run_once(config)
    assert refused.code == 76 and "ledger.restored" in refused.log, refused.log[-3000:]
    recovered = command("recover", config)
    assert recovered.code == 76 and "--rebuild-ledger" in recovered.out
    assert _data_and_ledgers(tree, uri) == before, "a refused start changed something"
    for name in ledger.names():
        assert client.delete(_path(f"{newer}/{name}"))
    assert client.delete(_path(newer))
    tree.rename(aside, newer)
    assert ledger.names() == names

    # the table moves
    moved = f"{uri}/elsewhere"
    config = write_map(tmp_path, unique, kafka.bootstrap, uri, [{**rule, "location": moved}])
    refused = run_once(config)
    assert refused.code == 76 and "ledger.location_changed" in refused.log, refused.log[-3000:]
    assert command("recover", config, "--accept-location", table).code == 0
    stored |= produce(kafka.bootstrap, unique, flights()[2 * PART : 3 * PART], 2)
    assert run_once(config).code == 0
    assert any(path.startswith(f"{moved}/dt=") for path in tree.files(uri))

    # and is started over
    planned = command("reset", config, "--table", table, "--move-data", "--plan", "--json")
    assert planned.code == 0, planned.log
    ends = {(p["topic"], p["partition"]): p["next_offset"] for p in planned.document["positions"]}
    assert ends == ends_of(stored)
    assert [m["after"] for m in planned.document["group_moves"]] == [0, 0]
    config_back = write_map(tmp_path, unique, kafka.bootstrap, uri, [{**rule, "location": moved}])
    done = command("reset", config_back, "--table", table, "--move-data", "--yes", table)
    assert done.code == 0, done.out + done.log
    assert run_once(config_back).code == 0
    assert ledger.unfinished() == []
    positions = {(p["topic"], p["number"]): p["end"] for p in ledger.newest()["position"]}
    assert positions == ends_of(stored)
    named = [file["final"] for snapshot in ledger.history() for file in snapshot["file"]]
    assert sorted(named) == visible_files(tree, moved)
    assert_exactly(tree, moved, stored, flight)
    assert command("verify", config_back, "--contents").code == 0
    assert run_once(config_back).code == 0, "the group told of the old ledger"
    assert place != moved


def _path(uri: str) -> str:
    """Without scheme and authority."""
    return "/" + uri.split("/", 3)[3]


def _write(client: object, directory: str, files: dict[str, bytes]) -> None:
    client.mkdirs(_path(directory), 0o755, True)  # type: ignore[attr-defined]
    for name, data in files.items():
        with client.create(_path(f"{directory}/{name}")) as writer:  # type: ignore[attr-defined]
            writer.write(data)


def _data_and_ledgers(tree: HdfsTree, uri: str) -> dict[str, int]:
    """All files but those by which runs tell what becomes of them."""
    return {path: length for path, length in tree.files(uri).items() if "/alive/" not in path}
