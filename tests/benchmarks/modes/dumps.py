"""Dumps that are watched by their log: when each epoch ended, and what the driver changed on the file system."""

import datetime
import itertools
import json
import statistics
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.benchmarks.contestants import PROGRAM, Place, environment, write_map
from tests.benchmarks.data.topics import PARTITIONS, FilledTopic
from tests.benchmarks.process_tree import measured
from tests.benchmarks.room import Room
from tests.services.hdfs import Hdfs


@dataclass(frozen=True, slots=True)
class LoggedEpoch:
    """`ended` in seconds since 1970."""

    number: int
    ended: float


@dataclass(frozen=True, slots=True)
class Dumped:
    """A dump that has ended: its epochs, and how often its owner's beat was renamed."""

    epochs: tuple[LoggedEpoch, ...]
    beats: int


def read_log(log: Path) -> Dumped:
    """What a log tells so far."""
    found: list[LoggedEpoch] = []
    beats = 0
    for line in _lines(log):
        if line.get("event") == "epoch":
            ended = datetime.datetime.fromisoformat(line["time"]).timestamp()
            found.append(LoggedEpoch(int(line["epoch"]), ended))
        beats += (
            line["logger"] == "kafka2hive.storage"
            and line["message"].startswith("rename")
            and "/beat." in line["message"]
        )
    return Dumped(tuple(found), beats)


def _lines(log: Path) -> Iterator[dict[str, Any]]:
    for text in log.read_text(errors="replace").splitlines():
        if text.startswith("{"):
            try:
                yield json.loads(text)
            except ValueError:
                continue  # half a line: it is being written


def seconds_between(found: Sequence[LoggedEpoch]) -> float:
    """Median time from one epoch's end to the next one's: what an epoch costs when there is always something to do."""
    return statistics.median(later.ended - earlier.ended for earlier, later in itertools.pairwise(found))


def bounded(room: Room, topic: FilledTopic, on_hdfs: bool, workers: int, records: int, epochs: int) -> Dumped:
    """`--once` over the end of a topic, so many epochs of so many records each (at least one per topic partition)."""
    folder = room.new_folder()
    uri = f"{room.hdfs().namenode_url}/{folder.name}" if on_hdfs else folder.as_uri()
    each = topic.records // PARTITIONS
    begin = each - min(each, -(-records * epochs // PARTITIONS))
    place = Place(folder, uri, room.kafka().bootstrap, topic.name, topic.data.shape)
    config = write_map(
        place,
        {"start": {"offsets": {topic.name: dict.fromkeys(range(PARTITIONS), begin)}}},
        limits={"epoch_records": records, "epoch_bytes": "4GiB"},
        spark={"master": f"local[{workers},4]"},
    )
    measured([*PROGRAM, str(config), "--once"], folder / "log", environment)
    return read_log(folder / "log")


JMX_KEEPS_SECONDS = 11.0
_NOT_ASKED_BY_CLIENTS = (
    "Overall",
    "SendHeartbeat",
    "BlockReport",
    "BlockReceived",
    "VersionRequest",
    "RegisterDatanode",
)


def namenode_calls(room: Room, jmx_seconds: float = JMX_KEEPS_SECONDS) -> Counter[str]:
    """How often each call of clients was served since the NameNode's start; what its DataNode says is left out.

    JMX names every call twice, the second time with `Overall` before it, and answers from what it has counted up to ten
    seconds ago.
    """
    time.sleep(jmx_seconds)
    return namenode_calls_so_far(room.hdfs())


def namenode_calls_so_far(hdfs: Hdfs) -> Counter[str]:
    """The same, as JMX tells it now."""
    counts = hdfs.rpc_counts()
    return Counter({name: n for name, n in counts.items() if not name.startswith(_NOT_ASKED_BY_CLIENTS)})
