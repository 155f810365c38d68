"""A sample of the text mutants in each test run; `scripts/mutants` runs all of them."""

from collections.abc import Iterator

import pytest

from tests.mutants.text_mutant import TextMutant
from tests.mutants.text_runner import (
    FailsUnpatched,
    PatchDoesNotApply,
    WarmPytest,
    check_unpatched,
    run,
    text_mutants,
)

EVERY = 8
SAMPLE = text_mutants()[::EVERY]


@pytest.fixture(scope="session")
def warm() -> Iterator[WarmPytest]:
    warm = WarmPytest()
    yield warm
    warm.close()


@pytest.mark.timeout(600)
def test_the_tests_that_notice_the_sample_pass_without_a_mistake(warm: WarmPytest) -> None:
    check_unpatched(SAMPLE, warm)


@pytest.mark.timeout(400)
@pytest.mark.parametrize("mutant", SAMPLE, ids=lambda mutant: mutant.name)
def test_the_tests_named_beside_a_mutant_notice(mutant: TextMutant, warm: WarmPytest) -> None:
    assert run(mutant, warm).test is not None


def test_a_mutant_whose_text_is_gone_fails_loudly(warm: WarmPytest) -> None:
    stale = TextMutant(
        "stale", "kafka2hive.model.layout", (("no such text", ""),), "tests/unit/test_layout.py"
    )
    with pytest.raises(PatchDoesNotApply, match="0 times"):
        run(stale, warm)


def test_a_change_that_is_no_mistake_survives(warm: WarmPytest) -> None:
    line = "from dataclasses import dataclass\n"
    mutant = TextMutant(
        "harmless", "kafka2hive.model.layout", ((line, line + "\n"),), "tests/unit/test_layout.py"
    )
    assert run(mutant, warm).test is None


def test_tests_that_never_load_the_module_do_not_count(warm: WarmPytest) -> None:
    mutant = TextMutant(
        "unseen",
        "kafka2hive.service.run.watch.metrics",
        (("import logging\n", "raise RuntimeError\n"),),
        "tests/unit/test_layout.py",
    )
    assert run(mutant, warm).test is None


def test_tests_that_fail_by_themselves_are_told(warm: WarmPytest) -> None:
    none = TextMutant("none", "kafka2hive.model.layout", (), "tests/unit/test_layout.py::no_such_test")
    with pytest.raises(FailsUnpatched):
        check_unpatched([none], warm)
