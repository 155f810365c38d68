"""Every hand-made mutant applies to today's code and has no undefined name; `scripts/mutants` checks that tests notice it."""

import json
import subprocess
import sys
from pathlib import Path

from tests.mutants.text_runner import patched, text_mutants
from tests.simulation.mutants import MUTANTS
from tests.simulation.seeds import SEEDS
from tests.simulation.variant import patched_source


def test_the_text_that_a_mutant_replaces_is_in_its_module_exactly_once() -> None:
    for simulated in MUTANTS:
        patched_source(simulated)
    for text in text_mutants():
        patched(text)


def test_no_mutant_has_a_syntax_error_or_an_undefined_name(tmp_path: Path) -> None:
    """Otherwise a NameError would fail the tests that should notice the mistake itself."""
    sources = {mutant.name: patched_source(mutant) for mutant in MUTANTS}
    sources |= {mutant.name: patched(mutant) for mutant in text_mutants()}
    names = dict(zip((f"m{number}.py" for number in range(len(sources))), sources, strict=False))
    for file, name in names.items():
        (tmp_path / file).write_text(sources[name])
    ruff = [sys.executable, "-m", "ruff", "check", "--isolated", "--no-cache", "--quiet"]
    rules = ["--select", "F811,F821,F822,F823", "--output-format", "json"]
    found = json.loads(subprocess.run([*ruff, *rules, str(tmp_path)], capture_output=True, text=True).stdout)
    assert [f"{names[Path(each['filename']).name]}: {each['message']}" for each in found] == []


def test_there_are_more_than_a_hundred_mutants_with_different_names() -> None:
    names = [mutant.name for mutant in MUTANTS] + [mutant.name for mutant in text_mutants()]
    assert len(names) == len(set(names)) > 100


def test_every_stored_seed_belongs_to_a_mutant() -> None:
    assert set(SEEDS) <= {mutant.name for mutant in MUTANTS}
