"""A column that no record fills is noticed in the tasks, kept apart from the others, and warned about once."""

import logging
import pickle
from dataclasses import replace
from typing import Literal, cast

import orjson
import pyarrow as pa
import pytest

from kafka2hive.config.keys import Column
from kafka2hive.config.keys.columns import Leeway
from kafka2hive.config.load import load_text
from kafka2hive.decode import DecoderSpec, make_decoder
from kafka2hive.ledger.owned_ledger import OwnedLedger
from kafka2hive.ledger.snapshot.change import DataEpoch
from kafka2hive.model.files import FileMoves
from kafka2hive.model.offset_accounting import OffsetAccounting
from kafka2hive.model.paths.ledger import LedgerPaths
from kafka2hive.model.snapshot import Snapshot
from kafka2hive.observe.metrics import ServiceMetrics
from kafka2hive.plan.contract import ColumnsSeen, TableManifest
from kafka2hive.service.tables.manifests import Outcome, judge_manifests
from kafka2hive.service.tables.never_filled import ColumnWatch, never_filled
from kafka2hive.service.tables.report import EpochReport, TableReport
from kafka2hive.service.tables.table_state import Owned, Table
from kafka2hive.task.chunk_decoder import ChunkDecoder
from kafka2hive.task.fetch.chunk import Chunk, Segment
from kafka2hive.task.fields_seen import MOST_KEYS, FilledColumns
from kafka2hive.task.rows import value_schema, value_sources
from tests.harness.fake_consumer import FakeLog
from tests.harness.task_files import offsets, table_settings

SETTINGS = replace(
    table_settings(format="json"),
    columns=(
        Column("id", "bigint"),
        Column("title", "string"),
        Column("gross", "bigint", ("props", "US Gros")),
    ),
)


def seen(*records: object) -> ColumnsSeen:
    """After one batch for each record."""
    filled = FilledColumns(SETTINGS)
    decoder = make_decoder(DecoderSpec("json", value_schema(SETTINGS), sources=value_sources(SETTINGS)))
    for record in records:
        messages = pa.array([orjson.dumps(record)], pa.binary())
        filled.note(decoder.decode(messages).rows, messages)
    return filled.seen()


def test_a_task_tells_the_columns_no_record_filled_and_the_keys_nobody_takes() -> None:
    record = {"id": 1, "Title": "x", "props": {"US Gross": 5, "other": {"deep": 1}}}
    assert seen(record, record) == ColumnsSeen(
        2, ("title", "gross"), ("$.Title", "$.props['US Gross']", "$.props.other")
    )


def test_one_value_is_enough() -> None:
    assert seen({"id": 1}, {"title": "x"}, {"props": {"US Gros": 1}}) == ColumnsSeen(3, (), ())


def test_the_sample_of_keys_is_bounded() -> None:
    records = [{f"key {number} {i}": 1 for i in range(30)} for number in range(50)]
    assert len(seen(*records).unmapped) == MOST_KEYS
    assert seen({"x" * 10_000: 1}).unmapped == ()


def test_a_default_does_not_hide_that_no_record_has_the_column() -> None:
    title = Column("title", "string", leeway=Leeway(default="none"))
    settings = replace(SETTINGS, columns=(Column("id", "bigint"), title))
    values: list[list[bytes | None]] = [
        [b'{"id":1,"Title":"x"}'] * 2,
        [b'{"id":1,"title":"x"}', b"{}"],
        [b'{"id":1,"title":"none"}'],
    ]
    for records, empty in zip(values, (("title",), (), ()), strict=True):
        decoder = ChunkDecoder(settings)
        list(decoder.decode(chunk_of_values(records)))
        assert decoder.columns_seen().empty == empty
        assert (decoder.columns_seen().unmapped == ("$.Title",)) is bool(empty)


def chunk_of_values(values: list[bytes | None]) -> Chunk:
    log = FakeLog(dict(enumerate(values)), len(values))
    messages = [log.message(("t", 0), offset) for offset in range(len(values))]
    return Chunk("db.t", (Segment(offsets("t", 0, 0, len(values)), len(messages), 0, -1),), messages)


@pytest.mark.parametrize(("format", "empty"), [("avro", ("title", "gross")), ("raw", ())])
def test_only_json_records_are_looked_at_for_keys(
    format: Literal["avro", "raw"], empty: tuple[str, ...]
) -> None:
    filled = FilledColumns(replace(SETTINGS, format=format))
    rows = (
        make_decoder(DecoderSpec("json", value_schema(SETTINGS)))
        .decode(pa.array([b'{"id": 1}'], pa.binary()))
        .rows
    )
    filled.note(rows, pa.array([b'{"Title": 1}'], pa.binary()))
    assert filled.seen() == ColumnsSeen(1, empty, ())


def test_the_manifest_carries_it() -> None:
    manifest = TableManifest(
        table="db.t", task=0, generation=1, epoch=1, columns=ColumnsSeen(2, ("a",), ("$['é']",))
    )
    assert pickle.loads(pickle.dumps(manifest)) == manifest


def test_a_column_is_empty_when_it_is_so_in_every_task_that_read_anything() -> None:
    manifests = [
        TableManifest(
            table="db.t", task=0, generation=1, epoch=1, columns=ColumnsSeen(5, ("a", "b"), ("$.x",))
        ),
        TableManifest(
            table="db.t", task=1, generation=1, epoch=1, columns=ColumnsSeen(5, ("b", "c"), ("$.x", "$.y"))
        ),
        TableManifest(table="db.t", task=2, generation=1, epoch=1),
    ]
    outcome = judge_manifests("db.t", [], manifests, 0.1, frozenset(), "c", "file:///t")
    assert outcome.columns == ColumnsSeen(10, ("b",), ("$.x", "$.y"))


def test_the_nearest_key_is_named() -> None:
    columns = (*SETTINGS.columns, Column("nil", "string"))
    told = never_filled(["title", "gross", "nil"], columns, ["$.Title", "$.props['US Gross']", "$.props.id"])
    assert list(map(str, told)) == [
        "title (did you mean Title?)",
        "gross (did you mean props['US Gross']?)",
        "nil",
    ]


class Service:
    """One table whose epochs are told to a ColumnWatch."""

    def __init__(self) -> None:
        service_map = load_text(
            'service: s\nkafka: {bootstrap.servers: "h:1"}\nstorage: {uri: "file:///b"}\n'
            "tables: [{table: db.t, topics: [t], columns: {id: bigint, title: string}}]\n",
            "m",
            {},
        )
        self.table = Table(service_map.tables[0], LedgerPaths("file:///l", "db.t"), ("t",), "file:///t")
        settings = replace(SETTINGS, columns=SETTINGS.columns[:2])
        self.table.ownership = Owned(cast("OwnedLedger", None), settings)
        self.metrics = ServiceMetrics("s")
        self.watch = ColumnWatch(self.metrics)

    def epoch(self, rows: int, *empty: str, key: str = "$.Headtitle") -> None:
        change = DataEpoch(files=(), accounts=())
        outcome = Outcome(change, OffsetAccounting(), ColumnsSeen(rows, empty, (key, "$.Year")))
        report = TableReport("db.t", outcome, FileMoves(), cast("Snapshot", None), frozenset())
        self.watch(EpochReport(1, (report,), 0.0, 0.0, (self.table,)))

    def gauge(self, column: str) -> float | None:
        labels = {"table": "db.t", "column": column}
        return self.metrics.registry.get_sample_value("kafka2hive_never_filled_columns", labels)


@pytest.fixture
def service() -> Service:
    return Service()


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]


def test_a_thousand_records_are_enough_for_one_warning(
    service: Service, caplog: pytest.LogCaptureFixture
) -> None:
    service.epoch(999, "title")
    assert warnings(caplog) == [] and service.gauge("title") is None
    service.epoch(1, "title")
    service.epoch(5, "title")
    (told,) = warnings(caplog)
    assert told.startswith(
        "db.t: no value in any of the first 1,000 records: title (did you mean Headtitle?); write"
    )
    assert service.gauge("title") == 1
    assert service.table.warnings["columns"] == (told.removeprefix("db.t: "),)


def test_a_key_that_nearly_is_the_columns_name_is_told_after_the_first_records(
    service: Service, caplog: pytest.LogCaptureFixture
) -> None:
    service.epoch(2, "title", "id", key="$.Titel")
    (told,) = warnings(caplog)
    assert told.startswith("db.t: no value in any of the first 2 records: title (did you mean Titel?); write")
    assert (service.gauge("title"), service.gauge("id")) == (1, None)


def test_three_small_epochs_are_enough_and_empty_ones_do_not_count(
    service: Service, caplog: pytest.LogCaptureFixture
) -> None:
    for rows in (1, 0, 0, 1):
        service.epoch(rows, *(["title"] if rows else []))
    assert warnings(caplog) == []
    service.epoch(1, "title")
    assert len(warnings(caplog)) == 1


def test_a_once_run_judges_at_its_end_however_few_records_there_were(
    service: Service, caplog: pytest.LogCaptureFixture
) -> None:
    service.watch.end([service.table])
    service.epoch(600, "title")
    assert warnings(caplog) == []
    service.watch.end([service.table])
    service.watch.end([service.table])
    (told,) = warnings(caplog)
    assert told.startswith(
        "db.t: no value in any of the first 600 records: title (did you mean Headtitle?); write"
    )
    assert service.gauge("title") == 1


def test_a_column_that_one_epoch_filled_is_never_told(
    service: Service, caplog: pytest.LogCaptureFixture
) -> None:
    service.epoch(10, "title")
    service.epoch(10)
    service.epoch(5_000, "title")
    assert warnings(caplog) == [] and not service.table.warnings.get("columns")


def test_a_column_that_is_filled_later_leaves_the_metrics(service: Service) -> None:
    service.epoch(2_000, "title", "id")
    service.epoch(10, "id")
    assert (service.gauge("title"), service.gauge("id")) == (0, 1)
    service.epoch(10)
    assert (service.gauge("title"), service.gauge("id")) == (0, 0)
    assert service.table.warnings["columns"] == ()
