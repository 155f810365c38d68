"""The records of a table's ranges, counted chunk by chunk in windows of their Kafka timestamps."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from kafka2hive.model.offsets import OffsetRange
from kafka2hive.model.text import utc_text
from kafka2hive.model.window_counts import NO_WINDOW, WindowCount
from kafka2hive.task.fetch.chunk import Chunk
from kafka2hive.task.fetch.records import Indices

MOST_WINDOWS = 4_000
"""How many windows a task counts for a table: four weeks of ten minutes for one topic partition."""
_YEAR_10000_MS = 253_402_300_800_000
_OUTSIDE = -1
"""The number of the window of records without a timestamp, or with one after the year 9999."""

_Numbers = npt.NDArray[np.int64]


class WindowTally:
    """The counts of one table in one task. `seconds` is the length of a window."""

    def __init__(self, seconds: int) -> None:
        self._seconds = seconds
        self._sums: dict[tuple[OffsetRange, int], list[int]] = {}

    def count(self, chunk: Chunk, letters: Sequence[Indices]) -> None:
        """Count a whole chunk; `letters` has the indices of its dead letters."""
        if not len(chunk):
            return
        windows = self._windows(chunk)
        low = int(windows.min())
        span = int(windows.max()) - low + 1
        numbers: dict[OffsetRange, int] = {}  # a range has a segment for each run of its records
        of_segments = [numbers.setdefault(segment.range, len(numbers)) for segment in chunk.segments]
        sources = np.repeat(of_segments, [segment.count for segment in chunk.segments])
        groups = sources * span + (windows - low)
        if len(numbers) * span > 4 * len(chunk) + 1_000:  # few records, far apart
            groups = np.unique(groups, return_inverse=True)[1]
        records = np.bincount(groups)
        size = len(records)
        sizes = np.bincount(groups, weights=chunk.records.sizes(), minlength=size).astype(np.int64)
        dead = sum((np.bincount(groups[each], minlength=size) for each in letters), np.zeros(size, np.int64))
        first, last = np.zeros((2, size), np.int64)
        every = np.arange(len(chunk))
        last[groups] = every  # the last assignment wins
        first[groups[::-1]] = every[::-1]
        present = np.flatnonzero(records)
        firsts = first[present]
        columns = (
            sources[firsts],
            windows[firsts],
            records[present],
            dead[present],
            sizes[present],
            chunk.offsets(firsts),
            chunk.offsets(last[present]),
        )
        ranges = list(numbers)
        for source, window, *counts in zip(*(column.tolist() for column in columns), strict=True):
            self._add(ranges[source], window, counts)

    def _windows(self, chunk: Chunk) -> _Numbers:
        """Return the number of each record's window since 1970."""
        times = pc.fill_null(chunk.timestamps(), -1).to_numpy(zero_copy_only=False)
        windows: _Numbers = times // (self._seconds * 1000)
        outside = (times < 0) | (times >= _YEAR_10000_MS)
        return np.where(outside, _OUTSIDE, windows) if outside.any() else windows

    def _add(self, source: OffsetRange, window: int, counts: list[int]) -> None:
        """Add records, dead letters, bytes, first and last offset."""
        known = self._sums.get((source, window))
        if known is None and len(self._sums) >= MOST_WINDOWS:
            window = _OUTSIDE
            known = self._sums.get((source, window))
        if known is None:
            self._sums[source, window] = counts
            return
        for place in range(3):
            known[place] += counts[place]
        known[3:] = min(known[3], counts[3]), max(known[4], counts[4])

    def windows(self) -> tuple[WindowCount, ...]:
        """Return the counts, ordered by topic partition, range and window."""
        return tuple(
            WindowCount(
                topic_partition=source.topic_partition,
                start=NO_WINDOW if window == _OUTSIDE else utc_text(window * self._seconds),
                seconds=self._seconds,
                records=records,
                dead_lettered=dead,
                bytes=size,
                first=first,
                last=last,
            )
            for (source, window), (records, dead, size, first, last) in sorted(self._sums.items())
        )
