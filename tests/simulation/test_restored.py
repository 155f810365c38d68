"""A start that looks for newer files finds none in any schedule: zombies, twins and delayed calls leave only older names."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from types import ModuleType

from kafka2hive.ledger.look import look
from kafka2hive.ledger.repair import older_ledger as restored
from kafka2hive.model.paths.ledger import Generation
from tests.simulation.code import REAL
from tests.simulation.ledger_caller import LedgerCaller
from tests.simulation.mutants import Mutant
from tests.simulation.places import LEDGER, LOCATION
from tests.simulation.schedule import run_schedule, without_logs
from tests.simulation.variant import patched_source

SCHEDULES = 100
"""The mistakes below are noticed at seed 1 (then 10, 13, 41) and at seed 2 (then 3, 4, 5)."""


def violations(refuse: Callable[..., None], first: int, schedules: int) -> Iterator[str]:
    """Return the violations of these schedules with a judge that looks for newer files."""

    class JudgingCaller(LedgerCaller):
        def _check(self) -> Generation:
            view = look(self.files, LEDGER)
            refuse(self.ports, view, LOCATION)
            return view.generation

    module = ModuleType("ledger_caller")
    vars(module)["LedgerCaller"] = JudgingCaller
    code = replace(REAL, ledger_caller=module)
    with without_logs():
        for seed in range(first, first + schedules):
            violation = run_schedule(seed, code).violation
            if violation is not None:
                yield f"seed {seed}: {violation}"


def mutated(old: str, new: str) -> Callable[..., None]:
    """Return the production function with one mistake."""
    mutant = Mutant("restored", restored.__name__, ((old, new),))
    module = ModuleType("mutant")
    module.__dict__["__name__"] = restored.__name__
    exec(compile(patched_source(mutant), "<mutant>", "exec"), vars(module))
    refuse: Callable[..., None] = module.refuse_older_ledger
    return refuse


def test_no_schedule_makes_a_file_that_the_ledger_cannot_have_made_yet() -> None:
    assert list(violations(restored.refuse_older_ledger, 0, SCHEDULES)) == []


def test_without_the_second_look_an_owner_at_work_would_be_taken_for_a_restored_ledger() -> None:
    refuse = mutated("    now = look(ports.files, view.paths)\n", "    now = view\n")
    assert any("ledger.restored" in found for found in violations(refuse, 0, SCHEDULES))


def test_without_the_epoch_under_way_its_staged_files_would_be_taken_for_newer_ones() -> None:
    refuse = mutated("(1 if self.staged else 0)", "0")
    assert any("ledger.restored" in found for found in violations(refuse, 0, 100))
