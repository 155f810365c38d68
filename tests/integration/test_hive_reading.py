"""What Hive says of how it reads a table and its partitions: files that it would read otherwise are not committed."""

from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.harness.program import Finished, command, run_once
from tests.harness.service_map import location, write_map
from tests.oracle.tree import HdfsTree
from tests.services.hdfs import Hdfs
from tests.services.hive_server import HiveServer
from tests.services.jars import IS_OLD_HIVE
from tests.services.kafka_broker import KafkaBroker
from tests.services.produce import produce

JSON = "row format serde 'org.apache.hadoop.hive.serde2.JsonSerDe' stored as textfile"
COLUMNS = {"id": "bigint", "name": "string", "day": "string"}
BY_DAY = "partitioned by (dt string)"


class Readers:
    """One topic with records of days, and tables of it that somebody describes in Hive."""

    def __init__(self, kafka: KafkaBroker, hdfs: Hdfs, hive: HiveServer, database: str, folder: Path) -> None:
        self.kafka, self.hive, self.topic, self.folder = kafka, hive, database, folder
        self.uri, self.tree = f"{hdfs.namenode_url}/{database}", HdfsTree(hdfs.client())
        kafka.create_topic(database, 1)

    def name(self, table: str) -> str:
        return f"{self.topic}.{table}"

    def make(
        self, table: str, declared: str, columns: str = "id bigint, name string, `day` string", last: str = ""
    ) -> None:
        at = f"location '{location(self.uri, self.name(table))}'"
        self.hive.query(f"create external table {self.name(table)} ({columns}) {declared} {at} {last}")

    def map_of(self, **tables: dict[str, Any]) -> Path:
        """A map of these tables; each has the two columns unless it says otherwise (None: Hive's)."""
        entries = []
        for table, options in tables.items():
            entry = {
                "table": self.name(table),
                "topics": [self.topic],
                "start": "earliest",
                "columns": COLUMNS,
                "bucket": {"path": "dt={day}"},
                "flush": {"interval": "1s"},
                **options,
            }
            entries.append({key: value for key, value in entry.items() if value is not None})
        section = {"url": f"hive://{self.hive.address}"}
        return write_map(self.folder, self.topic, self.kafka.bootstrap, self.uri, entries, hive=section)

    def produce(self, day: str, ids: range, **more: Any) -> None:
        values = [orjson.dumps({"id": i, "name": f"n\n{i}", "day": day} | more) for i in ids]
        produce(self.kafka.bootstrap, self.topic, values, 1)

    def files(self, table: str) -> list[str]:
        return [path for path in self.tree.files(location(self.uri, self.name(table))) if ".final" in path]

    def rows(self, table: str) -> list[tuple[Any, ...]]:
        return sorted(self.hive.query(f"select id, name from {self.name(table)}"))


def wanted(ids: range) -> list[tuple[Any, ...]]:
    return [(i, f"n\n{i}") for i in ids]


def aside(done: Finished, table: str, code: str) -> str:
    """What a run says of the table that it sets aside."""
    (said, *_) = [
        text for text in done.log.splitlines() if f".{table} is set aside" in text and f"[{code}]" in text
    ]
    start = done.log.index(said)
    return done.log[start : start + 2000]


@pytest.fixture
def readers(kafka: KafkaBroker, hdfs: Hdfs, hive: HiveServer, hive_database: str, tmp_path: Path) -> Readers:
    return Readers(kafka, hdfs, hive, hive_database, tmp_path)


@pytest.mark.timeout(3600)
def test_a_partition_of_another_format_than_its_table_gets_no_file_until_it_is_changed(
    readers: Readers,
) -> None:
    readers.make("t", f"{BY_DAY} stored as textfile")
    readers.make("j", f"{BY_DAY} {JSON}")
    for table in ("t", "j"):
        readers.hive.query(f"alter table {readers.name(table)} add partition (dt='2026-01-01')")
    readers.hive.query(f"alter table {readers.name('t')} set fileformat parquet")
    config = readers.map_of(t={}, j={"writer": {"format": "json"}})
    readers.produce("2026-01-01", range(60))
    readers.produce("2026-01-02", range(60, 70))
    done = run_once(config)
    assert done.code == 75, done.log[-3000:]
    said = aside(done, "t", "hive.partition")
    assert "dt=2026-01-01" in said and "does not hold Parquet files" in said
    statement = f"ALTER TABLE `{readers.topic}`.`t` PARTITION (`dt`='2026-01-01') SET FILEFORMAT PARQUET"
    assert statement in said
    assert readers.files("t") == [], "nothing is committed, to no partition"
    assert readers.rows("j") == wanted(range(70)), "the other tables go on"
    readers.hive.query(statement)
    done = run_once(config)
    assert done.code == 0, done.log[-3000:]
    assert readers.rows("t") == wanted(range(70))


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("compression", ["none", "gzip"])
def test_a_partition_with_another_delimiter_than_its_table_gets_no_file(
    readers: Readers, compression: str
) -> None:
    def config(delimiter: str) -> Path:
        writer = {"format": "text", "compression": compression, "text": {"delimiter": delimiter}}
        return readers.map_of(t={"writer": writer})

    readers.produce("2026-01-01", range(10))
    assert run_once(config(",")).code == 0
    (old,) = readers.files("t")
    readers.hive.query(f"alter table {readers.name('t')} set serdeproperties ('field.delim'=';')")
    readers.produce("2026-01-01", range(10, 20))
    done = run_once(config(";"))
    assert done.code == 75, done.log[-3000:]
    said = aside(done, "t", "hive.partition")
    assert "dt=2026-01-01" in said and "field.delim is ',', the map's ';'" in said and "ALTER TABLE" in said
    assert readers.files("t") == [old] and readers.rows("t") == wanted(range(10))
    audited = command("verify", config(";"), "--deep")
    assert audited.code == 0, "the old file is right, and so is its partition: " + audited.out
    readers.hive.query(
        f"alter table {readers.name('t')} partition (dt='2026-01-01') set serdeproperties ('field.delim'=';')"
    )
    assert readers.rows("t") != wanted(range(10))
    audited = command("verify", config(";"))
    assert audited.code == 76 and "verify.reading" in audited.out, audited.out
    assert "dt=2026-01-01" in audited.out and "field.delim is ';', the map's ','" in audited.out
    readers.hive.query(
        f"alter table {readers.name('t')} partition (dt='2026-01-01') set serdeproperties ('field.delim'=',')"
    )
    readers.hive.query(f"alter table {readers.name('t')} set serdeproperties ('field.delim'=',')")
    assert run_once(config(",")).code == 0
    assert readers.rows("t") == wanted(range(20))


@pytest.mark.timeout(3600)
def test_a_partition_without_the_tables_newest_column_gets_no_file(readers: Readers) -> None:
    readers.produce("2026-01-01", range(5))
    assert run_once(readers.map_of(t={})).code == 0
    readers.hive.query(f"alter table {readers.name('t')} add columns (price int)")  # without cascade
    readers.produce("2026-01-01", range(5, 10), price=7)
    config = readers.map_of(t={"columns": COLUMNS | {"price": "int"}})
    done = run_once(config)
    assert done.code == 75, done.log[-3000:]
    statement = f"ALTER TABLE `{readers.topic}`.`t` PARTITION (`dt`='2026-01-01') ADD COLUMNS (`price` int)"
    assert statement in aside(done, "t", "hive.partition")
    readers.hive.query(statement)
    assert run_once(config).code == 0
    prices = readers.hive.query(f"select price, count(*) from {readers.name('t')} group by price")
    assert sorted(prices, key=str) == [(7, 5), (None, 5)]


@pytest.mark.timeout(3600)
def test_verify_names_what_hides_rows_of_files_that_were_committed_before(readers: Readers) -> None:
    readers.produce("2026-01-01", range(5))
    config = readers.map_of(t={"writer": {"format": "json", "compression": "none"}})
    assert run_once(config).code == 0
    assert command("verify", config).code == 0
    readers.hive.query(f"alter table {readers.name('t')} set tblproperties ('skip.header.line.count'='1')")
    assert readers.rows("t") == wanted(range(1, 5))
    audited = command("verify", config, "--json")
    (finding,) = audited.document["tables"][0]["findings"]
    assert audited.code == 76 and finding["code"] == "verify.reading"
    assert "skip.header.line.count='1'" in finding["message"] and finding["where"] == readers.name("t")


SUSPECT = {
    "bucketed": (f"{BY_DAY} clustered by (id) into 4 buckets stored as orc", "", "it is clustered by (id)"),
    "ordered": (
        f"{BY_DAY} clustered by (id) sorted by (name) into 4 buckets stored as orc",
        "",
        "it is clustered by (id)",
    ),
    "skewed": (
        f"{BY_DAY} skewed by (id) on (1) stored as directories stored as orc",
        "",
        "it is skewed by (id)",
    ),
    "header": (f"{BY_DAY} {JSON}", "'skip.header.line.count'='1'", "skip.header.line.count='1'"),
    "footer": (f"{BY_DAY} {JSON}", "'skip.footer.line.count'='2'", "skip.footer.line.count='2'"),
    "times": (f"{BY_DAY} {JSON}", "'timestamp.formats'='millis'", "timestamp.formats='millis'"),
    "placed": (
        f"{BY_DAY} stored as parquet",
        "'parquet.column.index.access'='true'",
        "parquet.column.index.access='true'",
    ),
    "forced": (
        f"{BY_DAY} stored as orc",
        "'orc.force.positional.evolution'='true'",
        "orc.force.positional.evolution='true'",
    ),
    "retained": (
        f"{BY_DAY} stored as orc",
        "'partition.retention.period'='7d'",
        "partition.retention.period='7d'",
    ),
    "handled": (
        "stored by 'org.apache.hadoop.hive.ql.metadata.DefaultStorageHandler'",
        "",
        "storage_handler=",
    ),
}
HARMLESS = (
    "'owner.team'='x', 'orc.compress'='SNAPPY', 'impala.lastComputeStatsTime'='1', 'spark.sql.create.version'='4.3',"
    " 'skip.header.line.count'='0', 'parquet.column.index.access'='false', 'auto.purge'='false', 'comment'='a=b'"
)


@pytest.mark.timeout(3600)
def test_tables_with_properties_that_hide_or_change_rows_are_refused_by_name_everywhere(
    readers: Readers,
) -> None:
    tables: dict[str, dict[str, Any]] = {"well": {"writer": {"format": "orc"}}}
    readers.make("well", f"{BY_DAY} stored as orc", last=f"tblproperties ({HARMLESS})")
    for table, (declared, properties, _) in SUSPECT.items():
        last = f"tblproperties ({properties})" if properties else ""
        readers.make(table, declared, last=last)
        kind = "json" if JSON in declared else "parquet" if "parquet" in declared else "orc"
        tables[table] = {"writer": {"format": kind}}
        if "stored by" in declared:
            tables[table]["bucket"] = {"path": ""}
    config = readers.map_of(**tables)
    readers.produce("2026-01-01", range(60))
    checks = command("validate", config, "--online", "--json").document
    plans = {plan["table"]: plan for plan in command("plan", config, "--json").document["tables"]}
    done = run_once(config)
    assert done.code == 75, done.log[-3000:]
    for table, (_, _, why) in SUSPECT.items():
        name = readers.name(table)
        code = "hive.format" if table == "handled" else "hive.properties"
        said = aside(done, table, code)
        assert why in said, said
        assert readers.files(table) == []
        assert why in str(plans[name]["error"]) and plans[name]["error"]["code"] == code
        (check,) = [
            check for check in checks["checks"] if check["system"] == "hive" and check["subject"] == name
        ]
        assert check["result"] == "error" and why in str(check), check
        if table not in ("handled", "skewed", "ordered"):
            assert f"ALTER TABLE `{readers.topic}`.`{table}` " in said
    assert readers.rows("well") == wanted(range(60))
    for statement in (
        f"ALTER TABLE {readers.name('bucketed')} NOT CLUSTERED",
        f"ALTER TABLE {readers.name('ordered')} NOT CLUSTERED",
        f"ALTER TABLE {readers.name('skewed')} NOT SKEWED",
        f"ALTER TABLE {readers.name('header')} UNSET TBLPROPERTIES ('skip.header.line.count')",
    ):
        readers.hive.query(statement)
    corrected = ["bucketed", "ordered", "skewed", "header"]
    done = run_once(readers.map_of(**{table: tables[table] for table in corrected}))
    assert done.code == 0, done.log[-3000:]
    for table in corrected:
        assert readers.rows(table) == wanted(range(60))


@pytest.mark.timeout(3600)
@pytest.mark.skipif(IS_OLD_HIVE, reason="it has no timestamp with local time zone in ORC")
def test_columns_that_no_file_can_have_are_named_before_a_run_and_by_it(readers: Readers) -> None:
    readers.make(
        "o",
        f"{BY_DAY} stored as orc",
        columns="id bigint, `day` string, `at` timestamp with local time zone, u uniontype<int,string>, m map<double,string>",
    )
    config = readers.map_of(o={"columns": None, "writer": {"format": "orc"}})
    readers.produce("2026-01-01", range(5))
    checks = command("validate", config, "--online", "--json").document
    (plan, *_) = command("plan", config, "--json").document["tables"]
    done = run_once(config)
    assert done.code == 75, done.log[-3000:]
    (check,) = [
        check
        for check in checks["checks"]
        if check["system"] == "hive" and check["subject"] == readers.name("o")
    ]
    assert check["result"] == "error" and plan["error"]["code"] == "hive.columns"
    for said in (aside(done, "o", "hive.columns"), str(plan["error"]), str(check)):
        assert "column at is timestamp with local time zone" in said
        assert "column u is uniontype<int,string>" in said and "column m is map<double,string>" in said
    assert readers.files("o") == []


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("path", ["dt={day}", ""], ids=["partitioned", "flat"])
def test_columns_are_added_to_tables_of_json_whose_old_rows_stay_readable(
    readers: Readers, path: str
) -> None:
    def config(columns: dict[str, str]) -> Path:
        writer = {"format": "json"}
        bucket = {"path": path}
        return readers.map_of(
            j={"columns": columns, "writer": writer, "bucket": bucket, "schema_evolution": "add"}
        )

    first = COLUMNS
    second = first | {"price": "decimal(10,2)", "tags": "array<string>", "at": "timestamp"}
    readers.produce("2026-01-01", range(5))
    assert run_once(config(first)).code == 0
    readers.produce("2026-01-01", range(5, 10), price=1.25, tags=["a", "b"], at="2026-01-01T05:00:00")
    readers.produce("2026-01-02", range(10, 12), price=2.5)
    planned = command("plan", config(second), "--json").document["tables"]
    (statements,) = [plan["statements"] for plan in planned if plan["table"] == readers.name("j")]
    assert statements[-1].startswith("ALTER TABLE") and "ADD COLUMNS" in statements[-1], statements
    for _ in range(2):
        done = run_once(config(second))
        assert done.code == 0, done.log[-3000:]
    rows = readers.hive.query(f"select id, name, price, tags[1], `at` from {readers.name('j')} order by id")
    assert [row[:2] for row in rows] == wanted(range(12))
    assert [(str(row[2]), row[3]) for row in rows] == (
        [("None", None)] * 5 + [("1.25", "b")] * 5 + [("2.50", None)] * 2
    )
    assert [str(row[4])[:19] for row in rows[5:10]] == ["2026-01-01 05:00:00"] * 5
    (plan, *_) = command("plan", config(second), "--json").document["tables"]
    assert plan["statements"] == []
    audited = command("verify", config(second), "--deep")
    assert audited.code == 0, audited.log[-3000:]


@pytest.mark.timeout(3600)
def test_a_new_column_in_the_wrong_place_of_an_orc_map_changes_nothing_in_hive(readers: Readers) -> None:
    def config(columns: dict[str, str], **more: Any) -> Path:
        return readers.map_of(
            o={"columns": columns, "writer": {"format": "orc"}, "schema_evolution": "add", **more}
        )

    place = {"metadata": {"offset": "k_offset"}}
    readers.produce("2026-01-01", range(5))
    assert run_once(config(COLUMNS, **place)).code == 0
    before = readers.hive.query(f"describe {readers.name('o')}")
    for columns in ({"id": "bigint", "price": "int"} | COLUMNS, COLUMNS | {"price": "int"}):
        done = run_once(config(columns, **place))
        assert "by the order of their columns" in aside(done, "o", "hive.columns")
        assert done.code == 75
        assert readers.hive.query(f"describe {readers.name('o')}") == before
