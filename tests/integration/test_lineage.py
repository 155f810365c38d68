"""A lineage server hears which topics went into which Hive tables; a server that never answers takes no record away."""

import socket
from pathlib import Path
from typing import Any

import pytest

from tests.harness.lineage_server import lineage_server
from tests.harness.program import run_once
from tests.harness.service_map import flights_table, ledger_root, location, write_map
from tests.oracle.data_files import visible_files
from tests.oracle.exact import assert_exactly, assert_settled, ends_of, flight
from tests.oracle.tree import HdfsTree
from tests.services.certificates import authority
from tests.services.flights import flights
from tests.services.hdfs import Hdfs
from tests.services.hive_server import HiveServer
from tests.services.kafka_broker import KafkaBroker
from tests.services.produce import produce

RECORDS = 2_000


def test_events_name_topics_tables_columns_and_what_was_written(
    kafka: KafkaBroker, hdfs: Hdfs, hive: HiveServer, hive_database: str, tmp_path: Path
) -> None:
    uri, topic = f"{hdfs.namenode_url}/{hive_database}", hive_database
    kafka.create_topic(topic, 2)
    produce(kafka.bootstrap, topic, [*flights()[:RECORDS], b"no flight"], 2)
    table = f"{hive_database}.flights"
    rows = flights_table(table, topic, dead_letter_share=1)
    with lineage_server() as server:
        sections = {
            "hive": {"url": f"hive://{hive.address}"},
            "lineage": {"url": server.url, "namespace": "company"},
        }
        config = write_map(tmp_path, hive_database, kafka.bootstrap, uri, [rows], **sections)
        done = run_once(config)
    assert done.code == 0, done.log[-3000:]
    assert server.faults == []
    first, *others, last = server.of(f"{hive_database}.{table}")
    assert len(server.events) == len(others) + 2
    assert first["eventType"] == "START" and last["eventType"] == "COMPLETE"
    assert first["job"]["facets"]["jobType"]["processingType"] == "BATCH"
    assert first["run"]["facets"]["parent"]["job"] == {"namespace": "company", "name": hive_database}

    (read,) = first["inputs"]
    assert (read["namespace"], read["name"]) == (f"kafka://{kafka.bootstrap}", topic)
    assert _sum([first, *others], "inputs", "inputStatistics", "rowCount", topic) == RECORDS + 1
    assert _sum([first, *others], "outputs", "outputStatistics", "rowCount", table) == RECORDS
    letters = f"{hive_database}.{hive_database}_dead_letters"
    assert _sum([first, *others], "outputs", "outputStatistics", "rowCount", letters) == 1

    written = next(output for output in first["outputs"] if output["name"] == table)
    assert written["namespace"] == f"hive://{hive.address}"
    (place,) = written["facets"]["symlinks"]["identifiers"]
    assert place["namespace"] + place["name"] == location(uri, table)
    described = [tuple(row[:2]) for row in hive.query(f"describe {table}")]
    fields = [(field["name"], field["type"]) for field in written["facets"]["schema"]["fields"]]
    assert fields == described[: len(fields)], "the columns are Hive's, partition columns last"
    tree, directory = HdfsTree(hdfs.client()), location(uri, table)
    sizes = tree.files(directory)
    visible = [sizes[path] for path in visible_files(tree, directory)]
    assert _sum([first, *others], "outputs", "outputStatistics", "size", table) == sum(visible)
    assert _sum([first, *others], "outputs", "outputStatistics", "fileCount", table) == len(visible)


def test_a_server_that_never_answers_takes_no_record_away(
    kafka: KafkaBroker, hdfs: Hdfs, unique: str, tmp_path: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        log = _dump(kafka, hdfs, unique, tmp_path, {"url": url})
    assert f"did not reach {url}; the tables are not affected" in log


def test_events_go_over_tls_to_a_server_with_a_certificate_of_the_companys_authority(
    kafka: KafkaBroker, hdfs: Hdfs, unique: str, tmp_path: Path
) -> None:
    company = authority(tmp_path / "tls", "company")
    with lineage_server(certificate=company.issue("lineage")) as server:
        log = _dump(kafka, hdfs, unique, tmp_path, {"url": server.url, "ca_file": company.file})
    assert server.url.startswith("https://")
    assert server.faults == []
    assert _sum(server.events, "inputs", "inputStatistics", "rowCount", unique) == RECORDS
    assert server.events[-1]["eventType"] == "COMPLETE"
    assert "lineage server" not in log, "no trouble"


@pytest.mark.parametrize(
    ("ca_file", "reason"),
    [
        ("other.pem", "its certificate is not trusted by lineage.ca_file {}: self-signed certificate in certificate chain"),
        (None, "its certificate is not trusted by the system's authorities: "),
        ("missing.pem", "lineage.ca_file {} cannot be read: [Errno 2] No such file or directory"),
    ],
)  # fmt: skip
def test_a_server_whose_certificate_is_not_trusted_gets_no_event_and_takes_no_record_away(
    kafka: KafkaBroker, hdfs: Hdfs, unique: str, tmp_path: Path, ca_file: str | None, reason: str
) -> None:
    folder = tmp_path / "tls"
    authority(folder, "other")
    file = str(folder / ca_file) if ca_file else None
    with lineage_server(certificate=authority(folder, "company").issue("lineage")) as server:
        log = _dump(kafka, hdfs, unique, tmp_path, {"url": server.url} | ({"ca_file": file} if file else {}))
    assert server.requests == 0
    assert f"the lineage server {server.url} does not take events" in log
    assert reason.format(file) in log
    assert f"did not reach {server.url}; the tables are not affected" in log


def _dump(kafka: KafkaBroker, hdfs: Hdfs, unique: str, folder: Path, lineage: dict[str, str]) -> str:
    """Dump a topic with this section `lineage`, exactly; return the log."""
    uri, table = f"{hdfs.namenode_url}/{unique}", f"{unique}.flights"
    kafka.create_topic(unique, 2)
    stored = produce(kafka.bootstrap, unique, flights()[:RECORDS], 2)
    rows = [flights_table(table, unique)]
    done = run_once(write_map(folder, unique, kafka.bootstrap, uri, rows, lineage=lineage))
    assert done.code == 0, done.log[-3000:]
    tree = HdfsTree(hdfs.client())
    assert_settled(tree, ledger_root(uri), table, location(uri, table), ends_of(stored))
    assert_exactly(tree, location(uri, table), stored, flight)
    return done.log


def _sum(events: list[dict[str, Any]], side: str, facet: str, figure: str, name: str) -> int:
    """The sum of a figure over all events, for one dataset."""
    datasets = [dataset for event in events for dataset in event[side] if dataset["name"] == name]
    place = "inputFacets" if side == "inputs" else "outputFacets"
    return sum(dataset[place][facet][figure] for dataset in datasets)
