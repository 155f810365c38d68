"""A task whose messages hold several rows: files count rows, accounts both, and a message is whole or a dead letter."""

import json
from dataclasses import replace
from typing import Any, Literal

import pytest

from kafka2hive.config.keys import (
    Bucketing,
    BucketTime,
    Column,
    CsvOptions,
    MetadataColumn,
    RecordPart,
    TableSettings,
    WriterOptions,
)
from kafka2hive.config.keys.source import ArrayRows, Rows
from kafka2hive.model.files import FileKind
from kafka2hive.model.footer import Footer
from kafka2hive.model.offsets import AccountingMismatch, OffsetAccounting, RangeAccounting
from kafka2hive.plan.contract import TableManifest, TaskPlan
from tests.harness.fake_consumer import FakeConsumer, FakeLog
from tests.harness.one_task import manifests_of, outcome_of, run_task_of, total
from tests.harness.task_files import (
    MemoryFiles,
    offsets,
    read_file,
    read_rows,
    table_settings,
    table_task,
    task_settings,
)

PLACE = ((MetadataColumn.OFFSET, "o"), (MetadataColumn.ORDINAL, "i"))
COLUMNS = (("n", "bigint"), ("day", "date"))


def table(rows: Rows = "array", **more: Any) -> TableSettings:
    made = table_settings("db.t", "json", COLUMNS, PLACE, Bucketing("b={n}", BucketTime.RECORD))
    return replace(made, rows=rows, **more)


def run_of(
    settings: TableSettings, *messages: bytes | None, end: int | None = None
) -> tuple[TableManifest, MemoryFiles]:
    log = FakeLog(dict(enumerate(messages)), end or len(messages))
    manifest, files = run_task_of({("t", 0): log}, settings, [offsets("t", 0, 0, end or len(messages))])
    assert manifest.failure is None, manifest.failure
    return manifest, files


def rows_of(files: MemoryFiles, manifest: TableManifest) -> list[tuple[int, int, int]]:
    return sorted((row["o"], row["i"], row["n"]) for row in read_rows(files, manifest))


def array(*numbers: Any) -> bytes:
    return json.dumps([{"n": number} for number in numbers]).encode()


def test_an_array_within_an_object_is_counted_like_one_alone() -> None:
    columns = (
        Column("n", "bigint"),
        Column("of", "string", ("account", "id"), part=RecordPart.MESSAGE),
        Column("k", "bigint", part=RecordPart.KEY, path=()),
    )
    made = table(rows=ArrayRows(array="$.Records"), columns=columns)
    arrays = [array(5, 6, 7), array(), None, array(5), array(8, "x"), array(5, 5)]
    messages = [
        None if each is None else b'{"Records":' + each + b',"account":{"id":"a"}}' for each in arrays
    ]
    messages += [b"{}", b'{"Records":null}', b'{"Records":[null]}', b'{"Records":[],"account":{"id":1}}']
    log = FakeLog(dict(enumerate(messages)), 10, keys=dict.fromkeys(range(10), b"9"))
    manifest, files = run_task_of({("t", 0): log}, made, [offsets("t", 0, 0, 10)])
    rows = sorted((row["o"], row["i"], row["n"], row["of"], row["k"]) for row in read_rows(files, manifest))
    places = [(0, 0, 5), (0, 1, 6), (0, 2, 7), (3, 0, 5), (5, 0, 5), (5, 1, 5)]
    assert rows == [(*place, "a", 9) for place in places]
    letters = read_rows(files, manifest, FileKind.DEAD_LETTER)
    codes = ["json.type", "json.array", "json.array", "json.object", "json.type"]
    assert [(letter["offset"], letter["reason"]) for letter in letters] == list(
        zip([4, 6, 7, 8, 9], codes, strict=True)
    )
    assert all(letter["value"] == messages[letter["offset"]] for letter in letters)
    size = sum(len(m or b"") for m in messages)
    assert total(manifest) == OffsetAccounting(10, 3, 1, 1, 5, 0, size, 3)


@pytest.mark.parametrize("rows", ["lines", "array"])
def test_files_count_rows_and_accounts_count_both(rows: Literal["lines", "array"]) -> None:
    messages = [array(5, 6, 7), array(), None, array(5), array(8, "x"), array(5, 5)]
    if rows == "lines":
        messages = [
            None if m is None else b"\n".join(json.dumps(row).encode() for row in json.loads(m))
            for m in messages
        ]
    manifest, files = run_of(table(rows), *messages, end=8)
    assert rows_of(files, manifest) == [(0, 0, 5), (0, 1, 6), (0, 2, 7), (3, 0, 5), (5, 0, 5), (5, 1, 5)]
    letters = read_rows(files, manifest, FileKind.DEAD_LETTER)
    assert [(letter["offset"], letter["reason"], letter["value"]) for letter in letters] == [
        (4, "json.type", messages[4])
    ]
    size = sum(len(m or b"") for m in messages)
    counted = total(manifest)
    assert counted == OffsetAccounting(6, 3, 1, 1, 1, 2, size, 3)
    assert counted.rows == 6 == sum(f.rows for f in manifest.files if f.kind is FileKind.DATA)
    assert {file.hive_partition.path: file.rows for file in manifest.files if file.kind is FileKind.DATA} == {
        "b=5": 4,
        "b=6": 1,
        "b=7": 1,
    }


def test_a_row_without_a_bucket_makes_a_dead_letter_of_its_whole_message() -> None:
    days = Bucketing("dt=%Y-%m-%d", BucketTime.EVENT, "day")
    messages = [
        b'[{"n":1,"day":"2013-01-01"},{"n":2,"day":"2013-01-02"}]',
        b'[{"n":3,"day":"2013-01-01"},{"n":4},{"n":5}]',
    ]
    manifest, files = run_of(table(bucketing=days), *messages)
    assert rows_of(files, manifest) == [(0, 0, 1), (0, 1, 2)]
    (letter,) = read_rows(files, manifest, FileKind.DEAD_LETTER)
    assert (letter["offset"], letter["reason"]) == (1, "bucket.no_time")
    assert total(manifest).counts()[:5] == (2, 1, 0, 0, 1)


def test_a_row_that_the_file_format_cannot_hold_makes_a_dead_letter_of_its_whole_message() -> None:
    columns = (Column("n", "bigint"), Column("at", "timestamp"))
    made = table(columns=columns, writer=WriterOptions(format="orc"))
    messages = [
        b'[{"n":1,"at":"1969-12-31 23:59:59"},{"n":1,"at":"1969-12-31 23:59:59.5"}]',
        b'[{"n":2,"at":"1969-12-31 23:59:59"}]',
    ]
    manifest, files = run_of(made, *messages)
    assert rows_of(files, manifest) == [(1, 0, 2)]
    assert [letter["reason"] for letter in read_rows(files, manifest, FileKind.DEAD_LETTER)] == [
        "orc.timestamp"
    ]


def test_the_key_stands_beside_every_row_and_a_bad_one_makes_one_dead_letter() -> None:
    keyed = replace(
        table(), columns=(Column("n", "bigint"), Column("k", "bigint", part=RecordPart.KEY, path=()))
    )
    log = FakeLog({0: array(1, 2), 1: array(3, 4)}, 2, keys={0: b"7", 1: b"x"})
    manifest, files = run_task_of({("t", 0): log}, keyed, [offsets("t", 0, 0, 2)])
    assert [(row["n"], row["k"]) for row in read_rows(files, manifest)] == [(1, 7), (2, 7)]
    assert [letter["offset"] for letter in read_rows(files, manifest, FileKind.DEAD_LETTER)] == [1]
    assert total(manifest).dead_lettered == 1


def test_as_many_rows_as_messages_are_not_taken_for_one_row_each() -> None:
    manifest, files = run_of(table(), array(1, 2, 3), array(), array())
    assert rows_of(files, manifest) == [(0, 0, 1), (0, 1, 2), (0, 2, 3)]


@pytest.mark.parametrize("at_once", [1, 2, 5])
def test_a_chunk_of_many_rows_is_decoded_in_parts(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, files = run_of(table(), *(many := [array(*range(n % 4)) for n in range(20)]))
    asked: list[int] = []

    def parts(most: Any) -> Any:
        from kafka2hive.decode.rows.decoder import groups

        for piece in groups(most, at_once):
            asked.append(piece.stop - piece.start)
            yield piece

    monkeypatch.setattr("kafka2hive.task.chunk_decoder.groups", parts)
    manifest, again = run_of(table(), *many)
    assert rows_of(again, manifest) == rows_of(files, whole)
    assert total(manifest) == total(whole)
    assert sum(asked) == 20 and len(asked) > 3


def test_a_bucket_that_is_dumped_again_has_its_rows_of_each_message() -> None:
    messages = [array(5, 6), array(6, 7), array(7), array(5, "x")]
    first, files = run_of(table(), *messages)
    lost = next(f for f in first.files if f.hive_partition.path == "b=6")
    log, again = FakeLog(dict(enumerate(messages)), 4), MemoryFiles()
    task = table_task("db.t", offsets("t", 0, 0, 4), only_bucket="b=6")
    settings, consumer = task_settings("", table(), stall_seconds=2.0), FakeConsumer({("t", 0): log})
    (manifest,) = manifests_of(TaskPlan(0, (task,)), settings, again, consumer)
    assert manifest.failure is None
    (file,) = manifest.files
    assert read_file(again, file) == read_file(files, lost)
    assert total(manifest).counts()[:5] == (4, 2, 2, 0, 0)


def test_an_account_of_more_rows_than_the_files_hold_is_not_committed() -> None:
    manifest, _ = run_of(table(), array(1, 2, 3))
    (account,) = manifest.accounts
    for more in (1, 3):
        wrong = replace(account, account=replace(account.account, more_rows=more))
        forged = replace(manifest, accounts=(wrong,))
        with pytest.raises(AccountingMismatch, match=f"hold 3 rows, the accounts say {more + 1}"):
            outcome_of(forged, planned=[account.range])


def test_rows_without_a_written_message_are_a_bug() -> None:
    account = RangeAccounting(0, offsets("t", 0, 0, 1), OffsetAccounting(1, 0, 1, more_rows=1))
    with pytest.raises(AccountingMismatch, match="1 more rows, but 0 written records"):
        account.check()


def test_a_footer_says_more_rows_only_where_there_are_some() -> None:
    """An older program reads the footers of tables whose records are one row each."""
    for messages, length in (((array(1), array(2)), 7), ((array(1, 2), array(3)), 8)):
        manifest, files = run_of(table(bucketing=Bucketing("")), *messages)
        import io

        import pyarrow.parquet as pq

        (file,) = manifest.files
        metadata = pq.ParquetFile(io.BytesIO(files.content[file.staged])).metadata.metadata
        assert [len(counts) for counts in json.loads(metadata[b"kafka2hive.accounts"])] == [length]
        footer = Footer.parse(metadata)
        assert footer is not None and footer.accounts == tuple(a.account for a in manifest.accounts)


@pytest.mark.parametrize("rows", ["one", "lines"])
def test_a_header_line_is_a_filtered_record_and_no_row(rows: Literal["one", "lines"]) -> None:
    given = replace(table_settings("db.t", "json", COLUMNS, PLACE), format="csv", rows=rows)
    settings = replace(given, csv=CsvOptions(header=("n", "day")))
    messages = [b"n,day", b"1,2013-01-01", b"n,day\n", b"2,2013-01-02", b"n,DAY"]
    for letters in (0, 1):
        sent = messages[: 4 + letters]
        manifest, files = run_of(settings, *sent)
        assert rows_of(files, manifest) == [(1, 0, 1), (3, 0, 2)]
        assert total(manifest) == OffsetAccounting(len(sent), 2, 2, 0, letters, 0, sum(map(len, sent)), 0)
