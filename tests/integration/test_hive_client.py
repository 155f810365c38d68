"""The port of Hive by both of its interfaces, on real services: tables, partitions with awkward values, locations.

And outages of HiveServer2; those of the metastore are in test_metastore.py.
"""

import io
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hdfs_native import WriteOptions

from kafka2hive.config.keys import Column, FileFormat, HiveOptions, MetastoreOptions
from kafka2hive.config.load import load_map
from kafka2hive.hive.both import HiveByBoth
from kafka2hive.hive.check import alterations, check_partition, check_table
from kafka2hive.hive.description import TableKind, is_same_creation
from kafka2hive.hive.direct.client import MetastoreClient
from kafka2hive.hive.direct.hive import DirectHive
from kafka2hive.hive.metastore import HiveMetastore
from kafka2hive.hive.port import AlteredColumns, Hive, NewTable
from kafka2hive.hive.session import HiveSession
from kafka2hive.hive.tables import TableSpec, partition_columns
from kafka2hive.ledger.register import register
from kafka2hive.model.errors import TableError
from kafka2hive.model.files import HivePartition
from kafka2hive.model.metastore import (
    LocationAnswer,
    MetastoreRefused,
    MetastoreUnavailable,
    NoSuchPartition,
    StatementFailed,
)
from kafka2hive.model.paths.path import HIVE_DEFAULT_PARTITION, join, partition_path, same_location
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


def metastore_options(hive: HiveServer, seconds: float = 60.0) -> MetastoreOptions:
    return MetastoreOptions((("127.0.0.1", hive.metastore_port),), "me", "NONE", seconds)


def open_hive(interface: str, hive: HiveServer) -> Hive:
    """Hive by HiveServer2 (`url`), by the metastore, or by both."""
    server, direct = HiveMetastore(_options(hive)), DirectHive(MetastoreClient(metastore_options(hive)))
    interfaces: dict[str, Hive] = {"url": server, "metastore": direct, "both": HiveByBoth(server, direct)}
    return interfaces[interface]


@pytest.fixture(params=["url", "metastore", "both"])
def interface(request: pytest.FixtureRequest) -> str:
    """The keys of the map's section hive."""
    return str(request.param)


@pytest.fixture
def metastore(interface: str, hive: HiveServer) -> Iterator[Hive]:
    """The adapter under test, closed at the end."""
    opened = open_hive(interface, hive)
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


def make(metastore: Hive, spec: TableSpec, ledger_id: str = "l") -> None:
    metastore.tables.change(NewTable(spec, ledger_id))


def test_a_table_is_made_once_and_is_the_one_the_map_describes(
    metastore: Hive, spec: TableSpec, unique: str
) -> None:
    tables = metastore.tables
    assert tables.describe(spec.table) is None and tables.describe(f"no_{unique}.t") is None
    for ledger_id in ("ledger-1", "ledger-2"):
        make(metastore, spec, ledger_id)
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


def test_tables_that_cannot_be_fed_are_refused(metastore: Hive, spec: TableSpec, hive: HiveServer) -> None:
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
    metastore: Hive, interface: str, spec: TableSpec, hive: HiveServer
) -> None:
    make(metastore, spec)
    unregistered = {_partition(spec, "2013-01-01", value) for value in AWKWARD}
    first = register(metastore, unregistered)
    assert first.registered == unregistered, first
    fresh = open_hive(interface, hive)
    assert all(fresh.location(partition) == partition.location for partition in unregistered)
    assert register(fresh, unregistered).registered == unregistered, "doing it twice changes nothing"
    assert len(hive.query(f"show partitions {spec.table}")) == len(AWKWARD)
    fresh.close()


def test_the_bucket_of_null_is_hives_own_default_partition_to_queries(
    metastore: Hive, spec: TableSpec, hive: HiveServer, hdfs: Hdfs
) -> None:
    make(metastore, spec)
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


def test_thousands_of_new_partitions_take_seconds(hive: HiveServer, spec: TableSpec) -> None:
    metastore = HiveMetastore(_options(hive))
    make(metastore, spec)
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


def test_a_partition_that_exists_elsewhere_is_found_out(metastore: Hive, spec: TableSpec) -> None:
    make(metastore, spec)
    there = _partition(spec, "1", "x")
    elsewhere = HivePartition(there.table, there.path, spec.location + "/other")
    assert register(metastore, {elsewhere}).registered == {elsewhere}
    assert register(metastore, {there}).misplaced == {there: elsewhere.location}


def test_partitions_are_looked_up_moved_and_dropped_and_a_second_call_changes_nothing(
    metastore: Hive, interface: str, spec: TableSpec, hive: HiveServer, hdfs: Hdfs
) -> None:
    make(metastore, spec)
    first, second = (_partition(spec, "1", value) for value in "xy")
    file = first.location.removeprefix(hdfs.namenode_url) + "/one"
    with hdfs.client().create(file, WriteOptions()) as written:
        written.write(b"a file of the partition")
    metastore.add_partitions([first, second, HivePartition(spec.table, "", spec.location)])
    moved = HivePartition(first.table, first.path, f"{spec.location}/moved")
    for _ in range(2):
        assert list(metastore.set_locations([moved])) == [(moved, None)]
    fresh = open_hive(interface, hive)
    assert (fresh.location(first), fresh.location(second)) == (moved.location, second.location)
    assert same_location(str(fresh.location(HivePartition(spec.table, "", "-"))), spec.location)
    assert fresh.tables.partition_paths(spec.table) == {"dt=1/e=x", "dt=1/e=y"}
    for _ in range(2):
        assert list(metastore.drop_partitions([first])) == [(first, None)]
    assert (fresh.location(first), fresh.location(second)) == (None, second.location)
    assert hdfs.client().get_file_info(file).length > 0, "files of a dropped partition stay"
    ((_, refusal),) = metastore.set_locations([HivePartition(first.table, first.path, second.location)])
    assert isinstance(refusal, NoSuchPartition)
    nowhere = HivePartition(f"{spec.table}_no", "dt=1/e=x", second.location)
    for use in (metastore.locations, metastore.set_locations, metastore.drop_partitions):
        ((_, refused),) = use([nowhere])
        assert isinstance(refused, MetastoreRefused)
    with pytest.raises(MetastoreRefused):
        metastore.location(nowhere)
    fresh.close()


def test_of_many_partitions_the_bad_ones_delay_no_other(
    metastore: Hive, interface: str, hive_database: str, hive: HiveServer, hdfs: Hdfs
) -> None:
    location = f"{hdfs.namenode_url}/{hive_database}/many"
    spec = TableSpec(f"{hive_database}.many", (Column("id", "int"),), (Column("hr", "int"),), location)
    make(metastore, spec)
    hours = [HivePartition(spec.table, f"hr={hour}", f"{location}/hr={hour}") for hour in range(24)]
    missing, wrong = (HivePartition(spec.table, path, f"{location}/{path}") for path in ("hr=99", "hr=noon"))
    metastore.add_partitions(hours)
    fresh = open_hive(interface, hive)

    def answers(given: Iterable[LocationAnswer]) -> dict[HivePartition, str]:
        """What was said of all but `wrong`: HiveServer2 fails with it where the metastore's adapter refuses it."""
        known: dict[HivePartition, str] = {}
        with suppress(StatementFailed):
            for each, answer in given:
                is_missing = isinstance(answer, NoSuchPartition)
                is_bad = isinstance(answer, MetastoreRefused)
                known[each] = "missing" if is_missing else "bad" if is_bad else str(answer)
        return {each: answer for each, answer in known.items() if each.path != wrong.path}

    asked = [wrong, *hours[:7], missing, *hours[7:]]
    where = answers(fresh.locations(asked))
    assert where == {**{each: each.location for each in hours}, missing: "None"}
    moved = {each: replace(each, location=f"{each.location}_moved") for each in asked}
    done = answers(metastore.set_locations(moved.values()))
    assert done == {**{moved[each]: "None" for each in hours}, moved[missing]: "missing"}
    where = answers(fresh.locations(asked))
    assert where == {**{each: moved[each].location for each in hours}, missing: "None"}
    gone = answers(metastore.drop_partitions([wrong, hours[3], missing, hours[20]]))
    assert gone == dict.fromkeys([hours[3], hours[20], missing], "None")
    left = {each.path for each in hours} - {"hr=3", "hr=20"}
    assert fresh.tables.partition_paths(spec.table) == left
    fresh.close()


def test_numbers_are_registered_as_queries_look_for_them(
    metastore: Hive, interface: str, hive_database: str, hive: HiveServer, hdfs: Hdfs
) -> None:
    location = f"{hdfs.namenode_url}/{hive_database}/numbers"
    hours = (Column("dt", "date"), Column("hr", "int"))
    spec = TableSpec(f"{hive_database}.numbers", (Column("id", "int"),), hours, location)
    make(metastore, spec)
    eighth = HivePartition(spec.table, "dt=2026-01-02/hr=08", f"{location}/dt=2026-01-02/hr=08")
    metastore.add_partitions([eighth])
    assert hive.query(f"show partitions {spec.table}") == [("dt=2026-01-02/hr=8",)]
    fresh = open_hive(interface, hive)
    assert fresh.location(eighth) == eighth.location
    found = fresh.tables.describe_partition(spec.table, eighth.path)
    assert found is not None and found.location == eighth.location
    check_partition(spec, eighth.path, found)
    other = HivePartition(spec.table, "dt=2026-01-02/hr=8", f"{location}/dt=2026-01-02/hr=8")
    assert register(fresh, {other}).misplaced == {other: eighth.location}
    for wrong in ("dt=2026-01-02/hr=noon", "dt=someday/hr=1"):
        assert register(fresh, {HivePartition(spec.table, wrong, f"{location}/{wrong}")}).refused
    assert hive.query(f"show partitions {spec.table}") == [("dt=2026-01-02/hr=8",)]
    fresh.close()


def test_columns_are_added_and_widened_also_in_the_partitions(metastore: Hive, spec: TableSpec) -> None:
    make(metastore, spec)
    partition = _partition(spec, "1", "x")
    metastore.add_partitions([partition])
    wider = replace(spec, columns=(Column("id", "bigint"), *spec.columns[1:], Column("New", "string")))
    before = metastore.tables.describe(spec.table)
    assert before is not None
    metastore.tables.change(AlteredColumns(wider, before, alterations(wider, before)))
    after = metastore.tables.describe(spec.table)
    assert after is not None and not alterations(wider, after)
    check_table(wider, after)
    old = metastore.tables.describe_partition(spec.table, partition.path)
    assert old is not None
    check_partition(wider, partition.path, old)
    assert metastore.tables.tables_in(spec.table.partition(".")[0]) == {"t"}


@pytest.mark.parametrize("format", ["parquet", "orc", "avro", "json", "text"])
def test_both_interfaces_describe_a_table_alike_whichever_of_them_made_it(
    hive: HiveServer, hive_database: str, hdfs: Hdfs, format: FileFormat
) -> None:
    interfaces = [open_hive(name, hive) for name in ("url", "metastore")]
    for number, maker in enumerate(interfaces):
        location = f"{hdfs.namenode_url}/{hive_database}/{format}{number}"
        columns = (Column("Id", "integer"), Column("at", "timestamp"), Column("name", "string"))
        keys = (Column("dt", "string"), Column("hr", "int"))
        spec = TableSpec(
            f"{hive_database}.{format}{number}", columns, keys, location, "words", "dt=%Y/hr=%H", format
        )
        make(maker, spec)
        path = "dt=1/hr=2"
        maker.add_partitions([HivePartition(spec.table, path, f"{location}/{path}")])
        tables = [each.tables.describe(spec.table) for each in interfaces]
        assert all(
            each is not None and each.kind is TableKind.EXTERNAL and each.ledger == "l" for each in tables
        )
        partitions = [each.tables.describe_partition(spec.table, path) for each in interfaces]
        assert is_same_creation(tables[0].created, tables[1].created)  # type: ignore[union-attr]
        for pair in (tables, partitions):
            by_server, direct = (
                replace(each, parameters={}, created="") for each in pair if each is not None
            )
            assert by_server == direct
        for described in tables:
            assert described is not None
            check_table(spec, described)
        for described in partitions:
            assert described is not None
            check_partition(spec, path, described)
        known = {key for each in partitions if each is not None for key in each.parameters}
        assert not {"numRows", "totalSize", "COLUMN_STATS_ACCURATE"} & known, "later epochs add files"
    for each in interfaces:
        each.close()


def test_what_hive_refuses_is_told_apart_from_the_rest(metastore: Hive, spec: TableSpec) -> None:
    make(metastore, spec)
    good = {_partition(spec, str(n), "x") for n in range(5)}
    wrong_column = HivePartition(spec.table, "zz=1/e=x", spec.location + "/zz=1")
    no_table = HivePartition(spec.table + "_no", "dt=1/e=x", spec.location + "/no")
    found = register(metastore, {*good, wrong_column, no_table, HivePartition(spec.table, "", spec.location)})
    assert set(found.refused) == {wrong_column, no_table} and good < found.registered and not found.outage
    metastore.close()


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
    make(patient, spec)
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


@pytest.mark.parametrize("interface", ["url"])
def test_a_text_that_is_no_statement_is_refused(metastore: Hive) -> None:
    assert isinstance(metastore, HiveMetastore)
    with pytest.raises(MetastoreRefused, match="cannot recognize"):
        metastore.session.run("not a statement")


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
