"""Keys that are no column names, fields of CSV, nested values, numbers as times, and columns that Hive spells in small letters:
rows that HiveServer2 shows, a typo that is told, and nothing that `verify --deep` finds otherwise.
"""

import datetime
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.harness.program import Finished, command, run_once
from tests.harness.service_map import PLACE, location, write_map
from tests.services.hdfs import Hdfs
from tests.services.hive_server import HiveServer
from tests.services.kafka_broker import KafkaBroker
from tests.services.produce import produce

COUNT = 1_200
FEW = 9  # too few for a service to judge by
FIRST_MS = 1_356_998_400_000  # 2013-01-01T00:00:00Z
HOUR_MS = 3_600_000
COLUMNS: dict[str, Any] = {
    "id": "bigint",
    "props": "struct<date:string,order:struct<map:int>,at:timestamp>",
    "date_again": {"type": "string", "from": "$.props.date"},
    "us_gross": {"type": "bigint", "from": "$['US Gross']"},
    "day": {"type": "date", "from": "$.день", "unit": "s"},
    "agent": {"type": "string", "from": "$.meta['user-agent']"},
    "at": {"type": "timestamp", "from": "$.meta.at", "unit": "ms"},
    "meta": {"type": "string", "json": "text"},
    "rating": {"type": "string", "json": "text"},
    "votes": {"type": "int", "quoted": "accept", "empty": "null"},
}
RATINGS = ["1.10", '{"stars": 4.50, "of":[ 5 ]}', '"good"', "null", "true", '"4.50"']
"""Values of varying type, as producers write them."""
VOTES = ["%d", '"%d"', '"%.0s"']


def film(i: int) -> dict[str, Any]:
    moment = datetime.datetime.fromtimestamp((FIRST_MS + i * HOUR_MS) / 1000, datetime.UTC)
    return {
        "id": i,
        "Title": f"Film {i}",
        "US Gross": i * 1000 if i % 3 else None,
        "день": (FIRST_MS + i * HOUR_MS) // 1000,
        "meta": {"at": FIRST_MS + i * HOUR_MS, "user-agent": f"agent {i % 5}"} if i % 100 else None,
        "props": {"date": f"d{i}", "order": {"map": i % 7}, "at": moment.isoformat(), "Extra": [i]},
    }


def message(i: int) -> bytes:
    return (
        orjson.dumps(film(i))[:-1]
        + f',"rating" : {RATINGS[i % len(RATINGS)]},"votes":{VOTES[i % 3] % i} }}'.encode()
    )


def hour(i: int) -> str:
    moment = datetime.datetime.fromtimestamp((FIRST_MS + i * HOUR_MS) / 1000, datetime.UTC)
    return moment.replace(tzinfo=None).isoformat(" ")


FIELDS = [
    {"name": "id", "type": "bigint"},
    {"name": "agent", "type": "string", "header": "agent"},
    {"name": "title", "type": "string"},
    {"name": "us_gross", "type": "decimal(12,2)"},
    {"name": "at", "type": "timestamp", "unit": "ms"},
    {"name": "plot", "type": "string"},
]


def line(i: int) -> bytes:
    """A film as CSV; its plot has all that needs quotes."""
    gross = f"{i * 1000}.50" if i % 3 else ""
    plot = f'"Act {i}, ""first""\r\nand last"' if i % 2 else '""'
    return f"{i},Film {i},{gross},{FIRST_MS + i * HOUR_MS},{plot}\n".encode()


class Films:
    """One topic of films, dumped once into three tables of different maps; and one of them as CSV."""

    def __init__(self, kafka: KafkaBroker, hdfs: Hdfs, hive: HiveServer, database: str, folder: Path) -> None:
        self.hive, self.database = hive, database
        self.uri = f"{hdfs.namenode_url}/{database}"
        kafka.create_topic(database, 2)
        bad = [b'{"meta":"x"}', b'{"Title":"a","TITLE":"b","props":{"at":"2013-01-01T00:00:00Z"}}']
        produce(kafka.bootstrap, database, [*map(message, range(COUNT)), *bad], 2)
        kafka.create_topic(f"{database}-csv", 1)
        lines = [*map(line, range(COUNT)), b'1,a"b,,,\n', b"1,2,3\n", b"01,,,,\n"]
        headers = [[("agent", b"agent %d" % i)] for i in range(len(lines))]
        produce(kafka.bootstrap, f"{database}-csv", lines, 1, headers=headers)
        self.mapped, self.found, self.typo = (f"{database}.{name}" for name in ("mapped", "found", "typo"))
        self.fields, self.few = f"{database}.fields", f"{database}.few"
        kafka.create_topic(f"{database}-few", 1)
        produce(kafka.bootstrap, f"{database}-few", [orjson.dumps(film(i)) for i in range(FEW)], 1)
        hive.query(
            f"create external table {self.found} (id bigint, title string, props struct<`date`:string,`at`:timestamp>)"
            f" partitioned by (dt string) stored as parquet location '{location(self.uri, self.found)}'"
        )
        every: dict[str, Any] = {"topics": [database], "start": "earliest", "flush": {"interval": "1s"}}
        tables = [
            {
                **every,
                "table": self.mapped,
                "columns": COLUMNS,
                "metadata": PLACE,
                "bucket": {"field": "props.at"},
            },
            {**every, "table": self.found, "create": False, "bucket": {"field": "props.at"}},
            {**every, "table": self.typo, "columns": {"id": "bigint", "title": "string"}},
            {
                **every,
                "table": self.few,
                "topics": [f"{database}-few"],
                "columns": {"id": "bigint", "title": "string"},
            },
            {
                **every,
                "table": self.fields,
                "topics": [f"{database}-csv"],
                "format": "csv",
                "columns": FIELDS,
                "metadata": PLACE,
                "bucket": {"field": "at"},
            },
        ]
        hive_section = {"url": f"hive://me@127.0.0.1:{hive.port}/default?auth=NONE"}
        self.config = write_map(folder, database, kafka.bootstrap, self.uri, tables, hive=hive_section)
        self.run: Finished = run_once(self.config)


@pytest.fixture
def films(kafka: KafkaBroker, hdfs: Hdfs, hive: HiveServer, hive_database: str, tmp_path: Path) -> Films:
    return Films(kafka, hdfs, hive, hive_database, tmp_path)


def test_what_hive_shows_is_what_the_records_hold(films: Films) -> None:
    assert films.run.code == 0, films.run.log[-3000:]
    assert f"{films.typo}: no value in any of the first 1," in films.run.log
    warned = f"{films.few}: no value in any of the first {FEW} records: title (did you mean Title?)"
    assert warned in films.run.log
    _hive_shows_mapped_columns(films)
    _hive_shows_columns_found_in_hive(films)
    _hive_shows_fields_of_csv(films)
    _verify_finds_nothing_and_notes_the_empty_column(films)


def _hive_shows_mapped_columns(films: Films) -> None:
    rows = films.hive.query(
        "select id, date_again, props.`date`, props.`order`.`map`, us_gross, cast(`day` as string), agent,"
        " cast(`at` as string), dt, meta, rating, get_json_object(rating, '$.stars'), votes"
        f" from {films.mapped} where id is not null order by id"
    )
    expected = []
    for i in range(COUNT):
        told = film(i)
        meta, day = told["meta"], hour(i)[:10]
        at = hour(i) if meta else None
        agent = meta["user-agent"] if meta else None
        text = RATINGS[i % len(RATINGS)]
        rating = None if text == "null" else text.strip('"')
        taken = orjson.dumps(meta).decode() if meta else None, rating, "4.5" if "stars" in text else None
        votes = i if i % 3 < 2 else None
        expected.append((i, f"d{i}", f"d{i}", i % 7, told["US Gross"], day, agent, at, day, *taken, votes))
    assert rows == expected
    others = sum(i % 100 > 0 for i in range(COUNT)) + COUNT * 3 // len(RATINGS)
    assert f"{films.mapped}: in this epoch {others:,} values: other JSON than strings" in films.run.log
    assert (
        f"{films.mapped}: in this epoch {COUNT // 3} values: numbers and booleans in quotes" in films.run.log
    )
    assert f"{films.mapped}: in this epoch {COUNT // 3} values: empty strings" in films.run.log
    dead = films.hive.query(
        f"select detail from {films.database}.{films.database}_dead_letters where source_table = '{films.mapped}'"
    )
    assert [text for (text,) in dead if "$.meta" in text] == ["$.meta expects an object, got string"]


def _hive_shows_columns_found_in_hive(films: Films) -> None:
    rows = films.hive.query(f"select id, title, props.`date`, dt from {films.found} order by id")
    assert rows == [(i, f"Film {i}", f"d{i}", hour(i)[:10]) for i in range(COUNT)]
    dead = films.hive.query(
        f"select detail from {films.database}.{films.database}_dead_letters"
        f" where source_table = '{films.found}' and reason = 'json.ambiguous'"
    )
    assert dead == [("column title could take Title and TITLE of its object",)]


def _hive_shows_fields_of_csv(films: Films) -> None:
    rows = films.hive.query(
        f"select id, agent, title, cast(us_gross as string), cast(`at` as string), plot, dt from {films.fields} order by id"
    )
    expected = []
    for i in range(COUNT):
        gross = f"{i * 1000}.50" if i % 3 else None
        plot = f'Act {i}, "first"\r\nand last' if i % 2 else ""
        expected.append((i, f"agent {i}", f"Film {i}", gross, hour(i), plot, hour(i)[:10]))
    assert rows == expected
    dead = films.hive.query(
        f"select reason from {films.database}.{films.database}_dead_letters where source_table = '{films.fields}'"
    )
    assert sorted(dead) == [("csv.fields",), ("csv.quote",), ("csv.type",)]


def _verify_finds_nothing_and_notes_the_empty_column(films: Films) -> None:
    done = command("verify", films.config, "--deep", "--json")
    assert done.code == 0, done.log + done.out
    tables = {table["table"]: table for table in done.document["tables"]}
    assert [table["findings"] for table in tables.values()] == [[]] * 5
    for table in (films.typo, films.few):
        assert tables[table]["notes"] == ["column title is NULL in every row"]
    assert tables[films.mapped]["notes"] == tables[films.found]["notes"] == []
