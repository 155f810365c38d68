"""Offsets of many topic partitions on few lines."""

from collections.abc import Iterable
from itertools import groupby

from kafka2hive.model.offsets import Position
from kafka2hive.model.quantities import counted

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
