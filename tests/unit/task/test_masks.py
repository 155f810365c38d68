"""Masks in a whole task: rows, reasons and dead letters hold no plain value, and the accounts are the same."""

import hashlib
import hmac
import re
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from kafka2hive.config.keys import Column, MetadataColumn, RecordPart, TableSettings
from kafka2hive.config.keys.leeway import Leeway
from kafka2hive.config.keys.masks import LetterPayload, Mask
from kafka2hive.config.mask_keys import fingerprint_of
from kafka2hive.model.files import DataFile, FileKind
from kafka2hive.plan.contract import LetterFile, TableManifest, TableTask, TaskPlan
from kafka2hive.task.letter_payload import PAYLOAD_HEADER
from kafka2hive.task.letter_replay import stage_letters, try_letters
from kafka2hive.task.masks import hmac_sha256, masks_of
from kafka2hive.task.part import only_part
from tests.harness.fake_consumer import FakeConsumer, FakeLog
from tests.harness.one_task import run_on
from tests.harness.task_files import (
    MemoryFiles,
    offsets,
    read_rows,
    table_settings,
    table_task,
    task_settings,
)

KEY, EARLIER = b"the key of the masks", b"an earlier key, unused"
SECRET = "Ann.Plain@example.com"
RANGE = offsets("t", 0, 0, 6)
LOG = FakeLog(
    {
        0: b'{"id": 1, "mail": "Ann.Plain@example.com", "tel": "0041791234567", "born": "1980-02-03"}',
        1: b'{"id": 2, "mail": null, "tel": "1234", "born": null}',
        2: b'{"id": "Ann.Plain@example.com", "mail": "Ann.Plain@example.com"}',
        3: b'{"id": 4, "mail": ["Ann.Plain@example.com"]}',
        4: b'{"id": 5, "born": "Ann.Plain@example.com"}',
        5: b'{"id": 6, "mail": Ann.Plain@example.com',
    },
    6,
    keys={3: b"Ann.Plain@example.com"},
    headers={3: [("who", b"Ann.Plain@example.com"), ("none", None)]},
)


def people(**more: Any) -> TableSettings:
    columns = (
        Column("id", "bigint"),
        Column("mail", "string", mask=Mask("hmac")),
        Column("tel", "string", mask=Mask("partial", 2, 2)),
        Column("born", "date", mask=Mask("drop")),
    )
    return replace(table_settings("db.t", "json"), columns=columns, **more)


def run(table: TableSettings, payload: LetterPayload = "drop") -> tuple[TableManifest, MemoryFiles]:
    settings = replace(
        task_settings("", table, stall_seconds=2.0),
        mask_keys=(KEY, EARLIER),
        dead_letter_payload=payload,
    )
    return run_on(FakeConsumer({("t", 0): LOG}), settings, [RANGE])


def by_hmac(text: str) -> str:
    return hmac.new(KEY, text.encode(), hashlib.sha256).hexdigest()


def test_the_rows_have_masks_of_the_values_and_null_stays_null() -> None:
    metadata = ((MetadataColumn.OFFSET, "o"), (MetadataColumn.MASK_KEY, "k"))
    manifest, files = run(people(metadata=metadata))
    rows = [{k: v for k, v in row.items() if k != "_path"} for row in read_rows(files, manifest)]
    fingerprint = fingerprint_of(KEY)
    assert rows == [
        {"id": 1, "mail": by_hmac(SECRET), "tel": "00*********67", "born": None, "o": 0, "k": fingerprint},
        {"id": 2, "mail": None, "tel": "****", "born": None, "o": 1, "k": fingerprint},
    ]


@pytest.mark.parametrize("payload", ["drop", "hash"])
def test_no_plain_value_is_in_any_byte_of_the_files_or_the_manifest(payload: LetterPayload) -> None:
    manifest, files = run(people(), payload)
    assert not any(b"Plain" in content for content in files.content.values())
    assert "Plain" not in repr(manifest)
    letters = read_rows(files, manifest, FileKind.DEAD_LETTER)
    assert [letter["offset"] for letter in letters] == [2, 3, 4, 5]
    details = [letter["detail"] for letter in letters]
    assert details[1] == "column mail: the value is not shown, because the column has a mask"
    assert details[3] == "what is wrong is not shown, because the table has columns with a mask"
    assert all(
        letter["headers"][-1] == {"key": PAYLOAD_HEADER, "value": payload.encode()} for letter in letters
    )


def test_hashed_letters_have_digests_of_their_keys_values_and_headers() -> None:
    manifest, files = run(people(), "hash")
    letter = next(row for row in read_rows(files, manifest, FileKind.DEAD_LETTER) if row["offset"] == 3)
    digest = hashlib.sha256(SECRET.encode()).hexdigest().encode()
    assert letter["key"] == digest
    assert letter["value"] == hashlib.sha256(LOG.records[3] or b"").hexdigest().encode()
    assert letter["headers"][:2] == [{"key": "who", "value": digest}, {"key": "none", "value": None}]


def test_a_kept_letter_has_all_bytes_but_no_value_in_its_reason() -> None:
    manifest, files = run(people(), "keep")
    letters = read_rows(files, manifest, FileKind.DEAD_LETTER)
    assert [letter["value"] for letter in letters] == [LOG.records[offset] for offset in (2, 3, 4, 5)]
    masked = [letter["detail"] for letter in letters if letter["offset"] != 2]
    assert not any("Plain" in detail for detail in masked)


def test_a_table_without_masks_keeps_its_letters_whatever_the_payload_is() -> None:
    plain = replace(people(), columns=tuple(replace(c, mask=None) for c in people().columns))
    manifest, files = run(plain, "drop")
    letters = read_rows(files, manifest, FileKind.DEAD_LETTER)
    assert [letter["value"] for letter in letters] == [LOG.records[offset] for offset in (2, 3, 4, 5)]
    assert masks_of(plain, (KEY,)) is None


def test_masks_also_apply_to_keys_headers_and_defaults() -> None:
    columns = (
        Column("id", "bigint"),
        Column("k", "string", (), part=RecordPart.KEY, mask=Mask("hash")),
        Column("h", "string", ("who",), part=RecordPart.HEADER, mask=Mask("hash")),
        Column("d", "string", leeway=Leeway(default="Plain"), mask=Mask("hash")),
    )
    log = FakeLog({0: b'{"id": 1}'}, 1, keys={0: b"Plain"}, headers={0: [("who", b"Plain")]})
    table = replace(table_settings("db.t", "json"), columns=columns)
    manifest, files = run_on(FakeConsumer({("t", 0): log}), task_settings("", table), [offsets("t", 0, 0, 1)])
    (row,) = read_rows(files, manifest)
    digest = hashlib.sha256(b"Plain").hexdigest()
    assert (row["k"], row["h"], row["d"]) == (digest, digest, digest)


@pytest.mark.parametrize("first", [0, 1, 3])
@pytest.mark.parametrize("last", [0, 1, 3])
def test_partial_masks_are_those_of_a_loop_over_the_characters(first: int, last: int) -> None:
    texts = [
        None,
        "",
        "a",
        "ab",
        "abc",
        "abcd",
        "abcdef",
        "abcdefg",
        "日本語の文字列です",
        "e\u0301🙂🙂🙂🙂🙂",
        "a\nb\0cdefgh",
    ]
    table = replace(
        table_settings("db.t", "json"), columns=(Column("a", "string", mask=Mask("partial", first, last)),)
    )
    masks = masks_of(table, ())
    assert masks is not None

    def expected(text: str | None) -> str | None:
        if text is None:
            return None
        if len(text) <= first + last:
            return "*" * len(text)
        return text[:first] + "*" * (len(text) - first - last) + text[len(text) - last :]

    column = pa.array(["x", *texts], pa.string()).slice(1)
    rows = masks.rows(pa.RecordBatch.from_arrays([column], names=["a"]))
    assert rows.column(0).to_pylist() == list(map(expected, texts))


def test_a_digest_is_computed_once_for_each_distinct_value_of_a_slice() -> None:
    table = replace(table_settings("db.t", "json"), columns=(Column("a", "string", mask=Mask("hash")),))
    masks = masks_of(table, ())
    assert masks is not None
    column = pa.array(["other", "a", None, "a", ""]).slice(1)
    rows = masks.rows(pa.RecordBatch.from_arrays([column], names=["a"]))
    digests = [
        None if text is None else hashlib.sha256(text.encode()).hexdigest() for text in ("a", None, "a", "")
    ]
    assert rows.column(0).to_pylist() == digests
    assert rows.schema.field("a").type == pa.string()


@pytest.mark.parametrize("length", [16, 63, 64, 65, 200])
def test_hmac_is_that_of_python_for_keys_of_any_length(length: int) -> None:
    key = bytes(range(length))
    digest = hmac_sha256(key)
    for text in (b"", b"a", "日本語".encode(), b"x" * 1000):
        assert digest(text) == hmac.new(key, text, hashlib.sha256).hexdigest()


def test_settings_do_not_show_their_keys() -> None:
    settings = replace(task_settings("", people()), mask_keys=(KEY,))
    assert KEY.decode() not in repr(settings) and "mask" in repr(settings)


@pytest.mark.parametrize(("payload", "rows"), [("drop", 0), ("hash", 0), ("keep", 1)])
def test_a_replay_leaves_letters_without_their_records_as_they_are(payload: LetterPayload, rows: int) -> None:
    manifest, files = run(people(), payload)
    (letters,) = (file for file in manifest.files if file.kind is FileKind.DEAD_LETTER)
    more = replace(people(), columns=(*people().columns[1:], Column("id", "string", mask=Mask("hash"))))
    settings = replace(task_settings("", more), mask_keys=(KEY,), dead_letter_payload=payload)
    file = LetterFile(path=letters.staged, rows=letters.rows, checksum=letters.checksum)
    task: TableTask = replace(table_task("db.t", RANGE), replay=file)
    part = only_part(TaskPlan(0, (task,)), settings)
    tried = try_letters(part, files)
    assert tried.failure is None
    lacking = 0 if payload == "keep" else 4
    assert (tried.chosen, tried.without_bytes) == (4 - lacking, lacking)
    (account,) = tried.accounts
    assert (account.account.written, account.account.dead_lettered) == (rows, 4 - rows)
    if payload == "keep":
        return
    before = read_rows(files, manifest, FileKind.DEAD_LETTER)
    again = stage_letters(part, files)
    assert read_rows(files, again, FileKind.DEAD_LETTER) == before
    assert not any(b"Plain" in content for content in files.content.values())
    assert re.fullmatch("kafka2hive.payload", before[0]["headers"][-1]["key"])


@pytest.mark.parametrize("payload", ["drop", "keep"])
def test_letters_from_before_the_masks_lose_the_texts_that_quote_values(payload: LetterPayload) -> None:
    plain = replace(people(), columns=tuple(replace(c, mask=None) for c in people().columns))
    manifest, files = run(plain)
    (letters,) = (file for file in manifest.files if file.kind is FileKind.DEAD_LETTER)
    text_id = replace(people().columns[0], type="string", leeway=Leeway(json="text"))
    settings = replace(
        task_settings("", replace(people(), columns=(text_id, *people().columns[1:]))),
        mask_keys=(KEY,),
        dead_letter_payload=payload,
    )

    def replayed(path: DataFile, reason: str) -> tuple[TableManifest, list[dict[str, Any]]]:
        file = LetterFile(path=path.staged, rows=path.rows, checksum=path.checksum, reason=reason)
        task: TableTask = replace(table_task("db.t", RANGE), replay=file)
        made = stage_letters(only_part(TaskPlan(0, (task,)), settings), files)
        return made, read_rows(files, made, FileKind.DEAD_LETTER)

    made, rows = replayed(letters, "json.none")  # all letters are kept as they are
    details = [row["detail"] for row in rows]
    assert details == ["what is wrong is not shown, because the table has columns with a mask"] * 4
    assert (rows[0]["value"] is None) == (payload == "drop")
    (file,) = made.files
    _, again = replayed(file, "json.none")
    assert [row["detail"] for row in again] == details
