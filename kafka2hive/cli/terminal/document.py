"""The envelope of what `--json` prints, frozen in examples (tests/contract): keys are added, never renamed or removed.

A change that is not an addition raises `format`. Offsets are half-open: `next_offset` is the next one to be read.
"""

import json
from collections.abc import Iterable
from itertools import groupby

from kafka2hive.model.errors import ExitCode, Kafka2HiveError
from kafka2hive.model.files import HivePartition
from kafka2hive.model.offsets import Position
from kafka2hive.model.text import counted, printable_json
from kafka2hive.service.tables.condition import Trouble

FORMAT = 1

Document = dict[str, object]


def dumped(document: Document) -> str:
    return printable_json(json.dumps(document, indent=2, ensure_ascii=False))


def document(command: str, exit_code: ExitCode, **content: object) -> Document:
    return {"format": FORMAT, "command": command, "exit_code": int(exit_code), **content}


def error_of(error: Kafka2HiveError | Trouble) -> Document:
    """`remedy` null: none is known."""
    return {"code": error.code, "message": error.message, "remedy": error.remedy or None}


def hive_partition(partition: HivePartition) -> Document:
    return {"table": partition.table, "partition": partition.path, "location": partition.location}


def next_offset(topic: str, number: int, end: int) -> Document:
    """Where reading of a topic partition resumes."""
    return {"topic": topic, "partition": number, "next_offset": end}


_SHOWN = 12


def resume_lines(positions: Iterable[Position]) -> list[str]:
    """One line a topic: `flights  0:15,000 1:15,001`; of more than 12 topic partitions the sum and where to look."""
    lines = []
    ordered = sorted(positions, key=lambda position: position.topic_partition)
    for topic, group in groupby(ordered, key=lambda position: position.topic_partition.topic):
        ends = [(position.topic_partition.number, position.end) for position in group]
        if len(ends) > _SHOWN:
            total = sum(end for _, end in ends)
            lines.append(
                f"{topic}  {counted(len(ends), 'partition')}, {counted(total, 'offset')} done (each: --json)"
            )
        else:
            lines.append(f"{topic}  " + " ".join(f"{number}:{end:,}" for number, end in ends))
    return lines
