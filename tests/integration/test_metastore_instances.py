"""Two metastores over one database, on real services: races, and one that dies."""

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from kafka2hive.config.keys import Column, MetastoreOptions
from kafka2hive.hive.direct.client import MetastoreClient
from kafka2hive.hive.direct.hive import DirectHive
from kafka2hive.hive.port import NewTable
from kafka2hive.hive.tables import TableSpec
from kafka2hive.ledger.register import register
from kafka2hive.model.files import HivePartition
from kafka2hive.model.paths.path import same_location
from kafka2hive.storage.concurrency import Threads
from tests.harness.waiting import wait_until
from tests.services.hive_server import DatabaseServer, MetastoreInstance, MetastoreServer
from tests.services.ports import free_ports

ROUNDS = 4


@pytest.fixture(scope="module")
def instances(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[MetastoreServer, MetastoreServer]]:
    """Two metastores over one database; the first one makes its tables."""
    folder = tmp_path_factory.mktemp("instances")
    site = {"fs.defaultFS": f"file://{folder}"}
    with DatabaseServer(folder / "database") as database:
        first, second = (MetastoreInstance(folder / name, site, database) for name in "ab")
        with first, second:
            yield first, second


def client(*servers: MetastoreServer | int) -> MetastoreClient:
    ports = [each if isinstance(each, int) else each.metastore_port for each in servers]
    return MetastoreClient(
        MetastoreOptions(tuple(("127.0.0.1", port) for port in ports), "me", "NONE", 120.0)
    )


@pytest.fixture
def spec(instances: tuple[MetastoreServer, MetastoreServer], tmp_path: Path, unique: str) -> TableSpec:
    made = TableSpec(
        f"{unique}.t", (Column("a", "int"),), (Column("dt", "string"),), f"file://{tmp_path}/{unique}/t"
    )
    with closing(DirectHive(client(instances[0]))) as metastore:
        metastore.tables.change(NewTable(made, "ledger"))
    return made


def days_of(spec: TableSpec, number: int) -> list[HivePartition]:
    paths = [f"dt={number}-{day:02}" for day in range(40)]
    return [HivePartition(spec.table, path, f"{spec.location}/{path}") for path in paths]


def until_both(act: Callable[[DirectHive], bool], hives: list[DirectHive]) -> None:
    """Let both do the same at the same time, and again until neither is refused, as a run does."""
    wait_until(lambda: all(Threads(2).map(act, hives)), "done by both", 300)


def are_at(hive: DirectHive, partitions: list[HivePartition]) -> bool:
    """Say whether all of them are where they should be."""
    where = dict(hive.locations(partitions))
    return all(isinstance(at, str) and same_location(at, each.location) for each, at in where.items())


def race(hives: list[DirectHive], days: list[HivePartition]) -> None:
    """Register, move and drop the same partitions by both at once."""
    moved = [replace(day, location=f"{day.location}_moved") for day in days]
    until_both(lambda hive: register(hive, days).registered == set(days), hives)
    assert all(are_at(hive, days) for hive in hives)
    until_both(lambda hive: not any(dict(hive.set_locations(moved)).values()), hives)
    assert all(are_at(hive, moved) for hive in hives)
    until_both(lambda hive: not any(dict(hive.drop_partitions(days)).values()), hives)
    assert all(dict(hive.locations(days)) == dict.fromkeys(days) for hive in hives)


def test_two_instances_that_do_the_same_at_once_end_with_what_both_want(
    instances: tuple[MetastoreServer, MetastoreServer], spec: TableSpec
) -> None:
    with (
        closing(DirectHive(client(instances[0]))) as first,
        closing(DirectHive(client(instances[1]))) as second,
    ):
        for number in range(ROUNDS):
            race([first, second], days_of(spec, number))


def test_one_of_three_hosts_answers_while_the_others_are_dead(
    instances: tuple[MetastoreServer, MetastoreServer], spec: TableSpec
) -> None:
    first, second = instances
    dead, *_ = free_ports(1)
    days = days_of(spec, 0)
    with closing(DirectHive(client(dead, first, second))) as metastore:
        assert register(metastore, days[:20]).registered == set(days[:20])
        first.kill()
        try:
            assert register(metastore, days).registered == set(days)
            assert dict(metastore.drop_partitions(days)) == dict.fromkeys(days)
            first.start()
            second.kill()
            assert dict(metastore.locations(days)) == dict.fromkeys(days)
        finally:
            for each in instances:
                if each.service.has_ended:
                    each.start()
