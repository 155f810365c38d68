"""The search for the table that crashes workers."""

from hypothesis import given
from hypothesis import strategies as st

from kafka2hive.plan.failure_isolation import FailureIsolation


def search(
    tables: set[str], poison: set[str], state: FailureIsolation | None = None
) -> tuple[FailureIsolation, int]:
    """Run epochs until the search has ended; an epoch with a poisonous table fails."""
    state = state or FailureIsolation()
    epochs = 0
    while True:
        only = state.next_only()
        planned = (tables if only is None else set(only)) - state.failing
        epochs += 1
        state = state.failed(planned) if planned & poison else state.succeeded(planned)
        if state.next_only() is None and not state.failed_once:
            return state, epochs


def test_a_failure_that_does_not_come_again_accuses_nobody() -> None:
    state = FailureIsolation().failed(["a", "b"])
    assert state.next_only() is None
    state = state.succeeded(["a", "b"])
    assert state == FailureIsolation()


def test_the_second_failure_starts_a_search_among_the_tables_of_both() -> None:
    state = FailureIsolation().failed(["a", "b"]).failed(["b", "c"])
    assert state.next_only() == frozenset({"a"})
    assert state.failing == frozenset()
    assert state.succeeded(["a"]).next_only() == frozenset({"b", "c"})


def test_epochs_of_other_tables_do_not_clear_a_table_that_failed() -> None:
    state = FailureIsolation().failed(["a", "b"]).succeeded(["c"]).failed(["a", "b"])
    assert state.next_only() == frozenset({"a"})


def test_a_table_that_fails_twice_alone_is_the_culprit() -> None:
    state = FailureIsolation().failed(["a"]).failed(["a"])
    assert state.failing == {"a"}
    assert state.next_only() is None
    assert not state.everyone_failed()


def test_one_among_a_thousand_is_found_in_about_twenty_epochs() -> None:
    state, epochs = search({f"t{n:04}" for n in range(1000)}, {"t0777"})
    assert state.failing == {"t0777"}
    assert epochs <= 24
    assert not state.everyone_failed()


def test_tables_for_which_nothing_could_be_planned_are_released() -> None:
    state = FailureIsolation().failed("abcd").failed("abcd").failed(["a"])
    assert state.failing == {"a"}
    assert state.next_only() == frozenset({"c", "d"})
    state = state.succeeded("cd")
    assert state.next_only() is None
    assert state.failing == {"a"}


def test_when_every_table_fails_alone_the_fault_is_elsewhere() -> None:
    state, _ = search({"a", "b", "c"}, {"a", "b", "c"})
    assert state.everyone_failed()


def test_a_culprit_of_an_earlier_search_does_not_make_the_fault_a_common_one() -> None:
    state, _ = search({"a", "b", "c"}, {"b"})
    state = state.failed(["a"]).failed(["a"])
    assert state.failing == {"a", "b"}
    assert not state.everyone_failed()


def test_tables_that_fail_only_together_are_all_cleared() -> None:
    state = FailureIsolation().failed("ab").failed("ab").succeeded("a").succeeded("b")
    assert state.failing == frozenset()
    assert state.next_only() is None


def test_a_released_table_is_found_again_when_it_fails_again() -> None:
    state, _ = search({"a", "b", "c"}, {"b"})
    state = state.released(["b"])
    assert state.failing == frozenset()
    state, _ = search({"a", "b", "c"}, {"b"}, state)
    assert state.failing == {"b"}


@given(st.sets(st.integers(0, 60), min_size=1), st.data())
def test_exactly_the_poisonous_tables_are_found(numbers: set[int], data: st.DataObject) -> None:
    tables = {f"t{n}" for n in numbers}
    poison = data.draw(st.sets(st.sampled_from(sorted(tables))))
    state, epochs = search(tables, poison)
    assert state.failing == poison
    assert state.everyone_failed() == (len(poison) == len(tables) > 1)
    assert epochs <= 2 + 2 * len(tables)
