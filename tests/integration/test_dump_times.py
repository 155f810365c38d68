"""Times as producers write them: rows that HiveServer2 shows, letters that a changed map turns into rows, and nothing that
`verify --deep` finds otherwise.
"""

import datetime
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.harness.program import command, run_once
from tests.harness.service_map import PLACE, write_map
from tests.services.hdfs import Hdfs
from tests.services.hive_server import HiveServer
from tests.services.kafka_broker import KafkaBroker
from tests.services.produce import produce

COUNT = 600
FIRST = datetime.datetime(2024, 1, 31, 0, 30, 15, 250000)
Write = Callable[[datetime.datetime], str]
FORMS: dict[str, tuple[dict[str, Any], Write, Write]] = {
    "slashes": (
        {"type": "timestamp", "time_pattern": ["dd/MM/yyyy HH:mm:ss", "iso"], "time_of_day": "midnight"},
        lambda t: f'"{t:%d/%m/%Y %H:%M:%S}"' if t.hour else f'"{t:%Y-%m-%d}"',
        lambda t: f"{t:%Y-%m-%d %H:%M:%S}" if t.hour else f"{t:%Y-%m-%d} 00:00:00",
    ),
    "digits": (
        {"type": "timestamp", "time_pattern": "yyyyMMddHHmmss"},
        lambda t: f"{t:%Y%m%d%H%M%S}" if t.hour % 2 else f'"{t:%Y%m%d%H%M%S}"',
        lambda t: f"{t:%Y-%m-%d %H:%M:%S}",
    ),
    "mail": (
        {
            "type": "timestamp",
            "time_pattern": ["[EEE, ]d MMM yyyy HH:mm:ss VV", "[EEE, ]d MMM yyyy HH:mm:ss Z"],
        },
        lambda t: f'"{t:%a, %d %b %Y %H:%M:%S} GMT"' if t.hour % 2 else f'"{t:%d %b %Y %H:%M:%S} +0000"',
        lambda t: f"{t:%Y-%m-%d %H:%M:%S}",
    ),
    "noon": (
        {"type": "timestamp", "time_pattern": "MMM d, yyyy h:mm:ss a"},
        lambda t: f'"{t:%b} {t.day}, {t.year} {t:%I:%M:%S %p}"',
        lambda t: f"{t:%Y-%m-%d %H:%M:%S}",
    ),
    "jackson": (
        {"type": "timestamp", "time_pattern": "array"},
        lambda t: f"[{t.year}, {t.month},{t.day},{t.hour},{t.minute},{t.second},{t.microsecond * 1000}]",
        lambda t: f"{t:%Y-%m-%d %H:%M:%S}.25",
    ),
    "seconds": (
        {"type": "timestamp", "unit": "s", "epoch": "decimal", "quoted": "accept"},
        lambda t: ("%s", '"%s"')[t.hour % 2] % (t - datetime.datetime(1970, 1, 1)).total_seconds(),
        lambda t: f"{t:%Y-%m-%d %H:%M:%S}.25",
    ),
    "born": (
        {"type": "date", "time_pattern": "d.M.yy", "pivot": 1930},
        lambda t: f'"{t.day}.{t.month}.{t:%y}"',
        lambda t: f"{t:%Y-%m-%d}",
    ),
    "on": (
        {"type": "date", "time_of_day": "drop"},
        lambda t: f'"{t:%Y-%m-%dT%H:%M:%SZ}"' if t.hour % 2 else f'"{t:%Y-%m-%d}"',
        lambda t: f"{t:%Y-%m-%d}",
    ),
}
"""Column: its keys, how a producer writes a time, and what Hive shows of it."""
BAD = [
    b'{"id":-1,"slashes":"31/02/2024 10:00:00"}',
    b'{"id":-2,"digits":20240131246060}',
    b'{"id":-3,"mail":"Mon, 31 Jan 2024 1:00:00 Z"}',
]


def time(i: int) -> datetime.datetime:
    return FIRST + datetime.timedelta(hours=i)


def record(i: int) -> bytes:
    members = ",".join(f'"{name}":{write(time(i))}' for name, (_, write, _) in FORMS.items())
    return f'{{"id":{i},{members}}}'.encode()


class Table:
    def __init__(self, kafka: KafkaBroker, hdfs: Hdfs, hive: HiveServer, database: str, folder: Path) -> None:
        self.hive, self.kafka, self.database, self.folder = hive, kafka, database, folder
        self.uri, self.name = f"{hdfs.namenode_url}/{database}", f"{database}.times"

    def map(self, **other: dict[str, Any]) -> Path:
        """Write the map; `other` columns differ."""
        columns = {"id": "bigint", **{name: keys for name, (keys, _, _) in FORMS.items()}, **other}
        table = {
            "table": self.name,
            "topics": [self.database],
            "start": "earliest",
            "columns": columns,
            "metadata": PLACE,
            "bucket": {"path": "dt=%Y"},
            "flush": {"interval": "1s"},
            "dead_letter_share": 1.0,
        }
        hive = {"url": f"hive://{self.hive.address}"}
        letters = {"table": f"{self.database}.letters"}
        return write_map(
            self.folder,
            self.database,
            self.kafka.bootstrap,
            self.uri,
            [table],
            hive=hive,
            dead_letters=letters,
        )

    def rows(self) -> list[tuple[Any, ...]]:
        shown = ", ".join(f"cast(`{name}` as string)" for name in FORMS)
        return self.hive.query(f"select id, {shown} from {self.name} order by id")

    def reasons(self) -> list[str]:
        query = f"select reason from {self.database}.letters where source_table = '{self.name}'"
        return sorted(reason for (reason,) in self.hive.query(query))


@pytest.mark.timeout(1800)
def test_times_of_many_forms_are_what_hive_shows_and_letters_come_back_with_their_pattern(
    kafka: KafkaBroker, hdfs: Hdfs, hive: HiveServer, hive_database: str, tmp_path: Path
) -> None:
    table = Table(kafka, hdfs, hive, hive_database, tmp_path)
    kafka.create_topic(hive_database, 2)
    produce(kafka.bootstrap, hive_database, [*map(record, range(COUNT)), *BAD], 2)
    strict = table.map(slashes={"type": "timestamp"})
    done = run_once(strict)
    assert done.code == 0, done.log[-3000:]
    assert table.rows() == [] and table.reasons() == ["json.timestamp"] * (COUNT + len(BAD))

    config = table.map()
    done = command("dead-letters replay", config, "--table", table.name, "--json")
    assert done.code == 0, done.log
    expected = [(i, *(show(time(i)) for _, _, show in FORMS.values())) for i in range(COUNT)]
    assert table.rows() == expected
    assert table.reasons() == ["json.timestamp"] * len(BAD)

    more = range(COUNT, 2 * COUNT)
    produce(kafka.bootstrap, hive_database, [record(i) for i in more], 2)
    done = run_once(config)
    assert done.code == 0, done.log[-3000:]
    expected += [(i, *(show(time(i)) for _, _, show in FORMS.values())) for i in more]
    assert table.rows() == expected
    changed = sum(not time(i).hour for i in more) + sum(time(i).hour % 2 for i in more)
    assert f"{table.name}: in this epoch {changed} values: times without their time of day" in done.log
    audit = command("verify", config, "--deep", "--json")
    (told,) = audit.document["tables"]
    assert (audit.code, told["findings"], told["not_checked"]) == (0, [], []), audit.log
