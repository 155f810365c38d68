"""What Hive before 4 does not read of the files that a map's tables get, and where `validate --online` and `doctor` say it."""

from dataclasses import replace
from typing import Any, cast

import pytest

from kafka2hive.config.keys import Column, WriterOptions
from kafka2hive.config.load import load_text
from kafka2hive.hive.port import Hive
from kafka2hive.hive.session_tables import SessionTables
from kafka2hive.hive.stored_as import Reader, unread, unread_letters
from kafka2hive.model.errors import ServiceUnavailable
from kafka2hive.model.metastore import MetastoreRefused, MetastoreUnavailable
from kafka2hive.model.paths.ledger import LedgerPaths
from kafka2hive.service.hive.schemas import Catalogue
from kafka2hive.service.tables.table_state import MapTable
from kafka2hive.service.validate.check import Check, Failed, Warned
from kafka2hive.service.validate.online import check_hive

Rows = list[tuple[Any, ...]]
HIVE_3: dict[str, Rows | Exception] = {
    "SET hive.parquet.write.int64.timestamp": [("hive.parquet.write.int64.timestamp is undefined",)],
    "SET hive.parquet.timestamp.skip.conversion": [("hive.parquet.timestamp.skip.conversion=false",)],
    "SET orc.schema.evolution.case.sensitive": [("orc.schema.evolution.case.sensitive is undefined",)],
}
HIVE_4: dict[str, Rows | Exception] = {
    "SET hive.parquet.write.int64.timestamp": [("hive.parquet.write.int64.timestamp=false",)],
    "SET hive.parquet.timestamp.skip.conversion": [("hive.parquet.timestamp.skip.conversion=true",)],
    "SET orc.schema.evolution.case.sensitive": [("orc.schema.evolution.case.sensitive is undefined",)],
}
HIVE_3_SET = HIVE_3 | {
    "SET orc.schema.evolution.case.sensitive": [("orc.schema.evolution.case.sensitive=false",)]
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
        self.answers, self.tables = answers, SessionTables(self)

    def close(self) -> None:
        """Nothing is open."""

    def run(self, *statements: str) -> Rows:
        (statement,) = statements
        if statement.startswith("DESCRIBE"):
            return [("# Detailed Table Information", None, None), ("Table Type:", "EXTERNAL_TABLE", None)]
        answer = self.answers[statement]
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.mark.parametrize(
    ("answers", "reader"),
    [
        (HIVE_3, OLD),
        (HIVE_3_SET, replace(OLD, ignores_case=frozenset({"orc"}))),
        (HIVE_4, NEW),
        (SPARK, NEW),
        (SILENT, NEW),
    ],
    ids=str,
)
def test_a_server_says_what_it_reads_and_one_that_does_not_say_it_is_taken_for_a_new_one(
    answers: dict[str, Rows | Exception], reader: Reader
) -> None:
    assert SessionTables(Answers(answers)).reader() == reader


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


def test_hive_finds_capitals_in_orc_once_it_is_told_to_ignore_the_case_but_not_in_json() -> None:
    told = replace(OLD, ignores_case=frozenset({"orc"}))
    orc, json = (WriterOptions(format=format, compression="gzip") for format in ("orc", "json"))
    assert unread(told, orc, CAPITALS) is None
    found, still = unread(OLD, orc, CAPITALS), unread(told, json, CAPITALS)
    assert found is not None and found[1].startswith(
        "set orc.schema.evolution.case.sensitive=false in hive-site.xml"
    )
    assert still is not None and still[1].startswith("leave the columns out of the map")


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


ORC, INT96 = WriterOptions(format="orc", compression="snappy"), WriterOptions(timestamps="int96")


def test_the_timestamps_of_dead_letters_are_read_if_the_map_says_int96_for_them_or_for_their_table() -> None:
    found = unread_letters(OLD, None, {"air.orc": ORC, "air.old": INT96, "air.new": WriterOptions()})
    assert found is not None
    assert found[0].startswith(
        "in the dead letters of air.orc, air.new it cannot read timestamps of INT64; it shifts"
    )
    assert found[1].startswith("set dead_letters: {timestamps: int96} in the map; set hive.parquet.")
    unshifted = Reader(is_old=True, shifts_int96=False)
    assert unread_letters(unshifted, "int96", {"air.orc": ORC, "air.new": WriterOptions()}) is None
    assert unread_letters(unshifted, None, {"air.old": INT96}) is None
    assert unread_letters(unshifted, "micros", {"air.old": INT96}) is not None
    assert unread_letters(NEW, None, {"air.orc": ORC}) is None


def checks(answers: dict[str, Rows | Exception], letters: str = "") -> list[Check]:
    service_map = load_text(MAP + letters, "m", {})
    hive = cast("Hive", Answers(answers))
    tables = [
        MapTable(rule, LedgerPaths("file:///ledger", str(rule.table)), rule.topics)
        for rule in service_map.tables
    ]
    return check_hive(hive, Catalogue(service_map, hive), tables, service_map.dead_letters)


def test_validate_warns_of_the_tables_whose_files_hive_does_not_read() -> None:
    assert not [check for check in checks(HIVE_4) if isinstance(check.result, Warned)]
    found = [check for check in checks(HIVE_3) if isinstance(check.result, Warned)]
    assert [(check.system, check.subject) for check in found] == [
        ("hive", "air.films: files"),
        ("hive", "air.s_dead_letters: files"),
    ]
    errors = [check.result.error for check in found if isinstance(check.result, Warned)]
    assert {error.code for error in errors} == {"hive.unread"}
    assert all("INT64" in error.message for error in errors)
    assert "air.plain" not in errors[0].message and "air.plain" in errors[1].message


def test_no_warning_names_the_dead_letters_timestamps_once_the_map_says_int96() -> None:
    found = [check.result for check in checks(HIVE_3, "dead_letters: {timestamps: int96}\n")]
    assert [
        result.error.message
        for result in found
        if isinstance(result, Warned)
        if "letters" in result.error.message
    ] == [
        "Hive does not read all files that air.s_dead_letters gets: it shifts timestamps of INT96 by its time zone"
    ]


def test_an_outage_during_the_question_is_a_failed_check() -> None:
    result = checks(AWAY)[-1].result
    assert isinstance(result, Failed) and isinstance(result.error, ServiceUnavailable)
