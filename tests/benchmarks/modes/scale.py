"""How an epoch's duration grows: a + b x bytes, with one and two workers, from bounded epochs of one dump."""

from typing import Any

import numpy as np

from tests.benchmarks.aims import Rows, say
from tests.benchmarks.data.data_sets import DATA_SETS
from tests.benchmarks.data.topics import FilledTopic, fill
from tests.benchmarks.modes.dumps import bounded, seconds_between
from tests.benchmarks.room import Room

_EPOCHS = {1: 10, 10: 8, 100: 4}  # by megabytes; the first one warms up and is not counted


def measure(room: Room) -> dict[str, Any]:
    """Each combination of place, workers and epoch size; a and b by least squares over the sizes."""
    topic = fill(room.kafka(), DATA_SETS["flights"], 4)
    rows = Rows("scale")
    seconds: dict[str, float] = {}
    for where, workers in (("local disk", 1), ("local disk", 2), ("HDFS", 2)):
        by_size = {size: _epoch_seconds(room, topic, where, workers, size) for size in _EPOCHS}
        seconds |= {f"{where}, {workers} workers, {size} MB": took for size, took in by_size.items()}
        b, a = np.polyfit(list(by_size), list(by_size.values()), 1)
        each = ", ".join(f"{size} MB {took:.2f} s" for size, took in by_size.items())
        what = f"epoch, {where}, {workers} worker{'s' * (workers > 1)}"
        rows.add(what, f"{a:.2f} s + {b * 1000:.1f} ms per MB ({each})")
    room.kafka().delete_topic(topic.name)
    return {"rows": rows.made, "seconds": seconds}


def _epoch_seconds(room: Room, topic: FilledTopic, where: str, workers: int, megabytes: int) -> float:
    mean = sum(map(len, topic.data.records())) / len(topic.data.records())
    done = bounded(room, topic, where == "HDFS", workers, round(megabytes * 1e6 / mean), _EPOCHS[megabytes])
    took = seconds_between(done.epochs[1:])
    say(f"{where}, {workers} workers, {megabytes} MB: {took:.2f} s an epoch, {len(done.epochs)} epochs")
    return took
