"""What the drills found, as JSON and as Markdown."""

import datetime
import json
import os
import platform
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Figure = int | float | str


@dataclass(slots=True)
class DrillReport:
    """One line of figures per drill, in the order they ended; a drill that failed is in it with its outcome."""

    form: str
    began: datetime.datetime = field(default_factory=lambda: datetime.datetime.now(datetime.UTC))
    drills: dict[str, dict[str, Any]] = field(default_factory=dict)

    def add(self, drill: str, **figures: Figure) -> None:
        """Figures of a drill: counts by name, times in seconds (`.._s`). Called again, it adds to what is there."""
        self._entry(drill)["figures"].update(figures)

    def ended(self, drill: str, outcome: str, seconds: float) -> None:
        """pytest's outcome of the test that ran the drill: `passed` or `failed`."""
        entry = self._entry(drill)
        entry["outcome"], entry["seconds"] = outcome, round(seconds, 1)

    def document(self) -> dict[str, Any]:
        """The JSON document."""
        return {
            "form": self.form,
            "began": self.began.isoformat(timespec="seconds"),
            "machine": {
                "cores": os.cpu_count(),
                "system": platform.platform(),
                "python": platform.python_version(),
            },
            "drills": self.drills,
        }

    def markdown(self) -> str:
        """The same for a person: a table of all drills."""
        lines = [
            f"# Drill report: {self.form} form, {self.began:%Y-%m-%d %H:%M} UTC",
            "",
            f"{os.cpu_count()} cores, {platform.platform()}.",
            "",
            "| drill | outcome | seconds | figures |",
            "|---|---|---|---|",
        ]
        for name, entry in self.drills.items():
            figures = ", ".join(f"{key} {_plain(value)}" for key, value in entry["figures"].items())
            lines.append(f"| {name} | {entry['outcome']} | {entry['seconds']} | {figures} |")
        return "\n".join(lines) + "\n"

    def write(self, folder: Path) -> None:
        """`drills.json` and `drills.md` in `folder`."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "drills.json").write_text(json.dumps(self.document(), indent=2) + "\n")
        (folder / "drills.md").write_text(self.markdown())

    def _entry(self, drill: str) -> dict[str, Any]:
        return self.drills.setdefault(drill, {"outcome": "not ended", "seconds": 0.0, "figures": {}})


def _plain(value: Figure) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:g}" if isinstance(value, float) else value
