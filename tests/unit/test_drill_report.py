"""The report of the drills, their form, their chance."""

import re
from pathlib import Path

import pytest

from tests.drills.form import SEED, SEED_VARIABLE, VARIABLE, Chance, Form, form_asked_for
from tests.drills.incident_table import PAGE, measured_rows, with_rows
from tests.drills.report import DrillReport
from tests.drills.test_outages_shown import INCIDENTS


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


def test_a_measured_incident_replaces_its_row_and_a_new_one_comes_last() -> None:
    report = DrillReport("long")
    for name, figures in (
        ("t[Kafka hangs]", {"metric_told_s": 16.4, "metric_gone_s": 2.2}),
        ("t[a topic is deleted]", {}),
        ("t[HiveServer2 hangs]", {"metric_told_s": 1.0, "metric_gone_s": 1.0}),
        ("another drill", {"kills": 3}),
    ):
        report.add(name, **({"log_told_s": 9.6, "log_gone_s": 0.4, **figures} if "[" in name else figures))
        report.ended(name, "failed" if "Hive" in name else "passed", 1.0)
    rows = measured_rows(report.drills)
    page = "before\n<!-- incidents -->\n| a | b |\n|---|---|\n| old | 1 |\n| Kafka hangs | 2 |\n<!-- /incidents -->\nafter\n"
    assert with_rows(page, rows) == (
        "before\n<!-- incidents -->\n"
        "| incident | metric | log | /status | status | top | page |\n|---|---|---|---|---|---|---|\n"
        "| old | 1 |\n"
        "| Kafka hangs | 16 / 2 | 10 / 0 | – | – | – | – |\n"
        "| a topic is deleted | – | 10 / 0 | – | – | – | – |\n"
        "<!-- /incidents -->\nafter\n"
    )


def test_the_documents_have_a_row_for_each_incident_of_the_drill() -> None:
    text = PAGE.read_text()
    rows = re.findall(
        r"^\| (.+?) \|", text[text.index("<!-- incidents -->") : text.index("<!-- /incidents -->")], re.M
    )
    assert rows == ["incident", *(incident.name for incident in INCIDENTS)]
