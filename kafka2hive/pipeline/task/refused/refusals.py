"""Why records became dead letters, counted by reason and column, each with one place to look at."""

import re
from collections.abc import Sequence

from kafka2hive.model.offsets import TopicPartition
from kafka2hive.pipeline.task.chunk import Chunk, Positions
from kafka2hive.pipeline.values import Refusal

MOST = 10
_COLUMN = re.compile(r"column (.+?)(?:: | expects | stands | is )")


class Refusals:
    """Of one table in one task. Bounded by the reasons there are, times the table's columns."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], Refusal] = {}

    def add(self, chunk: Chunk, positions: Positions, reasons: Sequence[str]) -> None:
        """One reason (`<stable code>: <detail>`) per position."""
        counts: dict[tuple[str, str], int] = {}
        first: dict[tuple[str, str], tuple[int, str]] = {}
        for position, reason in zip(positions.tolist(), reasons, strict=True):
            code, _, detail = reason.partition(": ")
            blamed = _COLUMN.match(detail)
            key = code, blamed[1] if blamed else ""
            counts[key] = counts.get(key, 0) + 1
            first.setdefault(key, (position, detail))
        for key, count in counts.items():
            known = self._found.get(key)
            if known is None:
                (code, column), (position, detail) = key, first[key]
                message = chunk.messages[position]
                self._found[key] = Refusal(
                    code=code,
                    column=column,
                    count=count,
                    topic_partition=TopicPartition(message.topic(), message.partition()),
                    offset=message.offset(),
                    detail=detail,
                )
            else:
                self._found[key] = known.more(count)

    def most_frequent(self) -> tuple[Refusal, ...]:
        """At most MOST, the most frequent first."""
        return tuple(sorted(self._found.values(), key=lambda one: -one.count)[:MOST])
