"""Placeholders for values that the database did not log are never values: NULL and marked, or a dead letter with the key."""

import hashlib
import io
import json
import uuid
from base64 import b64encode
from typing import Any

import fastavro
import pyarrow as pa
import pytest

from kafka2hive.config.keys import ChangeLog
from kafka2hive.decode import Changes, DecoderSpec, make_decoder
from kafka2hive.decode.change_logs.decoder import ChangeLogDecoder
from kafka2hive.decode.change_logs.unavailable import UnavailableColumns
from kafka2hive.decode.contract.sources import Source
from kafka2hive.decode.contract.spec import UnavailableValues
from kafka2hive.model.hive_types import parse_hive_type
from kafka2hive.model.writer_schema import AVRO, WriterSchema
from kafka2hive.plugins import Decoded
from tests.contract.change_log_records import debezium, with_schema
from tests.contract.decode_ways import EACH_WAY, WAYS

TEXT = "__debezium_unavailable_value"
NUMBERS = list(TEXT.encode())
BASE64 = b64encode(TEXT.encode()).decode()
UUID3 = str(uuid.UUID(bytes=hashlib.md5(TEXT.encode()).digest(), version=3))
TYPES = {
    "id": "bigint",
    "doc": "string",
    "bin": "binary",
    "tags": "array<string>",
    "nums": "array<int>",
    "longs": "array<bigint>",
    "blobs": "array<binary>",
    "pairs": "map<string,string>",
    "shape": "struct<wkb:binary,srid:int>",
    "name": "varchar(100)",
}
CHANGE = {"__op": "string", "__ts_ms": "bigint"}
MARK = {"__unavailable": "array<string>"}
FULL = {
    "id": 1,
    "doc": "d",
    "bin": b64encode(b"b").decode(),
    "tags": ["t", None],
    "nums": [1, None],
    "longs": [2],
    "blobs": [None],
    "pairs": {"k": "v"},
    "shape": {"wkb": None, "srid": 4326},
    "name": "n",
}
WKB = "0101000020E6100000000000FC83D797C1000000FC83D797C1"
FORMS: list[tuple[str, Any]] = [
    ("doc", TEXT),
    ("doc", BASE64),
    ("doc", TEXT.encode().hex()),
    ("doc", json.dumps({TEXT: TEXT}, separators=(",", ":"))),
    ("bin", BASE64),
    ("tags", [TEXT]),
    ("tags", ["a", TEXT, None]),
    ("tags", [UUID3]),
    ("nums", NUMBERS),
    ("longs", NUMBERS),
    ("blobs", [BASE64]),
    ("pairs", {TEXT: TEXT}),
    ("shape", {"wkb": b64encode(bytes.fromhex(WKB)).decode(), "srid": 4326}),
    ("name", TEXT),
]


def schema_of(types: dict[str, str]) -> pa.Schema:
    return pa.schema([(name, parse_hive_type(kind)) for name, kind in types.items()])


def decode(
    way: str, types: dict[str, str], *records: Any, changes: Changes | None = None, **options: Any
) -> Decoded:
    schema = schema_of(types)
    unavailable = UnavailableColumns(schema, UnavailableValues(**options), changes or Changes())
    decoder = ChangeLogDecoder(
        ChangeLog.DEBEZIUM,
        schema,
        [Source((name,)) for name in schema.names],
        lambda columns, of: WAYS[way](columns, "UTC", of),
        unavailable=unavailable,
    )
    values = [r if isinstance(r, bytes) else json.dumps(r).encode() for r in records]
    decoded = decoder.decode(pa.array(values, pa.binary()))
    decoded.rows.validate(full=True)
    assert decoded.rows.schema == schema
    assert sorted([*decoded.accepted.to_pylist(), *decoded.rejected.to_pylist()]) == list(range(len(records)))
    return decoded


def update(**values: Any) -> dict[str, Any]:
    return debezium("u", None, FULL | values, {})


@pytest.mark.parametrize("way", EACH_WAY)
@pytest.mark.parametrize(("column", "form"), FORMS)
def test_a_placeholder_becomes_null_and_the_row_names_its_column(way: str, column: str, form: Any) -> None:
    changes = Changes()
    record = update(**{column: form})
    types = TYPES | CHANGE | MARK
    for one in (record, with_schema(record)):
        decoded = decode(way, types, update(), one, update(), changes=changes)
        before, row, after = decoded.rows.to_pylist()
        assert row == before | {column: None, "__unavailable": [column]}
        assert before["__unavailable"] is None and before == after and before[column] is not None
    assert dict(changes.take()) == {"unavailable": 2}


@pytest.mark.parametrize("way", EACH_WAY)
@pytest.mark.parametrize(("column", "form"), FORMS)
def test_without_the_mark_the_record_is_a_dead_letter_that_says_which_key_to_add(
    way: str, column: str, form: Any
) -> None:
    decoded = decode(way, TYPES | CHANGE, update(), update(**{column: form}), {"ts_ms": 1, "op": "x"})
    assert decoded.rejected.to_pylist() == [1, 2]
    reason = decoded.reasons[0]
    assert (reason.code, reason.column) == ("change_log.unavailable", column)
    assert "set source: {debezium: {unavailable: mark}}" in reason.text


@pytest.mark.parametrize("way", EACH_WAY)
def test_values_that_only_resemble_a_placeholder_stay(way: str) -> None:
    alike = update(
        doc=TEXT.upper(),
        bin=b64encode(b"x" * len(TEXT)).decode(),
        tags=[TEXT + " "],
        nums=NUMBERS[:-1],
        longs=[*NUMBERS[:-1], 100],
        pairs={"k": TEXT[:-1] + "E"},
        name="",
    )
    (row,) = decode(way, TYPES | CHANGE | MARK, alike).rows.to_pylist()
    assert row["__unavailable"] is None and None not in [row[name] for name in TYPES]


@pytest.mark.parametrize("way", EACH_WAY)
def test_several_columns_and_both_images_are_marked_in_their_order(way: str) -> None:
    before = {"__before": "struct<id:bigint,doc:string,tags:array<string>>"}
    types = {"id": "bigint", "doc": "string", "tags": "array<string>", **CHANGE, **before, **MARK}
    gone = {"id": 1, "doc": TEXT, "tags": [TEXT]}
    known = {"id": 1, "doc": "d", "tags": []}
    records = [debezium("u", known, gone, {}), debezium("d", gone, None, {}), debezium("u", None, known, {})]
    rows = decode(way, types, *records).rows.to_pylist()
    empty = {"id": 1, "doc": None, "tags": None}
    assert [row["__unavailable"] for row in rows] == [
        ["doc", "tags"],
        ["doc", "tags", "__before.doc", "__before.tags"],
        None,
    ]
    assert [row["__before"] for row in rows] == [known, empty, None]


@pytest.mark.parametrize("way", EACH_WAY)
def test_a_column_that_decides_where_the_row_belongs_is_never_null_by_a_mark(way: str) -> None:
    types = {"ID": "string", "doc": "string", **CHANGE, **MARK}
    records = [debezium("u", None, row, {}) for row in ({"ID": "1", "doc": TEXT}, {"ID": TEXT, "doc": "d"})]
    changes = Changes()
    decoded = decode(way, types, *records, needed=frozenset({"id"}), is_marked=True, changes=changes)
    assert [row["__unavailable"] for row in decoded.rows.to_pylist()] == [["doc"]]
    assert [(r.code, r.column) for r in decoded.reasons] == [("change_log.unavailable", "ID")]
    assert "the table needs it" in decoded.reasons[0].text and dict(changes.take()) == {"unavailable": 1}


@pytest.mark.parametrize("placeholder", ["?", "hex:3f", "hex:FF00"])
def test_the_placeholder_of_the_connectors_property_is_known_beside_the_default(placeholder: str) -> None:
    own = bytes.fromhex(placeholder.removeprefix("hex:")) if ":" in placeholder else placeholder.encode()
    records = [
        update(doc=own.decode(errors="replace")),
        update(bin=b64encode(own).decode()),
        update(nums=[byte - 256 if byte > 127 else byte for byte in own]),
        update(tags=[TEXT]),
        update(),
    ]
    decoded = decode("exact", TYPES | CHANGE | MARK, *records, placeholder=placeholder)
    marks = decoded.rows.column("__unavailable").to_pylist()
    assert marks == [["doc"], ["bin"], ["nums"], ["tags"], None]


def test_a_table_that_lacks_the_column_of_the_marks_is_refused() -> None:
    schema = schema_of({"doc": "string", "__op": "string"})
    spec = DecoderSpec(
        "json", schema, change_log=ChangeLog.DEBEZIUM, unavailable=UnavailableValues(is_marked=True)
    )
    with pytest.raises(ValueError, match="mark needs the column __unavailable of type array<string>"):
        make_decoder(spec)
    wrong = schema_of({"doc": "string", "__op": "string", "__unavailable": "string"})
    with pytest.raises(ValueError, match="__unavailable must be a column of type array<string>"):
        make_decoder(DecoderSpec("json", wrong, change_log=ChangeLog.DEBEZIUM))


def test_other_change_logs_have_no_placeholder() -> None:
    schema = schema_of({"doc": "string", "__op": "string"})
    record = json.dumps({"type": "insert", "ts": 1, "data": {"doc": TEXT}}).encode()
    decoded = make_decoder(DecoderSpec("json", schema, change_log=ChangeLog.MAXWELL)).decode(
        pa.array([record])
    )
    assert decoded.rows.column("doc").to_pylist() == [TEXT]


def test_placeholders_in_avro_are_marked() -> None:
    kinds = {
        "id": "long",
        "doc": ["null", "string"],
        "bin": ["null", "bytes"],
        "nums": ["null", {"type": "array", "items": "int"}],
        "days": ["null", {"type": "array", "items": {"type": "int", "logicalType": "date"}}],
    }
    row = {"type": "record", "name": "Value", "fields": [{"name": n, "type": t} for n, t in kinds.items()]}
    fields = [{"name": "op", "type": "string"}, {"name": "before", "type": ["null", row]}]
    envelope = {
        "type": "record",
        "name": "E",
        "fields": [*fields, {"name": "after", "type": ["null", "Value"]}],
    }
    gone = {"id": 1, "doc": TEXT, "bin": TEXT.encode(), "nums": NUMBERS, "days": NUMBERS}
    out = io.BytesIO()
    record = {"op": "u", "before": None, "after": gone}
    fastavro.schemaless_writer(out, fastavro.parse_schema(json.loads(json.dumps(envelope))), record)
    types = {"id": "bigint", "doc": "string", "bin": "binary", "nums": "array<int>", "days": "array<date>"}
    schema = schema_of(types | {"__op": "string"} | MARK)
    writer = WriterSchema(AVRO, json.dumps(envelope))
    decoder = make_decoder(DecoderSpec("avro", schema, writers=writer, change_log=ChangeLog.DEBEZIUM))
    (found,) = decoder.decode(pa.array([out.getvalue()], pa.binary())).rows.to_pylist()
    assert found["__unavailable"] == ["doc", "bin", "nums", "days"] and found["id"] == 1
    assert {name for name, value in found.items() if value is None} == {"doc", "bin", "nums", "days"}
