"""`validate` warns of what the readers in a map do not read of a table's files, or show otherwise than Hive."""

import pytest

from kafka2hive.config.load import load_text
from kafka2hive.service.validate.check import Warned, exit_code_of
from kafka2hive.service.validate.readers import check_readers

MAP = """
service: s
kafka: {bootstrap.servers: "127.0.0.1:9092"}
storage: {uri: "file:///base"}
hive: {url: "hive://127.0.0.1:10000"}
tables:
  - {table: a.t, topics: [t], readers: [READERS], columns: {COLUMNS}, OPTIONS}
"""
PLAIN = "id: bigint"


def warnings(readers: str, options: str = "zone: UTC", columns: str = PLAIN) -> list[tuple[str, str]]:
    """The code and the text of each warning."""
    text = MAP.replace("READERS", readers).replace("COLUMNS", columns).replace("OPTIONS", options)
    checks = check_readers(load_text(text, "m", {}))
    assert int(exit_code_of(checks)) == 0
    errors = [check.result.error for check in checks if isinstance(check.result, Warned)]
    assert len(errors) == len(checks) and all(error.remedy for error in errors)
    return [(error.code, error.message) for error in errors]


@pytest.mark.parametrize(
    ("reader", "options", "columns", "code", "text"),
    [
        ("trino", "writer: {format: json}", PLAIN, "readers.unread", "SerDe of JSON"),
        ("trino", "writer: {compression: lz4}", PLAIN, "readers.unread", "Parquet with lz4"),
        (
            "trino",
            "writer: {format: text, compression: zstd}",
            PLAIN,
            "readers.unread",
            "text with zstd",
        ),
        ("trino", "writer: {format: text}", "s: string", "readers.differs", "line ends"),
        ("trino", "writer: {format: text}", "s: varchar(9)", "readers.differs", "line ends"),
        ("trino", "schema_evolution: add", "f: float", "readers.unread", "widened to double"),
        ("trino", "zone: UTC", "at: timestamp", "readers.differs", "milliseconds"),
        ("trino", "zone: UTC", '"at": "array<timestamp>"', "readers.differs", "milliseconds"),
        (
            "trino",
            "source: debezium, latest: {key: [id]}, metadata: [partition, offset]",
            PLAIN,
            "readers.unread",
            "a.t_latest",
        ),
        ("spark", "writer: {format: json}", PLAIN, "readers.unread", "ClassNotFoundException"),
        ("spark", "writer: {format: text, compression: zstd}", PLAIN, "readers.unread", "native library"),
        ("spark", "writer: {format: avro}", PLAIN, "readers.unread", "jackson"),
        ("spark", "zone: UTC", "at: timestamp", "readers.differs", "instants"),
        ("spark", "metadata: [timestamp]", PLAIN, "readers.differs", "instants"),
        ("duckdb", "completion: {delay: 1h}, compact: {}", PLAIN, "readers.differs", "recursive glob"),
        ("polars", "completion: {delay: 1h}, compact: {}", PLAIN, "readers.differs", "recursive glob"),
    ],
)
def test_a_reader_that_does_not_read_a_table_as_hive_does_is_a_warning(
    reader: str, options: str, columns: str, code: str, text: str
) -> None:
    told = warnings(reader, options, columns)
    assert [each for each, _ in told] == [code] and f"a.t: {told[0][1].partition(': ')[2]}" == told[0][1]
    assert text in told[0][1]
    assert warnings("", options, columns) == []


@pytest.mark.parametrize(
    ("readers", "options", "columns"),
    [
        ("trino, spark, duckdb, polars", "zone: UTC", "id: bigint, s: string, f: float"),
        ("trino", "writer: {format: text}", PLAIN),
        ("trino", "writer: {format: orc, compression: lz4}", "f: float"),
        ("trino", "writer: {timestamps: millis}", "at: timestamp"),
        ("trino", "writer: {format: orc}, schema_evolution: add", "f: float"),
        ("trino", "metadata: [timestamp]", PLAIN),
        ("trino, spark", "completion: {delay: 1h}, compact: {}", PLAIN),
        ("duckdb", "writer: {compression: lz4}", "at: timestamp"),
    ],
)
def test_what_a_reader_shows_as_hive_does_is_no_warning(readers: str, options: str, columns: str) -> None:
    assert warnings(readers, options, columns) == []


def test_a_reader_is_warned_of_once_however_often_it_is_named() -> None:
    assert len(warnings("trino, spark, trino", "writer: {format: json}")) == 2
