"""The audit finds values that are no masks in files, and masks texts by code of its own."""

import hashlib
import hmac
import io
import uuid
from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kafka2hive.config.keys import Column, MetadataColumn, TableSettings
from kafka2hive.config.keys.masks import Mask
from kafka2hive.formats.files import open_reader
from kafka2hive.model.writer_schema import AVRO, WriterSchema
from kafka2hive.service.verify.masks import columns_of_several_keys, mask_findings
from kafka2hive.service.verify.semantics.judge import SchemaJudge, contradiction
from kafka2hive.service.verify.semantics.masks import masked
from kafka2hive.task.masks import masks_of
from tests.harness.task_files import table_settings, task_settings

KEY = b"the key of the masks"
TEXTS = ["", "a", "ab", "abcdefgh", "日本語の文字列です", "x" * 200]
MASKS = [Mask("hash"), Mask("hmac"), Mask("partial", 1, 2), Mask("partial", last=4)]


def table(mask: Mask | None, **more: object) -> TableSettings:
    columns = (Column("a", "string", mask=mask), Column("id", "bigint"))
    return replace(table_settings("db.t", "json"), columns=columns, **more)  # type: ignore[arg-type]


def findings(values: list[str | None], mask: Mask | None) -> list[str]:
    out = io.BytesIO()
    pq.write_table(pa.table({"a": pa.array(values, pa.string()), "id": [1] * len(values)}), out)
    found = mask_findings(open_reader(out.getvalue()), "/t/a.parquet", table(mask))
    assert {(one.code, one.where) for one in found} <= {("verify.unmasked", "/t/a.parquet")}
    return [one.message for one in found]


def written(texts: list[str], mask: Mask, key: bytes = KEY) -> list[str | None]:
    masks = masks_of(table(mask), (key,))
    assert masks is not None
    rows = pa.record_batch({"a": pa.array(texts), "id": pa.array([1] * len(texts))})
    values: list[str | None] = masks.rows(rows).column("a").to_pylist()
    return values


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("key", [KEY, b"k" * 64, b"k" * 65])
def test_the_audits_masks_are_those_of_the_tasks(mask: Mask, key: bytes) -> None:
    assert [masked(text, mask, (key,)) for text in TEXTS] == written(TEXTS, mask, key)


def test_the_audits_hmac_is_that_of_python() -> None:
    assert masked("a", Mask("hmac"), (KEY,)) == hmac.new(KEY, b"a", hashlib.sha256).hexdigest()


@pytest.mark.parametrize("mask", MASKS)
def test_masks_have_no_finding_and_plain_values_have_one(mask: Mask) -> None:
    assert findings([*written(TEXTS, mask), None], mask) == []
    plain = ["ann@example.com", None, "AB" * 32, *written(TEXTS, mask)]
    assert findings(plain, mask) == [f"2 rows with a value in column a that is no mask ({mask.kind})"]


def test_a_dropped_column_has_no_value_and_a_column_without_a_mask_any() -> None:
    assert findings([None, None], Mask("drop")) == []
    assert findings([None, "a"], Mask("drop")) == ["1 row with a value in column a that is no mask (drop)"]
    assert findings([None, "a"], None) == []


def test_with_several_keys_only_the_form_of_hmac_and_of_the_keys_column_is_known() -> None:
    metadata = ((MetadataColumn.MASK_KEY, "k"), (MetadataColumn.OFFSET, "o"))
    settings = task_settings("", table(Mask("hmac")))
    several = replace(settings, mask_keys=(KEY, b"another"))
    assert columns_of_several_keys(settings, table(Mask("hmac"), metadata=metadata)) == frozenset()
    assert columns_of_several_keys(several, table(Mask("hmac"), metadata=metadata)) == {"a", "k"}
    assert columns_of_several_keys(several, table(Mask("hash"))) == frozenset()


def test_a_row_is_judged_by_the_mask_of_its_records_value_and_shows_no_plain_value() -> None:
    schema = WriterSchema(
        AVRO,
        '{"type": "record", "name": "R", "fields": [{"name": "a", "type":'
        ' {"type": "fixed", "size": 16, "name": "U", "logicalType": "uuid"}}, {"name": "id", "type": "long"}]}',
    )
    value = uuid.UUID(int=2**100 + 5)
    message = value.bytes + b"\2"
    plain = SchemaJudge(replace(table(None), format="avro"), schema).expected(message)
    assert plain is not None and plain["a"] == str(value)
    judge = SchemaJudge(replace(table(Mask("hmac")), format="avro"), schema, (KEY,))
    expected = judge.expected(message)
    assert expected is not None and expected["a"] == masked(str(value), Mask("hmac"), (KEY,))
    assert contradiction(expected, {"a": written([str(value)], Mask("hmac"))[0], "id": 1}) == ""
    assert str(value) not in contradiction(expected, {"a": "another", "id": 1})
    several = SchemaJudge(replace(table(Mask("hmac")), format="avro"), schema, (KEY, b"another"))
    assert "a" not in (several.expected(message) or {})
