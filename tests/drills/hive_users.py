"""Other users of a Hive table while a service writes it: readers that count, and statements that may move locations."""

import random
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from types import TracebackType

from pyhive.exc import Error
from pyhive.hive import Cursor
from thrift.Thrift import TException

from tests.drills.visible_counts import Counted, VisibleCounts
from tests.services.hive_server import HiveServer

FAILURES = (Error, TException, OSError)
"""Of a statement, or of the connection to Hive."""
_BY_PARTITION = "select dt, hr, count(*), count(distinct id), sum(id) from {} group by dt, hr"
_OF_ONE = "select count(*), count(distinct id), sum(id) from {} where dt='{}' and hr='{}'"
_WHOLE = "select count(*), count(distinct id), sum(id) from {}"


class HiveUsers:
    """Threads that go on until the `with` block or `stop` ends them; `are_right` fails as soon as one finds something."""

    def __init__(self, hive: HiveServer, table: str, counts: VisibleCounts, seed: int) -> None:
        self._hive, self._table, self._counts, self._seed = hive, table, counts, seed
        self._stop, self._stop_statements = threading.Event(), threading.Event()
        self._threads: list[threading.Thread] = []
        self.wrong: list[str] = []
        self.done: Counter[str] = Counter()
        self.failed: list[str] = []
        self.longest = 0.0

    def add_reader(self) -> None:
        """A session that counts by partition, one partition, and the whole table in turn."""
        self._begin(self._read, random.Random(self._seed + len(self._threads)))

    def add_statement(
        self, name: str, pause: tuple[float, float], make: Callable[[int], Sequence[str]]
    ) -> None:
        """A statement again and again with a pause of so many seconds; `make` gets its number. It may fail."""
        self._begin(self._repeat, name, pause, make, random.Random(self._seed + len(self._threads)))

    def are_right(self) -> bool:
        """True; raises AssertionError as soon as a reader has found something."""
        assert not self.wrong, "\n".join(self.wrong[:3])
        return True

    def stop_statements(self) -> None:
        """No further statement is begun."""
        self._stop_statements.set()

    def stop(self) -> None:
        """Wait for the end of what is under way."""
        self._stop_statements.set()
        self._stop.set()
        for thread in self._threads:
            thread.join(300)
        assert not any(thread.is_alive() for thread in self._threads), "a query does not end"

    def __enter__(self) -> "HiveUsers":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _begin(self, target: Callable[..., None], *arguments: object) -> None:
        thread = threading.Thread(target=target, args=arguments, name="hive user", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _read(self, chance: random.Random) -> None:
        try:
            with closing(self._hive.connect()) as connection:
                self._read_on(connection.cursor(), chance)
        except (*FAILURES, AssertionError):
            self.wrong.append(traceback.format_exc()[-3000:])

    def _read_on(self, cursor: Cursor, chance: random.Random) -> None:
        def ask(statement: str) -> list[tuple[int | str, ...]]:
            began = time.monotonic()
            cursor.execute(statement)
            rows: list[tuple[int | str, ...]] = cursor.fetchall()
            self.longest = max(self.longest, time.monotonic() - began)
            self.done["queries"] += 1
            return rows

        while not self._stop.is_set():
            self._one_round(ask, chance)

    def _one_round(self, ask: Callable[[str], list[tuple[int | str, ...]]], chance: random.Random) -> None:
        floor = self._counts.floor()
        by_partition = {
            f"dt={r[0]}/hr={r[1]}": _counted(r[2:]) for r in ask(_BY_PARTITION.format(self._table))
        }
        self._judge(self._counts.check_partitions(by_partition, floor))
        floor = self._counts.floor()
        self._judge(self._counts.check_whole(_counted(ask(_WHOLE.format(self._table))[0]), floor))
        if by_partition:
            floor = self._counts.floor()
            name = chance.choice(sorted(by_partition))
            dt, hr = (level.partition("=")[2] for level in name.split("/"))
            rows = ask(_OF_ONE.format(self._table, dt, hr))
            self._judge(self._counts.check_partitions({name: _counted(rows[0])}, floor, name))

    def _judge(self, wrong: str | None) -> None:
        if wrong is None:
            return
        name = wrong.partition(":")[0]
        where = ""
        if name.startswith("dt="):
            dt, hr = (level.partition("=")[2] for level in name.split("/"))
            lines = self._hive.query(f"describe formatted {self._table} partition (dt='{dt}', hr='{hr}')")
            where = f"; now at {[line[1] for line in lines if str(line[0]).strip() == 'Location:']}"
        raise AssertionError(wrong + where)

    def _repeat(
        self,
        name: str,
        pause: tuple[float, float],
        make: Callable[[int], Sequence[str]],
        chance: random.Random,
    ) -> None:
        number = 0
        while not self._stop_statements.wait(chance.uniform(*pause)):
            number += 1
            try:
                self._hive.query(*make(number))
                self.done[name] += 1
            except FAILURES as error:
                self.failed.append(f"{name}: {str(error)[:600]}")


def _counted(row: Sequence[int | str | None]) -> Counted:
    rows, ids, total = (int(value or 0) for value in row)
    assert rows == ids, f"{rows} rows have {ids} ids"
    return rows, total
