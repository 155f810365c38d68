"""Which ranges are read for which tables, and which of them at once."""

from collections.abc import Sequence
from dataclasses import dataclass

from kafka2hive.model.offsets import OffsetRange, TopicPartition


@dataclass(frozen=True, slots=True)
class RangeRequest:
    table: str
    range: OffsetRange


def waves(requests: Sequence[RangeRequest]) -> list[list[RangeRequest]]:
    """What can be assigned at once: a consumer reads a topic partition from one place only. Empty ranges are left out."""
    result: list[list[RangeRequest]] = []
    used: list[set[TopicPartition]] = []
    for request in requests:
        topic_partition = request.range.topic_partition
        if not len(request.range):
            continue
        at = next((n for n, seen in enumerate(used) if topic_partition not in seen), len(used))
        if at == len(used):
            result.append([])
            used.append(set())
        result[at].append(request)
        used[at].add(topic_partition)
    return result
