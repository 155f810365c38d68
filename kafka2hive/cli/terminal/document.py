"""The JSON documents that `--json` prints: their envelope and the parts that several commands have in common.

Examples in tests/contract freeze the documents. Keys may be added at any time; any other change increases `format`.
`next_offset` is the next offset to be read, the open end of a half-open range.
"""

import json
from collections.abc import Iterable
from itertools import groupby
from typing import TYPE_CHECKING

from kafka2hive.model.errors import ExitCode, Kafka2HiveError
from kafka2hive.model.files import HivePartition
from kafka2hive.model.offsets import Position
from kafka2hive.model.text import counted, printable_json
from kafka2hive.service.tables.condition import Trouble

if TYPE_CHECKING:
    from kafka2hive.service.inspect.where import PartitionDrop

FORMAT = 1
_MOST_LISTED = 12
"""For a topic with more topic partitions than this, only the sum of its positions is shown."""

Document = dict[str, object]


def json_text(document: Document) -> str:
    """Return the document as indented JSON, with control characters escaped."""
    return printable_json(json.dumps(document, indent=2, ensure_ascii=False))


def document(command: str, exit_code: ExitCode, **content: object) -> Document:
    """Return `content` in the envelope that all documents share."""
    return {"format": FORMAT, "command": command, "exit_code": int(exit_code), **content}


def error_of(error: Kafka2HiveError | Trouble) -> Document:
    """Return an error as a document; `remedy` is null if no remedy is known."""
    return {"code": error.code, "message": error.message, "remedy": error.remedy or None}


def hive_partition(partition: HivePartition) -> Document:
    """Return a Hive partition as a document; `partition` is its path, such as `dt=2013-01-17`."""
    return {"table": partition.table, "partition": partition.path, "location": partition.location}


def drop_document(drop: "PartitionDrop") -> Document:
    """Return when a Hive partition was dropped, as a document; both times are null if Hive may still have it."""
    return {
        "epoch": drop.epoch,
        "gone_since": drop.gone_since or None,
        "deletable_from": drop.deletable_from or None,
    }


def next_offset(topic: str, number: int, end: int) -> Document:
    """Return the next offset to read in a topic partition, as a document."""
    return {"topic": topic, "partition": number, "next_offset": end}


def resume_lines(positions: Iterable[Position]) -> list[str]:
    """Return one line per topic, such as `flights  0:15,000 1:15,001`; only the sum for more than 12 topic partitions."""
    lines = []
    ordered = sorted(positions, key=lambda position: position.topic_partition)
    for topic, group in groupby(ordered, key=lambda position: position.topic_partition.topic):
        ends = [(position.topic_partition.number, position.end) for position in group]
        if len(ends) > _MOST_LISTED:
            total = sum(end for _, end in ends)
            lines.append(
                f"{topic}  {counted(len(ends), 'topic partition')}, positions add up to {total:,} (--json lists each)"
            )
        else:
            lines.append(f"{topic}  " + " ".join(f"{number}:{end:,}" for number, end in ends))
    return lines
