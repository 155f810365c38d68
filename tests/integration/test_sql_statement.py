"""A table's SELECT on a real Spark: what is planned keeps a row's coordinates, everything else is refused with its reason."""

import sys
from collections.abc import Iterator

import pytest
from pyspark.cloudpickle import register_pickle_by_value
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import udf

from kafka2hive.config.keys import SparkOptions
from kafka2hive.config.keys.columns import COORDINATES
from kafka2hive.model.errors import TableError
from kafka2hive.spark.jvm import launched
from kafka2hive.spark.session import start_session
from kafka2hive.sql.statement import one_row_per_task, plan_select

PLACE = "struct<task:int,range:int,offset:bigint,time:bigint>"
COLUMNS = f"n bigint, name string, tags array<string>, at timestamp_ntz, {COORDINATES} {PLACE}"


def _records(batches: Iterator[object]) -> Iterator[object]:
    import pyarrow as pa

    for _ in batches:
        rows = range(6)
        places = pa.array(
            [{"task": 0, "range": 0, "offset": n, "time": None} for n in rows],
            pa.struct(
                [("task", pa.int32()), ("range", pa.int32()), ("offset", pa.int64()), ("time", pa.int64())]
            ),
        )
        columns = [
            pa.array(rows, pa.int64()),
            pa.array([f"n{n}" for n in rows]),
            pa.array([["a", "b"]] * 6),
            pa.array([n * 3_600_000_000 for n in rows], pa.timestamp("us")),
            places,
        ]
        yield pa.RecordBatch.from_arrays(columns, ["n", "name", "tags", "at", COORDINATES])


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    options, folder = SparkOptions(master="local[2]"), tmp_path_factory.mktemp("spark")
    register_pickle_by_value(sys.modules[__name__])  # workers need not find this module
    with launched(options, "statements") as jvm:
        session = start_session(options, "statements", folder, jvm.connect())
    session.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    session.conf.set("spark.sql.adaptive.enabled", "false")
    session.sql("SELECT * FROM VALUES (1L, 10L), (3L, 30L), (7L, 70L) AS t(n, m)").createOrReplaceTempView(
        "few"
    )
    session.udf.register("plus", udf(lambda n: n + 1, "bigint"))
    session.udf.register("coin", udf(lambda n: n + 1, "bigint").asNondeterministic())
    yield session
    session.stop()


@pytest.fixture(scope="module")
def records(spark: SparkSession) -> DataFrame:
    return one_row_per_task(spark, 1).mapInArrow(_records, COLUMNS)


def rows_of(records: DataFrame, sql: str, columns: str) -> list[tuple[object, ...]]:
    wanted = records.sparkSession.createDataFrame([], columns).schema
    rows = plan_select("db.t", sql, records, wanted)
    assert rows.columns == [*wanted.fieldNames(), COORDINATES]
    return [(*row[:-1], row[-1]["offset"]) for row in rows.collect()]


@pytest.mark.parametrize(
    ("sql", "columns", "rows"),
    [
        ("SELECT n FROM records WHERE n > 3", "n bigint", [(4, 4), (5, 5)]),
        ("select upper(NAME) as x, n from records where n = 2", "n bigint, X string", [(2, "N2", 2)]),
        (
            "SELECT * FROM records WHERE n % 5 = 0",
            "name string, n bigint, tags array<string>, at timestamp_ntz",
            2,
        ),
        ("SELECT m FROM (SELECT *, n + 1 AS m FROM records WHERE n > 1) WHERE m < 4", "m bigint", [(3, 2)]),
        ("SELECT r.n FROM records AS r WHERE size(r.tags) = 2 AND r.n = 1 -- so", "n bigint", [(1, 1)]),
        ("FROM records SELECT n WHERE n < 1", "n bigint", [(0, 0)]),
        (
            "SELECT CAST(n AS int) AS n, NULL AS s FROM records WHERE n = 1",
            "n bigint, s string",
            [(1, None, 1)],
        ),
        (
            "SELECT r.n, f.m FROM records r JOIN few f ON f.n = r.n",
            "n bigint, m bigint",
            [(1, 10, 1), (3, 30, 3)],
        ),
        ("SELECT f.m FROM few f JOIN records r ON f.n = r.n WHERE m > 10", "m bigint", [(30, 3)]),
        ("SELECT n FROM records r LEFT SEMI JOIN few f ON f.n = r.n", "n bigint", [(1, 1), (3, 3)]),
        (
            "SELECT n FROM records r LEFT ANTI JOIN few f ON f.n = r.n WHERE n > 3",
            "n bigint",
            [(4, 4), (5, 5)],
        ),
        (
            "SELECT r.n FROM records r LEFT JOIN (SELECT min(n) AS n FROM few) f ON f.n = r.n WHERE f.n > 0",
            "n bigint",
            [(1, 1)],
        ),
        ("SELECT n, plus(n) AS m FROM records WHERE plus(n) > 5", "n bigint, m bigint", [(5, 6, 5)]),
        ("SELECT current_timestamp() > at AS n FROM records WHERE n = 1", "n boolean", [(True, 1)]),
    ],
)
def test_rows_keep_their_coordinates(
    records: DataFrame, sql: str, columns: str, rows: list[tuple[object, ...]] | int
) -> None:
    found = rows_of(records, sql, columns)
    assert len(found) == rows if isinstance(rows, int) else found == rows


def test_a_timestamp_becomes_the_wall_clock_of_the_sessions_zone(records: DataFrame) -> None:
    sql = "SELECT TIMESTAMP '2013-01-01 00:00:00 UTC' AS at FROM records WHERE n = 0"
    ((at, _),) = rows_of(records, sql, "at timestamp_ntz")
    assert str(at) == "2013-01-01 09:00:00"


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("SELECT count(*) AS n FROM records", "aggregates"),
        ("SELECT n FROM records GROUP BY n", "aggregates"),
        ("SELECT max(n) AS n FROM records HAVING max(n) > 1", ""),
        ("SELECT n FROM (SELECT max(n) AS n FROM records)", "aggregates"),
        ("SELECT DISTINCT n FROM records", "DISTINCT"),
        ("SELECT n, explode(tags) FROM records", "several rows of one record"),
        ("SELECT n FROM records LATERAL VIEW explode(tags) AS t", "several rows of one record"),
        ("SELECT n, stack(2, 1, 2) FROM records", "several rows of one record"),
        ("SELECT row_number() OVER (ORDER BY n) AS n FROM records", "window"),
        ("SELECT n FROM records ORDER BY n", "ORDER BY"),
        ("SELECT n FROM records LIMIT 3", "LIMIT"),
        ("SELECT n FROM records OFFSET 3", "OFFSET"),
        ("SELECT n FROM records TABLESAMPLE (50 PERCENT)", "TABLESAMPLE"),
        ("SELECT n FROM records UNION ALL SELECT n FROM records", "UNION"),
        ("SELECT a.n FROM records a JOIN records b ON a.n = b.n", "join"),
        ("SELECT r.n FROM records r RIGHT JOIN few f ON f.n = r.n", "only lookups can be joined"),
        ("SELECT r.n FROM records r FULL JOIN few f ON f.n = r.n", "only lookups can be joined"),
        ("SELECT f.n FROM few f LEFT JOIN records r ON f.n = r.n", "only lookups can be joined"),
        ("SELECT f.n FROM few f LEFT SEMI JOIN records r ON f.n = r.n", ""),
        ("SELECT f.n FROM few f WHERE f.n IN (SELECT n FROM records)", ""),
        ("SELECT /*+ MERGE(f) */ r.n FROM records r JOIN few f ON f.n = r.n", "between tasks"),
        ("SELECT /*+ BROADCAST(r) */ r.n FROM records r JOIN few f ON f.n = r.n", "between tasks"),
        ("SELECT coin(n) AS n FROM records", "differs at each call"),
        ("WITH x AS (SELECT n FROM records) SELECT n FROM x", "WITH"),
        ("SELECT n FROM records WHERE n IN (SELECT max(n) FROM records)", "subquery"),
        ("SELECT (SELECT max(n) FROM records) AS n FROM records", "subquery"),
        ("SELECT n FROM records WHERE rand() < 0.5", "differs at each call"),
        ("SELECT n, uuid() AS s FROM records", "differs at each call"),
        ("SELECT n FROM records WHERE 1 = 2", "no record can pass"),
        ("SELECT n FROM range(5) AS records(n)", ""),
        ("SELECT n FROM (VALUES (1)) AS records(n)", ""),
    ],
)
def test_what_is_not_one_row_or_none_of_each_record_is_refused(
    records: DataFrame, sql: str, why: str
) -> None:
    with pytest.raises(TableError) as refusal:
        rows_of(records, sql, "n bigint")
    assert refusal.value.code in ({"sql.refused"} if why else {"sql.refused", "sql.syntax"}), (
        refusal.value.message
    )
    assert why in refusal.value.message


def test_coordinates_that_are_made_up_are_refused(records: DataFrame) -> None:
    made = f"named_struct('task', 0, 'range', 0, 'offset', 1L, 'time', 1L) AS {COORDINATES}"
    for sql in (
        f"SELECT n FROM (SELECT n, {made} FROM records)",
        f"SELECT n, {made} FROM records",
    ):
        try:
            assert rows_of(records, sql, "n bigint") == [(n, n) for n in range(6)]
        except TableError as refusal:
            assert refusal.code in ("sql.refused", "sql.syntax")


@pytest.mark.parametrize(
    ("sql", "columns", "told"),
    [
        ("SELECT n FROM records", "n bigint, m bigint", "m is missing"),
        ("SELECT n, name FROM records", "n bigint", "name is not a column of the table"),
        ("SELECT n, n + 1 AS n FROM records", "n bigint", "n occurs more than once"),
        ("SELECT name AS n FROM records", "n bigint", "n is string, but the table's is bigint"),
        ("SELECT n FROM records", "n int", "n is bigint, but the table's is int"),
        ("SELECT CAST(n AS decimal(12,3)) AS n FROM records", "n decimal(12,2)", "n is decimal(12,3)"),
    ],
)
def test_a_result_that_is_not_the_tables_is_told(
    records: DataFrame, sql: str, columns: str, told: str
) -> None:
    with pytest.raises(TableError) as refusal:
        rows_of(records, sql, columns)
    assert refusal.value.code == "sql.columns"
    assert told in refusal.value.message


@pytest.mark.parametrize("sql", ["SELECT", "SELECT x FROM records", "SELECT nofunction(n) FROM records"])
def test_what_spark_does_not_understand_is_told(records: DataFrame, sql: str) -> None:
    with pytest.raises(TableError) as refusal:
        rows_of(records, sql, "n bigint")
    assert refusal.value.code == "sql.syntax"
