"""Every built-in mistake still applies to the code as it is; whether it is noticed, `scripts/mutants` tells."""

from tests.mutants.text_runner import patched, text_mutants
from tests.simulation.mutants import MUTANTS
from tests.simulation.seeds import SEEDS
from tests.simulation.variant import patched_source


def test_the_text_that_a_mutant_replaces_stands_in_its_module_exactly_once() -> None:
    for simulated in MUTANTS:
        patched_source(simulated)
    for text in text_mutants():
        patched(text)


def test_there_are_more_than_a_hundred_and_each_has_a_name_of_its_own() -> None:
    names = [mutant.name for mutant in MUTANTS] + [mutant.name for mutant in text_mutants()]
    assert len(names) == len(set(names)) > 100


def test_every_stored_seed_belongs_to_a_mutant() -> None:
    assert set(SEEDS) <= {mutant.name for mutant in MUTANTS}
