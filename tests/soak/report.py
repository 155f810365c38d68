"""The report of a soak: its pieces, faults, what long runs held at their beginning and end, and charts of it all."""

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from tests.soak.samples import Epoch, Sample

SETTLED_SECONDS = 300.0
"""A run that is younger is still warming up: its JVM compiles, its pools fill."""
WINDOW, MANY_WINDOW = 12, 60
"""So many samples at either end are compared by their medians. Many tables with `flush: auto` have ten minutes of rest."""
EPOCHS_COMPARED, SLOWER = 0.34, 2.0
"""The share of epochs at either end that are compared, and the factor by which a table of the last ones may take longer."""
LARGE_EPOCH = 0.1
"""Of the tables in the largest epoch: what a table takes of an epoch of fewer is mostly the epoch itself."""
POINTS = 48
HELD = ("driver_mb", "jvm_mb", "workers_mb", "threads", "descriptors", "connections")
ALLOWED = {
    "driver_mb": (1.3, 60),
    "jvm_mb": (1.4, 150),
    "threads": (1.5, 100),
    "descriptors": (1.2, 40),
    "connections": (1.5, 20),
}
"""By how much a run may grow after it has settled: a factor, and an amount that is added to it.

Pools keep their threads for a minute after a burst: between 100 and 300 are usual under load that rises and falls.
"""


@dataclass(slots=True)
class Piece:
    """One call of `scripts/soak`. `back` is the longest time until every table had moved on, by fault (seconds)."""

    began: str
    seed: int
    seconds: float = 0.0
    records: int = 0
    checks: int = 0
    restarts: int = 0
    epochs: int = 0
    longest_without_an_epoch: float = 0.0
    outcome: str = "not ended"
    faults: dict[str, int] = field(default_factory=dict)
    back: dict[str, float] = field(default_factory=dict)
    figures: dict[str, Any] = field(default_factory=dict)
    epoch_figures: list[Epoch] = field(default_factory=list)

    @property
    def window(self) -> int:
        """How many samples at either end of a run are compared."""
        return MANY_WINDOW if self.figures else WINDOW

    def __post_init__(self) -> None:
        self.epoch_figures = [e if isinstance(e, Epoch) else Epoch(**e) for e in self.epoch_figures]


@dataclass(frozen=True, slots=True)
class Growth:
    """What one run held of one thing after it had settled, and at its end."""

    run: int
    hours: float
    name: str
    first: float
    last: float

    @property
    def is_allowed(self) -> bool:
        factor, more = ALLOWED.get(self.name, (float("inf"), 0))
        return self.last <= self.first * factor + more


def growths(samples: Sequence[Sample], window: int = WINDOW) -> list[Growth]:
    """Of each run that lasted long enough to compare two windows."""
    found = []
    for number, of_run in groupby(samples, lambda sample: sample.run):
        settled = [sample for sample in of_run if sample.age >= SETTLED_SECONDS]
        if len(settled) < 3 * window:
            continue
        for name in HELD:
            first, last = (
                statistics.median(getattr(sample, name) for sample in part)
                for part in (settled[:window], settled[-window:])
            )
            found.append(Growth(number, settled[-1].age / 3600, name, first, last))
    return found


def table_seconds(epochs: Sequence[Epoch]) -> tuple[float, float] | None:
    """Seconds of an epoch by its tables, at the beginning and at the end; None if there are too few epochs.

    The first epoch of a run is left out: everything is new to it.
    """
    most = max((epoch.tables for epoch in epochs), default=0)
    later = [epoch for epoch in epochs[1:] if epoch.tables >= LARGE_EPOCH * most]
    few = int(len(later) * EPOCHS_COMPARED)
    if not few:
        return None
    first, last = (
        sum(epoch.seconds for epoch in part) / sum(epoch.tables for epoch in part)
        for part in (later[:few], later[-few:])
    )
    return first, last


def slower(epochs: Sequence[Epoch]) -> str:
    """What to say if tables take longer at the end than at the beginning."""
    found = table_seconds(epochs)
    if found is None or found[1] <= SLOWER * found[0]:
        return ""
    return f"a table takes {found[1] * 1000:.1f} ms of an epoch, {found[0] * 1000:.1f} ms at the beginning"


def report(pieces: Sequence[Piece], samples: Sequence[Sequence[Sample]]) -> str:
    """Return the Markdown. `samples` are those of each piece."""
    return "\n".join(
        [
            "# Soak report",
            "",
            *_table(
                [
                    "piece",
                    "began",
                    "hours",
                    "seed",
                    "records",
                    "epochs",
                    "faults",
                    "starts",
                    "checks",
                    "longest without an epoch (s)",
                    "outcome",
                ],
                (
                    [
                        number,
                        piece.began,
                        f"{piece.seconds / 3600:.2f}",
                        piece.seed,
                        f"{piece.records:,}",
                        f"{piece.epochs:,}",
                        sum(piece.faults.values()),
                        piece.restarts + 1,
                        piece.checks,
                        f"{piece.longest_without_an_epoch:.1f}",
                        piece.outcome,
                    ]
                    for number, piece in enumerate(pieces, 1)
                ),
            ),
            "",
            *_table(
                ["fault", "times", "longest until every table had moved on (s)"],
                (
                    [
                        name,
                        sum(piece.faults.get(name, 0) for piece in pieces),
                        f"{max(piece.back.get(name, 0.0) for piece in pieces):.1f}",
                    ]
                    for name in sorted({name for piece in pieces for name in piece.faults})
                ),
            ),
            "",
            *(line for number, piece in enumerate(pieces, 1) for line in _many(number, piece)),
            "Medians of two minutes (many tables: of ten): five minutes after a start, and at the end of that run.",
            "",
            *_table(
                ["piece", "run", "hours", *HELD],
                (
                    [
                        number,
                        run,
                        f"{of_run[0].hours:.2f}",
                        *(f"{g.first:.0f} → {g.last:.0f}" for g in of_run),
                    ]
                    for number, (piece, taken) in enumerate(zip(pieces, samples, strict=True), 1)
                    for run, of_run in _by_run(growths(taken, piece.window))
                ),
            ),
            "",
            *(line for number, taken in enumerate(samples, 1) if taken for line in _charts(number, taken)),
        ]
    )


def _many(number: int, piece: Piece) -> list[str]:
    """The figures of many tables, and their epochs."""
    if not piece.figures:
        return []
    found = table_seconds(piece.epoch_figures)
    ends = f": {found[0] * 1000:.1f} → {found[1] * 1000:.1f} ms for a table" if found else ""
    return [
        *_table([f"piece {number}", "figure"], piece.figures.items()),
        "",
        f"Epochs{ends}",
        "",
        *_table(
            ["s", "tables", "records", "took (s)", "oldest record, median table (s)", "oldest record (s)"],
            ([e.at, e.tables, e.records, e.seconds, e.middle, e.oldest] for e in piece.epoch_figures),
        ),
        "",
    ]


def _by_run(found: Iterable[Growth]) -> list[tuple[int, list[Growth]]]:
    return [(run, list(of_run)) for run, of_run in groupby(found, lambda growth: growth.run)]


def _table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> list[str]:
    lines = [head, ["---"] * len(head), *rows]
    return ["| " + " | ".join(map(str, line)) + " |" for line in lines]


def _charts(piece: int, samples: Sequence[Sample]) -> list[str]:
    return [
        *_chart(
            f"Piece {piece}: driver, JVM and workers",
            "MB",
            samples,
            _of("driver_mb"),
            _of("jvm_mb"),
            _of("workers_mb"),
        ),
        *_chart(
            f"Piece {piece}: threads and descriptors", "count", samples, _of("threads"), _of("descriptors")
        ),
        *_chart(f"Piece {piece}: files of the ledgers", "count", samples, _of("ledger_files")),
    ]


def _of(name: str) -> Callable[[Sample], float]:
    return lambda sample: float(getattr(sample, name))


def _chart(title: str, unit: str, samples: Sequence[Sample], *series: Callable[[Sample], float]) -> list[str]:
    """A chart in Mermaid's text, of at most POINTS points."""
    step = max(1, -(-len(samples) // POINTS))
    shown = samples[::step]
    most = max(value(sample) for value in series for sample in shown)
    lines = ["line [" + ", ".join(f"{value(sample):.0f}" for sample in shown) + "]" for value in series]
    return [
        "```mermaid",
        "xychart-beta",
        f'  title "{title}"',
        f'  x-axis "minutes" 0 --> {shown[-1].at / 60:.0f}',
        f'  y-axis "{unit}" 0 --> {most * 1.1:.0f}',
        *(f"  {line}" for line in lines),
        "```",
        "",
    ]
