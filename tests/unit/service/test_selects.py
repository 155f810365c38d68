"""SELECTs are checked before anything is changed, and an error names its place in the map."""

from pathlib import Path

import pytest

from kafka2hive.config.keys import ServiceMap, TableSettings
from kafka2hive.config.load import load_map
from kafka2hive.config.yaml.problems import MapInvalid
from kafka2hive.model.errors import TableError
from kafka2hive.service.hive.schemas import Catalogue
from kafka2hive.service.topics.routes import routed_tables
from kafka2hive.service.validate.check import Failed, Passed, Warned
from kafka2hive.service.validate.map_check import check_selects, check_selects_online, selects_of
from kafka2hive.service.wiring import wire
from tests.harness.cli_ledger import NOBODY
from tests.harness.epoch_loop import Kafka as EarlyAndLate
from tests.harness.epoch_loop import make_loop_and_tables, make_wiring

MAP = f"""\
service: s
kafka: {{bootstrap.servers: "{NOBODY}"}}
storage: {{uri: "file:///nowhere"}}
hive: {{url: "hive://{NOBODY}"}}
tables:
  - {{table: db.plain, topics: [t], columns: {{n: int}}}}
  - {{table: db.good, topics: [t], columns: {{n: int}}, sql: SELECT n FROM records}}
  - table: db.bad
    topics: [t]
    columns: {{n: int}}
    sql: |
      SELECT m
      FROM records
  - table: db.udfs
    topics: [t]
    columns: {{n: int}}
    udfs: own
    sql: SELECT own(n) AS n FROM records
  - table: db.away
    topics: [t]
    columns: {{n: int}}
    lookups: {{here: "file:///l", far: "hdfs://nowhere:8020/l"}}
    sql: SELECT n FROM records JOIN far USING (n)
  - {{table: db.hives, topics: [t], sql: SELECT n FROM records}}
"""


class Spark:
    """A fake that answers as the test says; `planned` and `parsed` record the calls."""

    def __init__(self, **errors: TableError) -> None:
        self.errors = errors
        self.planned: list[str] = []
        self.parsed: list[str] = []

    def check(self, table: TableSettings) -> None:
        self.planned.append(table.table)
        self._answer(table)

    def check_text(self, table: TableSettings) -> None:
        self.parsed.append(table.table)
        self._answer(table)

    def _answer(self, table: TableSettings) -> None:
        if (error := self.errors.get(table.table.partition(".")[2])) is not None:
            raise error


def loaded(folder: Path) -> ServiceMap:
    path = folder / "map.yaml"
    path.write_text(MAP)
    return load_map(str(path), {})


def test_wrong_selects_are_mistakes_of_the_map_at_the_line_of_their_key(tmp_path: Path) -> None:
    service_map = loaded(tmp_path)
    spark = Spark(
        bad=TableError(
            "sql.syntax", "db.bad: no m (at line 1, column 8 of the SQL)", "correct the table's sql"
        ),
        udfs=TableError("sql.udfs", "db.udfs: own cannot be used", "correct the module"),
    )
    with pytest.raises(MapInvalid) as caught:
        check_selects(service_map, spark)
    assert [(p.line, p.where, p.message) for p in caught.value.problems] == [
        (11, "tables[2].sql", "no m (at line 1, column 8 of the SQL); correct the table's sql"),
        (17, "tables[3].udfs", "own cannot be used; correct the module"),
    ]


def test_without_a_cluster_nothing_is_said_of_its_lookups_and_columns(tmp_path: Path) -> None:
    spark = Spark()
    found = {check.subject: check.result for check in check_selects(loaded(tmp_path), spark)}
    assert spark.planned == ["db.good", "db.bad", "db.udfs"]
    assert spark.parsed == ["db.away", "db.hives"]
    assert all(isinstance(found[name], Passed) for name in spark.planned)
    for name, why in (("db.away", "lookup far is on a cluster"), ("db.hives", "its columns are Hive's")):
        result = found[name]
        assert isinstance(result, Warned) and result.error.code == "sql.unchecked"
        assert why in result.error.message and "--online" in result.error.remedy


def test_online_each_is_planned_and_told_by_itself(tmp_path: Path) -> None:
    wiring = wire(loaded(tmp_path))
    spark = Spark(away=TableError("sql.lookup", "db.away: lookup far cannot be read"))
    tables = [table for table in routed_tables(wiring, ["t"]) if table.name != "db.hives"]
    found = {c.subject: c.result for c in check_selects_online(spark, Catalogue(wiring.map, None), tables)}
    assert spark.planned == list(found) == ["db.good", "db.bad", "db.udfs", "db.away"] and not spark.parsed
    assert isinstance(found["db.away"], Failed) and isinstance(found["db.good"], Passed)


def test_spark_is_started_for_no_map_without_sql(tmp_path: Path) -> None:
    service_map = loaded(tmp_path)
    with selects_of(service_map.tables[:1], service_map) as selects:
        assert selects is None


def test_a_table_whose_select_is_refused_gets_no_ledger(tmp_path: Path) -> None:
    """Without the check the table would be taken over."""
    for folder, check in ((tmp_path / "refused", refuse_early), (tmp_path / "right", None)):
        folder.mkdir()
        _, owned_tables = make_loop_and_tables(make_wiring(folder), EarlyAndLate(), check_select=check)
        early = owned_tables.tables["air.early"]
        directories = {path.name for path in folder.rglob("*") if path.is_dir()}
        assert (early.aside is not None) == ("air.early" not in directories) == (check is refuse_early)
        assert early.aside is None or early.aside.error.code == "sql.refused"


def refuse_early(table: TableSettings) -> None:
    if table.table == "air.early":
        raise TableError("sql.refused", "air.early: it aggregates")
