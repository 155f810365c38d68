"""Measure kafka2hive and its peers on real services, which the benchmark starts (docs/performance.md).

Without --all or --only: a comparison of the contestants. With --all: every figure of docs/performance.md with its aim,
part by part, and at the end the missed aims. Each figure is printed as soon as it is known. Figures go into the JSON
file (those of other parts stay in it), the Markdown report and the plot into its directory.
"""

import argparse
import datetime
import json
import os
import platform
import sys
import time
from pathlib import Path
from typing import Any

from tests.benchmarks.aims import say
from tests.benchmarks.contestants import CONTESTANTS, OURS
from tests.benchmarks.data.data_sets import DATA_SETS
from tests.benchmarks.data.topics import COMPRESSIONS
from tests.benchmarks.parts import PARTS, Part, comparison
from tests.benchmarks.plot import plot
from tests.benchmarks.report import report
from tests.benchmarks.room import Room
from tests.benchmarks.verdict import summary


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        "scripts/bench",
        description=__doc__,
        epilog=_parts(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--json", type=Path, default=Path("bench-report/bench.json"), help="file for the figures"
    )
    parser.add_argument(
        "--report",
        type=Path,
        metavar="FILE",
        help="print the figures in FILE as Markdown, and measure nothing",
    )
    parser.add_argument(
        "--rounds", type=int, help="rounds of a comparison (default 3, with --all and --only 1)"
    )
    parser.add_argument(
        "--all", action="store_true", help="every aim of docs/performance.md: about half an hour"
    )
    parser.add_argument("--only", metavar="PART,..", help="only some of the parts below")
    parser.add_argument("--resume", action="store_true", help="skip the parts that the JSON file has")
    own = parser.add_argument_group("a comparison of your own")
    own.add_argument("--sizes", default="4,16", help="copies of the data set in the topics (default 4,16)")
    own.add_argument("--data", default="flights", help=f"some of {','.join(DATA_SETS)}")
    own.add_argument("--compression", default="none", help=f"of the topics, some of {','.join(COMPRESSIONS)}")
    own.add_argument("--contestants", default=",".join(CONTESTANTS), help=f"some of {','.join(CONTESTANTS)}")
    said = parser.parse_args()
    choices = (
        (said.contestants, CONTESTANTS),
        (said.data, DATA_SETS),
        (said.compression, COMPRESSIONS),
        (said.only or next(iter(PARTS)), PARTS),
    )
    for chosen, known in choices:
        if unknown := set(chosen.split(",")) - set(known):
            parser.error(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    return said


def _parts() -> str:
    lines = (
        f"  {part.name:14}{part.what}{'' if part.in_all else ' (not in --all)'}" for part in PARTS.values()
    )
    return "\n".join(["parts, in this order:", *lines])


def main() -> int:
    """Run the command; gives the exit code."""
    said = _arguments()
    if said.report:
        document = json.loads(said.report.read_text())
        sys.stdout.write("\n".join([report(document), *summary(document), ""]))
        return 0
    figures = Figures(said.json)
    with Room() as room:
        for part in _chosen(said):
            if said.resume and figures.has(part):
                say(f"{part.name}: {said.json} has it")
                continue
            say(f"{part.name}: {part.what}")
            began = time.monotonic()
            figures.note(part, part.measure(room, said.rounds or (1 if said.all or said.only else 3)))
            say(f"{part.name}: took {time.monotonic() - began:.0f} s")
    for text in summary(figures.document):
        say(text)
    say(f"{said.json}, {said.json.with_suffix('.md')} and {said.json.with_suffix('.svg')} are written")
    return 0


def _chosen(said: argparse.Namespace) -> list[Part]:
    if said.only:
        wanted = said.only.split(",")
        return [part for part in PARTS.values() if part.name in wanted]
    if said.all:
        return [part for part in PARTS.values() if part.in_all]
    sizes = sorted(int(size) for size in said.sizes.split(","))
    who = said.contestants.split(",")
    return [
        comparison(name, sizes, who, way)
        for name in said.data.split(",")
        for way in said.compression.split(",")
    ]


class Figures:
    """The JSON document, written after each part, so that a later failure takes nothing away."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.document: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {"format": 1}
        self.document |= {
            "measured_at": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "machine": {
                "cores": os.cpu_count(),
                "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1),
                "system": platform.platform(),
                "python": platform.python_version(),
            },
        }

    def has(self, part: Part) -> bool:
        """Whether an earlier run has measured it."""
        return part.name in self.document.get(part.section, {})

    def note(self, part: Part, figures: dict[str, Any]) -> None:
        """Keep them, and write everything."""
        section = self.document.setdefault(part.section, {})
        section[part.name] = {**figures, "load_average": os.getloadavg()[1]}
        throughput = self.document.get("throughput", {})
        if throughput:
            main_set = throughput.get("flights") or next(iter(throughput.values()))
            self.document["ratios"] = {
                name: figures["speed"]
                for name, figures in main_set["ratios"].items()
                if not name.startswith(OURS)
            }
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._path.write_text(json.dumps(self.document, indent=2) + "\n")
        self._path.with_suffix(".md").write_text(report(self.document))
        if throughput:
            self._path.with_suffix(".svg").write_text(plot(self.document))


if __name__ == "__main__":
    raise SystemExit(main())
