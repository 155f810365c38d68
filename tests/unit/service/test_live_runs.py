"""If several runs report on a table, the report of its owner counts."""

from kafka2hive.model.errors import ManualActionRequired
from kafka2hive.service.inspect.state import Runs
from kafka2hive.service.tables.condition import (
    RunConditions,
    RunEnd,
    Serving,
    Stopped,
    TableCondition,
    Trouble,
)

FIRST, OWNER, DEAD = "a-1-" + "a" * 32, "b-2-" + "b" * 32, "c-3-" + "c" * 32
STOPPED = TableCondition("db.t", Stopped(Trouble.of(ManualActionRequired("ledger.missing", "gone", "mend"))))
SERVING = TableCondition("db.t", Serving())
SAYS_STOPPED, SAYS_SERVING = RunConditions((STOPPED,)), RunConditions((SERVING,))


def test_the_run_that_has_the_table_is_believed_and_no_other() -> None:
    live = Runs(frozenset({FIRST, OWNER}), {FIRST: SAYS_STOPPED, OWNER: SAYS_SERVING})
    assert live.condition("db.t", OWNER) == SERVING
    assert live.condition("db.t", FIRST) == STOPPED


def test_where_the_owner_has_said_nothing_yet_no_other_runs_word_takes_its_place() -> None:
    live = Runs(frozenset({FIRST, OWNER}), {FIRST: SAYS_STOPPED})
    assert live.condition("db.t", OWNER) is None


def test_of_a_table_whose_owner_is_dead_a_live_run_that_waits_for_it_is_heard() -> None:
    live = Runs(frozenset({FIRST}), {FIRST: SAYS_STOPPED, DEAD: SAYS_SERVING})
    assert live.condition("db.t", DEAD) == STOPPED


def test_the_last_run_is_not_the_one_that_another_fenced() -> None:
    """A fenced run may report its end after its successor's last report; the successor was killed later."""
    fenced = RunConditions((), "2026-11-24T10:00:08Z", RunEnd(73, Trouble("ledger.fenced", "another run")))
    killed = RunConditions((SERVING,), "2026-11-24T10:00:05Z")
    assert Runs(frozenset(), {FIRST: fenced, DEAD: killed}).last == killed
    assert Runs(frozenset(), {FIRST: fenced}).last == fenced
