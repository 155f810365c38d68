"""The settings a table gets: columns from the map, or from Hive; and what Hive is sent where its table is not the map's."""

from pathlib import Path
from typing import Any, cast

import pytest

from kafka2hive.config.keys import ServiceMap
from kafka2hive.config.load import load_text
from kafka2hive.hive.port import Hive
from kafka2hive.hive.session_tables import SessionTables
from kafka2hive.model.errors import TableError
from kafka2hive.model.metastore import MetastoreRefused, MetastoreUnavailable, NoSuchTable, StatementFailed
from kafka2hive.model.paths.ledger import LedgerPaths
from kafka2hive.service.hive.schemas import Catalogue, TableChanges
from kafka2hive.service.tables.table_state import MapTable
from kafka2hive.storage.local import LocalFileSystem

MAP = """
service: s
kafka: {bootstrap.servers: "127.0.0.1:9092"}
storage: {uri: "file:///base"}
hive: {url: "hive://127.0.0.1:10000"}
tables:
  - table: air.films
    topics: [films]
    location: "file:///t"
    COLUMNS
    create: false
"""


class FakeHive:
    """Knows one table, and nothing else."""

    def __init__(self) -> None:
        self.tables = SessionTables(self)

    def close(self) -> None:
        """Nothing is open."""

    def run(self, *_: str) -> list[tuple[Any, ...]]:
        return [
            ("title", "string", ""),
            ("props", "struct<gross:bigint>", ""),
            ("# Detailed Table Information", None, None),
            ("Table Type:", "EXTERNAL_TABLE", None),
        ]


@pytest.mark.parametrize(("columns", "any_case"), [("", True), ("columns: {Title: string}", False)])
def test_the_case_of_keys_does_not_matter_where_names_come_from_hive(columns: str, any_case: bool) -> None:
    service_map = load_text(MAP.replace("COLUMNS", columns), "m", {})
    table = MapTable(service_map.tables[0], LedgerPaths("file:///ledger", "air.films"), ("films",))
    catalogue = Catalogue(service_map, cast("Hive", FakeHive()))
    settings = catalogue.resolve(table)
    assert catalogue.expected("air.films").bucket_path == table.rule.bucketing.path != ""
    assert settings.any_case is any_case
    assert settings.columns[0].name == ("title" if any_case else "Title")


class AlteredHive(FakeHive):
    """Carries ALTER TABLE out; its answer to the statements in `lost` does not arrive, in `unsent` they do not either."""

    def __init__(self, lost: str = "nothing", unsent: str = "nothing") -> None:
        super().__init__()
        self.columns, self.sent = ["title"], list[str]()
        self.lost, self.unsent = lost, unsent

    def run(self, *statements: str) -> list[tuple[Any, ...]]:
        (statement,) = statements
        if statement.startswith("DESCRIBE"):
            return [
                *((name, "string", "") for name in self.columns),
                ("# Detailed Table Information", None, None),
                ("Table Type:", "EXTERNAL_TABLE", None),
                ("Location:", "file:///t", None),
            ]
        if self.unsent in statement:
            raise MetastoreUnavailable("no answer")
        self.sent.append(statement)
        assert "ADD COLUMNS (`year` string)" in statement
        self.columns.append("year")
        if self.lost in statement:
            raise MetastoreUnavailable("no answer")
        return []


def _catalogue(hive: AlteredHive, evolution: str) -> Catalogue:
    text = MAP.replace(
        "COLUMNS", f"columns: {{title: string, year: string}}\n    schema_evolution: {evolution}"
    )
    service_map = load_text(text + "    bucket: {path: ''}\n", "m", {})
    catalogue = Catalogue(service_map, cast("Hive", hive))
    catalogue.resolve(MapTable(service_map.tables[0], LedgerPaths("file:///ledger", "air.films"), ("films",)))
    return catalogue


def test_a_column_that_hive_lacks_is_added_once_and_only_when_the_map_says_so() -> None:
    hive = AlteredHive()
    catalogue = _catalogue(hive, "add")
    compared = catalogue.compare(SessionTables(hive), "air.films")
    assert isinstance(compared, TableChanges) and hive.sent == [], "to compare sends nothing"
    for _ in range(2):
        found = catalogue.conform(SessionTables(hive), "air.films")
        assert [column.name for column in found.columns] == ["title", "year"]
        assert hive.sent == list(compared.statements)


def test_a_column_that_hive_lacks_is_a_difference_by_default() -> None:
    hive = AlteredHive()
    for look in (_catalogue(hive, "ignore").compare, _catalogue(hive, "ignore").conform):
        with pytest.raises(TableError, match="Hive has no column year"):
            look(SessionTables(hive), "air.films")
    assert hive.sent == []


def test_an_alteration_without_an_answer_is_looked_at_and_not_sent_again_when_it_was_done() -> None:
    for hive, sent in ((AlteredHive(lost="ALTER"), 1), (AlteredHive(unsent="ALTER"), 0)):
        catalogue = _catalogue(hive, "add")
        with pytest.raises(MetastoreUnavailable):
            catalogue.conform(SessionTables(hive), "air.films")
        assert len(hive.sent) == sent
        hive.lost = hive.unsent = "nothing"
        catalogue.conform(SessionTables(hive), "air.films")
        assert len(hive.sent) == 1


class JsonHive(AlteredHive):
    """Adds a column to a table of JSON only in a session in which the metastore knows its columns."""

    PROPERTY = "hive.serdes.using.metastore.for.schema"
    SERDE = "org.apache.hadoop.hive.serde2.JsonSerDe"

    def __init__(self, serdes: str) -> None:
        super().__init__()
        self.serdes = serdes

    def run(self, *statements: str) -> list[tuple[Any, ...]]:
        if statements == (f"SET {self.PROPERTY}",):
            return [(f"{self.PROPERTY}={self.serdes}",)]
        if statements[0].startswith("SET "):
            self.serdes = statements[0].partition("=")[2]
        if statements[-1].startswith("ALTER") and self.SERDE not in self.serdes:
            raise StatementFailed("return code 40013, types incompatible")
        rows = super().run(statements[-1])
        if statements[-1].startswith("DESCRIBE"):
            rows += [
                ("# Storage Information", None, None),
                ("InputFormat:", "org.apache.hadoop.mapred.TextInputFormat", None),
                ("SerDe Library:", self.SERDE, None),
            ]
        return rows


@pytest.mark.parametrize("serdes", ["a.OrcSerde", f"a.OrcSerde,{JsonHive.SERDE}"])
def test_a_column_is_added_to_a_table_of_json_in_a_session_that_lets_hive_do_it(serdes: str) -> None:
    hive = JsonHive(serdes)
    catalogue = _catalogue(hive, "add\n    writer: {format: json}")
    compared = catalogue.compare(SessionTables(hive), "air.films")
    assert isinstance(compared, TableChanges)
    settings = [f"SET {hive.PROPERTY}=a.OrcSerde,{hive.SERDE}"] if serdes == "a.OrcSerde" else []
    assert list(compared.statements[:-1]) == settings
    assert [c.name for c in catalogue.conform(SessionTables(hive), "air.films").columns] == [
        "title",
        "year",
    ]
    assert hive.serdes == f"a.OrcSerde,{hive.SERDE}"


def test_the_statement_that_a_user_is_shown_for_a_table_of_json_works_too() -> None:
    catalogue = _catalogue(JsonHive("a.OrcSerde"), "ignore\n    writer: {format: json}")
    with pytest.raises(TableError) as refused:
        catalogue.compare(SessionTables(JsonHive("a.OrcSerde")), "air.films")
    assert f"SET {JsonHive.PROPERTY}=<its value>,{JsonHive.SERDE}; ALTER TABLE" in refused.value.remedy


class RacedHive(FakeHive):
    """Somebody else makes the database and the table at the same moment: each of our statements fails once, done by then."""

    def __init__(self, error: Exception, *, is_made: bool = True) -> None:
        super().__init__()
        self.error, self.is_made = error, is_made
        self.sent: list[str] = []
        self.there: set[str] = set()

    def run(self, *statements: str) -> list[tuple[Any, ...]]:
        (statement,) = statements
        kind = statement.split("`")[0]
        if kind.startswith("DESCRIBE"):
            if not any("TABLE" in known for known in self.there):
                raise NoSuchTable("no such table")
            return [
                ("title", "string", ""),
                ("# Detailed Table Information", None, None),
                ("Table Type:", "EXTERNAL_TABLE", None),
                ("Location:", "file:///t", None),
            ]
        self.sent.append(kind)
        if kind not in self.there:
            if self.is_made:
                self.there.add(kind)
            raise self.error
        return []


def _new_table(hive: RacedHive) -> Catalogue:
    text = MAP.replace("COLUMNS", "columns: {title: string}").replace("create: false", "bucket: {path: ''}")
    service_map = load_text(text, "m", {})
    catalogue = Catalogue(service_map, cast("Hive", hive))
    catalogue.resolve(MapTable(service_map.tables[0], LedgerPaths("file:///ledger", "air.films"), ("films",)))
    return catalogue


@pytest.mark.parametrize(
    "error", [StatementFailed("JDODataStoreException"), MetastoreRefused("AlreadyExists")]
)
def test_who_loses_the_race_to_make_a_database_and_a_table_goes_on(error: Exception) -> None:
    hive = RacedHive(error)
    catalogue = _new_table(hive)
    assert catalogue.conform(SessionTables(hive), "air.films").location == "file:///t"
    assert [kind.split()[1] for kind in hive.sent] == ["DATABASE", "DATABASE", "EXTERNAL"]


def test_a_statement_that_fails_again_and_again_is_the_tables_own_error() -> None:
    hive = RacedHive(StatementFailed("quota of databases in: CREATE DATABASE"), is_made=False)
    with pytest.raises(TableError, match=r"hive\.refused.*air\.films: quota") as failed:
        _new_table(hive).conform(SessionTables(hive), "air.films")
    assert "Hive's message" in failed.value.remedy, "Hive has answered, so it need not be brought back"
    refusing = RacedHive(MetastoreRefused("Permission denied"), is_made=False)
    with pytest.raises(TableError, match=r"hive\.refused.*air\.films: Permission denied"):
        _new_table(refusing).conform(SessionTables(refusing), "air.films")


def test_columns_of_types_that_no_file_has_are_refused_when_the_map_takes_them_from_hive() -> None:
    class Typed(FakeHive):
        def run(self, *_: str) -> list[tuple[Any, ...]]:
            return [("at", "timestamp with local time zone", ""), *super().run()]

    service_map = load_text(MAP.replace("COLUMNS", ""), "m", {})
    catalogue = Catalogue(service_map, cast("Hive", Typed()))
    table = MapTable(service_map.tables[0], LedgerPaths("file:///ledger", "air.films"), ("films",))
    with pytest.raises(TableError, match="column at is timestamp with local time zone") as refused:
        catalogue.resolve(table)
    assert refused.value.code == "hive.columns"


class HiveThatMakesDirectories(FakeHive):
    """Lacks the dead-letter table. `at_create`: whether its directory existed when Hive was told to create it."""

    def __init__(self, directory: Path) -> None:
        super().__init__()
        self.directory = directory
        self.at_create: bool | None = None

    def run(self, *statements: str) -> list[tuple[Any, ...]]:
        (statement,) = statements
        if statement.startswith("CREATE EXTERNAL"):
            self.at_create = self.directory.is_dir()
            raise MetastoreUnavailable("no answer")
        if statement.startswith("DESCRIBE"):
            raise NoSuchTable("no such table")
        return []


def _letters_in(directory: Path) -> ServiceMap:
    text = MAP.replace("COLUMNS", "columns: {title: string}").replace("create: false", "bucket: {path: ''}")
    return load_text(text + f"dead_letters: {{location: 'file://{directory}'}}\n", "m", {})


def test_the_service_makes_the_directory_of_a_table_before_hive_would_own_it(tmp_path: Path) -> None:
    service_map = _letters_in(tmp_path / "a" / "letters")
    name = service_map.dead_letters.table
    hive = HiveThatMakesDirectories(tmp_path / "a" / "letters")
    session = SessionTables(hive)
    catalogue = Catalogue(service_map, cast("Hive", hive), LocalFileSystem())
    catalogue.compare(session, name)
    assert not hive.directory.exists(), "to compare makes nothing"
    with pytest.raises(MetastoreUnavailable):
        catalogue.conform(session, name)
    assert hive.at_create is True


def test_a_directory_that_cannot_be_made_is_the_tables_error_and_hive_is_not_asked(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    service_map = _letters_in(tmp_path / "a" / "letters")
    hive = HiveThatMakesDirectories(tmp_path / "a" / "letters")
    catalogue = Catalogue(service_map, cast("Hive", hive), LocalFileSystem())
    with pytest.raises(TableError, match="a/letters must exist before its table in Hive"):
        catalogue.conform(SessionTables(hive), service_map.dead_letters.table)
    assert hive.at_create is None


LATEST = """columns: {id: bigint, name: string}
    source: debezium
    metadata: [partition, offset]
    latest: {key: [id]}
    schema_evolution: add"""


class HiveWithView(FakeHive):
    """Carries out what makes a table and its view; `columns` are those that Hive has, `kind` is that of the view's name."""

    def __init__(self, columns: int) -> None:
        super().__init__()
        names = ["id", "name", "__op", "__ts_ms", "__source_position", "kafka_partition", "kafka_offset"]
        types = ["bigint", "string", "string", "bigint", "string", "int", "bigint"]
        self.all = list(zip(names, types, strict=True))
        self.columns = self.all[:columns]
        self.kind, self.latest, self.sent = "", "", list[str]()

    def run(self, *statements: str) -> list[tuple[Any, ...]]:
        (statement,) = statements
        if "`films_latest`" in statement and statement.startswith("DESCRIBE"):
            if not self.kind:
                raise NoSuchTable("films_latest")
            return [
                ("# Detailed Table Information", None, None),
                ("Table Type:", self.kind, None),
                ("", "kafka2hive.latest", self.latest),
            ]
        if statement.startswith("DESCRIBE"):
            return [
                *((name, kind, "") for name, kind in self.columns),
                ("# Detailed Table Information", None, None),
                ("Table Type:", "EXTERNAL_TABLE", None),
                ("Location:", "file:///t", None),
            ]
        self.sent.append(statement)
        if statement.startswith("CREATE OR REPLACE VIEW"):
            self.kind, self.latest = "VIRTUAL_VIEW", statement.partition("kafka2hive.latest'='")[2][:32]
        else:
            self.columns = self.all
        return []


def _with_view(hive: HiveWithView, lines: str = LATEST) -> Catalogue:
    service_map = load_text(MAP.replace("COLUMNS", lines) + "    bucket: {path: ''}\n", "m", {})
    catalogue = Catalogue(service_map, cast("Hive", hive))
    catalogue.resolve(MapTable(service_map.tables[0], LedgerPaths("file:///ledger", "air.films"), ("films",)))
    return catalogue


@pytest.mark.parametrize(("columns", "statements"), [(7, 1), (6, 2)])
def test_the_view_of_newest_states_is_made_once_and_again_if_the_map_changes(
    columns: int, statements: int
) -> None:
    hive = HiveWithView(columns)
    for _ in range(2):
        _with_view(hive).conform(SessionTables(hive), "air.films")
        assert len(hive.sent) == statements
    assert hive.sent[-1].startswith("CREATE OR REPLACE VIEW `air`.`films_latest`")
    _with_view(hive, LATEST.replace("[id]", "[id, name]")).conform(SessionTables(hive), "air.films")
    assert len(hive.sent) == statements + 1 and "PARTITION BY `id`, `name`" in hive.sent[-1]
    without = LATEST.replace("    latest: {key: [id]}\n", "")
    _with_view(hive, without).conform(SessionTables(hive), "air.films")
    assert len(hive.sent) == statements + 1


def test_a_table_with_the_views_name_is_left_alone() -> None:
    hive = HiveWithView(7)
    hive.kind = "MANAGED_TABLE"
    with pytest.raises(TableError, match="films_latest") as refused:
        _with_view(hive).conform(SessionTables(hive), "air.films")
    assert refused.value.code == "hive.not_a_view" and hive.sent == []
