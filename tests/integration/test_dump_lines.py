"""Tables of JSON lines, delimited text and Avro files, from Kafka to Hive by the whole program, also over a deleted ledger."""

import json
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from kafka2hive.config.native_library import LIBRARY
from tests.harness.program import command, run_once
from tests.harness.service_map import flights_table, ledger_root, location, write_map
from tests.oracle.tree import HdfsTree
from tests.services.flights import flights
from tests.services.hdfs import Hdfs
from tests.services.hive_server import HiveServer
from tests.services.kafka_broker import KafkaBroker
from tests.services.produce import produce

WRITERS: dict[str, dict[str, object]] = {
    "json": {"format": "json"},
    "text": {"format": "text", "text": {"delimiter": "\t"}},
    "plain": {"format": "text", "compression": "none", "text": {"delimiter": "^", "null_text": "NULL"}},
}
if LIBRARY is not None:  # scripts/setup says so when it is not
    WRITERS["avro"] = {"format": "avro", "timestamps": "millis"}
ENDS = {"json": ".json.final.gz", "text": ".text.final.gz", "avro": ".avro.final", "plain": ".text.final"}


@pytest.mark.timeout(3600)
def test_lines_are_dumped_exactly_once_read_by_hive_and_prove_a_deleted_ledger(
    kafka: KafkaBroker, hdfs: Hdfs, hive: HiveServer, hive_database: str, tmp_path: Path
) -> None:
    topic, uri = hive_database, f"{hdfs.namenode_url}/{hive_database}"
    client, tree = hdfs.client(), HdfsTree(hdfs.client())
    kafka.create_topic(topic, 2)
    stored = produce(kafka.bootstrap, topic, flights()[:6_000], 2)
    tables = {name: f"{hive_database}.{name}" for name in WRITERS}
    config = write_map(
        tmp_path,
        hive_database,
        kafka.bootstrap,
        uri,
        [flights_table(table, topic, writer=WRITERS[name]) for name, table in tables.items()],
        hive={"url": f"hive://{hive.address}"},
    )

    def assert_hive_shows_all() -> None:
        wanted = sorted(_of_record(place, value) for place, value in stored.items())
        for table in tables.values():
            rows = hive.query(
                "select k_partition, k_offset, carrier, flight, tailnum, dep_delay, cast(time_hour as string)"
                f" from {table}"
            )
            assert sorted(rows, key=lambda row: row[:2]) == wanted, table

    done = run_once(config)
    assert done.code == 0, done.log[-3000:]
    assert_hive_shows_all()
    for name, table in tables.items():
        files = [path for path in tree.files(location(uri, table)) if "/dt=" in path]
        assert files and all(path.endswith(ENDS[name]) for path in files), files
    assert command("verify", config, "--deep").code == 0

    assert client.delete(urlsplit(ledger_root(uri)).path, True)
    refused = command("recover", config, "--rebuild-ledger", tables["plain"])
    assert refused.code == 76 and "rebuild.untracked" in refused.out, refused.out
    hive.query(f"drop table {tables.pop('plain')}")
    config = write_map(
        tmp_path,
        hive_database,
        kafka.bootstrap,
        uri,
        [flights_table(table, topic, writer=WRITERS[name]) for name, table in tables.items()],
        hive={"url": f"hive://{hive.address}"},
    )
    for table in tables.values():
        rebuilt = command("recover", config, "--rebuild-ledger", table, "--json")
        assert rebuilt.code == 0, rebuilt.out + rebuilt.log
        (result,) = rebuilt.document["tables"]
        assert result["rebuilt"]["rows"] == len(stored)
    stored |= produce(kafka.bootstrap, topic, flights()[6_000:8_000], 2)
    done = run_once(config)
    assert done.code == 0, done.log[-3000:]
    assert_hive_shows_all()
    assert command("verify", config, "--deep").code == 0


def _of_record(place: tuple[str, int, int], value: bytes | None) -> tuple[object, ...]:
    assert value is not None
    flight = json.loads(value)
    time = flight["time_hour"].replace("T", " ").removesuffix("Z")
    plain = [flight[name] for name in ("carrier", "flight", "tailnum", "dep_delay")]
    return (place[1], place[2], *plain, time)
