"""An item that always fails keeps no other from its turn."""

from kafka2hive.ledger.turns import Turns


def test_an_item_waits_twice_as_long_after_each_failure_up_to_a_limit() -> None:
    turns = Turns[str](first=60, longest=200)
    now, waits = 1000.0, []
    for _ in range(4):
        turns.fail("a", now)
        wait = 0
        while not turns.is_due("a", now + wait):
            wait += 1
        waits.append(wait)
        now += wait
    assert waits == [60, 120, 200, 200]
    turns.succeed("a")
    turns.fail("a", now)
    assert turns.is_due("a", now + 60)


def test_items_that_have_failed_less_often_come_first() -> None:
    turns = Turns[str](first=1)
    for item, times in (("a", 2), ("b", 1)):
        for _ in range(times):
            turns.fail(item, 0)
    assert turns.due("abcd", 10) == ["c", "d", "b", "a"]
    assert turns.due("abcd", 1) == ["c", "d", "b"]


def test_a_clock_that_was_set_back_lets_no_item_wait_longer() -> None:
    turns = Turns[str](first=60)
    turns.fail("a", 10_000)
    assert turns.is_due("a", 9_000)
