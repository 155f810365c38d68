"""Avro messages that are no records: a column with the path `$` takes the whole value, in both decoders."""

from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from kafka2hive.config.keys import Column, RecordPart, WireFormat
from kafka2hive.config.keys.leeway import Leeway
from kafka2hive.decode.contract.sources import SchemaUnresolvable, Source
from kafka2hive.decode.contract.spec import Changes
from kafka2hive.model.hive_types import parse_hive_type
from kafka2hive.task.record_columns import DecodedKeyColumns
from tests.contract.avro_ways import WAYS, Registry, framed, outcomes, record, written
from tests.contract.decode_cases import Dead
from tests.contract.test_avro_against_fastavro import encoded

JSON = Leeway(json="text")
STRICT = Leeway()
CASES: list[tuple[str, Any, str, Leeway, list[tuple[Any, Any]]]] = [
    ("string", "string", "string", STRICT, [("a", "a"), ("", "")]),
    ("long", "long", "bigint", STRICT, [(2**63 - 1, 2**63 - 1), (-1, -1)]),
    ("a string with marks for null", ["null", "string"], "string", STRICT, [("a", "a"), (None, None)]),
    ("bytes", "bytes", "binary", STRICT, [(b"\xff", b"\xff"), (b"", b"")]),
    ("int", {"type": "int", "logicalType": "date"}, "date", STRICT, [(0, date(1970, 1, 1))]),
    (
        "timestamp",
        {"type": "long", "logicalType": "timestamp-millis"},
        "timestamp",
        Leeway(beyond="null"),
        [(0, datetime(1970, 1, 1)), (2**60, None)],
    ),
    ("a long out of range", "long", "tinyint", STRICT, [(1, 1), (300, Dead("avro.range"))]),
    ("a string as a number", "string", "decimal(5,2)", Leeway(quoted="accept"), [("1.50", Decimal("1.50"))]),
    ("an array", {"type": "array", "items": "long"}, "array<bigint>", STRICT, [([1, 2], [1, 2]), ([], [])]),
    ("an array as JSON", {"type": "array", "items": "long"}, "string", JSON, [([1, 2], "[1,2]"), ([], "[]")]),
    ("a map as JSON", {"type": "map", "values": "string"}, "string", JSON, [({"a": "b"}, '{"a":"b"}')]),
    ("a map", {"type": "map", "values": "int"}, "map<string,int>", STRICT, [({"a": 1}, [("a", 1)])]),
    ("a union", ["null", "string", "long"], "string", JSON, [("a", "a"), (7, "7"), (None, None)]),
    ("a union's type", ["long", "string"], "bigint", STRICT, [(7, 7), ("a", Dead("avro.type"))]),
    ("an enum", {"type": "enum", "name": "E", "symbols": ["A"]}, "string", STRICT, [("A", "A")]),
    ("a record", record(a="long"), "struct<a:bigint>", STRICT, [({"a": 1}, {"a": 1})]),
]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("schema", "dtype", "leeway", "values"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_the_whole_value_fills_a_column(
    schema: Any, dtype: str, leeway: Leeway, values: list[tuple[Any, Any]], way: str
) -> None:
    columns = pa.schema([("v", parse_hive_type(dtype)), ("w", parse_hive_type(dtype))])
    sources = [Source((), None, leeway)] * 2
    messages = encoded(schema, [value for value, _ in values])
    wanted = [value if isinstance(value, Dead) else [value, value] for _, value in values]
    of_map = WAYS[way](columns, "UTC", sources, writers=written(schema))
    assert outcomes(of_map, messages) == wanted
    of_registry = WAYS[way](columns, "UTC", sources, writers=Registry(id7=schema))
    assert outcomes(of_registry, [framed(7, message) for message in messages]) == wanted


@pytest.mark.parametrize("way", WAYS)
def test_damaged_messages_are_letters(way: str) -> None:
    made = WAYS[way](pa.schema([("v", pa.string())]), "UTC", [Source(())], writers=written("string"))
    found = outcomes(made, [b"\x02a", b"\x04a", b"\x02ab", b"", b"\x02\xff"])
    codes = ["avro.truncated", "avro.syntax", "avro.truncated", "avro.utf8"]
    assert found == [["a"], *map(Dead, codes)]


def test_other_paths_need_a_record() -> None:
    schema = pa.schema([("v", pa.string()), ("w", pa.string())])
    for sources in ([Source(("v",)), Source(("w",))], [Source(()), Source(("w",))]):
        with pytest.raises(SchemaUnresolvable, match="the message: string is not a record"):
            WAYS["exact"](schema, "UTC", sources, writers=written("string"))
    with pytest.raises(SchemaUnresolvable, match="column v: string does not fill bigint"):
        WAYS["exact"](pa.schema([("v", pa.int64())]), "UTC", [Source(())], writers=written("string"))


def test_a_key_may_be_a_bare_value() -> None:
    column = Column("id", "bigint", (), part=RecordPart.KEY, leeway=Leeway(quoted="accept"), is_whole=True)
    registry, changes = Registry(id1="long", id2="string"), Changes()
    keys = DecodedKeyColumns("avro", [column], "UTC", registry, WireFormat(), changes)
    columns, bad = keys.read(
        pa.array([framed(1, b"\x0e"), None, framed(2, b"\x0412"), framed(2, b"\x02x"), b"plain"], pa.binary())
    )
    assert columns["id"].to_pylist() == [7, None, 12, None, None]
    assert {place: reason.code for place, reason in bad.items()} == {3: "key.avro.type", 4: "key.avro.frame"}
    assert changes.take() == (("quoted", 1),)
