"""The SELECT of the newest states, by another SQL engine, over random change logs: it is the state that the changes lead to."""

import random
import sqlite3
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from kafka2hive.config.keys import Column
from kafka2hive.hive.latest_view import LatestView, latest_select, marked_columns
from kafka2hive.hive.tables import create_view, view_fingerprint

COLUMNS = tuple(Column(name, "string") for name in ("id", "region", "name"))
VIEW = LatestView(("id", "region"), "__source_position", "p", "o", "n")
Row = tuple[Any, ...]


@dataclass(slots=True)
class Log:
    """A database's table and the rows that its change log becomes; `positions`: the log says where it is.

    The offsets of topic partition 0 are far ahead of the others'.
    """

    positions: bool
    state: dict[tuple[int, str], str] = field(default_factory=dict)
    rows: list[Row] = field(default_factory=list)

    def change(
        self, op: str, key: tuple[int, str] | None, name: str | None, tie: bool = False, partition: int = 0
    ) -> None:
        """Append one change; with `tie` it has the position of the one before. A truncation is a message of its own."""
        number = len(self.rows)
        before = [row for row in self.rows if row[5] == partition]
        offset, ordinal = (before[-1][6], before[-1][7] + 1) if before else (0 if partition else 1000, 0)
        if op == "t" or ordinal == 3 or (before and before[-1][3] == "t"):
            offset, ordinal = offset + 1, 0
        lsn = (self.rows[-1][4] if tie and self.rows else f"{number:020}") if self.positions else None
        row_id, region = key or (None, None)
        self.rows.append((row_id, region, name, op, lsn, partition, offset, ordinal))
        match op:
            case "t":
                self.state.clear()
            case "d":
                self.state.pop(key or (0, ""), None)
            case _ if key is not None and name is not None:
                self.state[key] = name

    @property
    def is_undecided(self) -> bool:
        """Whether a row that is there has the position of the newest truncation, from another topic partition."""
        places = {(row[4] or "", row[5]) for row in self.rows if row[3] == "t"}
        cut = max((position for position, _ in places), default=None)
        newest = {row[:2]: row for row in self.rows}  # in the order of the changes
        return any(
            (row[4] or "") == cut
            and {row[5]} != {partition for position, partition in places if position == cut}
            for row in newest.values()
            if row[3] not in "dt"
        )


def random_log(draw: random.Random) -> Log:
    log = Log(positions=draw.random() < 0.5)
    truncates = draw.random() < 0.5
    partitions = draw.choice((1, 2))
    for number in range(draw.randrange(1, 80)):
        key = (draw.randrange(4), draw.choice("ab"))
        tie = draw.random() < 0.2
        dice = draw.random()
        if truncates and dice < 0.05:
            log.change("t", None, None, tie, draw.randrange(partitions))
        elif dice < 0.25:
            log.change("d", key, None, tie, key[0] % partitions)
        else:
            log.change(draw.choice("cur"), key, f"name {number}", tie, key[0] % partitions)
    return log


def _assert_true(holds: int) -> None:
    """Do what Hive's function does: return NULL or fail."""
    if not holds:
        raise AssertionError


def selected(rows: list[Row], view: LatestView = VIEW) -> list[Row]:
    """Run the view's SELECT over the rows, which lie in any order. SQLite also puts nulls last in a descending order."""
    with closing(sqlite3.connect(":memory:")) as database:
        database.create_function("assert_true", 1, _assert_true)
        database.execute("attach ':memory:' as d")
        names = "id int, region text, name text, __op text, __source_position text, p int, o int, n int"
        database.execute(f"create table d.t ({names})")
        database.executemany("insert into d.t values (?, ?, ?, ?, ?, ?, ?, ?)", rows)
        return sorted(database.execute(latest_select("d.t", COLUMNS, view)).fetchall())


@pytest.mark.parametrize("seed", range(60))
def test_the_newest_states_are_what_the_changes_lead_to(seed: int) -> None:
    draw = random.Random(seed)
    log = random_log(draw)
    rows = log.rows[:]
    draw.shuffle(rows)
    if log.is_undecided:
        with pytest.raises(sqlite3.OperationalError, match="raised exception"):
            selected(rows)
    else:
        assert selected(rows) == sorted((*key, name) for key, name in log.state.items())


MARKED = (
    Column("id", "bigint"),
    Column("doc", "string"),
    Column("tags", "array<string>"),
    Column("__op", "string"),
    Column("__unavailable", "array<string>"),
)
MARKED_VIEW = LatestView(
    ("id",), "__source_position", "p", "o", marked=marked_columns(MARKED, ("id",), "__source_position")
)
Known = dict[str, str | None]


class FirstValue:
    """Hive's first_value(x, true): the first value of the frame that is not null. The frame is always the whole partition."""

    def __init__(self) -> None:
        self._value: str | None = None

    def step(self, value: str | None, _skips_nulls: int) -> None:
        self._value = value if self._value is None else self._value

    def value(self) -> str | None:
        return self._value

    def inverse(self, *_: object) -> None:
        raise AssertionError("the frame never moves")

    finalize = value


def known_states(rows: list[Row]) -> list[Row]:
    """Run the SELECT of a table with marks: a row is id, doc, tags, the operation, the marks, the position, and the place."""
    with closing(sqlite3.connect(":memory:")) as database:
        database.create_function("assert_true", 1, _assert_true)
        database.create_function("array_contains", 2, lambda names, name: name in (names or "").split(","))
        database.create_function("split", 2, lambda text, _: text)
        database.create_function(
            "concat_ws", -1, lambda by, *texts: by.join(t for t in texts if t is not None)
        )
        window: Any = FirstValue
        database.create_window_function("first_value", 2, window)
        database.execute("attach ':memory:' as d")
        columns = "id int, doc text, tags text, __op text, __unavailable text"
        database.execute(f"create table d.t ({columns}, __source_position text, p int, o int)")
        database.executemany("insert into d.t values (?, ?, ?, ?, ?, ?, ?, ?)", rows)
        return sorted(database.execute(latest_select("d.t", MARKED, MARKED_VIEW)).fetchall())


def test_the_columns_that_marks_may_name_are_those_of_the_row_that_can_be_large() -> None:
    assert MARKED_VIEW.marked == ("doc", "tags")
    before = Column("__before", "struct<id:bigint,doc:string,tags:array<string>>")
    assert marked_columns((*MARKED, before), ("doc",), "id") == ("tags", "__before.tags")
    assert marked_columns(MARKED[:-1], ("id",), "id") == ()


@pytest.mark.parametrize("seed", range(60))
def test_a_value_that_the_newest_change_lacks_is_the_newest_known_one_of_the_row(seed: int) -> None:
    draw = random.Random(seed)
    states: dict[int, Known] = {}
    rows: list[Row] = []
    for number in range(draw.randrange(1, 60)):
        op, key = draw.choices("curdt", (2, 8, 1, 2, 0.5))[0], draw.randrange(3)
        position = None if seed % 3 == 0 else f"{number - (draw.random() < 0.2):020}"
        values = {name: draw.choice((None, f"{name} {number}")) for name in ("doc", "tags")}
        marks = [name for name in values if draw.random() < 0.4] if op != "t" else []
        values |= dict.fromkeys(marks)
        rows.append((key, *values.values(), op, ",".join(marks) or None, position, 0, 100 + number))
        if op == "t":
            rows[-1] = (None, None, None, op, None, position, 0, 100 + number)
            states.clear()
        elif op == "d":
            states.pop(key, None)
        else:
            state = {} if op in "cr" else states.get(key, {})
            states[key] = {n: state.get(n, "?") if n in marks else value for n, value in values.items()}
    expected = []
    newest = {row[0]: row[3] for row in rows}
    for key, state in states.items():
        known = [None if state[name] == "?" else state[name] for name in ("doc", "tags")]
        marks = [name for name in ("doc", "tags") if state[name] == "?"]
        expected.append((key, *known, newest[key], ",".join(marks) or None))
    draw.shuffle(rows)
    assert known_states(rows) == sorted(expected)


def test_a_row_with_another_key_does_not_take_the_values_of_the_old_key_or_of_an_earlier_row() -> None:
    rows = [
        (1, "old", None, "c", None, "01", 0, 1),
        (2, "deleted", None, "c", None, "02", 0, 2),
        (2, None, None, "d", None, "03", 0, 3),
        (1, None, None, "d", None, "04", 0, 4),
        (2, None, "t", "c", "doc", "04", 0, 5),
        (2, None, "u", "u", "doc", "05", 0, 6),
    ]
    assert known_states(rows) == [(2, None, "u", "u", "doc")]


def test_a_change_without_a_key_is_no_row() -> None:
    log = Log(positions=True)
    log.change("c", (1, "a"), "x")
    log.change("u", None, "nobody")
    assert selected(log.rows) == [(1, "a", "x")]


def test_a_key_on_two_topic_partitions_fails_the_query() -> None:
    log = Log(positions=True)
    for name in ("x", "y"):
        log.change("u", (1, "a"), name)
    one, two = log.rows
    moved = (*two[:5], 1, *two[6:])
    with pytest.raises(sqlite3.OperationalError, match="raised exception"):
        selected([one, moved])
    assert selected([one, (2, *moved[1:])]) == [(1, "a", "x"), (2, "a", "y")]


@pytest.mark.parametrize("of_truncation", [0, 1])
def test_a_truncation_on_another_topic_partition_fails_the_query_unless_the_order_decides(
    of_truncation: int,
) -> None:
    for positions in (True, False):
        log = Log(positions)
        log.change("c", (1, "a"), "before", partition=1 - of_truncation)
        log.change("t", None, None, partition=of_truncation)
        log.change("c", (2, "a"), "after", partition=1 - of_truncation)
        if positions:
            assert selected(log.rows) == [(2, "a", "after")]
            continue
        with pytest.raises(sqlite3.OperationalError, match="raised exception"):
            selected(log.rows)


@pytest.mark.parametrize("of_row", [0, 1])
def test_truncations_on_two_topic_partitions_fail_the_query_unless_the_order_decides(of_row: int) -> None:
    for positions in (True, False):
        log = Log(positions)
        log.change("t", None, None, partition=1)
        log.change("t", None, None)
        log.change("c", (1, "a"), "after", partition=of_row)
        if positions:
            assert selected(log.rows) == [(1, "a", "after")]
            continue
        with pytest.raises(sqlite3.OperationalError, match="raised exception"):
            selected(log.rows)


def test_an_older_truncation_that_comes_again_does_not_hide_a_row_with_the_position_of_the_newest() -> None:
    log = Log(positions=True)
    log.change("t", None, None)
    again = log.rows[0]
    log.change("t", None, None)
    log.change("c", (1, "a"), "after", tie=True)
    assert selected([*log.rows, (*again[:6], 2000, 0)]) == [(1, "a", "after")]


def test_another_select_has_another_fingerprint_in_the_statement() -> None:
    one, other = (latest_select("d.t", COLUMNS, view) for view in (VIEW, replace(VIEW, order="o")))
    assert view_fingerprint(one) in create_view("d.t", one) and view_fingerprint(one) != view_fingerprint(
        other
    )
    assert create_view("d.t", one).startswith("CREATE OR REPLACE VIEW `d`.`t_latest` COMMENT ")
