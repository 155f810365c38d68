"""A sample of the text mutants in each test run; `scripts/mutants` runs all of them.

That the named files pass as a whole without a mistake is shown by the same run, which holds them; here only those tests
that noticed something are run once more.
"""

import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from types import FrameType

import pytest

from tests.mutants.text_mutant import TextMutant
from tests.mutants.text_runner import (
    SECONDS,
    UNPATCHED_SECONDS,
    FailsUnpatched,
    NoVerdict,
    PatchDoesNotApply,
    WarmPytest,
    check_unpatched,
    run,
    text_mutants,
)

EVERY = 16
SAMPLE = text_mutants()[::EVERY]
TESTS = "tests/unit/model/test_layout.py"
MODULE = "kafka2hive.model.paths.ledger"
LEAKING = "kafka2hive.model.text"
LEAKING_TESTS = "tests/unit/model/test_quantities.py"
LEAK = (
    '    for unit in ("B", "kB", "MB", "GB"):\n',
    "    import gc, os\n    gc.disable()\n    leak = [open(os.devnull)]\n    leak.append(leak)\n"
    '    for unit in ("B", "kB", "MB", "GB"):\n',
)
"""pytest finds these files after its last test, and breaks."""
HANG = "import time\ntime.sleep(600)\n"
KILLED_BY = "import os, signal\nos.kill({}, signal.SIGKILL)\n"
pytestmark = pytest.mark.timeout(UNPATCHED_SECONDS + 100)


@pytest.fixture(scope="session")
def warm() -> Iterator[WarmPytest]:
    warm = WarmPytest()
    yield warm
    warm.close()


@pytest.fixture(scope="module")
def noticed() -> dict[str, TextMutant]:
    """By name: the mutants that were caught, each with the test that failed."""
    return {}


@pytest.mark.timeout(SECONDS + 100)
@pytest.mark.parametrize("mutant", SAMPLE, ids=lambda mutant: mutant.name)
def test_the_tests_named_beside_a_mutant_notice(
    mutant: TextMutant, warm: WarmPytest, noticed: dict[str, TextMutant]
) -> None:
    catch = run(mutant, warm)
    assert catch.test is not None
    whole = catch.test.startswith("tests/")  # else it hung
    noticed[mutant.name] = replace(mutant, caught_by=catch.test.partition("[")[0]) if whole else mutant


def test_the_tests_that_noticed_the_sample_pass_without_a_mistake(
    warm: WarmPytest, noticed: dict[str, TextMutant]
) -> None:
    assert noticed, "to be run after the tests of mutants"
    check_unpatched(noticed.values(), warm)


def test_a_mutant_whose_text_is_gone_fails_loudly(warm: WarmPytest) -> None:
    stale = TextMutant(
        "stale", "kafka2hive.model.paths.ledger", (("no such text", ""),), "tests/unit/model/test_layout.py"
    )
    with pytest.raises(PatchDoesNotApply, match="0 times"):
        run(stale, warm)


def test_a_change_that_is_no_mistake_survives(warm: WarmPytest) -> None:
    line = "from dataclasses import dataclass\n"
    mutant = TextMutant(
        "harmless", "kafka2hive.model.paths.ledger", ((line, line + "\n"),), "tests/unit/model/test_layout.py"
    )
    assert run(mutant, warm).test is None


def test_a_test_that_fails_has_noticed_also_where_a_file_is_left_open(warm: WarmPytest) -> None:
    mistake = ('f"{count:.0f} B"', 'f"{count:.1f} B"')
    mutant = TextMutant("mistake and leak", LEAKING, (LEAK, mistake), LEAKING_TESTS)
    assert run(mutant, warm).test == f"{LEAKING_TESTS}::test_bytes_have_a_unit[0-0"  # up to the first blank


def test_a_pytest_that_breaks_after_its_last_test_says_nothing_of_the_mutant(warm: WarmPytest) -> None:
    with pytest.raises(NoVerdict, match="broke"):
        run(TextMutant("leak", LEAKING, (LEAK,), LEAKING_TESTS), warm)


def test_tests_that_never_load_the_module_do_not_count(warm: WarmPytest) -> None:
    mutant = TextMutant(
        "unseen",
        "kafka2hive.service.run.telemetry.metrics",
        (("import logging\n", "raise RuntimeError\n"),),
        "tests/unit/model/test_layout.py",
    )
    assert run(mutant, warm).test is None


def test_tests_that_fail_by_themselves_are_told(warm: WarmPytest) -> None:
    none = TextMutant(
        "none", "kafka2hive.model.paths.ledger", (), "tests/unit/model/test_layout.py::no_such_test"
    )
    with pytest.raises(FailsUnpatched):
        check_unpatched([none], warm)


def test_a_run_that_hangs_is_killed_and_told_from_one_that_something_else_killed(warm: WarmPytest) -> None:
    assert warm.run([TESTS], 1, module=MODULE, source=HANG).timed_out
    killed = warm.run([TESTS], SECONDS, module=MODULE, source=KILLED_BY.format("os.getpid()"))
    assert (killed.code, killed.timed_out) == (-signal.SIGKILL, False)


def test_tests_that_something_else_killed_say_nothing_of_the_mutant(warm: WarmPytest) -> None:
    line = "from dataclasses import dataclass\n"
    mutant = TextMutant("killed", MODULE, ((line, line + KILLED_BY.format("os.getpid()")),), TESTS)
    with pytest.raises(NoVerdict, match="killed"):
        run(mutant, warm)


def test_a_runner_that_dies_is_told_and_another_one_answers_the_next_request(warm: WarmPytest) -> None:
    with pytest.raises(NoVerdict, match="exit code -9"):
        warm.run([TESTS], SECONDS, module=MODULE, source=KILLED_BY.format("os.getppid()"))
    assert warm.run([TESTS], SECONDS).code == 0


class _Interrupted(BaseException):
    """As pytest-timeout's: no Exception."""


def test_after_an_interrupted_request_the_next_one_has_its_own_answer(warm: WarmPytest) -> None:
    def interrupt(number: int, frame: FrameType | None) -> None:
        raise _Interrupted

    before = signal.signal(signal.SIGUSR1, interrupt)
    try:
        with pytest.raises(_Interrupted):
            source = f"import os, signal\nos.kill({os.getpid()}, signal.SIGUSR1)\n{HANG}"
            warm.run([TESTS], SECONDS, module=MODULE, source=source)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert warm.run([TESTS], SECONDS).code == 0
