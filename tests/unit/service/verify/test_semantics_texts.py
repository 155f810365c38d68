"""`verify --deep` reads times in the map's own forms by Python's parsers, so it notices a wrong decoder."""

from dataclasses import replace
from datetime import date, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

from kafka2hive.config.keys.columns import Column
from kafka2hive.config.keys.leeway import Leeway
from kafka2hive.service.verify.semantics.judge import SchemaJudge, contradiction
from tests.contract.decode_cases import Dead
from tests.contract.time_cases import CASES, IDS, Case
from tests.harness.task_files import table_settings


def judge(dtype: pa.DataType, zone: str, unit: str | None, leeway: Leeway) -> SchemaJudge:
    kind = "date" if pa.types.is_date(dtype) else "timestamp"
    column = Column("a", kind, ("a",), unit, leeway=leeway)
    return SchemaJudge(replace(table_settings("db.t", "json", ()), columns=(column,), zone=zone))


@pytest.mark.parametrize(("dtype", "zone", "unit", "leeway", "cases"), CASES, ids=IDS)
def test_no_row_of_the_table_is_contradicted_and_a_wrong_one_is(
    dtype: pa.DataType, zone: str, unit: str | None, leeway: Leeway, cases: list[Case]
) -> None:
    of_table = judge(dtype, zone, unit, leeway)
    judged = 0
    for text, value in cases:
        message = f'{{"a":{text}}}'.encode()
        if isinstance(value, Dead) or value is None:
            continue
        assert of_table.key(message) == b""
        expected = of_table.expected(message) or {}
        assert contradiction(expected, {"a": value}) == "", text
        assert bool(contradiction(expected, {"a": value + timedelta(days=1)})) == bool(expected)
        judged += bool(expected)
    assert judged or "VV" in "".join(leeway.time_pattern) or "S" * 9 in "".join(leeway.time_pattern)


@pytest.mark.parametrize(
    ("patterns", "text", "value"),
    [
        (
            ("EEE, d MMM yyyy HH:mm:ss Z",),
            "Wed, 31 Jan 2024 12:30:15 +0100",
            datetime(2024, 1, 31, 11, 30, 15),
        ),
        (
            ("yyyy-MM-dd'T'HH:mm[:ss[.SSS]]",),
            "2024-01-31T12:30:15.250",
            datetime(2024, 1, 31, 12, 30, 15, 250000),
        ),
        (("yyyy-MM-dd'T'HH:mm[:ss[.SSS]]",), "2024-01-31T12:30", datetime(2024, 1, 31, 12, 30)),
        (("dd '100%' 'of' MM.yyyy '['HH']' ''",), "31 100% of 01.2024 [12] '", datetime(2024, 1, 31, 12)),
        (("dd/MM/yyyy HH", "MM/dd/yyyy HH"), "31/01/2024 12", datetime(2024, 1, 31, 12)),
        (("dd/MM/yyyy HH", "MM/dd/yyyy HH"), "02/01/2024 12", None),
        (("yyyy-MM-dd HH:mm VV",), "2024-01-31 12:30 Europe/Berlin", None),
    ],
)
def test_patterns_are_read_by_other_means(patterns: tuple[str, ...], text: str, value: Any) -> None:
    of_table = judge(pa.timestamp("us"), "UTC", None, Leeway(time_pattern=patterns))
    message = f'{{"a":"{text}"}}'.encode()
    assert (of_table.expected(message) or {}).get("a") == value


@pytest.mark.parametrize("value", ["{}", '""', "[]", "[1]", "true", "1.5", '"x"', "[[]]", "1e999999999"])
@pytest.mark.parametrize(
    ("unit", "leeway"),
    [
        (None, Leeway(time_pattern=("array", "iso", "dd/MM/yyyy HH"))),
        ("s", Leeway(epoch="decimal", quoted="accept")),
    ],
)
def test_values_that_are_no_times_are_not_judged(value: str, unit: str | None, leeway: Leeway) -> None:
    assert not judge(pa.timestamp("us"), "UTC", unit, leeway).expected(f'{{"a":{value}}}'.encode()) or unit


def test_records_with_a_schema_and_other_columns_are_judged_as_before() -> None:
    of_table = judge(pa.date32(), "UTC", None, Leeway(time_of_day="drop"))
    assert of_table.expected(b'{"a":"2024-01-31T12:30"}') == {"a": date(2024, 1, 31)}
    assert of_table.expected(b"[1]") == {} and of_table.expected(b"x") == {}
    plain = judge(pa.date32(), "UTC", None, Leeway())
    assert plain.key(b'{"a":"2024-01-31"}') is None and plain.columns == ()
