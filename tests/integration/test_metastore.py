"""The metastore's own interface on real services: lost and late answers, several hosts, compare-and-set, statistics."""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kafka2hive.config.keys import Column, MetastoreOptions
from kafka2hive.hive.check import alterations
from kafka2hive.hive.direct.client import MetastoreClient
from kafka2hive.hive.direct.hive import DirectHive
from kafka2hive.hive.direct.tables import DirectTables
from kafka2hive.hive.port import AlteredColumns, NewTable
from kafka2hive.hive.tables import TableSpec
from kafka2hive.ledger.register import register
from kafka2hive.model.files import HivePartition
from kafka2hive.model.metastore import HiveLoginRefused, MetastoreRefused, MetastoreUnavailable
from tests.harness.waiting import wait_until
from tests.services.hdfs import Hdfs
from tests.services.hive_server import HiveServer, MetastoreServer
from tests.services.ports import free_ports

STATISTICS = {"hive.stats.autogather": "true", "metastore.stats.autogather": "true"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, hdfs: Hdfs) -> Iterator[MetastoreServer]:
    """A metastore service of the module's own: a test may suspend and kill it, and leaves it running."""
    with MetastoreServer(tmp_path_factory.mktemp("metastore"), hdfs.site_properties, STATISTICS) as running:
        yield running


def options(*ports: int, seconds: float = 60.0) -> MetastoreOptions:
    return MetastoreOptions(tuple(("127.0.0.1", port) for port in ports), "me", "NONE", seconds)


@pytest.fixture
def spec(server: MetastoreServer, hdfs: Hdfs, unique: str) -> TableSpec:
    """A table of the test's own, made by the interface under test, of two columns and a partition column."""
    location = f"{hdfs.namenode_url}/{unique}/t"
    keys = (Column("dt", "string"),)
    made = TableSpec(f"{unique}.t", (Column("a", "int"), Column("b", "string")), keys, location)
    with closing(DirectTables(MetastoreClient(options(server.metastore_port)))) as tables:
        tables.change(NewTable(made, "ledger"))
    return made


def partition_of(spec: TableSpec, day: str) -> HivePartition:
    return HivePartition(spec.table, f"dt={day}", f"{spec.location}/dt={day}")


def test_a_late_answer_is_not_taken_for_the_answer_to_the_next_question(
    server: MetastoreServer, spec: TableSpec
) -> None:
    first, second = partition_of(spec, "a"), partition_of(spec, "b")
    with closing(DirectHive(MetastoreClient(options(server.metastore_port)))) as patient:
        patient.add_partitions([first, second])
    client = MetastoreClient(options(server.metastore_port, seconds=2.0))

    def ask(day: str) -> list[str]:
        found: list[str] = client.call("get_partition", *spec.table.split("."), [day]).values
        return found

    assert ask("a") == ["a"]
    server.service.suspend()
    try:
        with pytest.raises(MetastoreUnavailable, match="did not answer within 2 s"):
            ask("a")
    finally:
        server.service.resume()
    time.sleep(1.0)  # the answer arrives now
    assert ask("b") == ["b"]
    client.close()


def test_what_was_asked_without_an_answer_is_done_later_and_once(
    server: MetastoreServer, spec: TableSpec
) -> None:
    metastore = DirectHive(MetastoreClient(options(server.metastore_port, seconds=2.0)))
    days = {partition_of(spec, str(day)) for day in range(20)}
    assert metastore.location(partition_of(spec, "none")) is None
    server.service.suspend()
    try:
        lost = register(metastore, days)
        assert lost.failed_unavailable == days and lost.outage is not None
    finally:
        server.service.resume()
    wait_until(lambda: register(metastore, days).registered == days, "registered", 120)
    assert metastore.tables.partition_paths(spec.table) == {day.path for day in days}
    three = partition_of(spec, "3")
    for _ in range(2):
        assert list(metastore.drop_partitions([three])) == [(three, None)]
    assert metastore.location(three) is None
    metastore.close()


def test_hosts_are_asked_in_turn_and_one_that_hangs_costs_seconds(
    server: MetastoreServer, hive: HiveServer, hive_database: str, hdfs: Hdfs
) -> None:
    dead, *_ = free_ports(1)
    location = f"{hdfs.namenode_url}/{hive_database}/t"
    spec = TableSpec(f"{hive_database}.t", (Column("a", "int"),), (Column("dt", "string"),), location)
    day = partition_of(spec, "1")
    with closing(DirectHive(MetastoreClient(options(dead, hive.metastore_port)))) as metastore:
        metastore.ask()
        metastore.tables.change(NewTable(spec, "ledger"))
        metastore.add_partitions([day])
    server.service.suspend()
    try:
        with closing(
            DirectHive(MetastoreClient(options(dead, server.metastore_port, hive.metastore_port)))
        ) as metastore:
            assert metastore.location(day) == day.location
        with (
            closing(
                DirectHive(MetastoreClient(options(dead, server.metastore_port, seconds=1.0)))
            ) as metastore,
            pytest.raises(MetastoreUnavailable) as refused,
        ):
            metastore.ask()
        assert f"127.0.0.1:{dead}" in str(refused.value)
        assert f"127.0.0.1:{server.metastore_port} did not answer within 1 s" in str(refused.value)
    finally:
        server.service.resume()


def test_a_metastore_that_is_killed_and_comes_back_is_asked_again(
    server: MetastoreServer, spec: TableSpec
) -> None:
    metastore = DirectHive(MetastoreClient(options(server.metastore_port, seconds=30.0)))
    days = {partition_of(spec, str(day)) for day in range(5)}
    assert register(metastore, days).registered == days
    server.kill()
    more = {partition_of(spec, str(day)) for day in range(5, 9)}
    down = register(metastore, more)
    assert down.failed_unavailable == more and f"127.0.0.1:{server.metastore_port}" in str(down.outage)
    server.start()
    wait_until(lambda: register(metastore, more).registered == more, "registered after a kill", 300)
    # a connection that died while nothing was asked is replaced without a word
    server.stop()
    server.start()
    assert metastore.location(partition_of(spec, "1")) == partition_of(spec, "1").location
    metastore.close()


class InterruptedClient(MetastoreClient):
    """Runs something before it changes a table, as if another client were quicker."""

    def __init__(
        self, options: MetastoreOptions, before: Callable[[], object], call: str = "alter_table"
    ) -> None:
        super().__init__(options)
        self._before = before
        self._interrupted = call

    def call(self, name: str, *arguments: Any, **how: bool) -> Any:
        if name.startswith(self._interrupted):
            self._before()
        return super().call(name, *arguments, **how)


def test_a_column_that_another_client_adds_meanwhile_is_not_lost(
    server: MetastoreServer, spec: TableSpec
) -> None:
    other = DirectTables(MetastoreClient(options(server.metastore_port)))

    def with_column(tables: DirectTables, name: str) -> None:
        wider = replace(spec, columns=(*spec.columns, Column(name, "bigint")))
        before = tables.describe(spec.table)
        assert before is not None
        tables.change(AlteredColumns(wider, before, alterations(wider, before)))

    raced = DirectTables(
        InterruptedClient(options(server.metastore_port), lambda: with_column(other, "theirs"))
    )
    with pytest.raises(MetastoreRefused, match="has been modified"):
        with_column(raced, "ours")
    described = other.describe(spec.table)
    assert described is not None and [column.name for column in described.columns] == ["a", "b", "theirs"]
    with_column(other, "ours")
    described = other.describe(spec.table)
    assert described is not None
    assert [column.name for column in described.columns] == ["a", "b", "theirs", "ours"]
    raced.close()
    other.close()


class CountingClient(MetastoreClient):
    """Counts the calls of each name."""

    def __init__(self, options: MetastoreOptions) -> None:
        super().__init__(options)
        self.calls = Counter[str]()

    def call(self, name: str, *arguments: Any, **how: bool) -> Any:
        self.calls[name] += 1
        return super().call(name, *arguments, **how)


def test_many_partitions_are_looked_up_moved_and_dropped_by_one_call(
    server: MetastoreServer, spec: TableSpec
) -> None:
    client = CountingClient(options(server.metastore_port))
    days = [partition_of(spec, f"{day:03}") for day in range(500)]
    with closing(DirectHive(client)) as metastore:
        metastore.add_partitions(days)
        client.calls.clear()
        moved = [replace(day, location=f"{day.location}_moved") for day in days]
        assert dict(metastore.set_locations(moved)) == dict.fromkeys(moved)
        assert dict(metastore.locations(days)) == {
            day: at.location for day, at in zip(days, moved, strict=True)
        }
        assert dict(metastore.drop_partitions(days)) == dict.fromkeys(days)
        assert dict(metastore.locations(days)) == dict.fromkeys(days)
    calls = ("alter_partitions_with_environment_context", "drop_partitions_req", "get_partitions_by_names")
    assert [client.calls[call] for call in calls] == [1, 1, 3]


def test_a_partition_that_somebody_drops_during_a_move_in_bulk_is_the_only_one_that_is_refused(
    server: MetastoreServer, spec: TableSpec
) -> None:
    days = [partition_of(spec, f"{day:03}") for day in range(20)]
    moved = [replace(day, location=f"{day.location}_moved") for day in days]
    other = DirectHive(MetastoreClient(options(server.metastore_port)))
    client = InterruptedClient(
        options(server.metastore_port), lambda: list(other.drop_partitions([days[7]])), "alter_partitions"
    )
    with closing(DirectHive(client)) as metastore, closing(other):
        metastore.add_partitions(days)
        refused = {day for day, why in metastore.set_locations(moved) if why}
        assert refused == {moved[7]}
        assert dict(other.locations(days)) == {
            day: None if day == days[7] else at.location for day, at in zip(days, moved, strict=True)
        }


def test_no_statistics_are_stored_that_the_next_epoch_makes_wrong(
    server: MetastoreServer, spec: TableSpec, hdfs: Hdfs
) -> None:
    """The metastore of this module gathers sizes by itself wherever a client lets it."""
    day = partition_of(spec, "1")
    moved = HivePartition(day.table, day.path, f"{spec.location}/moved")
    with closing(DirectHive(MetastoreClient(options(server.metastore_port)))) as metastore:
        metastore.add_partitions([day])
        added = metastore.tables.describe_partition(spec.table, day.path)
        assert list(metastore.set_locations([moved])) == [(moved, None)]
        after = metastore.tables.describe_partition(spec.table, day.path)
    assert added is not None and after is not None and after.location == moved.location
    for described in (added, after):
        assert "numRows" not in described.parameters and "COLUMN_STATS_ACCURATE" not in described.parameters
    kept = ("numFiles", "totalSize")
    assert [after.parameters.get(key) for key in kept] == [added.parameters.get(key) for key in kept]


def test_files_of_a_dropped_partition_stay_also_if_the_table_says_otherwise(
    hive: HiveServer, hive_database: str, hdfs: Hdfs
) -> None:
    location = f"{hdfs.namenode_url}/{hive_database}/purged"
    hive.query(
        f"create external table {hive_database}.purged (a int) partitioned by (dt string)"
        f" location '{location}' tblproperties ('external.table.purge'='true')",
        f"insert into {hive_database}.purged partition (dt='1') values (1)",
    )
    files = list(hdfs.client().list_status(f"{location}/dt=1".removeprefix(hdfs.namenode_url)))
    day = HivePartition(f"{hive_database}.purged", "dt=1", f"{location}/dt=1")
    with closing(DirectHive(MetastoreClient(options(hive.metastore_port)))) as metastore:
        assert list(metastore.drop_partitions([day])) == [(day, None)]
        assert metastore.location(day) is None
    assert (
        len(files) == len(list(hdfs.client().list_status(day.location.removeprefix(hdfs.namenode_url)))) > 0
    )


def test_a_server_that_is_no_metastore_is_told(hive: HiveServer, tmp_path: Path) -> None:
    """HiveServer2 waits for its login, and answers nothing else."""
    began = time.monotonic()
    with pytest.raises(MetastoreUnavailable, match=f"the metastore at 127.0.0.1:{hive.port}") as refused:
        DirectHive(MetastoreClient(options(hive.port, seconds=2.0))).ask()
    assert not isinstance(refused.value, HiveLoginRefused) and time.monotonic() - began < 60
