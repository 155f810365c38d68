"""`verify` compares each partition in Hive with how its files were written, which the ledger records."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka2hive.config.keys import Column, TextOptions
from kafka2hive.config.load import load_text
from kafka2hive.hive.port import Hive
from kafka2hive.hive.session_tables import SessionTables
from kafka2hive.hive.tables import TableSpec, compared_table, spec_as_compared, written_text
from kafka2hive.model.files import HivePartition
from kafka2hive.model.metastore import NoSuchPartition
from kafka2hive.model.snapshot import Snapshot
from kafka2hive.service.hive.schemas import MapTables
from kafka2hive.service.tables.table_state import MapTable
from kafka2hive.service.verify.hive_reading import HiveReading
from kafka2hive.service.verify.line_forms import line_forms
from kafka2hive.service.wiring import wire
from tests.harness.values import data_file, snapshot

SPEC = TableSpec(
    "air.films",
    (Column("title", "string"),),
    (Column("dt", "string"),),
    "file:///t",
    format="text",
    text=TextOptions(";", "\\", "\\N"),
)
COMMAS = replace(SPEC, text=TextOptions(",", "\\", "\\N"))
LAZY = "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe"


@given(
    st.sampled_from([",", ";", "\t", "\x01", "|"]),
    st.sampled_from(["\\", "'", '"', "~"]),
    st.text(max_size=4),
)
def test_the_ledger_says_how_lines_were_written(delimiter: str, escape: str, null: str) -> None:
    written = replace(SPEC, text=TextOptions(delimiter, escape, null))
    assert written_text(compared_table(written)) == written.text
    then = spec_as_compared(SPEC, compared_table(written))
    assert then is not None and then.text == written.text


def test_a_table_of_another_format_or_other_columns_is_told_without_its_columns() -> None:
    assert spec_as_compared(SPEC, compared_table(SPEC)) == SPEC
    wider = replace(SPEC, columns=(*SPEC.columns, Column("year", "int")))
    assert spec_as_compared(wider, compared_table(SPEC)) == replace(wider, columns=())
    orc = spec_as_compared(SPEC, compared_table(replace(SPEC, format="orc")))
    assert orc is not None and (orc.format, orc.columns) == ("orc", ())
    unknown = replace(compared_table(SPEC), format="plugin HiveStorage(..)")
    assert spec_as_compared(SPEC, unknown) is None and written_text(unknown) is None


class FakeHive:
    """Describes partitions of delimited text by path: each with its delimiter. `properties` are the table's."""

    def __init__(self, delimiters: dict[str, str], properties: Sequence[tuple[str, str]] = ()) -> None:
        self.tables = SessionTables(self)
        self.delimiters, self.properties, self.sent = delimiters, properties, list[str]()

    def run(self, *statements: str) -> list[tuple[Any, ...]]:
        (statement,) = statements
        self.sent.append(statement)
        path = statement.partition("PARTITION (`dt`='")[2].rstrip("')")
        if path and path not in self.delimiters:
            raise NoSuchPartition(path)
        partitioned = [] if path else [("# Partition Information", None, None), ("dt", "string", "")]
        return [
            ("title", "string", ""),
            *partitioned,
            ("# Detailed Table Information", None, None),
            ("Table Type:", "EXTERNAL_TABLE", None),
            ("Location:", "file:///t" + (f"/dt={path}" if path else ""), None),
            ("Table Parameters:", None, None),
            *(("", key, value) for key, value in self.properties),
            ("# Storage Information", None, None),
            ("SerDe Library:", LAZY, None),
            ("InputFormat:", "org.apache.hadoop.mapred.TextInputFormat", None),
            ("Storage Desc Params:", None, None),
            ("", "escape.delim", "\\\\"),
            ("", "serialization.escape.crlf", "true"),
            ("", "field.delim", self.delimiters.get(path, ";")),
        ]

    def close(self) -> None:
        """Nothing is open."""

    def location(self, partition: HivePartition) -> str | None:
        raise AssertionError("a partition is asked for once")


MAP = """
service: s
kafka: {bootstrap.servers: "127.0.0.1:9"}
storage: {uri: "file://FOLDER"}
hive: {url: "hive://127.0.0.1:1"}
tables:
  - table: air.films
    topics: [films]
    location: "file:///t"
    columns: {title: string}
    writer: {format: text, text: {delimiter: ";"}}
"""


def at(day: str) -> HivePartition:
    return HivePartition("air.films", f"dt={day}", f"file:///t/dt={day}")


def history(*epochs: tuple[TableSpec, str]) -> list[Snapshot]:
    """One file in each epoch: how the table was compared then, and the day of the file."""
    return [
        snapshot(
            epoch=number,
            table="air.films",
            compared=(compared_table(spec),),
            files=(data_file(hive_partition=at(day), final=f"file:///t/dt={day}/{number}.text.final"),),
        )
        for number, (spec, day) in enumerate(epochs, 1)
    ]


def reading(folder: Path, hive: FakeHive) -> HiveReading:
    wiring = wire(load_text(MAP.replace("FOLDER", str(folder)), "m", {}))
    tables = MapTables(wiring, cast("Hive", hive))
    tables.catalogue.resolve(MapTable(wiring.map.tables[0], wiring.paths("air.films"), ("films",)))
    return HiveReading(tables, hive.tables)


@pytest.fixture
def finals() -> list[Snapshot]:
    """An old day, and one that has files from before and after the map's delimiter was changed."""
    return history((COMMAS, "1"), (COMMAS, "2"), (SPEC, "2"), (SPEC, "3"))


def test_a_partition_that_reads_its_files_as_they_were_written_is_right(
    tmp_path: Path, finals: list[Snapshot]
) -> None:
    hive = FakeHive({"1": ",", "2": ",", "3": ";"})
    audit = reading(tmp_path, hive)
    assert audit.audit_tables(finals) == []
    described = audit.partitions(finals, hive)
    assert [described.location(at(day)) for day in "123"] == [f"file:///t/dt={day}" for day in "123"]
    (finding,) = described.findings
    assert (finding.code, finding.where) == ("verify.reading", "air.films dt=2")
    assert "field.delim is ',', the map's ';'" in finding.message


def test_a_partition_that_was_changed_since_is_named_and_a_missing_one_is_missing(tmp_path: Path) -> None:
    hive = FakeHive({"1": ";"})
    finals = history((COMMAS, "1"), (COMMAS, "9"))
    audit = reading(tmp_path, hive)
    assert audit.audit_tables(finals) == []
    described = audit.partitions(finals, hive)
    assert described.location(at("1")) == "file:///t/dt=1" and described.location(at("9")) is None
    assert ["field.delim is ';', the map's ','" in f.message for f in described.findings] == [True]


def test_a_property_of_the_table_that_hides_rows_is_a_finding(tmp_path: Path, finals: list[Snapshot]) -> None:
    hive = FakeHive({}, [("skip.header.line.count", "1")])
    (finding,) = reading(tmp_path, hive).audit_tables(finals)
    assert (finding.code, finding.where) == ("verify.reading", "air.films")
    assert "skip.header.line.count='1'" in finding.message


def test_lines_without_compression_are_read_as_the_ledger_says_that_they_were_written(
    tmp_path: Path, finals: list[Snapshot]
) -> None:
    wiring = wire(load_text(MAP.replace("FOLDER", str(tmp_path)), "m", {}))
    (rule,) = wiring.map.tables
    lines = line_forms(finals, rule.settings(rule.columns))
    delimiters = [lines.of(snapshot.files[0].final).options.text.delimiter for snapshot in finals]
    assert delimiters == [",", ",", ";", ";"]
    of_json = history((replace(SPEC, format="json", text=TextOptions()), "1"))
    lines = line_forms(of_json, rule.settings(rule.columns))
    assert lines.of(of_json[0].files[0].final).options.format == "json"
    assert lines.of("file:///t/unknown.text.final").options.format == "text"
