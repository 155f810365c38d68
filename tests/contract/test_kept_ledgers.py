"""Ledgers and files that earlier versions wrote are read, repaired and continued by this one, on local disk."""

import gzip
import hashlib
import io
import json
import shutil
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import fastavro
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest

from kafka2hive.config.load import load_map
from kafka2hive.kafka.client import KafkaAdmin
from kafka2hive.ledger.look import look
from kafka2hive.ledger.snapshot.lines import FORMAT
from kafka2hive.ledger.start import Owners, StartRequest, start
from kafka2hive.model.offsets import OffsetRange, TopicPartition
from kafka2hive.service.recover.rebuild import rebuild_ledger
from kafka2hive.service.verify.result import VerifyRequest
from kafka2hive.service.verify.verify import verify
from kafka2hive.service.wiring import Wiring, wire
from tests.contract.kept_ledgers import (
    ARCHIVES,
    BAD,
    EXPECTED,
    PENDING,
    PLACE,
    RECORDS,
    SERVICE,
    TABLES,
    files_of,
    unpacked,
)
from tests.harness.compiled_library import needs_compiled
from tests.harness.owner import new_owner
from tests.harness.program import command
from tests.harness.staged_epoch import commit_staged

pytestmark = needs_compiled  # one of the kept tables has Avro files, which only the compiled library writes

KEPT = sorted(ARCHIVES.glob("format-*.tar.xz"))


@pytest.fixture(params=KEPT, ids=lambda path: path.name.partition(".")[0])
def kept(request: pytest.FixtureRequest) -> Iterator[Path]:
    """The map of a service whose last run was killed when one table's epoch was committed."""
    with unpacked(request.param) as config:
        yield config


def wired(config: Path) -> Wiring:
    return wire(load_map(str(config), {}))


def findings(config: Path, contents: bool = False) -> list[tuple[str, str]]:
    """What an audit without Kafka finds."""
    result = verify(wired(config), VerifyRequest(contents=contents), None, None)
    assert [table.table for table in result.tables] == sorted(TABLES.values())
    return [(finding.code, finding.where) for table in result.tables for finding in table.findings]


def test_there_is_an_archive_of_the_format_that_is_written_now() -> None:
    assert f"format-{FORMAT}.tar.xz" in [path.name for path in KEPT], "scripts/keep-ledger makes it"
    assert sum(path.stat().st_size for path in KEPT) < 200_000 * len(KEPT)


def test_an_audit_and_the_state_of_the_tables_are_as_that_version_left_them(kept: Path) -> None:
    assert findings(kept, contents=True) == []
    told = command("status", kept, "--json", "--kafka-timeout", "1")
    tables = {table["table"]: table for table in told.document["tables"]}
    assert set(tables) == set(TABLES.values())
    wiring = wired(kept)
    paused = {name for name in tables if look(wiring.ports.files, wiring.paths(name)).state.paused}
    assert paused == {TABLES["text"]}, "by an order that the ledger records"
    for name in tables:
        shown = command("certificate", kept, f"{name}/dt=2026-01-30", "--json").document
        (certificate,) = shown["certificates"]
        assert (certificate["files"], shown["findings"]) == (1, []), name
        assert shown["state"] == ("complete" if name in paused else "late"), "rows came after it"
    offsets = {name: sum(p["next_offset"] for p in table["partitions"]) for name, table in tables.items()}
    assert offsets[PENDING] == 2 * RECORDS, "a committed epoch counts, pending or not"
    assert all(offset in (RECORDS, 2 * RECORDS) for offset in offsets.values())


def test_the_pending_epoch_is_rolled_forward_and_a_new_one_follows(kept: Path) -> None:
    before = set(files_of(PENDING))
    planned = command("recover", kept, "--plan")
    assert "pending: epoch" in planned.out and set(files_of(PENDING)) == before
    recovered = command("recover", kept)
    assert recovered.code == 0, recovered.out + recovered.log
    assert len(files_of(PENDING)) > len(before)
    assert findings(kept, contents=True) == []

    wiring = wired(kept)
    location = next(table.location for table in wiring.map.tables if table.table == PENDING)
    request = StartRequest(wiring.paths(PENDING), lambda: None, Owners(new_owner), location)
    owned = start(wiring.ports, request).owned
    place = TopicPartition(SERVICE, 0)
    (end,) = [position.end for position in owned.state.positions if position.topic_partition == place]
    commit_staged(wiring, owned, OffsetRange(place, end, end + 4), ["dt=2026-01-30"])
    assert command("recover", kept).code == 0
    assert findings(kept) == []


@pytest.mark.parametrize("name", TABLES)
def test_every_row_is_in_the_files_once(kept: Path, name: str) -> None:
    recover_at_once(kept)
    records = json.loads((PLACE / EXPECTED).read_text())
    assert len(records) == 2 * RECORDS
    ends = next_offsets(kept, TABLES[name])
    wanted = [(where, offset, record) for where, offset, record in records if offset < ends[where]]
    good = {(where, offset): record for where, offset, record in wanted if isinstance(record["id"], int)}
    assert len(wanted) - len(good) == BAD * (len(wanted) // RECORDS) > 0
    rows = [row for path in files_of(TABLES[name]) for row in READERS[name](path)]
    found = {(int(row["k_partition"]), int(row["k_offset"])): row for row in rows}
    assert len(found) == len(rows) and found.keys() == good.keys()
    for place, row in found.items():
        assert (int(row["id"]), row["carrier"]) == (good[place]["id"], good[place]["carrier"])
        assert Decimal(str(row["fare"])) == Decimal(good[place]["fare"])


@pytest.mark.parametrize("name", TABLES)
def test_the_files_prove_a_lost_ledger(kept: Path, name: str) -> None:
    recover_at_once(kept)
    resumes = next_offsets(kept, TABLES[name])
    wiring = wired(kept)
    shutil.rmtree(wiring.paths(TABLES[name]).table_directory.removeprefix("file://"))
    rebuilt = rebuild_ledger(wiring, TABLES[name], (), plan_only=False, take_over=True, kafka=no_kafka)
    assert rebuilt.foreign == 0 and rebuilt.files >= len(files_of(TABLES[name])) > 0
    assert next_offsets(kept, TABLES[name]) == resumes
    assert findings(kept, contents=True) == []


def recover_at_once(config: Path) -> None:
    """Without watching the heartbeat that the killed run left, which takes seconds."""
    told = command("recover", config, "--takeover")
    assert told.code == 0, told.out + told.log


def no_kafka() -> KafkaAdmin:
    raise AssertionError("nobody asked for Kafka")


def next_offsets(config: Path, table: str) -> dict[int, int]:
    """Where the next run resumes, by Kafka partition."""
    wiring = wired(config)
    state = look(wiring.ports.files, wiring.paths(table)).state
    return {position.topic_partition.number: position.end for position in state.positions}


def lines(path: Path) -> list[str]:
    return gzip.decompress(path.read_bytes()).decode().splitlines()


def text_rows(path: Path) -> list[dict[str, str]]:
    names = ("id", "carrier", "fare", "at", "k_partition", "k_offset")
    return [dict(zip(names, line.split(","), strict=True)) for line in lines(path)]


READERS: dict[str, Callable[[Path], list[dict[str, Any]]]] = {
    "parquet": lambda path: pq.read_table(path).to_pylist(),
    "orc": lambda path: orc.read_table(path).to_pylist(),
    "avro": lambda path: list(fastavro.reader(io.BytesIO(path.read_bytes()))),
    "json": lambda path: [json.loads(line) for line in lines(path)],
    "text": text_rows,
}


def test_a_ledger_in_a_newer_format_stops_every_command_and_nothing_is_changed(kept: Path) -> None:
    ledger = PLACE / "kafka2hive" / "kafka_partition_offsets" / TABLES["orc"]
    newest = sorted(ledger.glob("g*/e*.*"))[-1]
    body = newest.read_bytes().rpartition(b"checksum ")[0]
    newer = body.replace(b'{"format":', b'{"format":9', 1)
    newest.write_bytes(newer + b"checksum sha256:" + hashlib.sha256(newer).hexdigest().encode() + b"\n")
    before = sorted((path, path.read_bytes()) for path in ledger.rglob("*") if path.is_file())
    for name, *arguments in (("status",), ("recover", "--takeover"), ("verify",)):
        told = command(name, kept, "--table", TABLES["orc"], *arguments)
        assert told.code == 76 and "[ledger.newer]" in told.out, told.out
        assert "use the version that wrote it, or a later one" in told.out
    assert sorted((path, path.read_bytes()) for path in ledger.rglob("*") if path.is_file()) == before
