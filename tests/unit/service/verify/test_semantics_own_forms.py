"""`verify --deep` reads values in other forms by code of its own, so it notices a decoder that makes something else of them."""

import hashlib
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from kafka2hive.config.keys import TableSettings
from kafka2hive.config.keys.columns import Column, RecordPart
from kafka2hive.config.keys.leeway import Leeway, NumberMarks
from kafka2hive.config.keys.masks import Mask
from kafka2hive.config.keys.source import CsvOptions
from kafka2hive.decode import Changes, make_decoder
from kafka2hive.decode.json import of_records
from kafka2hive.service.verify.semantics.judge import SchemaJudge, contradiction
from kafka2hive.task.rows import value_spec
from tests.contract.decode_cases import TEXT_CASES, Dead
from tests.contract.loose_cases import COLUMNS, LooseColumn
from tests.contract.test_json_texts import ANY, CANONICAL, CANONICAL_CASES
from tests.harness.outcomes import outcomes_of
from tests.harness.task_files import table_settings


def table(*columns: Column, format: str = "json", **more: Any) -> TableSettings:
    return replace(table_settings("db.t", "json", ()), format=format, columns=columns, **more)  # type: ignore[arg-type]


def rows_of(settings: TableSettings, messages: list[bytes]) -> list[dict[str, Any] | None]:
    """The decoder's row of each message, None for a dead letter. The exact decoder is tried, because mutants are of it."""
    spec = value_spec(settings, None, Changes())
    is_single = settings.format == "json" and not any(column.leeway.others for column in settings.columns)
    decoder = of_records(spec, None) if is_single else make_decoder(spec)
    names = [column.name for column in settings.columns]
    found = outcomes_of(decoder, messages)
    return [dict(zip(names, one[0], strict=True)) if isinstance(one, list) else None for one in found]


def judged(settings: TableSettings, messages: list[bytes]) -> int:
    """The number of rows that are judged: the decoder's rows are right, and rows with another value are not."""
    judge = SchemaJudge(settings)
    count = 0
    for message, row in zip(messages, rows_of(settings, messages), strict=True):
        expected = judge.expected(message)
        assert judge.key(message) == b""
        if row is None or not expected:
            continue
        assert contradiction(expected, row) == "", message
        for name in expected:
            assert contradiction(expected, {**row, name: _Other()}), message
            assert bool(contradiction(expected, {**row, name: None})) is (row[name] is not None), message
        count += 1
    return count


class _Other:
    """A value that is none of a row's."""


@pytest.mark.parametrize("column", COLUMNS, ids=lambda column: column.name)
def test_rows_of_values_in_other_forms_are_judged(column: LooseColumn) -> None:
    own = Column("a", column.type, ("a",), column.unit, leeway=column.leeway)
    messages = [f'{{"x":[1,{{"a":2}}],"a" : {text} }}'.encode() for text in column.values]
    accepted = sum(not isinstance(value, Dead) for value in column.values.values())
    count = judged(table(own, zone=column.zone), messages)
    assert count >= max(accepted // 3, 1) or column.type == "float", count


def test_rows_of_json_texts_are_judged() -> None:
    accepted = sum(not isinstance(value, Dead) for _, value in TEXT_CASES)
    messages = [f'{{"b":"}}","a":{text}}}'.encode() for text, _ in TEXT_CASES]
    assert judged(table(Column("a", "string", ("a",), leeway=ANY)), messages) == accepted
    messages = [f'{{"a":{text}}}'.encode() for text, _ in CANONICAL_CASES]
    accepted = sum(not str(value).startswith("json.") for _, value in CANONICAL_CASES)
    assert judged(table(Column("a", "string", ("a",), leeway=CANONICAL)), messages) == accepted


def test_rows_of_whole_messages_and_nested_values_are_judged() -> None:
    whole = Column("doc", "string", leeway=ANY, is_whole=True)
    within = Column("n", "bigint", ("o", "n"), leeway=Leeway(quoted="accept", others=(("m",),)))
    settings = table(whole, within, Column("sorted", "string", leeway=CANONICAL, is_whole=True))
    messages = [b' {"o": {"n": "7"}, "m": 7}\n', b'{"m":"8"}', b'{"o":null}', b"[1]", b"{", b'{"o":{"n":1}}']
    assert judged(settings, messages) == 4
    assert SchemaJudge(settings).expected(messages[0]) == {
        "doc": '{"o": {"n": "7"}, "m": 7}',
        "n": 7,
        "sorted": '{"m":7,"o":{"n":"7"}}',
    }


def test_masks_of_such_columns_are_judged() -> None:
    own = Column("a", "string", ("a",), leeway=ANY, mask=Mask("hash"))
    expected = SchemaJudge(table(own)).expected(b'{"a":1.10}')
    assert expected == {"a": hashlib.sha256(b"1.10").hexdigest()}
    assert SchemaJudge(table(replace(own, mask=Mask("drop")))).types == {}


CSV = [
    Column("id", "int", leeway=Leeway(whole="accept")),
    Column("net", "decimal(9,2)", leeway=Leeway(numbers=NumberMarks(".", ","))),
    Column("on", "boolean"),
    Column("at", "timestamp", leeway=Leeway(time_pattern=("dd/MM/yyyy HH:mm",))),
    Column("ratio", "double", leeway=Leeway(non_finite="keep")),
    Column("until", "date", leeway=Leeway(beyond="clamp")),
]


def test_rows_of_csv_are_judged() -> None:
    settings = table(*CSV, format="csv", csv=CsvOptions(";", nulls=("", "NULL")))
    messages = [
        b"1.0;1.234,56;true;31/01/2024 12:30;NaN;infinity",
        b'2;"-0,5";false;"01/02/2024 08:00";-Infinity;2024-01-31\r\n',
        b"NULL;7;true;;1.5;0044-03-15 BC",
        b"1;2",
        b'1;"2',
    ]
    assert judged(settings, messages) == 3
    assert not SchemaJudge(replace(settings, csv=CsvOptions("||"))).types


def test_headers_and_raw_keys_are_judged_in_every_format() -> None:
    columns = (
        Column("v", "binary"),
        Column("seen", "timestamp", ("seen",), "ms", part=RecordPart.HEADER),
        Column("day", "date", ("day",), part=RecordPart.HEADER, leeway=Leeway(time_pattern=("dd.MM.yyyy",))),
        Column("id", "bigint", part=RecordPart.KEY),
    )
    judge = SchemaJudge(table(*columns, format="raw"))
    assert (judge.headers, judge.wants_keys) == (("seen", "day"), True)
    headers = {"seen": b"1706695200123", "day": b"31.01.2024"}
    expected = judge.expected(b"x", b"7", headers) or {}
    row = {"seen": _at("2024-01-31T10:00:00.123"), "day": _at("2024-01-31").date(), "id": 7}
    assert contradiction(expected, row) == ""
    for name in row:
        assert contradiction(expected, {**row, name: _Other()}).startswith(f"column {name} is ")
    missing = judge.expected(b"x", None, {"seen": None, "day": b"\xff"})
    assert contradiction(missing or {}, {"seen": None, "day": 1, "id": None}) == ""
    assert contradiction(missing or {}, {"id": 7}) == "column id is 7, the record's value makes it NULL"
    assert SchemaJudge(table(*columns, format="raw", key_format="json")).wants_keys is False


def _at(text: str) -> Any:
    return pa.scalar(text).cast(pa.timestamp("us")).as_py()


@pytest.mark.parametrize("change", [{"rows": "lines"}, {"sql": "select 1"}, {"any_case": True}])
def test_other_tables_are_not_judged_so(change: dict[str, Any]) -> None:
    assert SchemaJudge(table(Column("a", "string", ("a",), leeway=ANY), **change)).types == {}
