"""Max-min fair shares, and packing: a big table is cut by estimated bytes, small ones stay whole, tasks come out even."""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from kafka2hive.model.offsets import OffsetRange

#: A task costs 33-44 ms whatever it does and reads about 70 MB/s: with less than this the cost would show, and more
#: tasks mean more and smaller files.
TASK_BYTES_AT_LEAST = 16 * 1024 * 1024
#: Asking a broker for one more range takes about a millisecond, in which these bytes could have been read.
RANGE_OVERHEAD_BYTES = 64 * 1024
#: A table is cut only when it is this much bigger than an even task: fewer pieces, fewer files.
_TOLERANCE = 0.25


@dataclass(frozen=True, slots=True)
class RangePiece:
    """Ranges of one table that one task reads together; `table` is an index into the planner's tables."""

    table: int
    ranges: tuple[OffsetRange, ...]
    weight: float


def weigh(ranges: Sequence[OffsetRange], bytes_per_record: float) -> float:
    """Estimated cost of reading the ranges in one task, in bytes."""
    records = sum(r.end - r.start for r in ranges)
    return records * bytes_per_record + len(ranges) * RANGE_OVERHEAD_BYTES


def task_count(weight: float, slots: int) -> int:
    """How many tasks an epoch of this weight deserves: one for little, never more than `slots`."""
    return max(1, min(slots, ceil(weight / TASK_BYTES_AT_LEAST)))


def cut(piece: RangePiece, bytes_per_record: float, goal: float) -> list[RangePiece]:
    """Cut a piece into as few as keep within `goal` and a quarter, evenly; a range is split where it must be.

    The parts of a range join without hole or overlap, in order; nothing is lost or added.
    """
    pieces = ceil(piece.weight / goal - _TOLERANCE)
    if pieces < 2:
        return [piece]
    goal = piece.weight / pieces
    done: list[RangePiece] = []
    taken: list[OffsetRange] = []
    room = goal

    def close() -> None:
        nonlocal taken, room
        done.append(RangePiece(piece.table, tuple(taken), weigh(taken, bytes_per_record)))
        taken, room = [], goal

    for whole in piece.ranges:
        rest = whole
        while len(done) < pieces - 1 and weigh((rest,), bytes_per_record) > room:
            fits = int((room - RANGE_OVERHEAD_BYTES) / bytes_per_record)
            if fits >= 1:
                middle = rest.start + fits
                taken.append(OffsetRange(rest.topic_partition, rest.start, middle))
                rest = OffsetRange(rest.topic_partition, middle, rest.end)
            elif not taken:
                break  # not even the overhead fits: an empty piece would gain nothing
            close()
        taken.append(rest)
        room -= weigh((rest,), bytes_per_record)
    close()
    return done


def pack(pieces: Sequence[RangePiece], tasks: int) -> list[list[RangePiece]]:
    """Spread pieces over at most `tasks` tasks, the heaviest first, each to the task that has least.

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

    No share exceeds its demand; a share is smaller than another only where its demand is met (but for the one unit that
    does not divide evenly: earlier ones get it); the sum is min(capacity, sum(demands)). O(n log n).
    """
    shares = [0] * len(demands)
    left = max(0, capacity)
    order = sorted(range(len(demands)), key=demands.__getitem__)
    for served, index in enumerate(order):
        level, odd = divmod(left, len(order) - served)
        if demands[index] > level:
            for nth, unserved in enumerate(sorted(order[served:])):
                shares[unserved] = level + (nth < odd)
            break
        shares[index] = demands[index]
        left -= demands[index]
    return shares
