"""The topic partitions of a table's rows, numbered so that a file can hold the rows of each together."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from kafka2hive.model.offsets import OffsetRange
from kafka2hive.pipeline.task.chunk import Chunk, Positions

SourceIds = npt.NDArray[np.int32]
"""The topic partition of each row as a number; a row group holds its rows in the order of these numbers."""


class RowSources:
    """Numbers for the topic partitions of one table in a task, in their order."""

    def __init__(self, ranges: Sequence[OffsetRange]) -> None:
        topic_partitions = sorted({r.topic_partition for r in ranges})
        self._numbers = {tp: number for number, tp in enumerate(topic_partitions)}
        self._by_range = np.array([self._numbers[r.topic_partition] for r in ranges], np.int32)

    def of_rows(self, chunk: Chunk, positions: Positions) -> SourceIds:
        """Return the numbers for the messages at `positions`."""
        numbers = [self._numbers[segment.range.topic_partition] for segment in chunk.segments]
        return np.repeat(np.array(numbers, np.int32), chunk.count_by_segment(positions))

    def of_ranges(self, numbers: Positions) -> SourceIds:
        """Return the numbers for rows that come from the ranges with these numbers."""
        found: SourceIds = self._by_range[numbers]
        return found
