"""What Trino shows of tables that it has listed, with and without caches, after every change that docs/engines.md names."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.harness.changing_tables import (
    FORMATS,
    TIME,
    VALUES,
    ChangingTables,
    Query,
    columns_of,
    queries_during,
)
from tests.harness.waiting import wait_until
from tests.services.hdfs import Hdfs
from tests.services.hive_server import HiveServer
from tests.services.kafka_broker import KafkaBroker
from tests.services.trino import Trino, TrinoFailed

EVERY, FILE = set(FORMATS), '"$path"'
LONG, SHORT = "1h", "5s"
PLAIN, FILES, FILES_SHORT, PARTITIONS, PARTITIONS_SHORT = (
    "plain",
    "files",
    "files_short",
    "partitions",
    "partitions_short",
)
"""Catalogs that remember nothing, files, and the metastore's answers, for long and for a short time."""


def remembered_files(time: str) -> dict[str, str]:
    return {"hive.file-status-cache-tables": "*", "hive.file-status-cache-expire-time": time}


CATALOGS = {
    PLAIN: {},
    FILES: remembered_files(LONG),
    FILES_SHORT: remembered_files(SHORT),
    PARTITIONS: {"hive.metastore-cache-ttl": LONG},
    PARTITIONS_SHORT: {"hive.metastore-cache-ttl": SHORT},
}


@pytest.fixture(scope="module")
def trino(tmp_path_factory: pytest.TempPathFactory, hdfs: Hdfs, hive: HiveServer) -> Iterator[Trino]:
    folder = tmp_path_factory.mktemp("trino")
    with Trino(folder, hive.metastore_url, hdfs.site_properties, CATALOGS) as server:
        yield server


@pytest.mark.timeout(3600)
def test_trino_misses_only_what_its_caches_hide_for_their_time_or_until_they_are_flushed(
    kafka: KafkaBroker, hdfs: Hdfs, hive: HiveServer, hive_database: str, trino: Trino, tmp_path: Path
) -> None:
    world = ChangingTables(kafka, hdfs, hive, hive_database, tmp_path)
    expired, day, later = world.days
    ask: dict[str, Query] = {name: partial(trino.query, name) for name in CATALOGS}

    def are_right(*catalogs: str) -> bool:
        """Whether all tables are shown as they are now."""
        return all(world.seen_by(ask[name]) == EVERY for name in catalogs)

    def flush(catalog: str) -> None:
        for name in FORMATS:
            trino.query(
                catalog,
                f"call system.flush_metadata_cache(schema_name => '{hive_database}', table_name => '{name}')",
            )

    def stale_until_flushed(catalog: str, short: str, is_stale: Callable[[Query], bool]) -> None:
        """What one catalog shows is stale until its caches are flushed, and for the other one's time at most."""
        assert is_stale(ask[catalog]), catalog
        flush(catalog)
        assert are_right(catalog)
        wait_until(lambda: are_right(short), f"right in {short}", pause=1)

    world.dump(expired, day)
    before = world.rows
    assert are_right(*CATALOGS)

    def as_before(query: Query) -> bool:
        return all(world.shown(query, name) == before for name in FORMATS)

    # an epoch adds files to a day that Trino has listed
    world.dump(day)
    assert are_right(PLAIN, PARTITIONS, PARTITIONS_SHORT)
    stale_until_flushed(FILES, FILES_SHORT, as_before)

    # a new day
    before = world.rows
    world.dump(later)
    assert are_right(PLAIN, FILES, FILES_SHORT)
    stale_until_flushed(PARTITIONS, PARTITIONS_SHORT, as_before)

    # compaction moves all days
    world.complete()
    assert all(world.places(query, FILE) == world.all_at("early") for query in ask.values())

    def look() -> None:
        assert are_right(*CATALOGS)

    assert queries_during(world.compact, look) > 0
    assert are_right(*CATALOGS)
    early, home = world.all_at("early"), world.all_at("home")
    assert all(world.places(ask[name], FILE) == home for name in (PLAIN, FILES, FILES_SHORT))
    wait_until(lambda: world.places(ask[PARTITIONS_SHORT], FILE) == home, "home", pause=1)
    assert world.places(ask[PARTITIONS], FILE) == early

    # the early files are deleted: who still looks there fails, and misses no row
    world.retire()
    assert are_right(PLAIN, FILES, FILES_SHORT, PARTITIONS_SHORT)
    for name in FORMATS:
        with pytest.raises(TrinoFailed):
            world.shown(ask[PARTITIONS], name)
    flush(PARTITIONS)
    assert are_right(PARTITIONS) and world.places(ask[PARTITIONS], FILE) == home

    # retention drops a day
    before = world.rows
    world.expire()
    assert are_right(PLAIN, FILES, FILES_SHORT)
    stale_until_flushed(PARTITIONS, PARTITIONS_SHORT, as_before)


@pytest.mark.timeout(3600)
def test_trino_shows_the_same_values_in_every_format(
    kafka: KafkaBroker, hdfs: Hdfs, hive: HiveServer, hive_database: str, trino: Trino, tmp_path: Path
) -> None:
    world = ChangingTables(kafka, hdfs, hive, hive_database, tmp_path)
    day = world.days[1]
    world.dump(day)
    values = {**VALUES, "place": [*VALUES["place"].values()]}
    for name, table in world.tables.items():
        columns = columns_of(name)
        wanted = {0: [None] * len(columns), 1: [values[column] for column in columns]}
        rows = trino.query(PLAIN, f"select id, at, {', '.join(columns)} from {table}")
        assert len(rows) == len(world.rows)
        for number, at, *shown in rows:
            assert (at, shown) == (f"{day} {TIME}", wanted[number % 2]), (name, number)
