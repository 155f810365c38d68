"""Canal's flat messages, written by hand as its documentation shows them: rows of one change, and dead letters with reasons."""

import datetime
import json
import random
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from kafka2hive.config.keys import ChangeLog
from kafka2hive.config.keys.source import CanalKeys
from kafka2hive.decode import DecoderSpec, make_decoder
from kafka2hive.decode.change_logs.canal import CanalDecoder
from kafka2hive.decode.contract.sources import Source
from kafka2hive.decode.values.latin1 import latin1_bytes
from kafka2hive.model.hive_types import parse_hive_type
from kafka2hive.plugins import Decoder, Reason
from tests.contract.decode_ways import EACH_WAY, WAYS
from tests.harness.outcomes import outcomes_of
from tests.harness.reasons import texts_of

TYPES = {
    "id": "bigint",
    "title": "string",
    "total": "decimal(10,2)",
    "day": "date",
    "at": "timestamp",
    "seen": "timestamp",
    "__op": "string",
    "__ts_ms": "bigint",
    "__source_position": "string",
}
SCHEMA = pa.schema([(name, parse_hive_type(kind)) for name, kind in TYPES.items()])
SOURCES = [
    Source(("name",) if name == "title" else (name,), "s" if name == "seen" else None) for name in TYPES
]
ROW = {
    "id": "1004",
    "name": "Anne",
    "total": "12.50",
    "day": "2013-01-01",
    "at": "2013-01-01 05:00:00",
    "seen": "60",
    "more": "x",
}
SAME = (
    1004,
    "Anne",
    Decimal("12.50"),
    datetime.date(2013, 1, 1),
    datetime.datetime(2013, 1, 1, 5),
    datetime.datetime(1970, 1, 1, 0, 1),
)
TS = 1_589_373_560_798


def flat(kind: str | None, data: Any, **more: Any) -> dict[str, Any]:
    return {
        "data": data,
        "database": "shop",
        "es": 1_589_373_560_000,
        "gtid": "",
        "id": 9,
        "isDdl": data is None,
        "mysqlType": {"id": "bigint(20)", "name": "varchar(40)", "total": "decimal(10,2)"},
        "old": [{"name": "Ann"}] if kind == "UPDATE" else None,
        "pkNames": ["id"],
        "sql": "",
        "sqlType": {"id": -5, "name": 12, "total": 3},
        "table": "customers",
        "ts": TS,
        "type": kind,
        **more,
    }


WATERMARK = {
    "id": 0,
    "database": "",
    "table": "",
    "pkNames": None,
    "isDdl": False,
    "type": "TIDB_WATERMARK",
    "es": 1_640_007_049_196,
    "ts": 1_640_007_050_284,
    "sql": "",
    "sqlType": None,
    "mysqlType": None,
    "data": None,
    "old": None,
    "_tidb": {"watermarkTs": 429_918_007_904_436_226},
}
CASES: list[tuple[str, dict[str, Any], Any]] = [
    ("insert", flat("INSERT", [ROW]), (*SAME, "c", TS, None)),
    ("update", flat("UPDATE", [ROW]), (*SAME, "u", TS, None)),
    ("delete", flat("DELETE", [ROW]), (*SAME, "d", TS, None)),
    ("nulls", flat("INSERT", [{"id": "1", "name": None}]), (1, None, None, None, None, None, "c", TS, None)),
    ("truncate", flat("TRUNCATE", None), (*[None] * 6, "t", TS, None)),
    ("truncate with data", flat("TRUNCATE", [ROW, ROW]), (*[None] * 6, "t", TS, None)),
    ("no time", flat("DELETE", [ROW], ts=None), (*SAME, "d", None, None)),
    ("alter", flat("ALTER", None, sql="alter table customers add x int"), []),
    ("query", flat("QUERY", None, sql="create database x"), []),
    ("TiCDC's watermark", WATERMARK, []),
    ("a statement that is none of DDL", flat("QUERY", None, isDdl=False), "change_log.op"),
    ("a watermark with a row", WATERMARK | {"data": [ROW]}, "change_log.op"),
    ("an unknown type", flat("FLASHBACK", None), "change_log.op"),
    ("no operation", flat(None, [ROW]), "change_log.op"),
    ("a row without envelope", ROW, "change_log.op"),
    (
        "two rows",
        flat("INSERT", [ROW, {"id": "2"}]),
        [(*SAME, "c", TS, None), (2, *[None] * 5, "c", TS, None)],
    ),
    ("two rows, one bad", flat("INSERT", [ROW, {"id": "x"}]), "canal.type"),
    ("two rows, one null", flat("DELETE", [ROW, None]), "change_log.row"),
    ("no row", flat("INSERT", []), "change_log.row"),
    ("no data", flat("UPDATE", None), "change_log.row"),
    ("a row that is null", flat("UPDATE", [None]), "change_log.row"),
    ("no number", flat("INSERT", [{"id": "x"}]), "canal.type"),
    ("an empty number", flat("INSERT", [{"id": ""}]), "canal.type"),
    ("too large", flat("INSERT", [{"total": "123456789.00"}]), "canal.range"),
    ("MySQL's zero date", flat("INSERT", [{"day": "0000-00-00"}]), "canal.date"),
    ("MySQL's zero time", flat("INSERT", [{"at": "0000-00-00 00:00:00"}]), "canal.timestamp"),
    ("a value that is no text", flat("INSERT", [{"id": 1}]), "json.type"),
    ("data that is no list", flat("INSERT", ROW), "json.type"),
]


def decoder(way: str) -> CanalDecoder:
    return CanalDecoder(SCHEMA, SOURCES, "UTC", lambda columns, of: WAYS[way](columns, "UTC", of))


def outcomes(made: Decoder, records: list[Any]) -> list[Any]:
    """Return for each record its row (of several or none a list), or the reason's code."""
    found = outcomes_of(made, [json.dumps(r).encode() for r in records])
    rows = [one if isinstance(one, Reason) else list(map(tuple, one)) for one in found]
    return [one.code if isinstance(one, Reason) else one[0] if len(one) == 1 else one for one in rows]


@pytest.mark.parametrize("way", EACH_WAY)
@pytest.mark.parametrize(("record", "outcome"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_a_flat_message_is_a_row_or_a_dead_letter(way: str, record: dict[str, Any], outcome: Any) -> None:
    assert outcomes(decoder(way), [record]) == [outcome]


@pytest.mark.parametrize("way", EACH_WAY)
def test_messages_together_are_what_each_is_alone(way: str) -> None:
    draw, made = random.Random(9), decoder(way)
    for _ in range(40):
        some = [draw.choice(CASES) for _ in range(draw.randrange(30))]
        assert outcomes(made, [record for _, record, _ in some]) == [outcome for _, _, outcome in some]


def test_the_reason_says_which_row_of_the_statement_is_bad() -> None:
    values = pa.array([json.dumps(flat("INSERT", [ROW, ROW, {"id": "x"}])).encode()])
    (reason,) = texts_of(decoder("exact").decode(values).reasons)
    assert reason.startswith("canal.type: column id") and reason.endswith("(ordinal 2 of its message)")


def test_keys_of_a_table_whose_columns_come_from_hive_match_in_any_case() -> None:
    schema = pa.schema([("userid", pa.int64()), ("__op", pa.string())])
    made = make_decoder(DecoderSpec("json", schema, any_case=True, change_log=ChangeLog.CANAL))
    assert outcomes(made, [flat("INSERT", [{"UserId": "7"}])]) == [(7, "c")]


def test_the_envelope_of_several_rows_can_be_kept() -> None:
    kind = "array<struct<id:string,name:string>>"
    schema = pa.schema([("type", pa.string()), ("data", parse_hive_type(kind))])
    (row,) = outcomes(make_decoder(DecoderSpec("json", schema)), [flat("INSERT", [ROW, {"id": "2"}])])
    assert row == ("INSERT", [{"id": "1004", "name": "Anne"}, {"id": "2", "name": None}])


def test_documents_of_mongodb_are_texts_of_kept_envelopes() -> None:
    after = json.dumps({"_id": {"$oid": "596e275826f08b2730779e1f"}, "name": "Anne"})
    envelope = {"op": "c", "ts_ms": 1, "after": after, "source": {"collection": "customers"}}
    schema = pa.schema([("op", pa.string()), ("after", pa.string())])
    made = make_decoder(
        DecoderSpec("json", schema, sources=[Source(("payload", "op")), Source(("payload", "after"))])
    )
    assert outcomes(made, [{"schema": {}, "payload": envelope}]) == [("c", after)]
    assert outcomes(make_decoder(DecoderSpec("json", schema)), [envelope]) == [("c", after)]


def test_a_table_without_the_operation_is_refused() -> None:
    with pytest.raises(ValueError, match="__op of a table of canal changes must be a column of type string"):
        make_decoder(DecoderSpec("json", pa.schema([("a", pa.int64())]), change_log=ChangeLog.CANAL))


def test_a_path_into_a_value_is_refused() -> None:
    deep = [Source(("a", "b")), *SOURCES[1:]]
    with pytest.raises(ValueError, match="flat"):
        make_decoder(DecoderSpec("json", SCHEMA, sources=deep, change_log=ChangeLog.CANAL))


BLOBS = pa.schema(
    [("id", pa.int64()), ("blob", pa.binary()), *((n, SCHEMA.field(n).type) for n in list(TYPES)[-3:])]
)


def of_ticdc(way: str, options: CanalKeys) -> CanalDecoder:
    sources = [Source((name,)) for name in BLOBS.names]
    made = WAYS[way]
    return CanalDecoder(BLOBS, sources, "UTC", lambda columns, of: made(columns, "UTC", of), options=options)


@pytest.mark.parametrize("way", EACH_WAY)
def test_a_blob_is_the_bytes_of_its_characters(way: str) -> None:
    every = bytes(range(256))
    texts = [every.decode("latin-1"), "", None, "a\u0100", "ÿé", "x" * 9, "😀", "a"]
    rows = [{"id": str(n), "blob": text} for n, text in enumerate(texts)]
    messages = [
        json.dumps(flat("INSERT", [row]), ensure_ascii=n % 2 == 0).encode() for n, row in enumerate(rows)
    ]
    made = of_ticdc(way, CanalKeys(binary="latin1"))
    found = [one.code if isinstance(one, Reason) else one[0][1] for one in outcomes_of(made, messages)]
    assert found == [every, b"", None, "canal.latin1", b"\xff\xe9", b"x" * 9, "canal.latin1", b"a"]


@pytest.mark.parametrize("way", EACH_WAY)
def test_a_bad_blob_refuses_its_message_with_its_row(way: str) -> None:
    rows = [{"id": "1", "blob": "a"}, {"id": "2", "blob": "\u0100"}]
    made = of_ticdc(way, CanalKeys(binary="latin1"))
    (reason,) = texts_of(made.decode(pa.array([json.dumps(flat("INSERT", rows)).encode()])).reasons)
    assert reason.startswith("canal.latin1: column blob: ") and reason.endswith("(ordinal 1 of its message)")


@pytest.mark.parametrize("way", EACH_WAY)
def test_the_position_is_that_of_ticdc_or_a_dead_letter(way: str) -> None:
    row = [{"id": "1", "blob": "a"}, {"id": "2", "blob": "a"}]
    commit = {"_tidb": {"commitTs": 163_963_314_122_145_239}}
    messages = [
        flat("INSERT", row, **commit),
        flat("INSERT", row),
        flat("UPDATE", row, _tidb=None),
        flat("TRUNCATE", None, **commit),
        flat("TRUNCATE", None),
        flat("INSERT", row, _tidb={"commitTs": "1"}),
        {**WATERMARK, "_tidb": {"watermarkTs": 5}},
        flat("INSERT", [], **commit),
        flat("INSERT", None),
    ]
    made = of_ticdc(way, CanalKeys(binary="latin1", position=True))
    outcomes = outcomes_of(made, [json.dumps(message).encode() for message in messages])
    found = [one.code if isinstance(one, Reason) else [values[-1] for values in one] for one in outcomes]
    position = "00163963314122145239"
    missing = "change_log.position"
    no_row = "change_log.row"
    assert found == [[position] * 2, missing, missing, [position], missing, "json.type", [], no_row, no_row]
    without = outcomes_of(of_ticdc(way, CanalKeys(binary="latin1")), [json.dumps(messages[0]).encode()])
    assert [values[-1] for values in without[0]] == [None, None]


def test_random_texts_have_the_bytes_that_python_says() -> None:
    draw = random.Random(3)
    texts = [
        None
        if draw.random() < 0.1
        else "".join(chr(draw.choice((65, 127, 128, 255, 191, 192))) for _ in range(draw.randrange(6)))
        for _ in range(500)
    ]
    values, bad = latin1_bytes(pa.array([None, *texts], pa.string()).slice(1))
    values.validate(full=True)
    assert values.to_pylist() == [None if text is None else text.encode("latin-1") for text in texts]
    assert not bad.any() and len(latin1_bytes(pa.array([], pa.string()))[0]) == 0
