"""Three generations of a map's columns over the same Hive partitions: Hive reads old and new files side by side."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.harness.program import command, run_once
from tests.harness.service_map import PLACE, write_map
from tests.services.hdfs import Hdfs
from tests.services.hive_server import HiveServer
from tests.services.jars import IS_OLD_HIVE
from tests.services.kafka_broker import KafkaBroker
from tests.services.produce import produce

FIRST: dict[str, str] = {"id": "int", "code": "varchar(3)", "at": "struct<gate:int>", "n": "int"}
SECOND = FIRST | {"id": "bigint", "at": "struct<gate:int,hall:string>", "price": "decimal(10,2)"}
THIRD = SECOND | {"code": "string", "price": "decimal(14,4)", "n": "decimal(12,0)", "tags": "array<string>"}
EACH = 50


def _record(generation: int, i: int) -> bytes:
    """What a producer of this generation writes; each of a day that has rows of all generations."""
    told: dict[str, Any] = {"id": i, "code": "abc", "at": {"gate": i}, "n": i, "day": f"2013-01-0{1 + i % 3}"}
    if generation >= 2:
        told |= {"id": 2**40 + i, "at": {"gate": i, "hall": f"f{i}"}, "price": i / 4}
    if generation >= 3:
        told |= {"code": "a longer code", "price": i / 16, "n": 10**11 + i, "tags": ["x", str(i)]}
    return orjson.dumps(told)


def _row(generation: int, i: int) -> tuple[Any, ...]:
    """As Hive shows it by the third generation's columns."""
    day = f"2013-01-0{1 + i % 3}"
    if generation == 1:
        return (i, "abc", i, None, Decimal(i), None, None, day)
    if generation == 2:
        return (2**40 + i, "abc", i, f"f{i}", Decimal(i), Decimal(i) / 4, None, day)
    return (2**40 + i, "a longer code", i, f"f{i}", Decimal(10**11 + i), Decimal(i) / 16, f'["x","{i}"]', day)


class Evolving:
    """One topic into a table with partitions by a field, the same in ORC, and a table without partitions."""

    def __init__(self, kafka: KafkaBroker, hdfs: Hdfs, hive: HiveServer, database: str, folder: Path) -> None:
        self.kafka, self.hive, self.topic, self.folder = kafka, hive, database, folder
        self.uri = f"{hdfs.namenode_url}/{database}"
        self.daily, self.flat, self.orc = (f"{database}.{name}" for name in ("daily", "flat", "orc"))
        kafka.create_topic(database, 2)

    def map_of(self, columns: dict[str, str], **more: Any) -> Path:
        every = {"topics": [self.topic], "start": "earliest", "columns": {"day": "string"} | columns} | more
        tables = [
            {**every, "table": self.daily, "bucket": {"path": "dt={day}"}, "metadata": PLACE},
            {**every, "table": self.flat, "bucket": {"path": ""}, "metadata": PLACE},
            {
                **every,
                "table": self.orc,
                "bucket": {"path": "dt={day}"},
                "writer": {"format": "orc"},
            },
        ]
        section = {"url": f"hive://{self.hive.address}"}
        return write_map(self.folder, self.topic, self.kafka.bootstrap, self.uri, tables, hive=section)

    def produce(self, generation: int) -> None:
        produce(self.kafka.bootstrap, self.topic, [_record(generation, i) for i in range(EACH)], 2)

    def rows(self, table: str, last: str) -> list[tuple[Any, ...]]:
        columns = f"id, code, `at`.gate, `at`.hall, n, price, tags, {last}"
        return sorted(self.hive.query(f"select {columns} from {table}"), key=str)


@pytest.fixture
def evolving(
    kafka: KafkaBroker, hdfs: Hdfs, hive: HiveServer, hive_database: str, tmp_path: Path
) -> Evolving:
    return Evolving(kafka, hdfs, hive, hive_database, tmp_path)


@pytest.mark.timeout(3600)
def test_hive_reads_the_files_of_three_generations_side_by_side(evolving: Evolving) -> None:
    for generation, columns in enumerate((FIRST, SECOND, THIRD), 1):
        evolving.produce(generation)
        if generation == 2:
            _only_what_the_map_allows_is_planned(evolving)
        path = evolving.map_of(columns, schema_evolution="add")
        planned = command("plan", path, "--json").document["tables"]
        done = run_once(path)
        assert done.code == 0, done.log[-3000:]
        for table in planned[:3]:
            assert len(table["statements"]) == {1: 2, 2: 3, 3: 4}[generation], planned
            sent = [one for one in table["statements"] if one.startswith("ALTER")]
            missing = [one for one in sent if f"Hive table {table['table']}: {one}" not in done.log]
            assert missing == [], done.log[-5000:]
        again = command("plan", path, "--json").document["tables"]
        assert all(table["statements"] == [] for table in again[:3]), again
    wanted = sorted((_row(generation, i) for generation in (1, 2, 3) for i in range(EACH)), key=str)
    assert evolving.rows(evolving.daily, "dt") == wanted
    if not IS_OLD_HIVE:  # it reads no ORC that was widened to a decimal of up to 18 digits
        assert evolving.rows(evolving.orc, "dt") == wanted
    assert evolving.rows(evolving.flat, "`day`") == wanted
    audited = command("verify", path, "--deep")
    assert audited.code == 0, audited.log[-3000:]


def _only_what_the_map_allows_is_planned(evolving: Evolving) -> None:
    narrower = FIRST | {"id": "smallint"}
    for columns, evolution, why, remedy in (
        (SECOND, "ignore", "Hive has no column price", "schema_evolution: add"),
        (narrower, "add", "column id is smallint in the map, int in Hive", "correct the map's columns"),
    ):
        path = evolving.map_of(columns, schema_evolution=evolution)
        shown = command("plan", path, "--table", evolving.daily)
        assert shown.code == 75 and why in shown.out and remedy in shown.out
