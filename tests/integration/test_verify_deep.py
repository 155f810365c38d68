"""`verify --deep` on real Kafka and HDFS: a right dump passes, and every kind of difference is named with its offset."""

import io
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from confluent_kafka import TopicPartition as Place
from confluent_kafka.admin import AdminClient

from tests.harness.cli_ledger import invoke
from tests.harness.epochs import begin, dump, wiring_of
from tests.harness.program import Finished, command
from tests.harness.service_map import flights_table, ledger_root, raw_table, write_map
from tests.integration.damage import Change, rewrite, with_value
from tests.oracle.ledger_text import LedgerText
from tests.oracle.tree import HdfsTree
from tests.services.flights import flights
from tests.services.hdfs import Hdfs
from tests.services.kafka_broker import KafkaBroker
from tests.services.produce import produce

DAILY = {"field": "time_hour", "path": "dt=%Y-%m-%d"}
WRONG = [b"no json", b'{"year": "x"}', None, b'{"time_hour": null}']
COUNT = 12_000


class Dumped:
    """A service with some tables over one topic of flights, tombstones and records that are none."""

    def __init__(self, kafka: KafkaBroker, hdfs: Hdfs, name: str, folder: Path) -> None:
        self.kafka, self.name, self.client = kafka, name, hdfs.client()
        self.tree = HdfsTree(self.client)
        self.uri = f"{hdfs.namenode_url}/{name}"
        kafka.create_topic(name, 2)
        self.stored = produce(kafka.bootstrap, name, self._records(), 2)
        headers = {"topic": "k_topic", "partition": "k_partition", "offset": "k_offset"}
        self.places = f"{name}.places"
        self.plain = f"{name}.plain"
        self.raw = f"{name}.raw"
        self.copy = f"{name}.copy"
        self.lines = f"{name}.lines"
        self.text = f"{name}.text"
        tables = [
            flights_table(self.places, name, bucket=DAILY, metadata=headers | {"key": "k_key"}),
            flights_table(self.plain, name, metadata=None),
            flights_table(self.copy, name, bucket=DAILY, metadata=headers, writer={"format": "orc"}),
            flights_table(self.lines, name, bucket=DAILY, metadata=headers, writer={"format": "json"}),
            flights_table(
                self.text,
                name,
                bucket=DAILY,
                metadata=headers,
                writer={"format": "text", "compression": "none"},
            ),
            raw_table(self.raw, name, bucket={"time": "processing", "path": "dt=%Y-%m-%d"}),
        ]
        self.config = write_map(folder, name, kafka.bootstrap, self.uri, tables)
        wiring = wiring_of(self.config)
        for table in (self.places, self.plain, self.raw):
            begin(wiring, table)
            dump(wiring, table, most=COUNT // 4, tasks=2)
            dump(wiring, table)
        for table in (self.copy, self.lines, self.text):
            begin(wiring, table)
            dump(wiring, table, tasks=3)

    @staticmethod
    def _records() -> Iterator[bytes | None]:
        for number, flight in enumerate(flights()[:COUNT]):
            yield WRONG[number // 500 % 4] if number % 500 == 7 else flight

    def verify(self, table: str, how: tuple[str, ...] = ("--deep",)) -> tuple[Finished, dict[str, Any]]:
        done = command("verify", self.config, *how, "--json", "--table", table)
        assert done.out, done.log
        (found,) = done.document["tables"]
        return done, found

    def ledger(self, table: str) -> LedgerText:
        return LedgerText(self.tree, ledger_root(self.uri), table)

    def file(self, table: str, number: int = 0) -> str:
        """One of the data files of the newest epoch, which one task wrote."""
        named = self.ledger(table).newest()["file"]
        return str(sorted(f["final"] for f in named if f["kind"] == "data")[number])

    def rows(self, path: str) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = pq.read_table(io.BytesIO(self.tree.read(path))).to_pylist()
        return rows

    def damage(self, table: str, path: str, change: Change) -> None:
        rewrite(self.client, self.ledger(table), path, change)


@pytest.fixture
def dumped(kafka: KafkaBroker, hdfs: Hdfs, unique: str, tmp_path: Path) -> Dumped:
    return Dumped(kafka, hdfs, unique, tmp_path)


def found(table: dict[str, Any]) -> list[tuple[str, str]]:
    return [(finding["code"], finding["where"]) for finding in table["findings"]]


@pytest.mark.timeout(3600)
def test_a_right_dump_passes_and_every_kind_of_difference_is_named(dumped: Dumped, tmp_path: Path) -> None:
    for table in (dumped.places, dumped.plain, dumped.raw, dumped.copy, dumped.lines, dumped.text):
        done, audited = dumped.verify(table)
        assert (done.code, audited["findings"]) == (0, []), audited
        processing = ["buckets: they are by processing time, which no record has"]
        assert audited["not_checked"] == (processing if table == dumped.raw else [])
        assert audited["rows"] >= COUNT - 24

    done, audited = dumped.verify(dumped.places, ("--against", dumped.copy))
    assert (done.code, audited["findings"]) == (0, []), audited
    assert audited["not_checked"] == ["columns that are not in all files of both: k_key"]

    done, audited = dumped.verify(dumped.lines, ("--against", dumped.copy))
    assert (done.code, audited["findings"]) == (0, []), audited
    assert not audited["not_checked"]

    previews_are_what_was_dumped(dumped)
    a_drafted_map_reads_the_topic(dumped, tmp_path)
    every_row_knows_its_place(dumped)
    rows_without_a_place(dumped)
    dead_letters(dumped)
    aged_out(dumped)


def previews_are_what_was_dumped(dumped: Dumped) -> None:
    """`preview` shows the very rows that lie in the files, in their buckets, and the records that are dead letters."""
    done = command("preview", dumped.config, "--json", "--table", dumped.places, "-n", "6000")
    assert done.code == 0, done.log
    (table,) = done.document["tables"]
    assert table["tombstones"] > 0 and len(table["rows"]) + len(table["dead_letters"]) > 5_900
    files = [f for f in dumped.ledger(dumped.places).newest()["file"] if f["kind"] == "data"]
    written = {
        f"{row['k_topic']}-{row['k_partition']}@{row['k_offset']}": (file["partition"], row)
        for file in files
        for row in dumped.rows(str(file["final"]))
    }
    compared = 0
    for row in table["rows"]:
        bucket, values = written.get(row["place"], (None, {}))
        if values:
            compared += 1
            assert row["bucket"] == bucket
            assert row["values"] | {"time_hour": ""} == _as_json(values) | {"time_hour": ""}
            assert row["values"]["time_hour"] == values["time_hour"].isoformat()
    assert compared > 4_000
    letters = {letter["place"] for letter in table["dead_letters"]}
    assert letters and not letters & written.keys()


def a_drafted_map_reads_the_topic(dumped: Dumped, folder: Path) -> None:
    """What `sample` prints is a map whose preview has the same values as the map that somebody wrote."""
    done = invoke("sample", dumped.name, "--kafka", dumped.kafka.bootstrap, "-n", "2000")
    assert done.exit_code == 0, done.output
    assert "event time: time_hour" in done.stdout
    drafted = folder / "drafted.yaml"
    drafted.write_text(done.stdout)
    assert command("validate", drafted).code == 0
    shown = [
        command("preview", *how, "--json", "-n", "500").document["tables"][0]["rows"]
        for how in ((drafted,), (dumped.config, "--table", dumped.plain))
    ]
    assert len(shown[0]) > 490
    assert [(row["place"], row["values"]) for row in shown[0]] == [
        (row["place"], row["values"]) for row in shown[1]
    ]


def _as_json(values: dict[str, Any]) -> dict[str, Any]:
    return {
        name: b64encode(value).decode() if isinstance(value, bytes) else value
        for name, value in values.items()
    }


def every_row_knows_its_place(dumped: Dumped) -> None:
    """A changed value, a lost and a doubled row, one of nowhere, one in another bucket: each with offset and path."""
    changed, shorter, longer, forged, moved = (dumped.file(dumped.places, n) for n in (0, 1, 2, 3, 4))

    def place(path: str, row: int) -> str:
        values = dumped.rows(path)[row]
        return f"{values['k_topic']}-{values['k_partition']}@{values['k_offset']}"

    lost, doubled, misplaced = place(shorter, 0), place(longer, 5), place(moved, 2)
    dumped.damage(dumped.places, changed, with_value("dep_time", 3, 2401))
    taken = pq.read_table(io.BytesIO(dumped.tree.read(moved))).slice(2, 1)
    dumped.damage(dumped.places, shorter, lambda rows: pa.concat_tables([rows.slice(1), taken]))
    dumped.damage(dumped.places, longer, lambda rows: pa.concat_tables([rows, rows.slice(5, 1)]))
    dumped.damage(dumped.places, forged, with_value("k_offset", 1, 999_999))
    strayed = place(forged, 0)
    dumped.damage(dumped.places, moved, lambda rows: pa.concat_tables([rows.slice(0, 2), rows.slice(3)]))
    done, audited = dumped.verify(dumped.places)
    assert done.code == 76
    told = {(f["code"], f["where"]): f["message"] for f in audited["findings"]}
    assert changed in told["verify.different", place(changed, 3)]
    assert ("verify.lost", lost) in told
    assert longer in told["verify.doubled", doubled]
    assert (
        shorter in told["verify.misplaced", misplaced] and "bucket dt=" in told["verify.misplaced", misplaced]
    )
    assert ("verify.extra", forged) in told
    assert strayed not in str(audited["findings"])
    by_code = sorted(code for code, _ in told)
    assert by_code.count("verify.different") == by_code.count("verify.doubled") == 1
    assert by_code.count("verify.lost") == 2  # the forged row's own offset is the other
    done, compared = dumped.verify(dumped.places, ("--against", dumped.copy))
    assert (done.code, sorted(found(compared))) == (
        76,
        sorted(pair for pair in found(audited) if pair != ("verify.extra", forged)),
    )
    shallow = command("verify", dumped.config, "--contents", "--json", "--table", dumped.places)
    assert shallow.code == 0, shallow.out


def rows_without_a_place(dumped: Dumped) -> None:
    """As multisets: counted in their bucket."""
    changed = dumped.file(dumped.plain)
    bucket = changed.split("/")[-2]
    dumped.damage(dumped.plain, changed, with_value("tailnum", 0, "N0WHERE"))
    done, audited = dumped.verify(dumped.plain)
    assert done.code == 76
    assert sorted({f["code"] for f in audited["findings"]}) == ["verify.extra", "verify.lost"]
    assert all(f["message"].startswith(f"bucket {bucket}: 1 ") for f in audited["findings"])
    assert command("verify", dumped.config, "--contents", "--table", dumped.plain).code == 0


def dead_letters(dumped: Dumped) -> None:
    """Their bytes are compared as well."""
    named = [f for s in dumped.ledger(dumped.raw).history() for f in s["file"]]
    assert {f["kind"] for f in named} == {"data"}  # everything is a row of a raw table
    letters = [
        f["final"]
        for s in dumped.ledger(dumped.places).history()
        for f in s["file"]
        if f["kind"] == "dead_letter"
    ]
    first = dumped.rows(letters[0])[0]
    dumped.damage(dumped.places, letters[0], with_value("value", 0, b"something else"))
    _, audited = dumped.verify(dumped.places)
    where = f"{first['topic']}-{first['partition']}@{first['offset']}"
    assert [f["message"] for f in audited["findings"] if f["where"] == where] == [
        f"the dead letter has different values than Kafka's record; {letters[0]}"
    ]


def aged_out(dumped: Dumped) -> None:
    """What Kafka has dropped is counted, and the rest compared: the changed payload is found, to the byte."""
    path = dumped.file(dumped.raw, -1)
    rows = dumped.rows(path)
    dumped.damage(dumped.raw, path, with_value("value", len(rows) - 1, b"changed"))
    last = rows[-1]
    gone = 1000
    admin = AdminClient({"bootstrap.servers": dumped.kafka.bootstrap})
    for future in admin.delete_records([Place(dumped.name, 0, gone)]).values():
        future.result(120)
    done, audited = dumped.verify(dumped.raw)
    assert done.code == 76
    assert found(audited) == [("verify.different", f"{dumped.name}-{last['k_partition']}@{last['k_offset']}")]
    assert f"1,000 offsets aged out of Kafka: {dumped.name}-0@[0, 1000)" in audited["not_checked"]
