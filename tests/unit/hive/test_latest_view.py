"""The SELECT of the newest states, by another SQL engine, over random change logs: it is the state that the changes lead to."""

import random
import sqlite3
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from kafka2hive.config.keys import Column
from kafka2hive.hive.latest_view import LatestView, create_view, fingerprint, latest_select

COLUMNS = tuple(Column(name, "string") for name in ("id", "region", "name"))
VIEW = LatestView(("id", "region"), "__source_position", "p", "o", "n")
Row = tuple[Any, ...]


@dataclass(slots=True)
class Log:
    """A database's table and the rows that its change log becomes; `positions`: the log says where it is."""

    positions: bool
    state: dict[tuple[int, str], str] = field(default_factory=dict)
    rows: list[Row] = field(default_factory=list)

    def change(self, op: str, key: tuple[int, str] | None, name: str | None, tie: bool) -> None:
        """Append one change; with `tie` it has the position of the one before. A truncation is a message of its own."""
        number = len(self.rows)
        offset, ordinal = (self.rows[-1][6], self.rows[-1][7] + 1) if self.rows else (0, 0)
        if op == "t" or ordinal == 3 or (self.rows and self.rows[-1][3] == "t"):
            offset, ordinal = offset + 1, 0
        lsn = (self.rows[-1][4] if tie and self.rows else f"{number:020}") if self.positions else None
        row_id, region = key or (None, None)
        self.rows.append((row_id, region, name, op, lsn, 0, offset, ordinal))
        match op:
            case "t":
                self.state.clear()
            case "d":
                self.state.pop(key or (0, ""), None)
            case _ if key is not None and name is not None:
                self.state[key] = name


def random_log(draw: random.Random) -> Log:
    log = Log(positions=draw.random() < 0.5)
    truncates = draw.random() < 0.5
    for number in range(draw.randrange(1, 80)):
        key = (draw.randrange(4), draw.choice("ab"))
        tie = draw.random() < 0.2
        dice = draw.random()
        if truncates and dice < 0.05:
            log.change("t", None, None, tie)
        elif dice < 0.25:
            log.change("d", key, None, tie)
        else:
            log.change(draw.choice("cur"), key, f"name {number}", tie)
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
    assert selected(rows) == sorted((*key, name) for key, name in log.state.items())


def test_a_change_without_a_key_is_no_row() -> None:
    log = Log(positions=True)
    log.change("c", (1, "a"), "x", tie=False)
    log.change("u", None, "nobody", tie=False)
    assert selected(log.rows) == [(1, "a", "x")]


def test_a_key_on_two_topic_partitions_fails_the_query() -> None:
    log = Log(positions=True)
    for name in ("x", "y"):
        log.change("u", (1, "a"), name, tie=False)
    one, two = log.rows
    moved = (*two[:5], 1, *two[6:])
    with pytest.raises(sqlite3.OperationalError, match="raised exception"):
        selected([one, moved])
    assert selected([one, (2, *moved[1:])]) == [(1, "a", "x"), (2, "a", "y")]


def test_another_select_has_another_fingerprint_in_the_statement() -> None:
    one, other = (latest_select("d.t", COLUMNS, view) for view in (VIEW, replace(VIEW, order="o")))
    assert fingerprint(one) in create_view("d.t", one) and fingerprint(one) != fingerprint(other)
    assert create_view("d.t", one).startswith("CREATE OR REPLACE VIEW `d`.`t_latest` COMMENT ")
