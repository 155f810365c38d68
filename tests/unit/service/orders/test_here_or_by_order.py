"""A command works here, or gives the live run an order; if that run ends before it answers, the command begins again."""

from collections.abc import Callable, Iterator

import pytest

from kafka2hive.model.errors import OwnedByLiveRun
from kafka2hive.service.orders.delivery import NoLiveRun, here_or_by_order

ALIVE = OwnedByLiveRun("ledger.owned", "db.a is owned by a live run: p1", "stop that run first")
ENDED = NoLiveRun("the run has ended")


def replies(*each: str | Exception) -> Callable[[], str]:
    """Return a function that returns or raises one after another."""
    rest: Iterator[str | Exception] = iter(each)

    def reply() -> str:
        one = next(rest)
        if isinstance(one, Exception):
            raise one
        return one

    return reply


def test_without_a_live_run_no_order_is_given() -> None:
    notes: list[str] = []
    assert here_or_by_order(replies("here"), replies(), notes.append) == "here"
    assert notes == []


def test_a_live_run_gets_an_order() -> None:
    notes: list[str] = []
    assert here_or_by_order(replies(ALIVE), replies("by order"), notes.append) == "by order"
    assert notes == ["a run is alive, so it gets an order: db.a is owned by a live run: p1"]


def test_after_the_end_of_the_run_the_command_works_here() -> None:
    notes: list[str] = []
    assert here_or_by_order(replies(ALIVE, "here"), replies(ENDED), notes.append) == "here"
    assert notes[1] == "the run has ended"


def test_the_next_run_gets_a_new_order() -> None:
    assert (
        here_or_by_order(replies(ALIVE, ALIVE), replies(ENDED, "by order"), lambda text: None) == "by order"
    )


def test_the_third_run_in_a_row_is_an_error() -> None:
    with pytest.raises(OwnedByLiveRun):
        here_or_by_order(replies(ALIVE, ALIVE, ALIVE), replies(ENDED, ENDED), lambda text: None)
