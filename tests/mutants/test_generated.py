"""A sample of mutmut's mistakes over the whole product in each test run; `scripts/mutants` runs all of them (ADR 25).

The sample changes only where a function in it changes: it is drawn by digests of functions, not by a random number.
"""

from collections.abc import Iterator

import pytest

from tests.mutants.generated import Mutant, functions, functions_of, mutants, sample
from tests.mutants.journal import Journal
from tests.mutants.judges import judged_modules, judges
from tests.mutants.survivors import SURVIVORS
from tests.mutants.verdict import Court

SIZE = 6
MODULE = "kafka2hive.model.text"
SOURCE = """
class Counter:
    def add(self, count: int) -> int:
        total = self.total + count
        return total
"""
RENAMED = '''
# moved and renamed
class Sum:
    """Adds numbers."""

    def add(self, number: "int | None") -> int:
        """Say so."""
        result = self.result + number
        return result
'''
pytestmark = pytest.mark.timeout(3600)


@pytest.fixture(scope="module")
def court() -> Iterator[Court]:
    court = Court()
    yield court
    court.close()


def test_each_mutant_of_the_sample_is_noticed_or_known_to_survive(court: Court) -> None:
    noticed_by = {mutant: court.noticed_by(mutant) for mutant in _sample() if mutant.key not in SURVIVORS}
    assert [str(mutant) for mutant, test in noticed_by.items() if not test] == [], (
        "no fast test notices: write one, or give the reason in tests/mutants/survivors.py"
    )
    tests = {test.partition("[")[0] for test in noticed_by.values() if test.startswith("tests/")}
    unpatched = court.passes(sorted(tests))
    assert unpatched.code == 0, f"a test that noticed a mistake fails without one\n{unpatched.output}"


def test_a_mutant_that_its_tests_do_not_notice_survives(court: Court) -> None:
    mutant = _first_mutant()
    assert court.noticed_by(mutant)
    assert court.noticed_by(mutant, ["tests/unit/model/test_layout.py"]) == ""


def test_a_mutant_keeps_its_key_when_its_class_and_variables_are_renamed_and_it_moves() -> None:
    keys = [
        sorted(mutant.key for mutant in mutants(functions_of(module, source)[0], source))
        for module, source in ((MODULE, SOURCE), ("kafka2hive.model.files", RENAMED))
    ]
    assert keys[0] == keys[1]
    assert len(set(keys[0])) == 2


def test_a_change_that_nobody_can_see_is_no_mutant() -> None:
    source = 'def go(log, one, other):\n    log.warning("gone: %s", one)\n    return zip(one, other, strict=True)\n'
    texts = [str(mutant) for mutant in mutants(functions_of(MODULE, source)[0], source)]
    assert texts and not [text for text in texts if "log" in text or "strict" not in text.rpartition("->")[2]]


def test_a_module_is_judged_by_the_tests_that_import_it_those_of_its_name_first() -> None:
    assert judges("kafka2hive.model.text")[0] == "tests/unit/model/test_quantities.py"
    modules = {function.module for function in functions()}
    assert len(modules & judged_modules()) > 0.95 * len(modules)


def test_verdicts_are_kept_until_the_code_changes() -> None:
    Journal().write("only here", "")
    assert Journal().verdicts()["only here"] == ""
    assert "only here" not in Journal(anew=True).verdicts()


def _sample() -> Iterator[Mutant]:
    return sample(SIZE, judged_modules())


def _first_mutant() -> Mutant:
    return next(m for function in functions() if function.module == MODULE for m in mutants(function))
