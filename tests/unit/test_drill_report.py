"""The report of the drills, their form, their chance."""

import re
from pathlib import Path

import pytest

from tests.drills.form import SEED, SEED_VARIABLE, VARIABLE, Chance, Form, form_asked_for
from tests.drills.report import DrillReport


def test_a_report_tells_figures_and_outcomes(tmp_path: Path) -> None:
    report = DrillReport("short")
    report.add("kills", kills=25, rows=336_776)
    report.add("kills", first_rows_s=8.25)
    report.ended("kills", "passed", 61.04)
    report.write(tmp_path)
    assert (
        "| kills | passed | 61.0 | kills 25, rows 336,776, first_rows_s 8.25 |"
        in (tmp_path / "drills.md").read_text()
    )
    assert '"outcome": "passed"' in (tmp_path / "drills.json").read_text()


def test_a_share_never_makes_a_long_drill_shorter_than_the_short_one() -> None:
    assert Form(True, 0.1).count(25, 200) == 25
    assert Form(True, 0.5).count(25, 200) == 100
    assert Form(False).count(25, 200) == 25


def test_a_wrong_form_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "longish")
    with pytest.raises(ValueError, match="short, long or long:SHARE"):
        form_asked_for()
    monkeypatch.setenv(VARIABLE, "long:0.1")
    assert form_asked_for() == Form(True, 0.1)


def test_a_short_form_has_one_seed_and_a_long_one_draws_its_own_and_prints_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv(SEED_VARIABLE, raising=False)
    assert {Form(False).seed() for _ in range(3)} == {SEED} and capsys.readouterr().out == ""
    drawn = [Form(True).seed() for _ in range(3)]
    assert len(set(drawn)) > 1
    assert re.findall(rf"{SEED_VARIABLE}=(\d+)", capsys.readouterr().out) == [str(seed) for seed in drawn]
    monkeypatch.setenv(SEED_VARIABLE, "2905501377")
    assert Form(False).seed() == Form(True).seed() == 2905501377


def test_a_choice_does_not_depend_on_how_many_there_were_to_choose_from_before() -> None:
    def last(*sizes: int) -> float:
        chance = Chance(20130117)
        for size in sizes:
            chance.choice(range(size))
            chance.randrange(size)
        return chance.random()

    assert last(3, 40, 1000) == last(5, 33, 7)
    assert last(3) != last(3, 3)
