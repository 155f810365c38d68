"""Write the rows that a drill has measured into the table of incidents in docs/operations.md, and print them.

scripts/drill -k incident
.venv/bin/python -m tests.drills.incident_table [drill-report]
"""

import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.drills.screens import NAMES

PAGE = Path("docs/operations.md")
_ROWS = re.compile(r"(?<=<!-- incidents -->\n).*?(?=<!-- /incidents -->)", re.DOTALL)
_HEAD = f"| incident | {' | '.join(NAMES)} |\n|---{'|---' * len(NAMES)}|\n"


def measured_rows(drills: Mapping[str, Any]) -> dict[str, str]:
    """Return a row for each incident of a report's drills: the seconds until each screen told of it / until it was gone."""
    rows = {}
    for drill, entry in drills.items():
        figures = entry["figures"]
        if "log_told_s" in figures and entry["outcome"] == "passed":
            name = drill[drill.index("[") + 1 : -1]
            cells = (_cell(figures.get(f"{n}_told_s"), figures.get(f"{n}_gone_s")) for n in NAMES)
            rows[name] = f"| {name} | {' | '.join(cells)} |\n"
    return rows


def with_rows(page: str, rows: Mapping[str, str]) -> str:
    """Return the page with these rows in place of earlier ones of the same incidents; new ones come last."""
    known = {
        line.split("|")[1].strip(): f"{line}\n" for line in _ROWS.findall(page)[0].splitlines()[2:] if line
    }
    return _ROWS.sub(lambda _: _HEAD + "".join({**known, **rows}.values()), page)


def _cell(told: float | None, gone: float | None) -> str:
    return "–" if told is None or gone is None else f"{told:.0f} / {gone:.0f}"


def main(folder: str = "drill-report") -> None:
    rows = measured_rows(json.loads((Path(folder) / "drills.json").read_text())["drills"])
    PAGE.write_text(with_rows(PAGE.read_text(), rows))
    sys.stdout.write(_HEAD + "".join(rows.values()))


if __name__ == "__main__":
    main(*sys.argv[1:])
