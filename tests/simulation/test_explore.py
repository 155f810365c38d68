"""Every interleaving of two drivers: small, but without luck."""

import pytest

from tests.simulation.explore import explore
from tests.simulation.mutants import MUTANTS
from tests.simulation.variant import load


@pytest.mark.timeout(600)
def test_no_interleaving_of_two_drivers_breaks_a_promise() -> None:
    explored = explore(drivers=2, epochs=1, faults=0)
    assert explored.violation is None, explored.choices
    assert explored.complete
    assert explored.states > 5_000


@pytest.mark.timeout(600)
def test_no_single_fault_at_any_call_of_one_driver_breaks_a_promise() -> None:
    explored = explore(drivers=1, epochs=2, faults=1)
    assert explored.violation is None, explored.choices
    assert explored.complete
    assert explored.states > 500


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
