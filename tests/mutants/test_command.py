"""`scripts/mutants` tells of a mutant that survives by its exit code."""

import pytest

from tests.mutants.command import main

NAME = "no roll-forward"


@pytest.mark.parametrize(
    ("schedules", "told", "code"), [("3000", "simulation, seed", 0), ("0", "SURVIVED", 1)]
)
def test_a_mutant_that_survives_is_named_and_the_exit_code_is_1(
    capsys: pytest.CaptureFixture[str], schedules: str, told: str, code: int
) -> None:
    """Without a schedule nothing can notice it."""
    assert main(["--only", "simulation", "-k", NAME, "--schedules", schedules, "--jobs", "1"]) == code
    (line,) = (text for text in capsys.readouterr().out.splitlines() if text.startswith(NAME))
    assert told in line


def test_a_name_that_no_mutant_has_is_an_error() -> None:
    assert main(["-k", "no such mutant"]) == 1
