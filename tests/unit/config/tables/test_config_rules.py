"""Rules of columns in the map: what they become, and which contradict each other or their column."""

import pytest

from kafka2hive.config.keys.column_rules import ColumnRules
from tests.harness.map_text import FILMS, HEAD, films, problems_of

COLUMNS = """\
    columns:
      a: {type: bigint, required: true, min: 1, max: 9007199254740993}
      b: {type: "decimal(38,18)", min: 0.000000000000000001, max: 12345678901234567890.123456789012345678}
      c: {type: string, pattern: "[a-z0-9]+", values: [x, "1"], on_break: count}
      d: {type: boolean, values: [true]}
      e: {type: timestamp, min: 2013-01-01, max: 2013-12-31T23:59:59.999999}
      f: bigint
"""


def test_rules_keep_the_digits_of_the_map() -> None:
    table = films(COLUMNS)
    assert [column.rules for column in table.columns] == [
        ColumnRules(required=True, least="1", most="9007199254740993"),
        ColumnRules(least="0.000000000000000001", most="12345678901234567890.123456789012345678"),
        ColumnRules(pattern="[a-z0-9]+", values=("x", "1"), on_break="count"),
        ColumnRules(values=("true",)),
        ColumnRules(least="2013-01-01", most="2013-12-31T23:59:59.999999"),
        ColumnRules(),
    ]
    assert (table.on_break, table.unique_within_message) == ("dead_letter", ())


def test_a_table_says_what_broken_rules_mean_and_what_is_unique() -> None:
    table = films(
        "    rows: lines\n    on_break: count\n    unique_within_message: [a]\n    columns: {a: int}\n"
    )
    assert (table.on_break, table.unique_within_message) == ("count", ("a",))


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ("{type: int, min: 2, max: 1}", "columns.a.max: is less than min, which is 2"),
        ("{type: 'decimal(9,2)', min: 0.1, max: 0.01}", "max: is less than min, which is 0.1"),
        ("{type: date, min: 2013-02-29}", "min: '2013-02-29' is not a date"),
        ("{type: timestamp, max: 2013-01-01T00:00Z}", "max: '2013-01-01T00:00Z' is not a wall clock"),
        ("{type: timestamp, max: 2013-01-01T24:00}", "is not a wall clock"),
        ("{type: timestamp, max: 1384601400000}", "is not a wall clock"),
        ("{type: int, min: 0.5}", "min: 0.5 is not a value of int"),
        ("{type: tinyint, max: 128}", "max: 128 is not a value of tinyint"),
        ("{type: 'decimal(5,2)', min: 0.001}", "min: 0.001 does not fit decimal(5,2)"),
        ("{type: float, max: 16777217}", "max: 16777217 is not exact as float"),
        ("{type: double, max: '1e400'}", "max: 1e400 is beyond double"),
        (
            "{type: string, min: a}",
            "min: is used only with a number, decimal, date or timestamp; a is string",
        ),
        ("{type: boolean, max: true}", "max: is used only with a number"),
        ("{type: 'array<int>', min: 1}", "min: is used only with a number"),
        ("{type: int, pattern: '1+'}", "pattern: is used only with a string; a is int"),
        (
            "{type: string, pattern: '(?=a)'}",
            "pattern: not a regular expression of RE2: invalid perl operator",
        ),
        ("{type: string, pattern: '(a'}", "pattern: not a regular expression of RE2: missing )"),
        ("{type: string, pattern: 'a)|(b'}", "pattern: not a regular expression of RE2: unexpected )"),
        ("{type: string, pattern: '\\Qa'}", "pattern: not a regular expression of RE2: missing )"),
        ("{type: string, pattern: ''}", "pattern: must not be empty"),
        ("{type: binary, values: [a]}", "values: is used only with strings, numbers, booleans and times"),
        ("{type: 'map<string,int>', values: [a]}", "values: is used only with strings"),
        ("{type: int, values: [1, x]}", "values[1]: 'x' is not a number"),
        ("{type: boolean, values: [1]}", "values[0]: '1' is not a boolean"),
        ("{type: 'decimal(9,2)', values: [1, 1.00]}", "values[1]: 1.00 is repeated"),
        ("{type: int, values: [1, 9], max: 5}", "values[1]: 9 is more than the column's max, which is 5"),
        (
            "{type: date, values: [2013-01-01], min: 2014-01-01}",
            "values[0]: 2013-01-01 is less than the column's",
        ),
        (
            "{type: string, values: [a, B], pattern: '[a-z]'}",
            "values[1]: 'B' does not match the column's pattern",
        ),
        ("{type: int, required: true, default: 1}", "required: a column with a default always has a value"),
        ("{type: int, min: 2, default: 1}", "default: 1 is less than the column's min, which is 2"),
        ("{type: int, values: [2], default: 1}", "default: 1 is not one of the column's values"),
        ("{type: string, pattern: a, default: b}", "default: 'b' does not match the column's pattern"),
        ("{type: int, on_break: count}", "on_break: a has no rule"),
        ("{type: int, min: 1, on_break: drop}", "expected dead_letter or count"),
        ("{type: int, min: [1]}", "expected a string, a number or true/false"),
        ("{type: int, values: 1}", "expected a list, for example values: [new, paid]"),
    ],
)
def test_what_cannot_be_is_refused_with_its_line(column: str, message: str) -> None:
    before = f"{HEAD}{FILMS}    columns:\n"
    (problem,) = problems_of(f"{before}      a: {column}\n      b: int\n")
    assert message in problem
    assert problem.startswith(f"map.yaml:{before.count(chr(10)) + 1}: ")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("columns: {a: int}\n    on_break: count", "on_break: no column of the table has a rule"),
        ("columns: {a: int}\n    unique_within_message: [a]", "a message of this table has one row"),
        ("rows: lines\n    columns: {a: int}\n    unique_within_message: [A]", "the table has no column A"),
        ("rows: lines\n    columns: {a: int}\n    unique_within_message: [a, a]", "the column a is repeated"),
        (
            "rows: lines\n    columns: {a: 'array<int>'}\n    unique_within_message: [a]",
            "only single values are compared; a is array<int>",
        ),
        (
            "sql: SELECT a FROM records\n    records: {a: int}\n    columns: {a: {type: int, min: 1}}",
            "columns.a: rules are checked before the SELECT: move them to records",
        ),
    ],
)
def test_what_a_table_cannot_say_is_refused(lines: str, message: str) -> None:
    text = "\n".join(map(str, problems_of(f"{FILMS}    {lines}\n")))
    assert message in text, text


def test_rules_before_a_select_belong_to_its_records() -> None:
    lines = "    sql: SELECT a FROM records\n    records: {a: {type: int, min: 1}}\n    columns: {a: int}\n"
    table = films(lines)
    assert table.records[0].rules == ColumnRules(least="1") and table.columns[0].rules == ColumnRules()
