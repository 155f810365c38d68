"""`verify --against` two dumps of one topic in files of different tasks: every difference is named with its offset."""

import io
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq

from kafka2hive.model.files import HivePartition
from kafka2hive.model.offsets import OffsetAccounting, RangeAccounting
from kafka2hive.model.snapshot import Snapshot
from kafka2hive.service.verify.other_table import OtherTableAudit, Side
from kafka2hive.service.verify.rows import PlaceColumns
from kafka2hive.storage.concurrency import Sequential
from tests.harness.task_files import MemoryFiles, offsets
from tests.harness.values import data_file, snapshot

PLACE = PlaceColumns("o", "t", "p")


class DumpedTable:
    """Epochs of one topic partition in one file each; `rows` are offsets with their value, `bucket` is common."""

    def __init__(self, files: MemoryFiles, table: str) -> None:
        self._files = files
        self.table = table
        self.snapshots: list[Snapshot] = []

    def epoch(
        self,
        start: int,
        end: int,
        rows: dict[int, int] | list[tuple[int, int]],
        bucket: str = "dt=1",
        more: str = "",
    ) -> str:
        pairs = list(rows.items()) if isinstance(rows, dict) else rows
        columns = {
            "t": pa.array(["t"] * len(rows), pa.string()),
            "p": pa.array([0] * len(rows), pa.int32()),
            "o": pa.array([offset for offset, _ in pairs], pa.int64()),
            "v": pa.array([value for _, value in pairs], pa.int64()),
        }
        if more:
            columns[more] = pa.array(["x"] * len(rows), pa.string())
        out = io.BytesIO()
        pq.write_table(pa.table(columns), out)
        number, source = len(self.snapshots), offsets("t", 0, start, end)
        path = f"{self.table}/{bucket}/{number}"
        self._files.content[path] = out.getvalue()
        file = data_file(
            staged="",
            final=path,
            hive_partition=HivePartition(self.table, bucket, ""),
            rows=len(rows),
            ranges=(source,),
        )
        account = OffsetAccounting(read=len(rows), written=len(rows), absent=end - start - len(rows))
        epoch = snapshot(table=self.table, epoch=number)
        self.snapshots.append(replace(epoch, files=(file,), accounts=(RangeAccounting(0, source, account),)))
        return path


def compared(
    files: MemoryFiles, ours: DumpedTable, other: DumpedTable, buckets: bool = True
) -> tuple[list[tuple[str, str]], list[str]]:
    mine, theirs = (Side(d.table, tuple(d.snapshots), PLACE) for d in (ours, other))
    audited = OtherTableAudit(files, Sequential(), mine, theirs, buckets, lambda **_: None).audit()
    return sorted((f.code, f.where) for f in audited.findings), audited.not_checked


def dumps() -> tuple[MemoryFiles, DumpedTable, DumpedTable]:
    files = MemoryFiles()
    ours, other = DumpedTable(files, "d.ours"), DumpedTable(files, "d.other")
    ours.epoch(0, 4, {o: o for o in range(4)})
    ours.epoch(4, 9, {o: o for o in (4, 5, 6, 8)})
    other.epoch(2, 7, {o: o for o in range(2, 7)})
    return files, ours, other


def test_what_both_have_is_equal_and_the_rest_is_counted() -> None:
    files, ours, other = dumps()
    assert compared(files, ours, other) == (
        [],
        ["4 offsets that d.other has not read"],
    )
    other.epoch(7, 12, {8: 8, 11: 11})
    assert compared(files, ours, other) == (
        [],
        ["2 offsets that d.other has not read", "3 offsets that only d.other has read"],
    )


def test_every_difference_has_its_offset() -> None:
    files, ours, other = dumps()
    other.epoch(7, 9, {7: 7})
    changed = ours.epoch(9, 12, {9: 9, 10: 999, 11: 11})
    other.epoch(9, 11, {9: 9, 10: 10})
    other.epoch(11, 12, {11: 11}, bucket="dt=2")
    found, _ = compared(files, ours, other)
    assert found == [
        ("verify.different", "t-0@10"),
        ("verify.extra", "t-0@8"),
        ("verify.lost", "t-0@7"),
        ("verify.misplaced", "t-0@11"),
    ]
    found, left_out = compared(files, ours, other, buckets=False)
    assert ("verify.misplaced", "t-0@11") not in found
    assert "buckets: d.other may have different ones" in left_out
    assert changed in ours.snapshots[-1].files[0].final


def test_columns_of_one_side_only_are_said_and_not_compared() -> None:
    files, ours, other = dumps()
    ours.epoch(9, 10, {9: 9}, more="k")
    other.epoch(9, 10, {9: 9})
    assert compared(files, ours, other) == (
        [],
        ["4 offsets that d.other has not read", "columns that are not in all files of both: k"],
    )


def test_several_rows_of_a_message_are_compared_together_in_any_order() -> None:
    def found(rows: list[tuple[int, int]]) -> list[tuple[str, str]]:
        files = MemoryFiles()
        ours, other = DumpedTable(files, "d.ours"), DumpedTable(files, "d.other")
        ours.epoch(0, 3, rows)
        other.epoch(0, 3, [(0, 1), (0, 2), (1, 5), (1, 5), (2, 7)])
        return compared(files, ours, other)[0]

    assert found([(0, 2), (0, 1), (1, 5), (1, 5), (2, 7)]) == []
    assert found([(0, 1), (0, 3), (1, 5), (1, 5), (2, 7)]) == [("verify.different", "t-0@0")]
    assert found([(0, 1), (0, 2), (1, 5), (2, 7)]) == [("verify.lost", "t-0@1")]
    assert found([(0, 1), (0, 2), (1, 5), (1, 5), (2, 7), (2, 7)]) == [("verify.doubled", "t-0@2")]
