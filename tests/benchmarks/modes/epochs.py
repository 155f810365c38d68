"""What an epoch costs when there is next to nothing in it: seconds, calls of the file system, and CPU with many tables.

Bounded dumps that always have something to do; the difference of a long and a short one is what an epoch asks for, so
that start-up cancels.
"""

import itertools
from pathlib import Path
from typing import Any

import yaml

from tests.benchmarks.aims import CALLS, CALLS_PER_FILE, EPOCH, EPOCH_OF_TABLES, Aim, Rows
from tests.benchmarks.contestants import CORES, PROGRAM, Place, environment, write_map
from tests.benchmarks.data.data_sets import DATA_SETS
from tests.benchmarks.data.topics import PARTITIONS, FilledTopic, fill
from tests.benchmarks.modes.dumps import bounded, namenode_calls, read_log, seconds_between
from tests.benchmarks.process_tree import measured
from tests.benchmarks.room import Room
from tests.services.produce import produce

_RECORDS = 13 * PARTITIONS  # about a hundred, some for each topic partition
_EPOCHS = 16  # the first one warms up and is not counted
_OLDER = (6, 18, 30)  # lengths of dumps: calls of the epochs between them
_CALLS = ("Create", "Rename2", "GetListing", "GetFileInfo", "Mkdirs", "Delete")
_FILES = CORES  # a task each, one bucket
_TABLES, _TABLE_PARTITIONS, _TABLE_RECORDS = 200, 5, 40  # records of each topic partition in an epoch
_FEW, _MANY = 3, 11  # epochs of the short and the long dump


def measure(room: Room) -> dict[str, Any]:
    """Seconds on both places, calls of the NameNode as the ledger grows older."""
    rows = Rows("epochs")
    topic = fill(room.kafka(), DATA_SETS["flights"], 1)
    seconds = {}
    for where, aim in EPOCH.items():
        done = bounded(room, topic, where == "HDFS", CORES, _RECORDS, _EPOCHS)
        seconds[where] = seconds_between(done.epochs[1:])
        what = f"epoch of {_RECORDS} records, {where}"
        rows.add(what, f"{seconds[where]:.2f} s, median of {len(done.epochs) - 1}", seconds[where], aim)
    calls = _calls(room, topic)
    for what, found in calls.items():
        named = {name: found.get(name, 0.0) for name in _CALLS}
        # calls of the port: these, and one close for every create (which may need several calls of Complete)
        asked = sum(named.values()) + named["Create"]
        text = ", ".join(f"{name} {count:.1f}" for name, count in named.items())
        rows.add(
            f"operations of a table's epoch with {_FILES} files, {what}",
            f"{asked:.1f}: {text}, as many closes as creates; NameNode calls {sum(found.values()):.1f}",
            asked,
            Aim(CALLS + CALLS_PER_FILE * _FILES),
        )
    room.kafka().delete_topic(topic.name)
    return {"rows": rows.made, "seconds": seconds, "namenode_calls": calls}


def _calls(room: Room, topic: FilledTopic) -> dict[str, dict[str, float]]:
    """By name, without the owner's beats, for each pair of dumps."""
    totals = []
    for epochs in _OLDER:
        before = namenode_calls(room)
        done = bounded(room, topic, True, CORES, PARTITIONS, epochs)
        calls = namenode_calls(room) - before
        calls["Rename2"] -= done.beats
        totals.append((len(done.epochs), calls))
    return {
        f"epochs {few} to {many}": {
            name: round((more[name] - fewer[name]) / (many - few), 2) for name in sorted(more | fewer)
        }
        for (few, fewer), (many, more) in itertools.pairwise(totals)
    }


def measure_tables(room: Room) -> dict[str, Any]:
    """CPU of an epoch of one service with many tables, all its processes."""
    rows = Rows("many-tables")
    topics = [f"many-{number}" for number in range(_TABLES)]
    records = DATA_SETS["narrow"].records()[: _TABLE_PARTITIONS * _TABLE_RECORDS * _MANY]
    for topic in topics:
        room.kafka().create_topic(topic, _TABLE_PARTITIONS)
        produce(room.kafka().bootstrap, topic, records, _TABLE_PARTITIONS)
    (few, less), (many, more) = (_dump_of_tables(room, topics, epochs) for epochs in (_FEW, _MANY))
    each = (more - less) / (many - few)
    what = f"epoch of {_TABLES} tables, {_TABLE_PARTITIONS} topic partitions each, {_TABLE_RECORDS} records in each"
    rows.add(what, f"{each:.2f} CPU-s ({many} epochs against {few})", each, EPOCH_OF_TABLES)
    for topic in topics:
        room.kafka().delete_topic(topic)
    return {"rows": rows.made, "cpu_seconds": {str(few): less, str(many): more}}


def _dump_of_tables(room: Room, topics: list[str], epochs: int) -> tuple[int, float]:
    """Epochs and CPU seconds of a dump of the last records of all topics."""
    folder = room.new_folder()
    place = Place(folder, folder.as_uri(), room.kafka().bootstrap, topics[0], DATA_SETS["narrow"].shape)
    config = write_map(place, limits={"epoch_records": _TABLES * _TABLE_PARTITIONS * _TABLE_RECORDS})
    _with_tables(config, topics, _TABLE_RECORDS * (_MANY - epochs))
    cost = measured([*PROGRAM, str(config), "--once"], folder / "log", environment)
    return len(read_log(folder / "log").epochs), cost.cpu


def _with_tables(config: Path, topics: list[str], begin: int) -> None:
    """The map's table once for each topic."""
    document = yaml.safe_load(config.read_text())
    (table,) = document["tables"]
    document["tables"] = [
        {
            **table,
            "table": f"bench.t{number}",
            "topics": [topic],
            "start": {"offsets": {topic: dict.fromkeys(range(_TABLE_PARTITIONS), begin)}},
        }
        for number, topic in enumerate(topics)
    ]
    config.write_text(yaml.safe_dump(document, sort_keys=False))
