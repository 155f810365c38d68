"""The search for the table that kills workers."""

from hypothesis import given
from hypothesis import strategies as st

from kafka2hive.pipeline.suspects import Suspects


def search(tables: set[str], poison: set[str], state: Suspects | None = None) -> tuple[Suspects, int]:
    """Run epochs until the search has ended; an epoch fails when it holds a poisonous table."""
    state = state or Suspects()
    epochs = 0
    while True:
        only = state.next_only()
        planned = (tables if only is None else set(only)) - state.culprits()
        epochs += 1
        state = state.failed(planned) if planned & poison else state.succeeded(planned)
        if state.next_only() is None and not state.struck:
            return state, epochs


def test_a_failure_that_does_not_come_again_accuses_nobody() -> None:
    state = Suspects().failed(["a", "b"])
    assert state.next_only() is None
    state = state.succeeded(["a", "b"])
    assert state == Suspects()


def test_the_second_failure_starts_a_search_among_the_tables_of_both() -> None:
    state = Suspects().failed(["a", "b"]).failed(["b", "c"])
    assert state.next_only() == frozenset({"a"})
    assert state.culprits() == frozenset()
    assert state.succeeded(["a"]).next_only() == frozenset({"b", "c"})


def test_epochs_of_other_tables_do_not_clear_a_table_that_failed() -> None:
    state = Suspects().failed(["a", "b"]).succeeded(["c"]).failed(["a", "b"])
    assert state.next_only() == frozenset({"a"})


def test_a_table_that_fails_twice_alone_is_the_culprit() -> None:
    state = Suspects().failed(["a"]).failed(["a"])
    assert state.culprits() == {"a"}
    assert state.next_only() is None
    assert not state.everyone_failed()


def test_one_among_a_thousand_is_found_in_about_twenty_epochs() -> None:
    state, epochs = search({f"t{n:04}" for n in range(1000)}, {"t0777"})
    assert state.culprits() == {"t0777"}
    assert epochs <= 24
    assert not state.everyone_failed()


def test_suspects_for_whom_nothing_could_be_planned_are_let_go() -> None:
    state = Suspects().failed("abcd").failed("abcd").failed(["a"])
    assert state.culprits() == {"a"}
    assert state.next_only() == frozenset({"c", "d"})
    state = state.succeeded("cd")
    assert state.next_only() is None
    assert state.culprits() == {"a"}


def test_when_every_table_fails_alone_the_fault_is_elsewhere() -> None:
    state, _ = search({"a", "b", "c"}, {"a", "b", "c"})
    assert state.everyone_failed()


def test_a_culprit_of_an_earlier_search_does_not_make_the_fault_a_common_one() -> None:
    state, _ = search({"a", "b", "c"}, {"b"})
    state = state.failed(["a"]).failed(["a"])
    assert state.culprits() == {"a", "b"}
    assert not state.everyone_failed()


def test_tables_that_fail_only_together_are_all_cleared() -> None:
    state = Suspects().failed("ab").failed("ab").succeeded("a").succeeded("b")
    assert state.culprits() == frozenset()
    assert state.next_only() is None


def test_a_forgiven_culprit_is_found_again_when_it_fails_again() -> None:
    state, _ = search({"a", "b", "c"}, {"b"})
    state = state.forgiven(["b"])
    assert state.culprits() == frozenset()
    state, _ = search({"a", "b", "c"}, {"b"}, state)
    assert state.culprits() == {"b"}


@given(st.sets(st.integers(0, 60), min_size=1), st.data())
def test_exactly_the_poisonous_tables_are_found(numbers: set[int], data: st.DataObject) -> None:
    tables = {f"t{n}" for n in numbers}
    poison = data.draw(st.sets(st.sampled_from(sorted(tables))))
    state, epochs = search(tables, poison)
    assert state.culprits() == poison
    assert state.everyone_failed() == (len(poison) == len(tables) > 1)
    assert epochs <= 2 + 2 * len(tables)
