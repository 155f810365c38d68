"""What Hive before 4 does not read of the files that a map's tables get, and where `validate --online` and `doctor` say it."""

from typing import Any, cast

import pytest

from kafka2hive.config.keys import Column, WriterOptions
from kafka2hive.config.load import load_text
from kafka2hive.hive.stored_as import Reader, reader_of, unread
from kafka2hive.model.errors import ServiceUnavailable
from kafka2hive.model.metastore import Hive, MetastoreRefused, MetastoreUnavailable, Session
from kafka2hive.model.paths.ledger import LedgerPaths
from kafka2hive.service.tables.hive_schemas import Catalogue
from kafka2hive.service.tables.table_state import MapTable
from kafka2hive.service.validate.check import Check, Failed, Warned
from kafka2hive.service.validate.online import check_hive

Rows = list[tuple[Any, ...]]
HIVE_3: dict[str, Rows | Exception] = {
    "SET hive.parquet.write.int64.timestamp": [("hive.parquet.write.int64.timestamp is undefined",)],
    "SET hive.parquet.timestamp.skip.conversion": [("hive.parquet.timestamp.skip.conversion=false",)],
}
HIVE_4: dict[str, Rows | Exception] = {
    "SET hive.parquet.write.int64.timestamp": [("hive.parquet.write.int64.timestamp=false",)],
    "SET hive.parquet.timestamp.skip.conversion": [("hive.parquet.timestamp.skip.conversion=true",)],
}
SPARK: dict[str, Rows | Exception] = {
    statement: [(statement.removeprefix("SET "), "<undefined>")] for statement in HIVE_3
}
SILENT: dict[str, Rows | Exception] = dict.fromkeys(HIVE_3, MetastoreRefused("not allowed"))
AWAY: dict[str, Rows | Exception] = dict.fromkeys(HIVE_3, MetastoreUnavailable("no answer"))

OLD, NEW = Reader(is_old=True, shifts_int96=True), Reader(is_old=False, shifts_int96=False)
TIMES = (Column("id", "bigint"), Column("at", "array<struct<t:timestamp>>"))
IDS = (Column("id", "bigint"),)
CAPITALS = (Column("Mixed", "bigint"), Column("p", "array<struct<At:int,b:int>>"))


class Answers:
    """A session that answers SET from a list; no table exists."""

    def __init__(self, answers: dict[str, Rows | Exception]) -> None:
        self.answers, self.session = answers, self

    def run(self, *statements: str) -> Rows:
        (statement,) = statements
        if statement.startswith("DESCRIBE"):
            return [("# Detailed Table Information", None, None), ("Table Type:", "EXTERNAL_TABLE", None)]
        answer = self.answers[statement]
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.mark.parametrize(
    ("answers", "reader"), [(HIVE_3, OLD), (HIVE_4, NEW), (SPARK, NEW), (SILENT, NEW)], ids=str
)
def test_a_server_says_what_it_reads_and_one_that_does_not_say_it_is_taken_for_a_new_one(
    answers: dict[str, Rows | Exception], reader: Reader
) -> None:
    assert reader_of(cast("Session", Answers(answers))) == reader


@pytest.mark.parametrize(
    ("writer", "columns", "faults"),
    [
        (WriterOptions(), IDS, ["zstd"]),
        (WriterOptions(), TIMES, ["zstd", "INT64", "INT96"]),
        (WriterOptions(compression="snappy"), TIMES, ["INT64", "INT96"]),
        (WriterOptions(compression="snappy"), IDS, []),
        (WriterOptions(compression="lz4", timestamps="int96"), TIMES, ["lz4", "INT96"]),
        (WriterOptions(format="orc"), TIMES, ["zstd"]),
        (WriterOptions(format="orc", compression="lz4"), TIMES, ["lz4"]),
        (WriterOptions(format="orc", compression="snappy"), TIMES, []),
        (WriterOptions(format="avro", compression="zstd"), IDS, ["zstd"]),
        (WriterOptions(format="avro", compression="gzip", timestamps="millis"), TIMES, []),
        (WriterOptions(format="json", compression="gzip"), TIMES, []),
        (WriterOptions(format="json", compression="gzip"), CAPITALS, ["NULL from p"]),
        (
            WriterOptions(format="json", compression="gzip"),
            (Column("raw", "array<binary>"),),
            ["base64 of raw"],
        ),
        (WriterOptions(compression="gzip"), (Column("raw", "binary"),), []),
        (WriterOptions(format="orc", compression="gzip"), CAPITALS, ["NULL from Mixed"]),
        (WriterOptions(compression="gzip"), CAPITALS, []),
    ],
    ids=str,
)
def test_what_an_old_hive_does_not_read(
    writer: WriterOptions, columns: tuple[Column, ...], faults: list[str]
) -> None:
    found = unread(OLD, writer, columns)
    assert [
        word
        for word in ("zstd", "lz4", "INT64", "INT96", "NULL from Mixed", "NULL from p", "base64 of raw")
        if word in (found or ("",))[0]
    ] == faults
    assert unread(NEW, writer, columns) is None


def test_what_to_set_is_one_section_of_the_map_and_a_property_of_hive() -> None:
    found = unread(OLD, WriterOptions(), TIMES)
    assert found is not None
    assert found[1].startswith(
        "set writer: {compression: snappy, timestamps: int96} in the map; set hive.parquet."
    )
    shifting = Reader(is_old=False, shifts_int96=True)
    assert unread(shifting, WriterOptions(), TIMES) is None
    found = unread(shifting, WriterOptions(timestamps="int96"), TIMES)
    assert found is not None
    assert found[1].startswith("set hive.parquet.timestamp.skip.conversion=true in hive-site.xml")


MAP = """
service: s
kafka: {bootstrap.servers: "127.0.0.1:9092"}
storage: {uri: "file:///base"}
hive: {url: "hive://127.0.0.1:10000"}
tables:
  - {table: air.films, topics: [films], columns: {title: string}, metadata: {timestamp: at}}
  - {table: air.plain, topics: [plain], columns: {title: string}, writer: {compression: gzip}}
"""


def checks(answers: dict[str, Rows | Exception]) -> list[Check]:
    service_map = load_text(MAP, "m", {})
    hive = cast("Hive", Answers(answers))
    tables = [
        MapTable(rule, LedgerPaths("file:///ledger", str(rule.table)), rule.topics)
        for rule in service_map.tables
    ]
    return check_hive(hive, Catalogue(service_map, hive), tables, service_map.dead_letters.table)


def test_validate_warns_of_the_tables_whose_files_hive_does_not_read() -> None:
    assert not [check for check in checks(HIVE_4) if isinstance(check.result, Warned)]
    (warning,) = [check for check in checks(HIVE_3) if isinstance(check.result, Warned)]
    assert isinstance(warning.result, Warned)
    assert (warning.system, warning.subject) == ("hive", "air.films: files")
    assert warning.result.error.code == "hive.unread"
    assert "INT64" in warning.result.error.message


def test_an_outage_during_the_question_is_a_failed_check() -> None:
    result = checks(AWAY)[-1].result
    assert isinstance(result, Failed) and isinstance(result.error, ServiceUnavailable)
