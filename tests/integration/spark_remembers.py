"""What a Spark session shows of tables that it has listed, after every change that docs/engines.md names."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness.changing_tables import FORMATS, ChangingTables, queries_during
from tests.services.hdfs import Hdfs
from tests.services.hive_server import HiveServer
from tests.services.kafka_broker import KafkaBroker
from tests.services.spark_sql import SparkSession, SparkSql

REMEMBERING = ("parquet", "orc")
"""Formats that Spark reads by its own readers, with the files that it has listed."""
EVERY, FILE = set(FORMATS), "input_file_name()"
FORGETFUL = "set spark.sql.hive.filesourcePartitionFileCacheSize=0"


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory, hdfs: Hdfs, hive: HiveServer) -> Iterator[SparkSql]:
    with SparkSql(tmp_path_factory.mktemp("spark-sql"), hdfs.site_properties, hive.metastore_url) as server:
        yield server


@pytest.fixture
def session(spark: SparkSql) -> Iterator[SparkSession]:
    one = spark.session()
    yield one
    one.close()


@pytest.fixture
def forgetful(spark: SparkSql) -> Iterator[SparkSession]:
    """A session that remembers no files."""
    one = spark.session()
    one.query(FORGETFUL)
    yield one
    one.close()


@pytest.mark.timeout(3600)
def test_a_session_misses_only_new_files_of_days_that_it_has_listed(
    kafka: KafkaBroker,
    hdfs: Hdfs,
    hive: HiveServer,
    hive_database: str,
    spark: SparkSql,
    session: SparkSession,
    forgetful: SparkSession,
    tmp_path: Path,
) -> None:
    world = ChangingTables(kafka, hdfs, hive, hive_database, tmp_path)
    expired, day, later = world.days

    def seen() -> tuple[set[str], set[str]]:
        """The tables that either session shows as they are now."""
        return world.seen_by(session.query), world.seen_by(forgetful.query)

    world.dump(expired, day)
    first = world.rows
    assert seen() == (EVERY, EVERY)

    # an epoch adds files to a day that the session has listed
    world.dump(day)
    assert seen() == ({"text"}, EVERY)
    assert all(world.shown(session.query, name) == first for name in REMEMBERING)
    new = spark.session()
    assert world.seen_by(new.query) == EVERY
    new.close()
    for name in REMEMBERING:
        session.query(f"refresh table {world.tables[name]}")
    assert seen() == (EVERY, EVERY)

    # a new day
    world.dump(later)
    assert seen() == (EVERY, EVERY)

    # compaction moves all days
    world.complete()
    assert world.places(session.query, FILE) == world.all_at("early")

    def look() -> None:
        assert seen() == (EVERY, EVERY)

    assert queries_during(world.compact, look) > 0
    assert seen() == (EVERY, EVERY)
    assert world.places(session.query, FILE) == world.all_at("home")

    # the early files are deleted, at places that the session has listed
    world.retire()
    assert seen() == (EVERY, EVERY)

    # retention drops a day
    world.expire()
    assert seen() == (EVERY, EVERY)
