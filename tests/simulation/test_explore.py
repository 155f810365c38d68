"""Every interleaving of two drivers in a small world, without chance."""

import pytest

from tests.simulation.explore import FAULTS, explore
from tests.simulation.mutants import MUTANTS
from tests.simulation.variant import load


@pytest.mark.timeout(3600)
def test_no_interleaving_of_two_drivers_breaks_a_promise() -> None:
    explored = explore(drivers=2, epochs=2, faults=0)
    assert explored.violation is None, explored.choices
    assert explored.complete
    assert explored.states > 15_000


@pytest.mark.timeout(3600)
@pytest.mark.parametrize(("epochs", "faults", "states"), [(2, 1, 1_500), (1, 2, 8_000)])
def test_no_faults_of_different_kinds_at_any_calls_of_one_driver_break_a_promise(
    epochs: int, faults: int, states: int
) -> None:
    explored = explore(drivers=1, epochs=epochs, faults=faults)
    assert explored.violation is None, explored.choices
    assert explored.complete
    assert explored.states > states


def test_a_search_that_reaches_its_limit_says_that_it_is_not_complete() -> None:
    explored = explore(drivers=2, epochs=1, faults=1, limit=200)
    assert not explored.complete
    assert explored.violation is None


@pytest.mark.parametrize(
    "name",
    [
        "generation names without owner",
        "state read before taking",
    ],
)
def test_mistakes_that_need_two_drivers_are_found_without_any_fault(name: str) -> None:
    (mutant,) = [mutant for mutant in MUTANTS if mutant.name == name]
    explored = explore(drivers=2, epochs=1, faults=0, code=load(mutant))
    assert explored.violation is not None
    assert explored.choices


@pytest.mark.parametrize(
    "name",
    [
        "a name that this process made is taken for another's",
        "commit's lost reply taken for failure",
        "no roll-forward",
    ],
)
def test_mistakes_that_need_a_fault_are_found_by_one_driver_and_the_choices_say_which(name: str) -> None:
    (mutant,) = [mutant for mutant in MUTANTS if mutant.name == name]
    explored = explore(drivers=1, epochs=2, faults=1, code=load(mutant))
    assert explored.violation is not None
    assert any(choice.rsplit(" ", 1)[0] in (*FAULTS, "crash") for choice in explored.choices)
