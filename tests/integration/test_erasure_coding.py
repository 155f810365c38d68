"""Erasure-coded directories of a real HDFS: a table in one is set aside with the command to type; a ledger root ends the run."""

from pathlib import Path

import pytest

from tests.harness.program import command, run_once
from tests.harness.service_map import ledger_root, location, raw_table, write_map
from tests.oracle.exact import assert_same_bytes, assert_settled, ends_of
from tests.oracle.tree import HdfsTree
from tests.services.flights import flights
from tests.services.hdfs import Hdfs
from tests.services.kafka_broker import KafkaBroker
from tests.services.produce import produce


@pytest.mark.timeout(3600)
def test_an_erasure_coded_table_is_named_and_dumped_once_it_is_replicated(
    kafka: KafkaBroker, hdfs: Hdfs, unique: str, tmp_path: Path
) -> None:
    uri, tree = f"{hdfs.namenode_url}/{unique}", HdfsTree(hdfs.client())
    well, coded = f"{unique}.well", f"{unique}.coded"
    kafka.create_topic(unique, 1)
    stored = produce(kafka.bootstrap, unique, flights()[:100], 1)
    directory = location(uri, coded).removeprefix(hdfs.namenode_url)
    hdfs.client().mkdirs(directory, create_parent=True)
    hdfs.erasure_code(directory)
    tables = [raw_table(name, unique) for name in (well, coded)]
    config = write_map(tmp_path, unique, kafka.bootstrap, uri, tables)

    checked = command("validate", config, "--online")
    assert checked.code == 78 and "[storage.erasure_coded]" in checked.out, checked.out
    once = run_once(config)
    assert once.code == 75 and "[storage.erasure_coded]" in once.log, once.log[-3000:]
    assert "hdfs ec -setPolicy -replicate -path" in once.log and "is the NameNode up" not in once.log
    assert_same_bytes(tree, location(uri, well), stored)

    hdfs.erasure_code(directory, "replicate")
    assert run_once(config).code == 0
    for name in (well, coded):
        assert_settled(tree, ledger_root(uri), name, location(uri, name), ends_of(stored))
        assert_same_bytes(tree, location(uri, name), stored)


@pytest.mark.timeout(3600)
def test_a_run_does_not_begin_with_an_erasure_coded_ledger_root(
    kafka: KafkaBroker, hdfs: Hdfs, unique: str, tmp_path: Path
) -> None:
    uri = f"{hdfs.namenode_url}/{unique}"
    kafka.create_topic(unique, 1)
    hdfs.client().mkdirs(f"/{unique}/kafka2hive", create_parent=True)
    hdfs.erasure_code(f"/{unique}/kafka2hive")
    config = write_map(tmp_path, unique, kafka.bootstrap, uri, [raw_table(f"{unique}.t", unique)])
    once = run_once(config)
    assert once.code == 78 and "[storage.erasure_coded]" in once.log, once.log[-3000:]
