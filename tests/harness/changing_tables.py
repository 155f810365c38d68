"""Tables that change in the ways of docs/engines.md, for whatever remembers their partitions and files."""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from threading import Event
from typing import Any

from tests.harness.clock import MovedClock
from tests.harness.program import Finished, command, command_as_process, in_time, run_once, run_once_until
from tests.harness.service_map import ledger_root, write_map
from tests.oracle.ledger_text import LedgerText
from tests.oracle.tree import HdfsTree
from tests.services.hdfs import Hdfs
from tests.services.hive_server import HiveServer
from tests.services.kafka_broker import KafkaBroker
from tests.services.produce import produce

FORMATS = ("parquet", "orc", "text")
"""Each is the name of a table, too."""
Query = Callable[[str], list[Any]]
"""Gives the rows of a statement."""
Rows = list[tuple[str, int]]
"""Day and id of each, in order."""
TIME = "05:30:00.123456"
"""The time of each record."""
_FLAT = {
    "price": "decimal(12,2)",
    "ratio": "double",
    "flag": "boolean",
    "day": "date",
    "note": "string",
}
_NESTED = {
    "tags": "array<string>",
    "more": "map<string,bigint>",
    "place": "struct<a:int,b:string>",
}
VALUES: dict[str, Any] = {
    "price": "12.50",
    "ratio": 0.1,
    "flag": True,
    "day": "1931-02-28",
    "note": "Grüße, \t\\",
    "tags": ["a", None, ""],
    "more": {"x": 2**62},
    "place": {"a": -1, "b": "c"},
}
"""What records with odd ids have in these columns; the others have nothing there."""
KEPT = 2 * 86_400 + 300
"""Seconds after which a table's early files are deleted."""
ROWS = 20
"""Records of a day in an epoch."""


def columns_of(name: str) -> dict[str, str]:
    """The columns of VALUES that a table has: none that is nested, in a text file."""
    return _FLAT if name == "text" else {**_FLAT, **_NESTED}


class ChangingTables:
    """One table of each format, whose days begin early; `rows` is what every table has now.

    Of `days`, the first expires when `expire` says so.
    """

    def __init__(self, kafka: KafkaBroker, hdfs: Hdfs, hive: HiveServer, database: str, folder: Path) -> None:
        self.database, self.tables = database, {name: f"{database}.{name}" for name in FORMATS}
        today = datetime.now(UTC).date()
        self.days = [today - timedelta(days=ago) for ago in (20, 4, 3)]
        self.rows: Rows = []
        self._bootstrap, self._produced, self._clock = kafka.bootstrap, 0, MovedClock(folder)
        uri = f"{hdfs.namenode_url}/{database}"
        tree = HdfsTree(hdfs.client())
        self._ledgers = [LedgerText(tree, ledger_root(uri), table) for table in self.tables.values()]
        kafka.create_topic(database, 1)

        def configured(service_folder: Path, **keys: Any) -> Path:
            service_folder.mkdir(exist_ok=True)
            tables = [{**self._entry(name), **keys} for name in FORMATS]
            section = {"url": f"hive://{hive.address}"}
            return write_map(service_folder, database, self._bootstrap, uri, tables, hive=section)

        self.config = configured(folder)
        self._retaining = configured(folder / "retaining", retain="10d")

    def _entry(self, name: str) -> dict[str, Any]:
        return {
            "table": self.tables[name],
            "topics": [self.database],
            "start": "earliest",
            "columns": {"id": "bigint", "at": "timestamp", **columns_of(name)},
            "bucket": {"field": "at", "path": "dt=%Y-%m-%d"},
            "flush": {"interval": "1s"},
            "completion": {"delay": "1s"},
            "compact": {"share": 0},
            "writer": {"format": name},
            "dead_letter_share": 0.0,
        }

    def dump(self, *days: date) -> None:
        """One epoch of each table, with records of these days."""
        numbers = range(self._produced, self._produced + ROWS)
        self._produced += ROWS
        records = [
            {"id": n, "at": f"{day} {TIME}", **(VALUES if n % 2 else {})} for day in days for n in numbers
        ]
        produce(self._bootstrap, self.database, [json.dumps(each).encode() for each in records], 1)
        self.rows = sorted([*self.rows, *((str(day), n) for day in days for n in numbers)])
        done = run_once(self.config)
        assert done.code == 0, done.log[-3000:]

    def complete(self) -> None:
        """Let each day be certified."""
        run_once_until(self.config, lambda: all(map(_is_certified, self._ledgers)), "certified")

    def compact(self) -> None:
        """Compact every complete day of each table; the early files stay."""
        for table in self.tables.values():
            done = command("compact", self.config, "--table", table, "--json")
            assert done.code == 0 and done.document["partitions"], done.log[-3000:]

    def retire(self) -> None:
        """Delete the early files of each table: their time is over."""
        self._clock.move(KEPT)
        for done in self._each("compact", self.config):
            assert done.code == 0 and done.document["retired"], done.log[-3000:]

    def expire(self) -> None:
        """Drop the expired day from Hive; its files stay for a day."""
        for done in self._each("retain", self._retaining):
            assert done.code == 0 and len(done.document["dropping"]) == 1, done.log[-3000:]
        self.rows = [row for row in self.rows if row[0] != str(self.days[0])]

    def _each(self, name: str, config: Path) -> list[Finished]:
        """A command for each table, by the moved clock."""

        def do(table: str) -> Finished:
            arguments = ("--table", table, "--json")
            return in_time(lambda: command_as_process(name, config, *arguments, env=self._clock.env))

        return [do(table) for table in self.tables.values()]

    def shown(self, query: Query, name: str) -> Rows:
        """What an engine shows of this table."""
        return sorted((day, number) for day, number in query(f"select dt, id from {self.tables[name]}"))

    def places(self, query: Query, path: str) -> set[tuple[str, str, str]]:
        """Where an engine reads from: table, day, and `early` or `home`; `path` is its expression for a row's file."""
        return {
            (name, day, "early" if "/_open/" in file else "home")
            for name, table in self.tables.items()
            for day, file in query(f"select distinct dt, {path} from {table}")
        }

    def all_at(self, place: str) -> set[tuple[str, str, str]]:
        """What `places` tells if every day is at this place."""
        return {(name, day, place) for name in FORMATS for day, _ in self.rows}

    def seen_by(self, query: Query) -> set[str]:
        """The tables that an engine shows as they are now."""
        return {name for name in FORMATS if self.shown(query, name) == self.rows}


def queries_during(change: Callable[[], None], look: Callable[[], None]) -> int:
    """Look in a loop from before this change until after it; return how often. Raises what a look raises."""
    begun, over = Event(), Event()
    looks = 0

    def loop() -> None:
        nonlocal looks
        try:
            while not over.is_set():
                look()
                looks += 1
                begun.set()
        finally:
            begun.set()  # a failure, too, ends the waiting

    with ThreadPoolExecutor(1) as pool:
        looking = pool.submit(loop)
        begun.wait()
        try:
            change()
        finally:
            over.set()
        looking.result()
    return looks


def _is_certified(ledger: LedgerText) -> bool:
    newest = ledger.newest()
    return not newest["open"] and all(each["certified"] for each in newest["early"])
