"""The simulation catches every plausible mistake in the ledger."""

import sys

import pytest

from tests.simulation.kinds import KINDS, play
from tests.simulation.mutants import MUTANTS, Mutant
from tests.simulation.schedule import without_logs
from tests.simulation.search import search
from tests.simulation.test_simulation import SCHEDULES as PLAYED
from tests.simulation.variant import PatchDoesNotApply, load

SCHEDULES = 3_000
"""How many schedules are tried from a stored seed on that no longer catches its mutant, because the code changed."""


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_the_simulation_catches(mutant: Mutant) -> None:
    assert search(mutant, mutant.seed, SCHEDULES).seed is not None


def test_the_unchanged_code_passes_where_mutants_fail() -> None:
    """All seeds that `test_simulation.py` does not play with the real code anyway, and two more of each kind."""
    same = load(Mutant("nothing changed", "kafka2hive.ledger.epoch", ()))
    with without_logs():
        for kind in KINDS:
            seeds = sorted({mutant.seed for mutant in MUTANTS if mutant.kind == kind})
            played = [seed for seed in seeds if seed < PLAYED[kind]]
            for seed in [*played[:2], *seeds[len(played) :]]:
                assert play(kind, seed, same).violation is None, f"{kind} {seed}"


def test_there_are_at_least_forty_mutants_with_names_of_their_own() -> None:
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS) >= 40


def test_a_mutant_whose_text_is_gone_fails_loudly_and_leaves_the_real_code_alone() -> None:
    stale = Mutant("stale", "kafka2hive.ledger.epoch", (("no such text", ""),))
    before = dict(sys.modules)
    with pytest.raises(PatchDoesNotApply, match="0 times"):
        load(stale)
    assert sys.modules == before


def test_a_mutant_leaves_the_real_code_alone() -> None:
    from kafka2hive.ledger import epoch

    before, modules = epoch.commit, dict(sys.modules)
    load(MUTANTS[0])
    from kafka2hive.ledger import epoch as after

    assert after.commit is before
    assert {name: sys.modules[name] for name in modules} == modules
