"""The accounts of a table's offset ranges, counted chunk by chunk and compared with the counts of Kafka's client."""

from collections.abc import Sequence

import pyarrow.compute as pc

from kafka2hive.model.offsets import OffsetAccounting, OffsetRange, RangeAccounting, TopicPartition
from kafka2hive.model.window_counts import WindowCount, check_windows
from kafka2hive.plan.contract import ClientCounts, check_accounts
from kafka2hive.task.fetch.chunk import Chunk
from kafka2hive.task.fetch.records import Indices
from kafka2hive.task.window_tally import WindowTally


class TableAccounts:
    """The accounts of one table in one task.

    `newest_ms` is the newest record timestamp so far in epoch milliseconds, None before the first one. `windows` counts the
    records by time, too; None for a table without `counts`.
    """

    def __init__(
        self, task_index: int, ranges: Sequence[OffsetRange], windows: WindowTally | None = None
    ) -> None:
        self.newest_ms: int | None = None
        self.delivered: tuple[ClientCounts, ...] = ()
        self._task_index = task_index
        self._windows = windows
        self._accounts: dict[OffsetRange, OffsetAccounting] = {r: OffsetAccounting() for r in ranges}
        self._leader_epochs: dict[TopicPartition, tuple[int, int]] = {}

    def count(
        self,
        chunk: Chunk,
        *,
        dead_lettered: Sequence[Indices],
        filtered: Sequence[Indices],
        tombstones: Indices,
        rows: Sequence[Indices] = (),
        out_of_range: Sequence[Indices] = (),
        late: Sequence[Indices] = (),
    ) -> None:
        """Count a whole chunk. Every message that is not dead-lettered, filtered or a skipped tombstone counts as written.

        `rows` holds the index of the message of each written row; all rows of a message are in one item of the list.
        `out_of_range` and `late` repeat indices of `dead_lettered`.
        """
        letters = _sums(chunk, dead_lettered)
        dropped = _sums(chunk, filtered)
        skipped = chunk.count_by_segment(tombstones)
        more = _sums(chunk, [_rows_beyond_first(indices) for indices in rows])
        outside, too_late = _sums(chunk, out_of_range), _sums(chunk, late)
        for number, segment in enumerate(chunk.segments):
            self._accounts[segment.range] += OffsetAccounting(
                read=segment.count,
                written=segment.count - letters[number] - dropped[number] - skipped[number],
                filtered=dropped[number],
                tombstones=skipped[number],
                dead_lettered=letters[number],
                bytes=segment.bytes,
                more_rows=more[number],
                out_of_range=outside[number],
                late=too_late[number],
            )
            self._note_leader(segment.range, segment.leader_epoch)
        if self._windows is not None:
            self._windows.count(chunk, dead_lettered)
        newest = pc.max(chunk.timestamps()).as_py()
        if newest is not None:
            self.newest_ms = newest if self.newest_ms is None else max(newest, self.newest_ms)

    def _note_leader(self, source: OffsetRange, leader_epoch: int) -> None:
        """Remember, for each topic partition, the leader epoch of its range with the greatest start."""
        known = self._leader_epochs.get(source.topic_partition)
        if known is None or source.start >= known[0]:
            self._leader_epochs[source.topic_partition] = (source.start, leader_epoch)

    def complete(self, delivered: Sequence[ClientCounts]) -> None:
        """Add the absent offsets. Raises AccountingMismatch if the counts differ from what the client delivered."""
        for counts in delivered:
            self._accounts[counts.range] += OffsetAccounting(absent=counts.absent)
        self.delivered = tuple(delivered)
        check_accounts(self.range_accounts(), self.delivered)
        if (windows := self.windows()) is not None:
            check_windows(self.range_accounts(), windows)

    def range_accounts(self) -> tuple[RangeAccounting, ...]:
        return tuple(
            RangeAccounting(self._task_index, source, account) for source, account in self._accounts.items()
        )

    def windows(self) -> tuple[WindowCount, ...] | None:
        return None if self._windows is None else self._windows.windows()

    def footer_accounts(self) -> tuple[OffsetAccounting, ...]:
        """Return one account per range that is not empty, in the order of the plan."""
        return tuple(account for source, account in self._accounts.items() if len(source))

    def leader_epochs(self) -> tuple[tuple[TopicPartition, int], ...]:
        return tuple((place, epoch) for place, (_, epoch) in self._leader_epochs.items())


def _rows_beyond_first(indices: Indices) -> Indices:
    """Return the index of every row beyond the first of its message."""
    further: Indices = indices[1:][indices[1:] == indices[:-1]]
    return further


def _sums(chunk: Chunk, index_lists: Sequence[Indices]) -> list[int]:
    """Return, for each segment of the chunk, how many indices of all the lists are in it."""
    counts = [chunk.count_by_segment(indices) for indices in index_lists]
    return [sum(column) for column in zip(*counts, strict=True)] if counts else [0] * len(chunk.segments)
