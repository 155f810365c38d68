"""What a run learns of the records' fields: columns that none fills, fields that no column takes, values changed by leeway."""

import logging
import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal, cast

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kafka2hive.config.keys import Column
from kafka2hive.config.keys.leeway import Leeway
from kafka2hive.config.load import load_text
from kafka2hive.decode import DecoderSpec, make_decoder
from kafka2hive.decode.contract.spec import (
    BEYOND,
    BOOLEANS,
    DEFAULT,
    EMPTY,
    FRACTION,
    NON_FINITE,
    NUMBERS,
    OTHER_JSON,
    QUOTED,
    TIME_OF_DAY,
    UNAVAILABLE_VALUE,
    UNKNOWN_ENUM,
    WHOLE,
)
from kafka2hive.ledger.owned_ledger import OwnedLedger
from kafka2hive.ledger.snapshot.change import DataEpoch
from kafka2hive.model.files import FileMoves
from kafka2hive.model.offsets import OffsetAccounting, TopicPartition
from kafka2hive.model.paths.ledger import LedgerPaths
from kafka2hive.model.snapshot import Snapshot
from kafka2hive.observe.metrics import ServiceMetrics
from kafka2hive.plan.contract import BrokenRule, ColumnsSeen, TableManifest, UnmappedField, UnmappedFields
from kafka2hive.plugins import Decoded
from kafka2hive.service.run.telemetry.records import (
    WORDS,
    BrokenRulesWatch,
    ChangedValuesWatch,
    UnmappedFieldsWatch,
)
from kafka2hive.service.tables.manifests import Outcome, judge_manifests
from kafka2hive.service.tables.never_filled import ColumnWatch, never_filled
from kafka2hive.service.tables.report import EpochReport, TableReport
from kafka2hive.service.tables.table_state import MapTable, Owned, Table
from kafka2hive.task.chunk_decoder import ChunkDecoder
from kafka2hive.task.fetch.chunk import Chunk, Segment
from kafka2hive.task.fetch.records import MessageRecords
from kafka2hive.task.fields_seen import (
    LEAST_SAMPLE,
    LONGEST_NAME,
    MOST_FIELDS,
    MOST_KEYS,
    SAMPLE,
    FilledColumns,
    UnmappedFieldsOfTask,
)
from kafka2hive.task.rows import value_schema, value_sources
from tests.harness.cli_ledger import local, pending_service
from tests.harness.clock import SkippedTime
from tests.harness.compiled_library import needs_compiled
from tests.harness.fake_consumer import FakeLog
from tests.harness.one_task import outcome_of, run_task_of
from tests.harness.task_files import (
    offsets,
    table_settings,
)
from tests.unit.service.later_epochs import epoch, take

MAP = """
service: s
kafka: {bootstrap.servers: "h:1"}
storage: {uri: "file:///b"}
tables: [{table: db.t, topics: [t], columns: {id: bigint, title: string}}]
"""


class WatchedTable:
    """One table whose epochs are told to a watch."""

    def __init__(self, watch: Callable[[ServiceMetrics], Callable[[EpochReport], None]]) -> None:
        rule = load_text(MAP, "m", {}).tables[0]
        self.table = Table(MapTable(rule, LedgerPaths("file:///l", "db.t"), ("t",)))
        self.metrics = ServiceMetrics("s")
        self.watch = watch(self.metrics)
        self.number = 1

    def epoch(self, **seen: Any) -> None:
        """`seen`: the parts of the epoch's outcome that the watch looks at."""
        columns = seen.pop("columns", ColumnsSeen())
        outcome = Outcome(DataEpoch(files=(), accounts=()), OffsetAccounting(), columns, **seen)
        state = cast("Snapshot", SimpleNamespace(epoch=self.number))
        report = TableReport("db.t", outcome, FileMoves(), state, frozenset())
        self.watch(EpochReport(1, (report,), 0.0, 0.0, (self.table,)))

    def metric(self, name: str, **labels: str) -> float | None:
        return self.metrics.registry.get_sample_value(f"kafka2hive_{name}", {"table": "db.t", **labels})


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
    return Chunk(
        "db.t", (Segment(offsets("t", 0, 0, len(values)), len(messages), 0, -1),), MessageRecords(messages)
    )


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


class WatchedColumns(WatchedTable):
    """Its ledger has epochs of earlier runs, each with one file."""

    def __init__(self, folder: Path) -> None:
        wiring = pending_service(folder).wiring
        super().__init__(lambda metrics: ColumnWatch(metrics, wiring.ports.files))
        self.wiring, self.settings = wiring, replace(SETTINGS, columns=SETTINGS.columns[:2])
        self.own(take(wiring))

    def own(self, ledger: OwnedLedger) -> None:
        self.table.ownership = Owned(ledger, self.settings)
        self.number = ledger.next_epoch

    def earlier(self, *, spoil: bool = False, **columns: list[object]) -> None:
        """Publish an epoch before those that are told to the watch."""
        self.own(epoch(self.wiring, self.table.owned.ledger, "2013-01-01"))
        (file,) = self.table.owned.state.files
        pq.write_table(pa.table(columns), local(file.final))
        if spoil:
            local(file.final).write_bytes(b"PAR1")

    def rows(self, rows: int, *empty: str, key: str = "$.Headtitle") -> None:
        self.epoch(columns=ColumnsSeen(rows, empty, (key, "$.Year")))

    def end(self) -> None:
        cast("ColumnWatch", self.watch).end([self.table])

    def gauge(self, column: str) -> float | None:
        return self.metric("never_filled_columns", column=column)


@pytest.fixture
def watched(tmp_path: Path) -> WatchedColumns:
    return WatchedColumns(tmp_path)


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]


def test_a_thousand_records_are_enough_for_one_warning(
    watched: WatchedColumns, caplog: pytest.LogCaptureFixture
) -> None:
    watched.rows(999, "title")
    assert warnings(caplog) == [] and watched.gauge("title") is None
    watched.rows(1, "title")
    watched.rows(5, "title")
    (told,) = warnings(caplog)
    assert told.startswith(
        "db.t: no value in any of the first 1,000 records: title (did you mean Headtitle?); write"
    )
    assert watched.gauge("title") == 1
    assert watched.table.warnings["columns"] == (told.removeprefix("db.t: "),)


def test_a_key_that_nearly_is_the_columns_name_is_told_after_the_first_records(
    watched: WatchedColumns, caplog: pytest.LogCaptureFixture
) -> None:
    watched.rows(2, "title", "id", key="$.Titel")
    (told,) = warnings(caplog)
    assert told.startswith("db.t: no value in any of the first 2 records: title (did you mean Titel?); write")
    assert (watched.gauge("title"), watched.gauge("id")) == (1, None)


def test_three_small_epochs_are_enough_and_empty_ones_do_not_count(
    watched: WatchedColumns, caplog: pytest.LogCaptureFixture
) -> None:
    for rows in (1, 0, 0, 1):
        watched.rows(rows, *(["title"] if rows else []))
    assert warnings(caplog) == []
    watched.rows(1, "title")
    assert len(warnings(caplog)) == 1


def test_a_once_run_judges_at_its_end_however_few_records_there_were(
    watched: WatchedColumns, caplog: pytest.LogCaptureFixture
) -> None:
    watched.end()
    watched.rows(600, "title")
    assert warnings(caplog) == []
    watched.end()
    watched.end()
    (told,) = warnings(caplog)
    assert told.startswith(
        "db.t: no value in any of the first 600 records: title (did you mean Headtitle?); write"
    )
    assert watched.gauge("title") == 1


def test_a_column_that_one_epoch_filled_is_never_told(
    watched: WatchedColumns, caplog: pytest.LogCaptureFixture
) -> None:
    watched.rows(10, "title")
    watched.rows(10)
    watched.rows(5_000, "title")
    assert warnings(caplog) == [] and not watched.table.warnings.get("columns")


def test_a_column_that_is_filled_later_leaves_the_metrics(watched: WatchedColumns) -> None:
    watched.rows(2_000, "title", "id")
    watched.rows(10, "id")
    assert (watched.gauge("title"), watched.gauge("id")) == (0, 1)
    watched.rows(10)
    assert (watched.gauge("title"), watched.gauge("id")) == (0, 0)
    assert watched.table.warnings["columns"] == ()


def test_a_column_that_earlier_epochs_filled_is_not_told(
    watched: WatchedColumns, caplog: pytest.LogCaptureFixture
) -> None:
    watched.earlier(id=[None, 1], title=["x", None])
    watched.earlier(id=[None], title=[None])
    watched.rows(2_000, "title", "id")
    watched.rows(2_000, "title", "id")
    assert warnings(caplog) == [] and not watched.table.warnings.get("columns")
    assert (watched.gauge("title"), watched.gauge("id")) == (None, None)


def test_a_column_stays_told_if_no_earlier_file_that_can_be_read_has_a_value(
    watched: WatchedColumns, caplog: pytest.LogCaptureFixture
) -> None:
    watched.earlier(id=[1], title=["x"], spoil=True)
    watched.earlier(id=[1, 2])
    watched.earlier(id=[None], title=[None])
    watched.rows(2_000, "title", "id")
    assert (watched.gauge("title"), watched.gauge("id")) == (1, None)
    assert len(warnings(caplog)) == 1


def test_rows_of_this_run_are_no_earlier_ones(watched: WatchedColumns) -> None:
    watched.rows(10, "title")
    watched.earlier(id=[1], title=["x"])
    watched.rows(2_000, "title")
    assert watched.gauge("title") == 1


def test_a_key_that_nearly_equals_the_columns_name_is_told_in_spite_of_earlier_rows(
    watched: WatchedColumns,
) -> None:
    watched.earlier(id=[1], title=["none"])
    watched.rows(2, "title", key="$.Titel")
    assert watched.gauge("title") == 1, "the map may be newer than those rows"


def test_values_of_earlier_rows_may_be_the_columns_default(watched: WatchedColumns) -> None:
    title = Column("title", "string", leeway=Leeway(default="none"))
    watched.settings = replace(SETTINGS, columns=(Column("id", "bigint"), title))
    watched.earlier(id=[1], title=["none"])
    watched.rows(2_000, "title")
    assert watched.gauge("title") == 1


COLUMNS = (("id", "bigint"), ("props", "struct<a:int>"))


def found(values: list[bytes], *, any_case: bool = False, more: tuple[Column, ...] = ()) -> UnmappedFields:
    """What a task makes of these records, which begin at offset 0 of t-1."""
    settings = table_settings("db.t", "json", COLUMNS)
    settings = replace(settings, any_case=any_case, columns=(*settings.columns, *more))
    log = FakeLog(dict(enumerate(values)), len(values))
    manifest, _ = run_task_of({("t", 1): log}, settings, [offsets("t", 1, 0, len(values))])
    assert manifest.failure is None, manifest.failure
    outcome = outcome_of(manifest)
    assert outcome.unmapped == manifest.unmapped
    return outcome.unmapped


def one(name: str, records: int, offset: int) -> UnmappedField:
    return UnmappedField(name=name, records=records, topic_partition=TopicPartition("t", 1), offset=offset)


def test_fields_that_no_column_takes_are_counted_with_a_place() -> None:
    values = [
        b'{"id":1,"props":{"z":1}}',
        b'{"id":"bad","q":1}',
        b'{"colour":1,"id":2}',
        b'{"ID":3,"colour":2,"colour":3}',
    ]
    assert found(values) == UnmappedFields(3, (one("colour", 2, 2), one("ID", 1, 3)))
    assert found(values, any_case=True) == UnmappedFields(3, (one("colour", 2, 2),))
    assert found([b'{"id":1}']) == UnmappedFields(1, ())


def test_the_fields_of_all_tasks_are_added_up_by_name() -> None:
    settings = table_settings(format="json", columns=(("id", "bigint"),))
    values = [b'{"id":1,"x":1,"y":1}', b'{"id":2,"x":1}', b'{"id":3,"x":1}', b'{"id":4,"z":1}']
    log = FakeLog(dict(enumerate(values)), len(values))
    tasks = [
        run_task_of({("t", 1): log}, settings, [offsets("t", 1, begin, end)])[0]
        for begin, end in ((0, 2), (2, 4))
    ]
    expected = UnmappedFields(4, (one("x", 3, 0), one("y", 1, 0), one("z", 1, 3)))
    assert outcome_of(*tasks).unmapped == expected


def test_there_is_a_bound_on_names_and_on_their_length() -> None:
    seen = found([orjson.dumps({"id": n, f"{n}{'x' * 1_000}": 1}) for n in range(8 * MOST_FIELDS)])
    assert len(seen.fields) == MOST_FIELDS
    assert {len(field.name) for field in seen.fields} == {LONGEST_NAME}


def test_the_share_of_a_field_is_that_of_a_sample() -> None:
    seen = found([b'{"id":%d%s}' % (n, b',"x":1' if n % 2 else b"") for n in range(5_000)])
    assert seen.looked_at == SAMPLE
    assert 0.3 * SAMPLE < seen.fields[0].records < 0.7 * SAMPLE


@pytest.mark.parametrize(("records", "looked_at"), [(1, 1), (15, 15), (100, LEAST_SAMPLE), (400, 50)])
def test_a_sample_is_an_eighth_of_a_small_batch(records: int, looked_at: int) -> None:
    seen = found([b'{"id":1,"x":1}'] * records)
    assert seen == UnmappedFields(looked_at, (one("x", looked_at, 0),))


def test_a_key_that_the_decoder_met_is_looked_for_among_all_records_of_the_batch() -> None:
    values = [b'{"id":1,"props":{"a":1}}', b'{"id":"rare"}', *[b'{"id":2}'] * 996, b'{"rare":1}', b'{"id":2}']
    log = FakeLog(dict(enumerate(values)), len(values))
    messages = [log.message(("t", 1), offset) for offset in range(1, len(values))]
    source = offsets("t", 1, 0, len(values))
    chunk = Chunk("db.t", (Segment(source, len(messages), 0, -1),), MessageRecords(messages))
    every = pa.array(range(2, len(messages)), pa.int32())
    none = pa.array([], pa.int32())
    decoded = Decoded(pa.record_batch({}), every, none, none.cast(pa.string()), new_keys=("rare", "gone"))
    of_task = UnmappedFieldsOfTask(table_settings("db.t", "json", COLUMNS))
    of_task.note(chunk.values(), decoded, chunk, None)
    assert of_task.fields() == UnmappedFields(SAMPLE + 1, (one("rare", 1, 998),))


@needs_compiled
def test_a_field_of_one_record_is_found_wherever_it_stands() -> None:
    seen = found([b'{"id":%d%s}' % (n, b',"rare":1' if n == 2_790 else b"") for n in range(5_000)])
    assert seen == UnmappedFields(SAMPLE + 1, (one("rare", 1, 2_790),))


@needs_compiled
@pytest.mark.parametrize("name", ["d", "i", "props", "été"])
def test_a_rare_field_is_found_also_where_its_name_is_a_part_of_other_texts(name: str) -> None:
    values = [b'{"id":2,"props":null,"valid":"d","x":{"ids":"props"}}'] * 998
    seen = found([*values, '{"id":1,"%s" : 1}'.replace("%s", name).encode(), values[0]])
    wanted = [one("valid", SAMPLE, 0), one("x", SAMPLE, 0)]
    assert list(seen.fields) == [*wanted, *([one(name, 1, 998)] if name != "props" else [])]


class WatchedFields(WatchedTable):
    def __init__(self) -> None:
        super().__init__(lambda metrics: UnmappedFieldsWatch(metrics, SkippedTime()))

    def fields(self, looked_at: int, *fields: UnmappedField) -> None:
        self.epoch(unmapped=UnmappedFields(looked_at, fields))

    def gauge(self) -> float | None:
        return self.metric("unmapped_fields")


def test_a_field_that_comes_up_later_is_a_warning_and_stands_in_status(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    watched = WatchedFields()
    watched.fields(0)
    assert watched.gauge() is None
    watched.fields(50)
    assert watched.gauge() == 0 and "unmapped fields" not in watched.table.warnings
    watched.fields(50, one("colour", 10, 7))
    watched.fields(100, one("colour", 10, 99))
    (told,) = caplog.records
    assert told.levelno == logging.WARNING
    assert watched.table.warnings["unmapped fields"] == (
        "1 field of the records without a column: colour (since 2025-11-21T08:00:00Z, 10 % of records, e.g. t-1@7)",
    )
    watched.fields(1_000, *(one(f"f{n}\x1b", 1, n) for n in range(150)))
    assert watched.gauge() == 100
    (text,) = watched.table.warnings["unmapped fields"]
    assert text.endswith("; and 95 more") and "\x1b" not in text and "under 1 %" in text


def test_what_was_there_from_the_beginning_is_no_warning_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    watched = WatchedFields()
    watched.fields(5, one("left_out", 5, 0))
    assert [record.levelno for record in caplog.records] == [logging.INFO]
    assert watched.table.warnings["unmapped fields"]


def test_changed_values_are_summed_up_for_status_and_metrics_and_said_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    watched = WatchedTable(ChangedValuesWatch)
    for values in (0, 2_000, 5):
        watched.epoch(changed={"fraction": values} if values else {})
        if not values:
            assert "changed" not in watched.table.warnings
    words = "times cut to microseconds (fraction: truncate)"
    assert watched.table.warnings["changed"] == (f"since the start 2,005 values: {words}",)
    assert watched.metric("changed_values_total", kind="fraction") == 2_005
    told = [record.getMessage() for record in caplog.records if "times cut" in record.getMessage()]
    assert told == [f"db.t: in this epoch 2,000 values: {words}"]


def test_broken_rules_are_summed_up_for_status_and_metrics_and_said_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    watched = WatchedTable(BrokenRulesWatch)
    watched.epoch()
    assert "rules" not in watched.table.warnings
    letters = BrokenRule(column="id", rule="required", on_break="dead_letter", rows=2)
    written = BrokenRule(column="title", rule="pattern", on_break="count", rows=1_999)
    watched.epoch(broken=(letters, written))
    watched.epoch(broken=(replace(written, rows=1),))
    texts = (
        "2,000 rows broke the rule pattern of column title: written and counted",
        "2 rows broke the rule required of column id: their messages are dead letters",
    )
    assert watched.table.warnings["rules"] == tuple(f"since the start {text}" for text in texts)
    counts = {"column": "title", "rule": "pattern", "on_break": "count"}
    assert watched.metric("broken_rules_total", **counts) == 2_000
    told = [record.getMessage() for record in caplog.records if "broke" in record.getMessage()]
    assert [text.partition(" broke the rule ")[::2] for text in told] == [
        ("db.t: in this epoch 2 rows", "required of column id: their messages are dead letters"),
        ("db.t: in this epoch 1,999 rows", "pattern of column title: written and counted"),
    ]


def test_marks_of_a_change_log_are_counted_and_those_after_which_rows_are_gone_are_warnings(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    watched = WatchedTable(ChangedValuesWatch)
    watched.epoch(changed={"watermark": 150, "truncation": 1, "fraction": 2})
    watched.epoch(changed={"watermark": 5, "removal": 1})
    assert watched.metric("change_log_marks_total", kind="watermark") == 155
    assert watched.metric("changed_values_total", kind="fraction") == 2
    removal, truncation = watched.table.warnings["rows gone"]
    assert removal.startswith("since the start 1 message of the change log: DROP of a table")
    assert "TRUNCATE" in truncation
    assert len(watched.table.warnings["changed"]) == 1
    levels = [
        (record.levelno, record.getMessage().partition(" of the change log: ")[0])
        for record in caplog.records
    ]
    assert levels == [
        (logging.INFO, "db.t: in this epoch 150 messages"),
        (logging.WARNING, "db.t: in this epoch 1 message"),
        (logging.INFO, "db.t: in this epoch 2 values: times cut to microseconds (fraction: truncate)"),
        (logging.WARNING, "db.t: in this epoch 1 message"),
    ]


def test_every_kind_that_decoders_count_has_its_words() -> None:
    forms = {BEYOND, BOOLEANS, EMPTY, NON_FINITE, NUMBERS, OTHER_JSON, QUOTED, WHOLE}
    assert WORDS.keys() == forms | {DEFAULT, FRACTION, TIME_OF_DAY, UNAVAILABLE_VALUE, UNKNOWN_ENUM}


def test_no_field_lacks_a_column_if_a_column_takes_the_whole_message() -> None:
    whole = Column("doc", "string", leeway=Leeway(json="text"), is_whole=True)
    values = [b'{"id":1,"x":2}']
    assert len(found(values).fields) == 1
    assert found(values, more=(whole,)).fields == ()
