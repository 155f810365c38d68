"""kafka2hive.hive against a real HiveServer2: tables, partitions with awkward values, locations, outages."""

import io
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hdfs_native import WriteOptions

from kafka2hive.config.keys import Column, HiveOptions
from kafka2hive.config.load import load_map
from kafka2hive.hive.check import check_table
from kafka2hive.hive.description import TableKind
from kafka2hive.hive.metastore import HiveMetastore
from kafka2hive.hive.session import HiveSession
from kafka2hive.hive.session_tables import Session
from kafka2hive.hive.tables import TableSpec, create_statements, partition_columns
from kafka2hive.ledger.register import register
from kafka2hive.model.errors import TableError
from kafka2hive.model.files import HivePartition
from kafka2hive.model.metastore import MetastoreRefused, MetastoreUnavailable
from kafka2hive.model.paths.path import HIVE_DEFAULT_PARTITION, join, partition_path
from kafka2hive.service.hive.schemas import Catalogue
from kafka2hive.service.run.hive_gate import asker
from kafka2hive.service.run.hive_questions import Agreement, Answer, Ask, NoAnswer, Question
from kafka2hive.service.tables.table_state import MapTable
from kafka2hive.service.topics.routes import routed_tables
from kafka2hive.service.wiring import Wiring, wire
from kafka2hive.storage.concurrency import Threads
from tests.harness.service_map import flights_table, write_map
from tests.harness.waiting import wait_until
from tests.services.hdfs import Hdfs
from tests.services.hive_server import HiveServer

TABLES = 8
AWKWARD = ["plain", "", "a'b/c=d\\e%:;é", "\\", "9 1+2", "tab\there", 'q"uo`te', "%41", "{x}"]


def _options(hive: HiveServer, seconds: float = 60.0, auth: str = "NONE") -> HiveOptions:
    return HiveOptions("127.0.0.1", hive.port, "me", None, auth, seconds)


@pytest.fixture
def metastore(hive: HiveServer) -> Iterator[HiveMetastore]:
    """The room under test, closed at the end."""
    opened = HiveMetastore(_options(hive))
    yield opened
    opened.close()


@pytest.fixture
def spec(hdfs: Hdfs, hive_database: str) -> TableSpec:
    """A partitioned table of the test's own, not yet made."""
    columns = (
        Column("Id", "int"),
        Column("headers", "array<struct<key:string,value:binary>>"),
        Column("price", "decimal(10,2)"),
    )
    location = f"{hdfs.namenode_url}/{hive_database}/t"
    return TableSpec(
        f"{hive_database}.t", columns, partition_columns("dt=%Y/e={id}"), location, 'it\'s \\ a "comment"; é'
    )


def _partition(spec: TableSpec, day: str, value: str) -> HivePartition:
    path = partition_path((("dt", day), ("e", value)))
    return HivePartition(spec.table, path, join(spec.location, path))


def make(session: Session, spec: TableSpec, ledger_id: str = "l") -> None:
    for statement in create_statements(spec, ledger_id):
        session.run(statement)


def test_a_table_is_made_once_and_is_the_one_the_map_describes(
    metastore: HiveMetastore, spec: TableSpec, unique: str
) -> None:
    session, tables = metastore.session, metastore.tables
    assert tables.describe(spec.table) is None and tables.describe(f"no_{unique}.t") is None
    for ledger_id in ("ledger-1", "ledger-2"):
        make(session, spec, ledger_id)
    found = tables.describe(spec.table)
    assert found is not None and found.ledger == "ledger-1" and found.kind is TableKind.EXTERNAL
    check_table(spec, found)


def test_a_new_database_of_many_tables_is_made_once_whoever_else_makes_it_at_that_moment(
    hive: HiveServer, hdfs: Hdfs, unique: str, tmp_path: Path
) -> None:
    entries = [flights_table(f"{unique}.t{number}", "t") for number in range(TABLES)]
    uri, server = f"{hdfs.namenode_url}/{unique}", {"url": f"hive://me@{hive.address}"}
    wiring = wire(load_map(str(write_map(tmp_path, unique, "127.0.0.1:9", uri, entries, hive=server)), {}))
    tables = routed_tables(wiring, ["t"])
    gates = [started_gate(wiring, tables) for _ in range(2)]  # of two services that start at once
    asked = [(gate, Question(table.name, conform=True)) for gate in gates for table in tables]
    try:
        answers = Threads(len(asked)).map(lambda one: one[0](one[1]), asked)
        for number, (gate, question) in enumerate(asked):  # a busy Hive may take longer than the limit
            tries = 0
            while isinstance(answers[number], NoAnswer) and (tries := tries + 1) < 10:
                answers[number] = gate(question)
        assert answers == [Agreement()] * len(asked)
        assert len(hive.query(f"show tables in {unique}")) == TABLES
    finally:
        hive.query(f"drop database if exists {unique} cascade")


def started_gate(wiring: Wiring, tables: list[MapTable]) -> Ask:
    """What the threads of one run ask with, each in a session of its own."""
    service_map = wiring.map
    catalogue = Catalogue(service_map, wiring.hive())
    for table in tables:
        catalogue.resolve(table)

    def ask(question: Question) -> Answer:
        with asker(wiring.tables_in_hive, catalogue) as answer:
            return answer(question)

    return ask


def test_tables_that_cannot_be_fed_are_refused(
    metastore: HiveMetastore, spec: TableSpec, hive: HiveServer
) -> None:
    hive.query(
        f"create external table {spec.table} (id string) partitioned by (day string) stored as textfile"
        f" location '{spec.location}x'"
    )
    found = metastore.tables.describe(spec.table)
    assert found is not None
    with pytest.raises(TableError) as refused:
        check_table(spec, found)
    for word in (
        "hive.location",
        "TextInputFormat",
        "(day)",
        "id is int in the map, string",
        "no column price",
    ):
        assert word.lower() in str(refused.value).lower()
    hive.query(f"create view {spec.table}_v as select 1 as id")
    view = metastore.tables.describe(f"{spec.table}_v")
    assert view is not None
    with pytest.raises(TableError, match=r"hive\.not_a_table"):
        check_table(spec, view)


def test_partitions_with_awkward_values_are_registered_at_their_place_and_read_back(
    metastore: HiveMetastore, spec: TableSpec, hive: HiveServer
) -> None:
    make(metastore.session, spec)
    unregistered = {_partition(spec, "2013-01-01", value) for value in AWKWARD}
    first = register(metastore, unregistered)
    assert first.registered == unregistered, first
    fresh = HiveMetastore(_options(hive))
    assert all(fresh.location(partition) == partition.location for partition in unregistered)
    assert register(fresh, unregistered).registered == unregistered, "doing it twice changes nothing"
    assert len(hive.query(f"show partitions {spec.table}")) == len(AWKWARD)
    fresh.close()


def test_the_bucket_of_null_is_hives_own_default_partition_to_queries(
    metastore: HiveMetastore, spec: TableSpec, hive: HiveServer, hdfs: Hdfs
) -> None:
    make(metastore.session, spec)
    partition = _partition(spec, "", "x")
    assert register(metastore, {partition}).registered == {partition}
    rows = io.BytesIO()
    pq.write_table(pa.table({"id": pa.array([1], pa.int32())}), rows)
    client = hdfs.client()
    with client.create(
        partition.location.removeprefix(hdfs.namenode_url) + "/one.parquet.final", WriteOptions()
    ) as file:
        file.write(rows.getvalue())
    assert hive.query(f"select id, e from {spec.table} where dt = '{HIVE_DEFAULT_PARTITION}'") == [(1, "x")]


def test_thousands_of_new_partitions_take_seconds(metastore: HiveMetastore, spec: TableSpec) -> None:
    make(metastore.session, spec)
    said = []
    # others may need the machine just when the many are registered: that says nothing
    for number in range(3):
        began = time.monotonic()
        for lone in (_partition(spec, f"lone{number}-{n}", "x") for n in range(10)):
            assert register(metastore, {lone}).registered == {lone}
        alone = (time.monotonic() - began) / 10
        unregistered = {_partition(spec, f"d{number}-{n}", "x") for n in range(1000)}
        began = time.monotonic()
        assert register(metastore, unregistered).registered == unregistered
        took = time.monotonic() - began
        if took < 1000 * alone / 4:
            break
        said.append(f"{took:.1f} s; one after another {1000 * alone:.0f} s")
    else:
        raise AssertionError(said)


def test_a_partition_that_exists_elsewhere_is_found_out(metastore: HiveMetastore, spec: TableSpec) -> None:
    make(metastore.session, spec)
    there = _partition(spec, "1", "x")
    elsewhere = HivePartition(there.table, there.path, spec.location + "/other")
    assert register(metastore, {elsewhere}).registered == {elsewhere}
    assert register(metastore, {there}).misplaced == {there: elsewhere.location}


def test_what_hive_refuses_is_told_apart_from_the_rest(metastore: HiveMetastore, spec: TableSpec) -> None:
    make(metastore.session, spec)
    good = {_partition(spec, str(n), "x") for n in range(5)}
    wrong_column = HivePartition(spec.table, "zz=1/e=x", spec.location + "/zz=1")
    no_table = HivePartition(spec.table + "_no", "dt=1/e=x", spec.location + "/no")
    found = register(metastore, {*good, wrong_column, no_table, HivePartition(spec.table, "", spec.location)})
    assert set(found.refused) == {wrong_column, no_table} and good < found.registered and not found.outage
    with pytest.raises(MetastoreRefused, match="cannot recognize"):
        metastore.session.run("not a statement")


def test_an_outage_is_survived_by_the_same_object(hdfs: Hdfs, unique: str, hive_to_kill: HiveServer) -> None:
    server, hive_database = hive_to_kill, unique
    server.query(f"create database {hive_database}")
    metastore = HiveMetastore(_options(server, seconds=15.0))
    spec = TableSpec(
        f"{hive_database}.t",
        (Column("a", "int"),),
        (Column("dt", "string"),),
        f"{hdfs.namenode_url}/{hive_database}/t",
    )
    # the first statement of its kind may take longer than the limit
    patient = HiveMetastore(_options(server))
    make(patient.session, spec)
    patient.close()
    unregistered = {HivePartition(spec.table, f"dt={n}", f"{spec.location}/dt={n}") for n in range(3)}
    server.service.suspend()
    began = time.monotonic()
    hanging = register(metastore, unregistered)
    assert (
        hanging.failed_unavailable == unregistered
        and "15 s" in str(hanging.outage)
        and time.monotonic() - began < 120
    )
    server.service.resume()
    wait_until(
        lambda: register(metastore, unregistered).registered == unregistered, "registered after a pause", 600
    )
    server.kill()
    down = register(metastore, unregistered)
    assert down.failed_unavailable == unregistered and server.address in str(down.outage)
    server.start()
    # a server that has just begun may take longer than the limit for its first session
    assert server.query(f"show tables in {hive_database}") == [("t",)], "it has forgotten its tables"
    wait_until(  # a new session is opened by itself
        lambda: register(metastore, unregistered).registered == unregistered, "registered after a kill", 600
    )
    for number in range(1, 6):
        server.stop()
        server.start()
        server.query("select 1")
        try:  # a session that died while idle is not even noticed
            assert metastore.session.run("select 1") == [(1,)]
            break
        except MetastoreUnavailable as late:  # the first session of a busy server took longer than the limit
            assert "15 s" in str(late) and number < 5, late
    metastore.close()


def test_a_session_that_the_server_fails_to_close_is_left_to_the_server(hive: HiveServer) -> None:
    session = HiveSession(_options(hive))
    ((told,),) = session.run("set hive.session.id")
    directory = hive.folder / "data" / f"{told.partition('=')[2]}_resources"
    if directory.exists():
        directory.rmdir()
    directory.write_text("no directory, which the server cannot delete as one")
    session.close()
    assert session.run("select 2") == [(2,)]
    session.close()


def test_the_wrong_kind_of_authentication_is_an_outage_not_a_hang(hive: HiveServer) -> None:
    plain = HiveMetastore(_options(hive, seconds=3.0, auth="NOSASL"))
    with pytest.raises(MetastoreUnavailable, match=hive.address):
        plain.session.run("select 1")
