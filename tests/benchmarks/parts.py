"""What `scripts/bench --all` consists of, in the order of measuring: each part can be had alone and repeated.

Comparisons of shapes and compressions have only ours and Flink: they are about the decoder and the client.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tests.benchmarks.contestants import CONTESTANTS, OURS
from tests.benchmarks.data.data_sets import DATA_SETS, DataSet
from tests.benchmarks.data.topics import COMPRESSIONS
from tests.benchmarks.modes import (
    compaction,
    consents,
    epochs,
    kill,
    latency,
    memory,
    plan,
    recover,
    scale,
    start,
    tables,
    verify,
)
from tests.benchmarks.room import Room
from tests.benchmarks.throughput import compared

Measure = Callable[[Room, int], dict[str, Any]]
_OURS_AND_FLINK = (OURS, "flink")
_MEGABYTES = (60, 300)  # of a shape's topics: start-up, and what warms up in a JVM, is in both
_SIZES, _LARGE = (4, 16), (64,)
_OWN_SIZES = {"debezium": (2, 8)}  # so large that one copy more makes no difference that could be measured


@dataclass(frozen=True, slots=True)
class Part:
    """`measure` takes the number of rounds; its figures go into `section` of the document. `in_all`: part of --all."""

    name: str
    what: str
    section: str
    measure: Measure
    in_all: bool = True


def copies_for(data: DataSet, megabytes: Sequence[int]) -> tuple[int, ...]:
    """How many copies make topics of about these sizes (10^6 bytes), each at least one more than the one before."""
    each = sum(map(len, data.records())) / 1e6
    found: list[int] = []
    for size in megabytes:
        found.append(max(round(size / each), found[-1] + 1 if found else 1))
    return tuple(found)


def comparison(
    data: str,
    sizes: Sequence[int] | None,
    who: Sequence[str],
    compression: str = "none",
    name: str | None = None,
) -> Part:
    """Of these contestants over topics of these sizes (None: what makes start-up small beside the rest)."""

    def measure(room: Room, rounds: int) -> dict[str, Any]:
        chosen = DATA_SETS[data]
        return compared(room, chosen, sizes or copies_for(chosen, _MEGABYTES), rounds, who, compression)

    what = f"{data}{'' if compression == 'none' else f', compressed with {compression}'}"
    named = ", ".join(CONTESTANTS[one].label for one in who) if len(who) < len(CONTESTANTS) else "everybody"
    size = "" if sizes is None else f" x{' and x'.join(map(str, sizes))}"
    own_name = data if compression == "none" else f"{data}-{compression}"
    return Part(name or own_name, f"{what}{size}: {named}", "throughput", measure, in_all=data != "scattered")


def _mode(name: str, what: str, measure: Callable[[Room], dict[str, Any]], in_all: bool = True) -> Part:
    return Part(name, what, "modes", lambda room, _rounds: measure(room), in_all)


PARTS = {
    part.name: part
    for part in (
        comparison("flights", _SIZES, tuple(CONTESTANTS)),
        _mode("verify", "rows per CPU-second of verify --deep", verify.measure),
        _mode("start", "start-up of status, recover, verify and a short run", start.measure),
        _mode("after-kill", "first rows after a kill -9 of the service", kill.measure),
        _mode("recover", "recover with 1,000 and 10,000 pending files", recover.measure),
        _mode("epochs", "seconds and calls of the NameNode of an epoch of 100 records", epochs.measure),
        _mode("many-tables", "CPU of an epoch of 200 tables", epochs.measure_tables),
        _mode("memory", "a task with 1, 48 and 1,000 open buckets", memory.measure),
        _mode("plan", "planning 1,000 to 100,000 topic partitions", plan.measure),
        _mode("consents", "columns that take other forms against columns that do not", consents.measure),
        _mode("latency", "produced to queryable in Hive, trigger of 1 s", latency.measure),
        _mode(
            "compaction",
            "5,000 small files rewritten, against Spark, and other tables meanwhile",
            compaction.measure,
        ),
        *(comparison(name, _OWN_SIZES.get(name), _OURS_AND_FLINK) for name in DATA_SETS if name != "flights"),
        *(comparison("flights", None, _OURS_AND_FLINK, way) for way in COMPRESSIONS if way != "none"),
        comparison("flights", _LARGE, _OURS_AND_FLINK, name="flights-x64"),
        _mode("latency-slow", "the same with triggers of 5 and 30 s", latency.measure_slower, in_all=False),
        _mode("scale", "1 and 2 workers, epochs of 1, 10 and 100 MB", scale.measure, in_all=False),
        _mode("tables", "200 topics, a trickle on each: growth", tables.measure, in_all=False),
    )
}
