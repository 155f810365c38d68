"""Every line of the threat model names tests that exist."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_each_line_of_the_threat_model_has_its_test() -> None:
    text = (ROOT / "docs/security.md").read_text().partition("## Threat model")[2].partition("\n| attack ")[2]
    rows = [line for line in text.splitlines() if line.startswith("| ")][1:]
    named = {row: re.findall(r"`(test_\w+)`", row) for row in rows}
    assert len(rows) >= 20 and [row for row, tests in named.items() if not tests] == []
    sources = "\n".join(path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))
    defined = set(re.findall(r"^def (test_\w+)", sources, re.MULTILINE))
    assert {test for tests in named.values() for test in tests} - defined == set()
