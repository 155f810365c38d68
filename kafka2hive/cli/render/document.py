"""The envelope of what `--json` prints, frozen in examples (tests/contract): keys are added, never renamed or removed.

A change that is not an addition raises `format`. Offsets are half-open: `next_offset` is the next one to be read.
"""

import json

from kafka2hive.model.errors import ExitCode, Kafka2HiveError
from kafka2hive.model.files import HivePartition
from kafka2hive.model.printable import printable_json
from kafka2hive.service.conditions.condition import Trouble

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
