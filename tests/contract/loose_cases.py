"""The contract of values in other forms than their column's type: by the column's keys, what each text of JSON becomes."""

from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from math import inf, nan
from typing import Any

from kafka2hive.config.keys.leeway import PLAIN_WORDS, BooleanWords, Leeway, NumberMarks
from tests.contract.decode_cases import (
    DATE,
    INEXACT,
    RANGE,
    SYNTAX,
    TIME,
    TYPE,
)

FIRST, LAST = datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999999)


@dataclass(frozen=True)
class LooseColumn:
    """A column with keys. `values`: by the JSON text what it becomes; `changed`: how many values each kind counts."""

    name: str
    type: str
    leeway: Leeway
    values: dict[str, Any]
    changed: dict[str, int]
    unit: str | None = None
    zone: str = "UTC"
    by_exact: frozenset[str] = field(default=frozenset())
    """Texts of rows that the compiled decoder leaves to the exact one."""


WHOLE = Leeway(whole="accept")
GERMAN, ENGLISH = NumberMarks(".", ","), NumberMarks(",", ".")

COLUMNS = [
    LooseColumn(
        "whole",
        "bigint",
        WHOLE,
        {
            "1.0": 1,
            "-1.50e1": -15,
            "1e3": 1000,
            "1E+3": 1000,
            "1200e-2": 12,
            "-0.0": 0,
            "0e9999": 0,
            "9.223372036854775807e18": 2**63 - 1,
            "-9223372036854775808.000": -(2**63),
            "7": 7,
            "null": None,
            "9223372036854775808.0": RANGE,
            "1e30": RANGE,
            "1e9999": RANGE,
            "1e9999999999": RANGE,
            "1e-9999999999": TYPE,
            "1.5": TYPE,
            "1e-1": TYPE,
            '"1.0"': TYPE,
            "01.0": SYNTAX,
            "1.": SYNTAX,
        },
        {"whole": 9},
    ),
    LooseColumn(
        "whole tinyint", "tinyint", WHOLE, {"1e2": 100, "1.28e2": RANGE, "-128.0": -128}, {"whole": 2}
    ),
    LooseColumn(
        "whole in quotes",
        "int",
        Leeway(whole="accept", quoted="accept", empty="null"),
        {'"1.0"': 1, '"1e3"': 1000, "2.0": 2, '"3"': 3, '""': None, '"1.5"': TYPE, '" 1.0"': TYPE},
        {"empty": 1, "quoted": 3, "whole": 3},
    ),
    LooseColumn(
        "whole seconds",
        "timestamp",
        WHOLE,
        {
            "1356998400.0": datetime(2013, 1, 1),
            "1.3569984e9": datetime(2013, 1, 1),
            "1356998400.5": TYPE,
            "1e18": RANGE,
        },
        {"whole": 2},
        unit="s",
    ),
    LooseColumn(
        "plain words",
        "boolean",
        Leeway(booleans=PLAIN_WORDS),
        {
            "true": True,
            "1": True,
            "0": False,
            '"true"': True,
            '"TRUE"': True,
            '"False"': False,
            '"yes"': True,
            '"NO"': False,
            '"Y"': True,
            '"n"': False,
            '"on"': True,
            '"Off"': False,
            '"1"': True,
            '"0"': False,
            '"\\u0031"': True,
            '"tRUE"': TYPE,
            '" yes"': TYPE,
            '""': TYPE,
            '"2"': TYPE,
            "2": TYPE,
            "1.0": TYPE,
            "-0": TYPE,
            "01": SYNTAX,
            "[1]": TYPE,
        },
        {"booleans": 14},
    ),
    LooseColumn(
        "own words",
        "boolean",
        Leeway(booleans=BooleanWords(("J", "1.0", "t"), ("N", "-1")), empty="null", quoted="accept"),
        {
            '"J"': True,
            "1.0": True,
            "-1": False,
            '"t"': True,
            '""': None,
            "false": False,
            '"j"': TYPE,
            "1": TYPE,
        },
        {"booleans": 4, "empty": 1},
    ),
    LooseColumn(
        "German decimal",
        "decimal(9,2)",
        Leeway(numbers=GERMAN),
        {
            '"1.234,56"': Decimal("1234.56"),
            '"-1.234.567,8"': Decimal("-1234567.80"),
            '"1234,5"': Decimal("1234.50"),
            '"1.500"': Decimal("1500.00"),
            "1.5": Decimal("1.50"),
            '"0,10"': Decimal("0.10"),
            '"12"': Decimal("12.00"),
            '"1.5"': TYPE,
            '"1.23,4"': TYPE,
            '"1234.567"': TYPE,
            '"1,234.56"': TYPE,
            '"0.123"': TYPE,
            '"+1,5"': TYPE,
            '"1,"': TYPE,
            '",5"': TYPE,
            '""': TYPE,
            '"0,001"': INEXACT,
            '"12.345.678,9"': RANGE,
        },
        {"numbers": 6},
    ),
    LooseColumn(
        "English double",
        "double",
        Leeway(numbers=ENGLISH, non_finite="null", empty="null"),
        {
            '"1,234.5"': 1234.5,
            '"1,5"': TYPE,
            '"1.5E2"': 150.0,
            '"NaN"': None,
            '""': None,
            '"9007199254740993"': INEXACT,
        },
        {"empty": 1, "non_finite": 1, "numbers": 2},
    ),
    LooseColumn(
        "German integer",
        "int",
        Leeway(numbers=GERMAN, whole="accept"),
        {
            '"1.234"': 1234,
            '"-12.345.678"': -12345678,
            '"12"': 12,
            '"0"': 0,
            '"1.234,00"': 1234,
            '"-2.147.483.648"': -(2**31),
            '"2.147.483.648"': RANGE,
            "1234": 1234,
            '"01"': TYPE,
            '"0.123"': TYPE,
            '"1.23"': TYPE,
            '"1.2345"': TYPE,
            '"12.345.67"': TYPE,
            '"1.234,5"': TYPE,
            '".123"': TYPE,
            '"-"': TYPE,
        },
        {"numbers": 6, "whole": 1},
    ),
    LooseColumn(
        "thin blanks",
        "bigint",
        Leeway(numbers=NumberMarks("\u202f"), whole="accept"),
        {'"1\u202f234"': 1234, '"1\u202f234.0"': 1234, '"1 234"': TYPE, '"1.5"': TYPE, '"12"': 12},
        {"numbers": 3, "whole": 1},
    ),
    LooseColumn(
        "no finite double, kept",
        "double",
        Leeway(non_finite="keep"),
        {
            "NaN": nan,
            "Infinity": inf,
            "-Infinity": -inf,
            '"NaN"': nan,
            '"nan"': nan,
            '"Infinity"': inf,
            '"-Infinity"': -inf,
            '"INF"': inf,
            '"+Inf"': inf,
            '"-inf"': -inf,
            "1.5": 1.5,
            "null": None,
            "1e999": RANGE,
            '"1.5"': TYPE,
            '"infinite"': TYPE,
            '"-NaN"': TYPE,
            "nan": SYNTAX,
            "+Infinity": SYNTAX,
            "inf": SYNTAX,
            "-NaN": SYNTAX,
            "[NaN]": SYNTAX,
            "NaN1": SYNTAX,
        },
        {"non_finite": 10},
    ),
    LooseColumn(
        "no finite float, NULL",
        "float",
        Leeway(non_finite="null", quoted="accept"),
        {"NaN": None, '"-Infinity"': None, '"1.5"': 1.5, "-1.5": -1.5, '"-1.5"': -1.5},
        {"non_finite": 2, "quoted": 2},
    ),
    LooseColumn(
        "float, kept", "float", Leeway(non_finite="keep"), {"NaN": nan, "-Infinity": -inf}, {"non_finite": 2}
    ),
    LooseColumn(
        "times, clamped",
        "timestamp",
        Leeway(beyond="clamp", empty="null"),
        {
            '"infinity"': LAST,
            '"-infinity"': FIRST,
            '"Infinity"': LAST,
            '"10000-01-01T00:00:00"': LAST,
            '"+10000-01-01T00:00:00Z"': LAST,
            '"294276-12-31 23:59:59.999999"': LAST,
            '"0000-12-31T00:00"': FIRST,
            '"-0044-03-15T12:00:00Z"': FIRST,
            '"0044-03-15 12:00:00 BC"': FIRST,
            '"4713-01-01 00:00:00+00 BC"': FIRST,
            '"10000-01-01T00:30:00+01:00"': datetime(9999, 12, 31, 23, 30),
            '"2013-01-01T05:00:00Z"': datetime(2013, 1, 1, 5),
            '"0000-02-29T00:00"': FIRST,
            '""': None,
            '"10001-02-29T00:00:00"': TIME,
            '"0000-00-00T00:00:00"': TIME,
            '"2013-01-01T05:00:00 BC"': FIRST,
            '"10000-01-01"': TIME,
            '"12013-01-01T25:00:00"': TIME,
            '"+2013-01-01T05:00:00"': TIME,
            '"infinit"': TIME,
            "1": TYPE,
        },
        {"beyond": 12, "empty": 1},
        by_exact=frozenset(
            {
                '"10000-01-01T00:00:00"',
                '"+10000-01-01T00:00:00Z"',
                '"294276-12-31 23:59:59.999999"',
                '"0000-12-31T00:00"',
                '"-0044-03-15T12:00:00Z"',
                '"0044-03-15 12:00:00 BC"',
                '"4713-01-01 00:00:00+00 BC"',
                '"10000-01-01T00:30:00+01:00"',
                '"0000-02-29T00:00"',
                '"2013-01-01T05:00:00 BC"',
            }
        ),
    ),
    LooseColumn(
        "times in Berlin, NULL",
        "timestamp",
        Leeway(beyond="null"),
        {
            '"9999-12-31T23:30:00Z"': None,
            '"infinity"': None,
            '"0001-01-01T00:00:00+12:00"': None,
            '"9999-12-31T23:30:00"': datetime(9999, 12, 31, 23, 30),
        },
        {"beyond": 3},
        zone="Europe/Berlin",
        by_exact=frozenset({'"9999-12-31T23:30:00Z"', '"0001-01-01T00:00:00+12:00"'}),
    ),
    LooseColumn(
        "days, clamped",
        "date",
        Leeway(beyond="clamp"),
        {
            '"infinity"': date(9999, 12, 31),
            '"-infinity"': date(1, 1, 1),
            '"5874897-12-31"': date(9999, 12, 31),
            '"0044-03-15 BC"': date(1, 1, 1),
            '"0000-01-01"': date(1, 1, 1),
            '"0000-00-00"': DATE,
            '"2013-02-30"': DATE,
            '"2013-02-28"': date(2013, 2, 28),
        },
        {"beyond": 5},
        by_exact=frozenset({'"5874897-12-31"', '"0044-03-15 BC"', '"0000-01-01"'}),
    ),
    LooseColumn(
        "microseconds, clamped",
        "timestamp",
        Leeway(beyond="clamp", quoted="accept", whole="accept"),
        {
            "9223372036825200000": LAST,  # Debezium's for PostgreSQL's infinity
            "-9223372036832400000": FIRST,
            '"9223372036854775807"': LAST,
            "9.2e18": LAST,
            "253402300799999999": LAST,
            "253402300800000000": LAST,
            "-62135596800000001": FIRST,
            "0": datetime(1970, 1, 1),
            '"infinity"': LAST,
            "9223372036854775808": RANGE,
            "1.5": TYPE,
        },
        {"beyond": 7, "quoted": 1, "whole": 1},
        unit="us",
        by_exact=frozenset({"253402300800000000", "-62135596800000001"}),
    ),
    LooseColumn(
        "days from milliseconds, NULL",
        "date",
        Leeway(beyond="null"),
        {"9223372036825200000": None, "1356998400000": date(2013, 1, 1), "-99999999999999": None},
        {"beyond": 2},
        unit="ms",
    ),
    LooseColumn(
        "days, in days",
        "date",
        Leeway(beyond="clamp"),
        {"2147483647": date(9999, 12, 31), "-2147483648": date(1, 1, 1), "1": date(1970, 1, 2)},
        {"beyond": 2},
        unit="d",
    ),
]
