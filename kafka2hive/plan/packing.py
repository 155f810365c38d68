"""Max-min fair shares, and packing into even tasks: a big table is cut by estimated bytes, small ones stay whole."""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from kafka2hive.model.offsets import OffsetRange

#: A task has a fixed cost of 33-44 ms and reads about 70 MB/s: below this size the fixed cost is noticeable, and more
#: tasks mean more and smaller files.
TASK_BYTES_AT_LEAST = 16 * 1024 * 1024
#: A further range costs about a millisecond at the broker, in which this many bytes could be read.
RANGE_OVERHEAD_BYTES = 64 * 1024
#: A table is cut only if it is bigger than an even task by this fraction, because more pieces mean more files.
_TOLERANCE = 0.25


@dataclass(frozen=True, slots=True)
class RangePiece:
    """Ranges of one table that one task reads; `table` is an index into the planner's tables, `weight` is in bytes."""

    table: int
    ranges: tuple[OffsetRange, ...]
    weight: float


def weigh(ranges: Sequence[OffsetRange], bytes_per_record: float) -> float:
    """Return the estimated cost of reading the ranges in one task, in bytes."""
    records = sum(r.end - r.start for r in ranges)
    return records * bytes_per_record + len(ranges) * RANGE_OVERHEAD_BYTES


def task_count(weight: float, slots: int) -> int:
    """Return the number of tasks for an epoch of this weight (bytes): at least one, at most `slots`."""
    return max(1, min(slots, ceil(weight / TASK_BYTES_AT_LEAST)))


def cut(piece: RangePiece, bytes_per_record: float, goal: float) -> list[RangePiece]:
    """Cut a piece evenly into the fewest pieces that exceed `goal` by at most a quarter; ranges are split if necessary.

    The parts of a range cover it in order, without gap or overlap.
    """
    pieces = ceil(piece.weight / goal - _TOLERANCE)
    if pieces < 2:
        return [piece]
    goal = piece.weight / pieces
    finished: list[RangePiece] = []
    current: list[OffsetRange] = []
    room = goal

    def close() -> None:
        nonlocal current, room
        finished.append(RangePiece(piece.table, tuple(current), weigh(current, bytes_per_record)))
        current, room = [], goal

    for whole in piece.ranges:
        rest = whole
        while len(finished) < pieces - 1 and weigh((rest,), bytes_per_record) > room:
            fits = int((room - RANGE_OVERHEAD_BYTES) / bytes_per_record)
            if fits >= 1:
                middle = rest.start + fits
                current.append(OffsetRange(rest.topic_partition, rest.start, middle))
                rest = OffsetRange(rest.topic_partition, middle, rest.end)
            elif not current:
                break  # not even the overhead fits, and an empty piece would be useless
            close()
        current.append(rest)
        room -= weigh((rest,), bytes_per_record)
    close()
    return finished


def pack(pieces: Sequence[RangePiece], tasks: int) -> list[list[RangePiece]]:
    """Spread pieces over at most `tasks` tasks: the heaviest first, each to the lightest task.

    Deterministic: ties go to the earlier table, the earlier piece and the lower task.
    """
    loads = [(0.0, task) for task in range(tasks)]
    packed: list[list[RangePiece]] = [[] for _ in range(tasks)]
    for piece in sorted(pieces, key=lambda p: -p.weight):
        load, task = loads[0]
        packed[task].append(piece)
        heapq.heapreplace(loads, (load + piece.weight, task))
    return [task for task in packed if task]


def fair_shares(demands: Sequence[int], capacity: int) -> list[int]:
    """Divide `capacity` among `demands` (same unit, >= 0); the result aligns with `demands`.

    No share exceeds its demand. A share is smaller than another only if its demand is met, except for the remainder, of
    which the earlier demands get one unit each. The sum is min(capacity, sum(demands)). Takes O(n log n).
    """
    shares = [0] * len(demands)
    remaining = max(0, capacity)
    order = sorted(range(len(demands)), key=demands.__getitem__)
    for served, index in enumerate(order):
        level, odd = divmod(remaining, len(order) - served)
        if demands[index] > level:
            for nth, unserved in enumerate(sorted(order[served:])):
                shares[unserved] = level + (nth < odd)
            break
        shares[index] = demands[index]
        remaining -= demands[index]
    return shares
