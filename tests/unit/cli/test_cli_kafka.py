"""The commands against librdkafka's mock broker, which runs in this process."""

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from typer.testing import Result

from kafka2hive.config.load import load_map
from kafka2hive.kafka.client import KafkaAdmin
from kafka2hive.model.offsets import TopicPartition
from kafka2hive.task.fetch import fetch
from tests.harness.cli_ledger import READ, invoke, local, pending_service, tree, write_map
from tests.harness.mock_broker import RECORD, Broker, plain_map


def _tables(result: Result) -> list[dict[str, Any]]:
    """Return the tables of the document that a command printed."""
    tables: list[dict[str, Any]] = json.loads(result.stdout)["tables"]
    return tables


def test_init_makes_the_ledgers_of_literal_tables_and_of_present_topics_once(
    tmp_path: Path, broker: Broker
) -> None:
    more = "  - table: '{1}.events'\n    pattern: '(crew|plane)s'\n    format: raw\n"
    path = plain_map(write_map(tmp_path, more, broker.address))
    broker.produce("planes", 1)
    broker.produce("flights", 1)
    first = invoke("init", "--json", "-c", str(path))
    assert first.exit_code == 0, first.output
    made = [(table["table"], table["result"]) for table in _tables(first)]
    assert made == [("air.flights", "made"), ("plane.events", "made")]
    after = tree(tmp_path)
    second = invoke("init", "-c", str(path))
    assert second.exit_code == 0 and second.stdout.count("already there") == 2
    assert tree(tmp_path) == after


def test_init_stops_where_the_consumer_group_has_read_already(tmp_path: Path, broker: Broker) -> None:
    path = plain_map(write_map(tmp_path, bootstrap=broker.address))
    broker.produce("flights", 3)
    options = load_map(str(path), {}).kafka
    assert KafkaAdmin(options).commit_group_offsets(options.group, {TopicPartition("flights", 0): 2})
    result = invoke("init", "-c", str(path))
    assert result.exit_code == 76
    assert "ledger.lost_positions" in result.stdout


def test_init_goes_on_where_the_ledger_of_a_renamed_table_explains_the_group(
    tmp_path: Path, broker: Broker
) -> None:
    service = pending_service(tmp_path, bootstrap=broker.address)
    plain_map(service.map)
    broker.produce("flights", 20)
    options = load_map(str(service.map), {}).kafka
    assert KafkaAdmin(options).commit_group_offsets(options.group, {TopicPartition("flights", 0): 15})
    service.map.write_text(service.map.read_text().replace("air.flights", "air.departures"))
    result = invoke("init", "-c", str(service.map))
    assert result.exit_code == 0, result.output


def test_status_shows_the_lag(tmp_path: Path, broker: Broker) -> None:
    service = pending_service(tmp_path, bootstrap=broker.address)
    plain_map(service.map)
    broker.produce("flights", 20)
    (table,) = _tables(invoke("status", "--json", "-c", str(service.map)))
    assert table["lag_records"] == 5
    assert table["partitions"] == [
        {"topic": "flights", "partition": 0, "next_offset": 15, "log_end": 20, "lag_records": 5}
    ]


def test_a_preview_shows_rows_and_dead_letters_of_the_newest_records_and_writes_nothing(
    tmp_path: Path, broker: Broker
) -> None:
    more = "  - {table: air.raw, topics: [flights], format: raw, bucket: {path: ''}}\n"
    path = plain_map(write_map(tmp_path, more, bootstrap=broker.address))
    broker.produce("flights", 5)
    for value in (b'{"flight": "five"}', None, RECORD % 7):
        broker.producer.produce("flights", value, partition=0)
    broker.producer.produce("flights", RECORD % 70, partition=3)
    assert broker.producer.flush(120) == 0
    before = tree(tmp_path)
    result = invoke("preview", "-n", "4", "--json", "-c", str(path))
    assert result.exit_code == 0, result.output
    flights, raw = _tables(result)
    at_ten = {"carrier": "AA", "time_hour": "2013-01-01T10:00:00"}
    assert [(row["place"], row["bucket"], row["values"]) for row in flights["rows"]] == [
        ("flights-0@7", "dt=2013-01-01", at_ten | {"flight": 7}),
        ("flights-3@0", "dt=2013-01-01", at_ten | {"flight": 70}),
    ]
    (letter,) = flights["dead_letters"]
    assert (letter["place"], letter["reason"]) == ("flights-0@5", "json.type")
    assert flights["tombstones"] == 1
    assert [(row["place"], row["bucket"]) for row in raw["rows"]] == [
        ("flights-0@5", ""),
        ("flights-0@7", ""),
        ("flights-3@0", ""),
    ]
    text = invoke("preview", "flights-0@4", "-n", "2", "--table", "air.flights", "-c", str(path))
    assert text.exit_code == 0, text.output
    assert text.stdout.splitlines() == [
        "air.flights: 1 row, 1 dead letter of flights-0@[4, 6)",
        "flights-0@4  dt=2013-01-01",
        '  {"carrier": "AA", "flight": 4, "time_hour": "2013-01-01T10:00:00"}',
        "flights-0@5  dead letter",
        "  json.type: column flight expects bigint, got string",
    ]
    assert tree(tmp_path) == before


def test_a_preview_tells_a_misspelled_column_before_it_is_null_in_a_row(
    tmp_path: Path, broker: Broker
) -> None:
    more = (
        "  - table: air.typo\n    topics: [flights]\n    bucket: {path: ''}\n"
        "    columns: {carier: string, flight: bigint, gate: string}\n"
    )
    path = plain_map(write_map(tmp_path, more, bootstrap=broker.address))
    broker.produce("flights", 5)
    flights, typo = _tables(invoke("preview", "--json", "-c", str(path)))
    assert flights["misspelled"] == []
    assert typo["misspelled"] == [{"column": "carier", "nearest": "carrier"}]
    text = invoke("preview", "--table", "air.typo", "-c", str(path)).stdout
    assert "no value in any of these records: carier (did you mean carrier?)" in text


def test_a_preview_says_what_it_cannot_show(tmp_path: Path, broker: Broker) -> None:
    more = "  - {table: air.none, topics: [nothing], columns: {a: int}, bucket: {path: ''}}\n"
    path = plain_map(write_map(tmp_path, more, bootstrap=broker.address))
    broker.produce("flights", 2)
    missing = invoke("preview", "-c", str(path))
    assert missing.exit_code == 75 and "kafka.unknown_topic" in missing.stdout, missing.output
    assert "air.flights: 2 rows" in missing.stdout
    for wrong, code in (
        (("--table", "air.flight"), "usage.no_such_table"),
        (("flight-0@1",), "usage.no_such_topic"),
        (("flights-0@2",), "usage.no_such_offset"),
        (("flights-9@0",), "usage.no_such_offset"),
    ):
        result = invoke("preview", *wrong, "-c", str(path))
        assert result.exit_code == 78 and code in result.stderr, result.output


def test_a_lost_file_is_fetched_again_from_kafka(tmp_path: Path, broker: Broker) -> None:
    service = pending_service(tmp_path, file_count=1, bootstrap=broker.address)
    plain_map(service.map)
    broker.produce("flights", 20)
    service.staged(0).unlink()
    assert invoke("recover", "-c", str(service.map)).exit_code == 76
    lost = service.files[0].final
    result = invoke("recover", "--refetch", lost, "-c", str(service.map))
    assert result.exit_code == 0, result.output
    (file,) = local(service.files[0].hive_partition.location).glob("*.final")
    assert pq.ParquetFile(file).read().column("flight").to_pylist() == list(range(5, 5 + READ))
    assert (
        "no such file is lost in any" in invoke("recover", "--refetch", lost, "-c", str(service.map)).stdout
    )


def test_a_file_lost_at_the_old_location_is_not_fetched_into_the_new_one(
    tmp_path: Path, broker: Broker
) -> None:
    service = pending_service(tmp_path, file_count=1, bootstrap=broker.address)
    plain_map(service.map)
    broker.produce("flights", 20)
    new = (tmp_path / "elsewhere").as_uri()
    text = service.map.read_text()
    service.map.write_text(
        text.replace("    topics: [flights]\n", f"    topics: [flights]\n    location: {new}\n")
    )
    done = invoke("recover", "--accept-location", "air.flights", "-c", str(service.map))
    assert done.exit_code == 0, done.output
    words = " ".join(done.stdout.split())
    assert "SET LOCATION" in words and "hive.misplaced" in words
    service.final(0).unlink()
    result = invoke("recover", "--refetch", service.files[0].final, "-c", str(service.map))
    assert result.exit_code == 76 and "refetch.location" in result.stdout, result.output
    assert "--accept-loss" in result.stdout and "elsewhere" in result.stdout


def test_records_that_kafka_has_no_more_stop_a_refetch(
    tmp_path: Path, broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetch, "_TRANSIENT_SECONDS", 1.0)
    service = pending_service(tmp_path, file_count=1, bootstrap=broker.address)
    plain_map(service.map)
    broker.produce("flights", 8)
    service.staged(0).unlink()
    result = invoke("recover", "--refetch", service.files[0].final, "-c", str(service.map))
    assert result.exit_code == 76, result.output
    assert "--accept-loss" in result.stdout
    assert invoke("recover", "-c", str(service.map)).exit_code == 76, "the failed refetch lifted the STOP"


def test_an_accepted_gap_is_recorded_and_the_table_goes_on(tmp_path: Path, broker: Broker) -> None:
    service = pending_service(tmp_path, bootstrap=broker.address)
    plain_map(service.map)
    broker.produce("flights", 8)  # the ledger stands at 15: the log was cut off
    result = invoke("recover", "--accept-gap", "flights:0", "--json", "-c", str(service.map))
    assert result.exit_code == 0, result.output
    (table,) = _tables(result)
    assert len(table["gaps"]) == 1
    positions = {p["partition"]: p["next_offset"] for p in table["resumes_at"]}
    assert positions[0] <= 8
