"""The records that are judged of each schema, and their rows in files."""

import io
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from kafka2hive.config.keys import MetadataColumn, TableSettings
from kafka2hive.config.keys.columns import Column, RecordPart
from kafka2hive.formats.files import open_reader
from kafka2hive.model.files import FileKind, HivePartition
from kafka2hive.service.verify.compacted_rows import CompactedRows
from kafka2hive.service.verify.kafka_rows import KafkaAudit
from kafka2hive.service.verify.record_sample import OF_EACH_SCHEMA, RecordSample, table_of_values
from kafka2hive.service.verify.row_sources import Reduction
from kafka2hive.service.verify.rows import Paths, PlaceColumns, Span
from kafka2hive.service.verify.semantics.judge import SchemaJudge
from kafka2hive.storage.concurrency import Sequential
from kafka2hive.task.rows import column_schema
from tests.contract import avro_ways
from tests.contract.avro_cases import number
from tests.harness.task_files import MemoryFiles, offsets, table_settings, task_settings
from tests.harness.values import data_file

PLACE = PlaceColumns("o")
SCHEMA = avro_ways.written(avro_ways.record(v={"type": "int", "logicalType": "time-millis"}))
SPAN = Span([offsets("t", 0, 100, 200)])


def table(framing: str = "id4") -> TableSettings:
    columns = (Column("v", "bigint"),)
    return replace(table_settings("db.t", "raw", ()), format="avro", columns=columns, framing=framing)  # type: ignore[arg-type]


def sampled(settings: TableSettings, *records: tuple[int, bytes | None, bytes | None]) -> RecordSample:
    """Sample records: offset, header and value."""
    sample = RecordSample(SchemaJudge(settings, lambda schema_id: SCHEMA if schema_id == 1 else None), PLACE)
    values = table_of_values(settings)
    names = column_schema(values).names
    rows = [dict(zip(names, (value, head), strict=False)) | {"o": at} for at, head, value in records]
    kinds = [(name, pa.binary()) for name in names] + [("o", pa.int64())]
    batch = pa.RecordBatch.from_pylist(rows, pa.schema(kinds))
    sample.take(batch, SPAN)
    return sample


def told(sample: RecordSample, rows: list[dict[str, Any]], span: Span = SPAN) -> list[tuple[str, str | None]]:
    file = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), file)
    return list(sample.contradictions_in(open_reader(file.getvalue(), "parquet", None), span))


def test_some_records_of_each_schema_are_judged_and_others_are_not() -> None:
    messages = [(100 + n, None, avro_ways.framed(1, number(n))) for n in range(OF_EACH_SCHEMA + 5)]
    sample = sampled(
        table(), *messages, (150, None, avro_ways.framed(2, b"")), (151, None, b"{"), (152, None, None)
    )
    assert len(sample.rows) == OF_EACH_SCHEMA + 1
    rows = [{"o": 100 + n, "v": n} for n in range(OF_EACH_SCHEMA + 5)]
    assert told(sample, rows) == []
    wrong = [{"o": 103, "v": 4}, {"o": 120, "v": 9}, {"o": 150, "v": 1}, {"o": 151, "v": 1}]
    assert told(sample, wrong) == [
        ("t-0@103", "column v is 4, the record's schema makes it 3"),
        ("t-0@150", None),
    ]


def test_rows_are_found_by_their_offsets_also_in_files_of_more_ranges() -> None:
    sample = sampled(table(), (103, None, avro_ways.framed(1, number(3))))
    wider = Span([offsets("t", 0, 0, 50), offsets("t", 0, 90, 110)])
    assert told(sample, [{"o": 3, "v": 9}, {"o": 103, "v": 9}], wider) == [
        ("t-0@103", "column v is 9, the record's schema makes it 3")
    ]
    assert told(sample, [{"o": 3, "v": 9}], Span([offsets("t", 0, 0, 50)])) == []


def test_a_schema_in_a_header_is_read_with_its_record() -> None:
    sample = sampled(
        table("header"),
        (101, avro_ways.framed(1, b""), number(5)),
        (102, None, avro_ways.framed(1, number(6))),
    )
    assert told(sample, [{"o": 101, "v": 5}, {"o": 102, "v": 7}]) == [
        ("t-0@102", "column v is 7, the record's schema makes it 6")
    ]


def test_rows_of_compacted_files_are_judged_by_the_samples_of_their_tasks() -> None:
    home = HivePartition("db.t", "dt=2026-01-29", "file:///w/dt=2026-01-29")
    path = f"{home.location}/a.parquet.final"
    files, file = MemoryFiles(), io.BytesIO()
    pq.write_table(pa.Table.from_pylist([{"v": 4, "o": 103}]), file)
    files.content[path] = file.getvalue()
    partition = CompactedRows(
        home=home,
        sources=frozenset(),
        files=[data_file(kind=FileKind.COMPACTED, final=path, hive_partition=home)],
        units=[],
        reduction=Reduction({"v": "v"}, PLACE, SPAN, Paths()),
        waiting=0,
    )
    settings = replace(table(), avro_schema=SCHEMA.text, metadata=((MetadataColumn.OFFSET, "o"),))
    audit = KafkaAudit(files, Sequential(), task_settings("", settings), "db.t", lambda **done: None)
    sample = sampled(table(), (103, None, avro_ways.framed(1, number(3))))
    findings = audit.compare_compacted(partition, sample).findings
    assert [(f.code, f.where) for f in findings if f.code == "verify.semantic"] == [
        ("verify.semantic", "t-0@103")
    ]


def test_keys_and_headers_are_read_for_the_columns_that_they_fill() -> None:
    columns = (
        Column("v", "binary"),
        Column("tenant", "int", ("tenant",), part=RecordPart.HEADER),
        Column("id", "bigint", part=RecordPart.KEY),
    )
    settings = replace(table_settings("db.t", "raw", ()), columns=columns)
    judge = SchemaJudge(settings)
    sample = RecordSample(judge, PLACE)
    names = column_schema(table_of_values(settings, judge)).names
    rows = [
        dict(zip(names, row, strict=True)) | {"o": at}
        for at, row in ((100, (b"x", b"7", b"8")), (101, (b"x", None, None)))
    ]
    kinds = [(name, pa.binary()) for name in names] + [("o", pa.int64())]
    sample.take(pa.RecordBatch.from_pylist(rows, pa.schema(kinds)), SPAN)
    right: list[dict[str, Any]] = [{"o": 100, "tenant": 7, "id": 8}, {"o": 101, "tenant": None, "id": None}]
    schema = pa.schema([("o", pa.int64()), ("tenant", pa.int32()), ("id", pa.int64())])
    wrong_rows = [right[0] | {"tenant": 8}, right[1] | {"id": 1}]
    for found, told_of in ((right, []), (wrong_rows, ["tenant is 8", "id is 1"])):
        file = io.BytesIO()
        pq.write_table(pa.Table.from_pylist(found, schema), file)
        wrong = list(sample.contradictions_in(open_reader(file.getvalue(), "parquet", None), SPAN))
        assert [str(text).split(",")[0] for _, text in wrong] == [f"column {text}" for text in told_of]
