"""`sql` and `records` in the map: contradictions, and the side of the SELECT that each column is on."""

from pathlib import Path

import pytest

from kafka2hive.config.keys import Column
from kafka2hive.config.load import load_map
from tests.harness.map_text import FILMS, HEAD, films, problems_of

SQL = "    sql: SELECT * FROM records\n"


def test_records_are_decoded_and_columns_are_those_of_hive() -> None:
    table = films(
        "    columns: {twice: bigint}\n    records: {n: {type: bigint, from: $.a.n}}\n"
        "    sql: SELECT n * 2 AS twice FROM records\n"
    )
    assert table.columns == (Column("twice", "bigint"),)
    assert table.records == (Column("n", "bigint", ("a", "n")),)
    assert table.sql == "SELECT n * 2 AS twice FROM records"


def test_without_records_they_are_those_of_the_table() -> None:
    table = films(f"    columns: {{n: {{type: bigint, from: $.a.n}}}}\n{SQL}")
    assert (table.columns, table.records) == ((Column("n", "bigint", ("a", "n")),), ())


def test_the_bucket_is_of_the_tables_columns() -> None:
    columns = "    columns: {landed: date}\n    records: {at: timestamp}\n    bucket: {field: landed}\n"
    table = films(columns + "    sql: SELECT to_date(at) AS landed FROM records\n")
    assert table.bucketing.field == "landed"


def test_a_change_logs_columns_are_those_of_the_records() -> None:
    table = films(
        "    source: debezium\n    columns: {op: string}\n    records: {n: bigint}\n"
        "    sql: SELECT __op AS op FROM records\n"
    )
    assert [column.name for column in table.columns] == ["op"]
    assert [column.name for column in table.records] == ["n", "__op", "__ts_ms", "__source_position"]


def test_the_example_loads() -> None:
    late, jfk = load_map(str(Path(__file__).parents[4] / "configs" / "sql.yaml"), {}).tables
    assert late.records[2] == Column("air_time", "double", ("times", "air"))
    assert (len(late.columns), late.sql is not None, jfk.records) == (4, True, ())


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("columns: {n: int}\n    records: {n: int}", "is used only with sql"),
        ("columns: {n: int}\n    lookups: {a: 'file:///a'}", "is used only with sql"),
        ("columns: {n: int}\n    udfs: own", "is used only with sql"),
        ("columns: {n: int}\n    shuffle: bucket", "is used only with sql: write sql: SELECT * FROM records"),
        (f"columns: {{n: int}}\n    lookups: {{records: 'file:///a'}}\n{SQL}", "is not records"),
        (f"columns: {{n: int}}\n    lookups: {{a: /dimensions/a}}\n{SQL}", "expected a full path"),
        ("columns: {n: int}\n    sql: DELETE FROM records", "expected one SELECT"),
        ("columns: {n: int}\n    sql: SELECT 1 AS n", "the SELECT must read the table records"),
        (
            "columns: {n: int}\n    sql: SELECT __kafka2hive AS n FROM records",
            "is a name that kafka2hive uses itself",
        ),
        (f"columns: {{n: int}}\n    tombstones: write\n{SQL}", "use tombstones skip"),
        (f"columns: {{n: int}}\n    format: csv\n    rows: lines\n{SQL}", "requires messages of one row"),
        (
            f"columns: {{n: int}}\n    format: plugin\n    plugin: {{name: own}}\n{SQL}",
            "requires messages of one row",
        ),
        (f"records: {{n: int}}\n    create: false\n{SQL}", "are required with records"),
        (
            f"columns: {{n: {{type: int, from: $.n}}}}\n    records: {{n: int}}\n{SQL}",
            "move from, header, key, unit and mask to records",
        ),
        (f"columns: {{n: int}}\n    records: {{n: innt}}\n{SQL}", "records.n"),
        (
            f"columns: {{n: int}}\n    records: {{m: date}}\n    bucket: {{field: m}}\n{SQL}",
            "not a column of the table",
        ),
        (
            f"columns: {{a: int}}\n    format: raw\n    records: {{n: int}}\n{SQL}",
            "a raw table has exactly one column",
        ),
    ],
)
def test_contradictions_are_reported(lines: str, message: str) -> None:
    problems = problems_of(f"{HEAD}{FILMS}    {lines}\n")
    assert any(message in problem for problem in problems), problems
