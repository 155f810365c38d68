"""What an epoch costs: a + b x bytes, from bounded epochs of one dump that always has something to do.

Epochs of eight records show the fixed cost alone: planning, one Spark job, commit, promote, finalise. On HDFS the
NameNode counts the calls; the difference of a long and a short dump is what an epoch asks for.
"""

from typing import Any

import numpy as np

from tests.benchmarks.data.data_sets import DATA_SETS
from tests.benchmarks.data.topics import FilledTopic, fill
from tests.benchmarks.modes.dumps import bounded, namenode_calls, seconds_between
from tests.benchmarks.room import Room
from tests.benchmarks.throughput import say

_MEGABYTES = (1, 10, 100)
_EPOCHS = {0: 12, 1: 10, 10: 8, 100: 4}  # the first one warms up and is not counted
_RECORDS_OF_NOTHING = 8  # one for each topic partition
_AIMS = {("local disk", 2): "<= 0.5 s", ("HDFS", 2): "<= 1.5 s"}
_CALLS = ("Create", "Rename2", "GetListing", "GetFileInfo", "Mkdirs", "Delete")
_FILES = 2  # a task each, one bucket


def measure(room: Room) -> dict[str, Any]:
    """Each combination of place, workers and epoch size; a and b by least squares over the sizes."""
    topic = fill(room.kafka(), DATA_SETS["flights"], 4)
    rows: list[dict[str, Any]] = []
    seconds: dict[str, float] = {}
    for where, workers in (("local disk", 1), ("local disk", 2), ("HDFS", 2)):
        by_size = {size: _epoch_seconds(room, topic, where, workers, size) for size in (0, *_MEGABYTES)}
        seconds |= {f"{where}, {workers} workers, {size} MB": took for size, took in by_size.items()}
        b, a = np.polyfit(_MEGABYTES, [by_size[size] for size in _MEGABYTES], 1)
        what = f"{where}, {workers} worker{'s' * (workers > 1)}"
        each = ", ".join(f"{size} MB {by_size[size]:.2f} s" for size in _MEGABYTES)
        rows += [
            {"what": f"epoch, {what}", "measured": f"{a:.2f} s + {b * 1000:.1f} ms per MB ({each})"},
            {
                "what": f"epoch of {_RECORDS_OF_NOTHING} records, {what}",
                "measured": f"{by_size[0]:.2f} s",
                "aim": _AIMS.get((where, workers), ""),
            },
        ]
    calls = {
        "epochs 10 to 30": _calls_per_epoch(room, topic, 10, 30),
        "30 to 50": _calls_per_epoch(room, topic, 30, 50),
    }
    for what, found in calls.items():
        named = {name: found.get(name, 0.0) for name in _CALLS}
        # calls of the port: these, and one close for every create (which may need several calls of Complete)
        asked = sum(named.values()) + named["Create"]
        text = ", ".join(f"{name} {count:.1f}" for name, count in named.items())
        row = {
            "what": f"operations of a table's epoch with {_FILES} files, {what}",
            "aim": f"<= {6 + 3 * _FILES}",
        }
        rows.append(
            {
                **row,
                "measured": f"{asked:.1f}: {text}, as many closes as creates; NameNode calls {sum(found.values()):.1f}",
            }
        )
    return {"rows": rows, "seconds": seconds, "namenode_calls": calls}


def _epoch_seconds(room: Room, topic: FilledTopic, where: str, workers: int, megabytes: int) -> float:
    mean = sum(map(len, topic.data.records())) / len(topic.data.records())
    records = round(megabytes * 1e6 / mean) or _RECORDS_OF_NOTHING
    done = bounded(room, topic, where == "HDFS", workers, records, _EPOCHS[megabytes])
    took = seconds_between(done.epochs[1:])
    say(f"{where}, {workers} workers, {megabytes} MB: {took:.2f} s an epoch, {len(done.epochs)} epochs")
    return took


def _calls_per_epoch(room: Room, topic: FilledTopic, few: int, many: int) -> dict[str, float]:
    """By name, without the owner's beats; the older the ledger, the later the epochs that are compared."""
    totals = []
    for epochs in (few, many):
        before = namenode_calls(room)
        done = bounded(room, topic, True, 2, _RECORDS_OF_NOTHING, epochs)
        calls = namenode_calls(room) - before
        calls["Rename2"] -= done.beats
        totals.append((len(done.epochs), calls))
    (few_done, few_calls), (many_done, many_calls) = totals
    names = sorted(many_calls | few_calls)
    return {name: round((many_calls[name] - few_calls[name]) / (many_done - few_done), 2) for name in names}
