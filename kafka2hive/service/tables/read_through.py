"""The time that a table is read through, and the bounds of event time, which depend on it. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from kafka2hive.config.dead_letters import dead_letter_ends
from kafka2hive.config.keys import Bucketing, TableRule
from kafka2hive.config.keys.bucket_path import BucketEnds, period_of, read_bucket_path
from kafka2hive.model.errors import ConfigError
from kafka2hive.model.instant import NEVER, instant_seconds, last_end_over
from kafka2hive.model.offsets import TopicPartition
from kafka2hive.model.snapshot import EventBounds, Snapshot


@dataclass(frozen=True, slots=True)
class Ends:
    """The ends of all logs of a table, read at `at_ms` (epoch milliseconds) or later."""

    at_ms: int
    offsets: Mapping[TopicPartition, int]


@dataclass(frozen=True, slots=True)
class ReadThrough:
    """The table is read through `through_ms` (epoch milliseconds). `target` has the ends of the logs to reach next.

    A target is kept until it is reached, because a table that is always a little behind would never reach ends that move
    with the producers. A target that can no longer be reached (a truncated log, a deleted topic) is replaced.
    """

    through_ms: int | None = None
    target: Ends | None = None

    def with_target(self, ends: Ends) -> "ReadThrough":
        """Return the state with `ends` as the target, unless it has a target that can still be reached."""
        target = self.target
        if target is None or any(ends.offsets.get(tp, -1) < end for tp, end in target.offsets.items()):
            return replace(self, target=ends)
        return self

    def after(self, positions: Mapping[TopicPartition, int]) -> "ReadThrough":
        """Return the state after a commit of `positions` (next offsets to read), which may reach the target."""
        target = self.target
        if target is None or any(positions.get(tp, -1) < end for tp, end in target.offsets.items()):
            return self
        return ReadThrough(through_ms=target.at_ms)


def event_bounds(rule: TableRule, state: Snapshot) -> EventBounds | None:
    """Return the bounds of event time for the epoch after `state`, which is still to be planned; None if the map has none.

    A row is late if it comes after the table was read through a time that is `completion.delay` or more after the end of the
    row's period. This time and the bound of an earlier epoch are in the ledger, so neither a restart nor a longer delay in the
    map moves the bound back.
    """
    bounds = replace(
        bounds_of_map(rule.bucketing, 0) or EventBounds(), late_before_ms=_late_before(rule, state)
    )
    known = None if bounds == EventBounds() else bounds
    return with_expiry(known, state)


def with_expiry(bounds: EventBounds | None, state: Snapshot) -> EventBounds | None:
    """Return the bounds with what has expired in `state`: it stays expired, whatever the map says now (E1)."""
    expired = state.expired_before_ms
    if not expired:
        return bounds
    return replace(bounds or EventBounds(), expired_before_ms=expired)


def expired_before(rule: TableRule, state: Snapshot, now_ms: int) -> int:
    """Return the time up to which periods have expired, in epoch milliseconds, 0 if none have; never before that of `state`.

    By `retain`, the time is before both the clock and the newest record's timestamp, so that neither a wrong clock nor a single
    wrong timestamp expires a table.
    """
    if rule.retain is None or state.newest_ms is None:
        return state.expired_before_ms
    return max(state.expired_before_ms, min(now_ms, state.newest_ms) - round(rule.retain * 1000))


def expired_among(
    rule: TableRule, state: Snapshot, names: Iterable[tuple[str, str]]
) -> list[tuple[str, str]]:
    """Return those Hive partitions whose periods have expired by the bound in the ledger (E1).

    `names` has the table and path of each; those of another table hold the dead letters of a day.
    """
    path = read_bucket_path(rule.bucketing.path)
    if not state.expired_before_ms:
        return []
    of_table = None if period_of(path) is None else BucketEnds(path, rule.bucketing.zone)
    expired = []
    for name in names:
        ends = of_table if name[0] == state.table else dead_letter_ends()
        end = None if ends is None else ends.end_ms(name[1])
        if end is not None and end <= state.expired_before_ms:
            expired.append(name)
    return expired


def not_tracked(table: str) -> ConfigError:
    return ConfigError(
        "certificate.none",
        f"{table} has no certificates: its complete partitions are not tracked",
        "give the table a `completion` section in the map",
    )


def refuse_impossible(rule: TableRule, table: str, path: str) -> None:
    """Raise ConfigError (`usage.partition`) for a Hive partition of the table that no record can lead to."""
    if not read_bucket_path(rule.bucketing.path).can_make(path):
        raise ConfigError(
            "usage.partition",
            f"no record leads to {table}/{path}: the map's bucket.path is {rule.bucketing.path or 'empty'}",
            "correct the partition's name",
        )


def bounds_of_map(bucketing: Bucketing, planned_ms: int) -> EventBounds | None:
    """Return the map's bounds without the bound of late rows, which depends on the ledger; None if the map has none."""
    future, past = bucketing.max_future_seconds, bucketing.max_past_seconds
    if (future, past) == (None, None):
        return None
    return EventBounds(
        planned_ms=planned_ms, max_future_ms=_milliseconds(future), max_past_ms=_milliseconds(past)
    )


def _late_before(rule: TableRule, state: Snapshot) -> int | None:
    if rule.late == "append" or rule.completion is None:
        return None
    if state.tracking is None or (through := instant_seconds(state.tracking.through)) == NEVER:
        return None
    bound = last_end_over(through * 1000, rule.completion.delay_seconds, per_second=1000)
    known = None if state.bounds is None else state.bounds.late_before_ms
    return bound if known is None else max(bound, known)


def _milliseconds(seconds: float | None) -> int | None:
    return None if seconds is None else round(seconds * 1000)
