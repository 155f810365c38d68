"""What is aimed at, and the rows in which a measured figure stands beside its aim.

docs/performance.md shows the same aims in a table for people; a test compares the two.
"""

import sys
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Aim:
    """`least`: the figure must not be below the limit; else not above it. `unit` begins with its blank."""

    limit: float
    unit: str = ""
    least: bool = False

    def __str__(self) -> str:
        number = f"{self.limit:,.0f}" if self.limit >= 100 else f"{self.limit:g}"
        return f"{'>=' if self.least else '<='} {number}{self.unit}"

    def reached_by(self, value: float) -> bool:
        """Whether a figure of the same unit does."""
        return value >= self.limit if self.least else value <= self.limit


def at_least(limit: float, unit: str = "") -> Aim:
    """The figure must not be smaller."""
    return Aim(limit, unit, least=True)


SPARK_MARGINAL, SPARK_WALL = at_least(8), at_least(6)
FLINK_MARGINAL, FLINK_WALL = at_least(4.5), {16: at_least(3), 64: at_least(3)}
SHAPE_MARGINAL = at_least(2.5)  # against Flink on the same records
ENCODED_MARGINAL = at_least(3)  # the same, where the records are Avro or change logs
LOOP_MARGINAL, FETCH_MARGINAL = at_least(1.5), at_least(0.65)
HDFS_WALL = Aim(1.1)
FILE_SIZE, SPARK_MEMORY, MEMORY = Aim(1.05), Aim(1.0), Aim(800, " MB")
VERIFY = at_least(700_000, " rows per CPU-s")
START, COMMAND, AFTER_KILL = Aim(5, " s"), Aim(0.5, " s"), Aim(6, " s")
EPOCH = {"local disk": Aim(0.3, " s"), "HDFS": Aim(1.2, " s")}
EPOCH_OF_TABLES = Aim(1, " CPU-s")
CALLS, CALLS_PER_FILE = 6, 3
LATENCY = {"p50": Aim(2.5, " s"), "p99": Aim(6, " s")}
RECOVER = {1_000: Aim(3, " s"), 10_000: Aim(20, " s")}
TASK_MEMORY = 1.2  # times the map's limit
PLAN = Aim(1, " s")
COMPACTION = at_least(2.5)  # against Spark's rewrite, marginal
COMPACTION_MEMORY, COMPACTION_CALLS = Aim(100, " MB"), Aim(3)
FRESHNESS_BESIDE = Aim(1.2)


@dataclass(slots=True)
class Rows:
    """The rows of one part; each is printed as soon as it is known."""

    part: str
    made: list[dict[str, Any]] = field(default_factory=list)

    def add(self, what: str, measured: str, value: float | None = None, aim: Aim | None = None) -> None:
        """`measured` is for people, `value` is what the aim judges, in the aim's unit."""
        row: dict[str, Any] = {"what": what, "measured": measured}
        if aim is not None:
            row["aim"] = str(aim)
        if aim is not None and value is not None:
            row["reached"] = aim.reached_by(value)
        self.made.append(row)
        say(f"{self.part}: {line(row)}")


def line(row: dict[str, Any]) -> str:
    """A row for the terminal."""
    verdict = {True: ", reached", False: ", MISSED", None: ""}[row.get("reached")]
    aim = f" (aim {row['aim']}{verdict})" if "aim" in row else ""
    return f"{row['what']}: {row['measured']}{aim}"


def say(text: str) -> None:
    """Progress, for who watches."""
    sys.stderr.write(f"bench: {text}\n")
    sys.stderr.flush()
