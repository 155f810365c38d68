"""A task whose values are compressed, or text in another encoding: rows from contents, letters with the bytes as sent."""

import gzip
import json
from dataclasses import replace
from typing import Any

import pytest

from kafka2hive.config.keys import BucketTime, MetadataColumn, TableSettings
from kafka2hive.config.keys.bucketing import Bucketing
from kafka2hive.decode.transport import contents
from kafka2hive.model.files import FileKind
from kafka2hive.task import chunk_decoder
from tests.harness.fake_consumer import FakeLog
from tests.harness.one_task import run_task_of
from tests.harness.task_files import offsets, read_rows, table_settings

Rows = list[tuple[int, Any]]
PLACE = ((MetadataColumn.OFFSET, "o"),)


def table(**keys: Any) -> TableSettings:
    made = table_settings("db.t", "json", (("n", "string"),), PLACE, Bucketing("", BucketTime.RECORD))
    return replace(made, **keys)


def run_of(
    settings: TableSettings, *messages: bytes | None
) -> tuple[Rows, list[tuple[int, str, bytes]], Any]:
    """Return the rows and the letters by their offsets, and the account."""
    log = FakeLog(dict(enumerate(messages)), len(messages))
    manifest, files = run_task_of({("t", 0): log}, settings, [offsets("t", 0, 0, len(messages))])
    assert manifest.failure is None, manifest.failure
    rows = sorted((row["o"], row["n"]) for row in read_rows(files, manifest))
    letters = read_rows(files, manifest, FileKind.DEAD_LETTER)
    found = sorted((letter["offset"], letter["reason"], letter["value"]) for letter in letters)
    return rows, found, manifest.accounts[0].account


def row(text: str) -> bytes:
    return json.dumps({"n": text}, ensure_ascii=False).encode()


@pytest.mark.parametrize("piece_bytes", [1, 30, contents.PIECE_BYTES])
def test_each_message_is_a_row_a_letter_or_a_tombstone_however_contents_are_cut(
    piece_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contents, "PIECE_BYTES", piece_bytes)
    bad, no_json = gzip.compress(row("b"))[:-1], gzip.compress(b"[]")
    messages = [gzip.compress(row("a")), bad, None, no_json, gzip.compress(row("c")), row("d"), None]
    rows, letters, account = run_of(table(compression="gzip"), *messages)
    assert rows == [(0, "a"), (4, "c")]
    assert letters == [
        (1, "compression.damaged", bad),
        (3, "json.object", no_json),
        (5, "compression.damaged", row("d")),
    ]
    assert (account.read, account.written, account.dead_lettered, account.tombstones) == (7, 2, 3, 2)


def test_a_message_of_which_nothing_can_be_read_leaves_no_row() -> None:
    rows, letters, account = run_of(table(compression="zstd"), b"x", b"")
    assert (rows, account.dead_lettered) == ([], 2)
    assert [letter[1] for letter in letters] == ["compression.damaged"] * 2


@pytest.mark.parametrize("most_rows", [2, chunk_decoder.LARGEST_VALUE])
def test_rows_are_counted_in_the_content_of_a_message(
    most_rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kafka2hive.decode.rows.decoder.ROWS_AT_ONCE", most_rows)
    lines = [gzip.compress(b"\n".join([row("a"), row("b"), row("c")])), b"x", gzip.compress(b"\n")]
    rows, letters, account = run_of(table(compression="gzip", rows="lines"), *lines, lines[0])
    assert rows == [(0, "a"), (0, "b"), (0, "c"), (3, "a"), (3, "b"), (3, "c")]
    assert [(at, code) for at, code, _ in letters] == [(1, "compression.damaged")]
    assert (account.more_rows, account.filtered) == (4, 1)


def test_text_is_transcoded_and_letters_keep_the_bytes_as_sent() -> None:
    wrong, late = b'{"n":"\x81"}', '{"n":1 €}'.encode("cp1252")
    rows, letters, _ = run_of(
        table(encoding="windows-1252"), '{"n":"5 €"}'.encode("cp1252"), wrong, late, b'{"n":"a"}'
    )
    assert rows == [(0, "5 €"), (3, "a")]
    assert letters == [(1, "encoding.undecodable", wrong), (2, "json.syntax", late)]


def test_a_raw_column_gets_the_content() -> None:
    raw = replace(table(compression="gzip"), format="raw")
    rows, letters, _ = run_of(raw, gzip.compress("Zoë".encode()), gzip.compress(b"\xff"))
    assert rows == [(0, "Zoë")]
    assert [letter[1] for letter in letters] == ["raw.utf8"]
    rows, _, _ = run_of(replace(raw, encoding="iso-8859-1"), gzip.compress(b"\xff"))
    assert rows == [(0, "ÿ")]
