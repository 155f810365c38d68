"""The rows of a compacted partition against those of its tasks."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kafka2hive.config.keys import WriterOptions
from kafka2hive.formats.lines.files import PlainLines
from kafka2hive.model.files import FileKind, HivePartition
from kafka2hive.service.verify.compacted_rows import CompactedRows
from kafka2hive.service.verify.line_forms import LineForms
from kafka2hive.service.verify.row_sources import Reduction, RowsAside
from kafka2hive.service.verify.rows import Paths, PlaceColumns, Span
from tests.harness.task_files import offsets
from tests.harness.values import data_file

HOME = HivePartition("d.t", "dt=2026-01-29", "file:///w/dt=2026-01-29")
FILE = data_file(kind=FileKind.COMPACTED, final=f"{HOME.location}/a.parquet.final", hive_partition=HOME)
RANGES = (offsets("t", 0, 0, 4), offsets("t", 0, 8, 12))
RIGHT: list[dict[str, Any]] = [{"o": o, "v": f"v{o}"} for o in (0, 1, 3, 9)]
COLUMNS = {"o": "o", "v": "v"}


def compared(
    rows: list[dict[str, Any]], *, placed: bool, fetched: int = 2, gone: int = 0, not_replayed: int = 0
) -> list[tuple[str, str]]:
    """Compare a compacted file with these rows with the records of RIGHT, read in two tasks."""
    place = PlaceColumns("o") if placed else None
    partition = CompactedRows(
        home=HOME,
        sources=frozenset(),
        files=[FILE],
        units=[],
        reduction=Reduction(COLUMNS, place, Span(RANGES), Paths()),
        waiting=0,
        rows_gone=gone,
        not_replayed=not_replayed,
        is_partial=fetched < 2,
    )
    for source in RANGES[:fetched]:
        aside = RowsAside(partition.reduction)
        inside = [row for row in RIGHT if source.start <= row["o"] < source.end]
        aside.add(pa.RecordBatch.from_pylist(inside), np.arange(len(inside)))
        partition.fetched.append(source)
        partition.add(aside, np.zeros(0, np.int64))
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(rows), sink)
    content = sink.getvalue().to_pybytes()
    noted: list[int] = []
    lines = LineForms(PlainLines(pa.schema([]), WriterOptions()), {})
    assert partition.load(lambda file: content, lines, lambda reader, file: noted.append(reader.rows))
    assert noted == [len(rows)]
    return [(finding.code, finding.where) for finding in partition.compare().findings]


def other(offset: int, **values: Any) -> list[dict[str, Any]]:
    return [row | values if row["o"] == offset else row for row in RIGHT]


@pytest.mark.parametrize("placed", [True, False])
def test_right_rows_in_any_order_pass(placed: bool) -> None:
    assert compared(RIGHT[::-1], placed=placed) == []


@pytest.mark.parametrize(
    ("rows", "codes"),
    [
        (other(3, v="x"), [("verify.different", "t-0@3")]),
        (RIGHT[:3], [("verify.lost", "t-0@9")]),
        ([*RIGHT, RIGHT[0]], [("verify.doubled", "t-0@0")]),
        (other(1, o=2, v="v2"), [("verify.lost", "t-0@1"), ("verify.extra", "t-0@2")]),
        ([*RIGHT, {"o": 5, "v": "v5"}], [("verify.extra", HOME.location)]),
    ],
    ids=["changed", "lost", "doubled", "another record", "nowhere"],
)
def test_each_wrong_row_is_named_with_its_offset(
    rows: list[dict[str, Any]], codes: list[tuple[str, str]]
) -> None:
    assert compared(rows, placed=True) == codes
    assert {code for code, _ in compared(rows, placed=False)} <= {"verify.lost", "verify.extra"}
    assert compared(rows, placed=False)


@pytest.mark.parametrize("placed", [True, False])
def test_rows_of_records_that_kafka_does_not_have_any_more_are_no_findings(placed: bool) -> None:
    assert compared(RIGHT, placed=placed, fetched=1) == []
    assert compared(other(1, v="x"), placed=placed, fetched=1) != []


def test_only_as_many_rows_without_a_record_are_explained_as_records_are_gone() -> None:
    more = [*RIGHT, {"o": 2, "v": "v2"}]
    assert compared(more, placed=True, gone=1) == [] and compared(more, placed=False, gone=1) == []
    assert compared([*more, {"o": 10, "v": "v10"}], placed=True, gone=1) != []


def test_a_row_of_a_letter_that_was_not_replayed_yet_is_not_lost() -> None:
    assert compared(RIGHT[:3], placed=False, not_replayed=1) == []
    assert compared(RIGHT[:2], placed=False, not_replayed=1) == [("verify.lost", HOME.location)]
