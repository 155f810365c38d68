"""The benchmark of compaction in its small form: it compares both rewrites itself, and deletes the small files."""

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from tests.benchmarks.modes.compaction import measure
from tests.benchmarks.room import Room
from tests.services.hdfs import Hdfs
from tests.services.hive_server import HiveServer
from tests.services.kafka_broker import KafkaBroker

FILES = 60


@pytest.mark.timeout(3600)
def test_the_part_compaction_measures_both_rewrites_and_the_freshness_of_other_tables(
    kafka: KafkaBroker, hdfs: Hdfs, hive: HiveServer, hive_database: str, tmp_path: Path
) -> None:
    folders = (tmp_path / f"{hive_database}-{number}" for number in range(2))

    def new_folder() -> Path:
        (folder := next(folders)).mkdir()
        return folder

    room = SimpleNamespace(kafka=lambda: kafka, hdfs=lambda: hdfs, hive=lambda: hive, new_folder=new_folder)
    figures = measure(cast("Room", room), FILES, seconds=2, jmx_seconds=0)
    written = {name: [each["files"] for each in rewrites] for name, rewrites in figures["rewrites"].items()}
    assert written == {"kafka2hive compact": [FILES // 5, FILES], "Spark": [FILES // 5, FILES]}
    assert all(figures["freshness"].values())
    assert sum("reached" in row for row in figures["rows"]) == 4
