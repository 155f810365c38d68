"""Measures this program beside its peers, on real services that are started for it. See docs/performance.md.

Without a mode: the throughput comparison of all contestants. With modes: only those. Figures go into the JSON
file (what it holds of other modes stays), the Markdown report and the plot beside it.
"""

import argparse
import datetime
import json
import os
import platform
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.benchmarks.contestants import CONTESTANTS, OURS
from tests.benchmarks.data.data_sets import DATA_SETS
from tests.benchmarks.data.topics import COMPRESSIONS
from tests.benchmarks.plot import plot
from tests.benchmarks.report import report
from tests.benchmarks.room import Room
from tests.benchmarks.throughput import Race, say


def _modes() -> dict[str, tuple[str, Callable[[Room], dict[str, Any]]]]:
    from tests.benchmarks.modes import latency, memory, plan, recover, scale, start, tables

    return {
        "start": ("start-up of status, recover and verify", start.measure),
        "recover": ("recover with 1,000 and 10,000 pending files", recover.measure),
        "latency": ("produced to queryable in Hive, triggers of 1, 5 and 30 s", latency.measure),
        "memory": ("a task with 1, 48 and 1,000 open buckets", memory.measure),
        "scale": (
            "1 and 2 workers, epochs of 1, 10 and 100 MB; fixed cost; calls of the NameNode",
            scale.measure,
        ),
        "tables": ("200 topics of 5 partitions, a trickle on each", tables.measure),
        "plan": ("planning 1,000 to 100,000 topic partitions", plan.measure),
    }


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser("scripts/bench", description=__doc__)
    parser.add_argument("--json", type=Path, default=Path("bench-report/bench.json"), help="where figures go")
    parser.add_argument("--report", type=Path, metavar="FILE", help="measure nothing: print FILE as Markdown")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sizes", default="4,16", help="copies of the data set in the topics: 4,16,64")
    parser.add_argument("--data", default="flights", help=f"some of {','.join(DATA_SETS)}")
    parser.add_argument(
        "--compression", default="none", help=f"of the topics, some of {','.join(COMPRESSIONS)}"
    )
    parser.add_argument("--only", default=",".join(CONTESTANTS), help="some of the contestants")
    parser.add_argument(
        "--throughput", action="store_true", help="the comparison, beside the modes that follow"
    )
    for name, (text, _) in _modes().items():
        parser.add_argument(f"--{name}", action="store_true", help=text)
    parser.add_argument("--all", action="store_true", help="the comparison and all modes")
    said = parser.parse_args()
    choices = ((said.only, CONTESTANTS), (said.data, DATA_SETS), (said.compression, COMPRESSIONS))
    for chosen, known in choices:
        if unknown := set(chosen.split(",")) - set(known):
            parser.error(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    return said


def main() -> int:
    """Run the command; gives the exit code."""
    said = _arguments()
    if said.report:
        sys.stdout.write(report(json.loads(said.report.read_text())))
        return 0
    chosen = [name for name in _modes() if said.all or getattr(said, name)]
    figures = _Figures(said.json)
    with Room() as room:
        if said.all or said.throughput or not chosen:
            for name in said.data.split(","):
                sizes = sorted(int(size) for size in said.sizes.split(","))
                for compression in said.compression.split(","):
                    race = Race(room, said.rounds, said.only.split(","))
                    part = name if compression == "none" else f"{name}-{compression}"
                    figures.note("throughput", part, race.run(DATA_SETS[name], sizes, compression).document())
        for name in chosen:
            say(_modes()[name][0])
            figures.note("modes", name, _modes()[name][1](room))
    say(f"{said.json}, {said.json.with_suffix('.md')} and {said.json.with_suffix('.svg')} are written")
    return 0


class _Figures:
    """The JSON document, written after each part, so that a later failure takes nothing away."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._document: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {"format": 1}
        self._document |= {
            "measured_at": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "machine": {
                "cores": os.cpu_count(),
                "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1),
                "system": platform.platform(),
                "python": platform.python_version(),
            },
        }

    def note(self, part: str, name: str, figures: dict[str, Any]) -> None:
        """Under `part`, `name`; then write everything."""
        self._document.setdefault(part, {})[name] = {**figures, "load_average": os.getloadavg()[1]}
        throughput = self._document.get("throughput", {})
        if throughput:
            main_set = throughput.get("flights") or next(iter(throughput.values()))
            self._document["ratios"] = {
                name: figures["speed"]
                for name, figures in main_set["ratios"].items()
                if not name.startswith(OURS)
            }
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._path.write_text(json.dumps(self._document, indent=2) + "\n")
        self._path.with_suffix(".md").write_text(report(self._document))
        if throughput:
            self._path.with_suffix(".svg").write_text(plot(self._document))


if __name__ == "__main__":
    raise SystemExit(main())
