"""The backlog of each table: its ledger's positions compared with Kafka's watermarks."""

import logging
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import assert_never

from kafka2hive.kafka.port import ClusterView, Watermark
from kafka2hive.kafka.positions import Halt, Logs, PositionsToCommit, Resume, TableIntent, decide
from kafka2hive.kafka.problems import stop
from kafka2hive.ledger.snapshot import change
from kafka2hive.model.errors import ServiceUnavailable
from kafka2hive.model.offsets import UNKNOWN_ID, OffsetRange, RangeAccounting, TopicPartition
from kafka2hive.model.snapshot import IMPORTED_START, UNKNOWN_START, Snapshot
from kafka2hive.plan import TableBacklog
from kafka2hive.service.tables.read_through import event_bounds
from kafka2hive.service.tables.table_state import Table
from kafka2hive.service.topics.kafka_view import KafkaView

log = logging.getLogger(__name__)

Publish = Callable[[Table, change.Change], object]


@dataclass(slots=True, eq=False)
class Backlogs:
    """Compares the ledgers of a run's tables with Kafka's logs, and updates the tables' `lag`. `_publish` commits a change.

    Calls for one table must not overlap.
    """

    _publish: Publish
    _planned_at: dict[str, float] = field(default_factory=dict, init=False)
    _left: dict[str, int] = field(default_factory=dict, init=False)
    """The lag of each table that its last epoch left."""
    _warned: dict[str, set[str]] = field(default_factory=dict, init=False)

    def forget(self, table: Table) -> None:
        """Forget when the table was planned last, and what that epoch left."""
        self._planned_at.pop(table.name, None)
        self._left.pop(table.name, None)

    def ranges_to_read(
        self, table: Table, logs: Logs, born_later: Collection[str], now: str
    ) -> tuple[OffsetRange, ...]:
        """Return `[position, log end)` for every topic partition of a table that owns its ledger.

        New positions are committed first, in a snapshot without files, so that a crash before the first data does not move the
        start. Topic ids that the ledger lacks (it was rebuilt, or the brokers provided none before) are committed the same way,
        so that a topic that is recreated later is noticed. `born_later` are the topics that did not exist when the run first
        looked. Raises ManualActionRequired if Kafka and the ledger contradict each other, and what the commit raises.
        """
        intent = TableIntent(table.topics, table.rule.start, table.rule.pattern is not None, born_later)
        decision = decide(table.owned.state, logs, intent)
        warnings = [*decision.warnings, *changed_start(table)]
        learned = unknown_ids(table.owned.state, table.topics, logs.cluster)
        if isinstance(decision, PositionsToCommit) or (isinstance(decision, Resume) and learned):
            before = change_before_reading(
                decision=decision, topic_ids=learned, logs=logs, table=table, now=now
            )
            self._publish(table, before)
            decision = decide(table.owned.state, logs, intent)
            warnings += decision.warnings
        table.warnings["positions"] = tuple(dict.fromkeys((*decision.warnings, *changed_start(table))))
        warned = self._warned.setdefault(table.name, set())
        for warning in warnings:
            if warning not in warned:
                warned.add(warning)
                log.warning("%s: %s", table.name, warning)
        match decision:
            case Resume(ranges):
                return ranges
            case Halt(problems):
                raise stop(table.name, problems)
            case PositionsToCommit():
                return ()
            case _:
                assert_never(decision)

    def count_lag_of_set_aside(self, tables: Collection[Table], kafka: KafkaView) -> None:
        """Update the lag of tables that are set aside. It is for display, so an outage of Kafka leaves it unchanged."""
        aside = [(t, state) for t in tables if (state := t.last_state) is not None]
        try:
            ends = kafka.ends([state for _, state in aside])
        except ServiceUnavailable as error:
            log.debug("the lag of tables that are set aside is not known: %s", error.message)
            return
        for table, state in aside:
            table.lag = records_waiting(state, ends) if state.positions else None

    def backlog(
        self,
        table: Table,
        ranges: Collection[OffsetRange],
        high: Mapping[TopicPartition, Watermark],
        now: float,
        target: Mapping[TopicPartition, int] | None,
    ) -> TableBacklog:
        """Return the planner's view of one table and update its lag.

        The backlog covers the records that readers can get now; it is empty for a paused table. The lag covers all records
        that Kafka has acknowledged, up to the `high` watermarks. With a `target` (`--once`), both end at the target's offsets.
        `now` is in monotonic seconds.
        """
        ends = {
            r.topic_partition: max(r.end, high[r.topic_partition].offset if r.topic_partition in high else 0)
            for r in ranges
        }
        if target is not None:
            ranges = [
                OffsetRange(
                    r.topic_partition,
                    r.start,
                    max(r.start, min(r.end, target.get(r.topic_partition, r.start))),
                )
                for r in ranges
            ]
            ends = {tp: min(end, target.get(tp, 0)) for tp, end in ends.items()}
        table.lag = sum(max(ends[r.topic_partition] - r.start, 0) for r in ranges)
        if table.owned.state.paused is not None:
            ranges = ()
        return TableBacklog(
            table=table.name,
            ledger_id=table.owned.state.ledger_id,
            generation=table.owned.ledger.generation.number,
            epoch=table.owned.ledger.next_epoch,
            ranges=tuple(ranges),
            bytes_per_record=table.record_sizes.mean,
            most_bytes_per_record=table.record_sizes.bound,
            seconds_since_epoch=now - self._planned_at.get(table.name, -math.inf),
            flush=table.rule.flush,
            may_wait=table.record_sizes.is_measured and not table.is_certificate_awaited,
            bounds=event_bounds(table.rule, table.owned.state),
            fresh_records=self._fresh_records(table, ranges),
        )

    def _fresh_records(self, table: Table, ranges: Collection[OffsetRange]) -> int:
        """Return how many of the waiting records have come since the table's last epoch was planned, 0 before the first one."""
        left = self._left.get(table.name)
        came = 0 if left is None else max((table.lag or 0) - left, 0)
        return min(came, sum(r.end - r.start for r in ranges))

    def note_epoch(self, table: Table, planned_at: float, accounts: Sequence[RangeAccounting]) -> None:
        """Note a published epoch of the table, which was planned at `planned_at` (monotonic seconds).

        An epoch that was not committed must not be noted, so that the table is still due.
        """
        self._planned_at[table.name] = planned_at
        table.record_sizes.learn(accounts)
        done = sum(entry.account.read + entry.account.absent for entry in accounts)
        table.lag = self._left[table.name] = max((table.lag or 0) - done, 0)


def contradicts(table: Table, logs: Logs) -> bool:
    """Return whether Kafka's `logs` and the ledger contradict each other."""
    intent = TableIntent(table.topics, table.rule.start, table.rule.pattern is not None)
    return isinstance(decide(table.owned.state, logs, intent), Halt)


def changed_start(table: Table) -> tuple[str, ...]:
    """Return a warning if the map's start policy changed after the first positions were committed, because it has no effect."""
    state, start_in_map = table.owned.state, table.rule.start.text
    imported = state.start.startswith(IMPORTED_START)
    if not state.positions or imported or state.start in (UNKNOWN_START, start_in_map):
        return ()
    return (
        f"the map's start is {start_in_map} now, but the table began with {state.start}: topics with positions resume at their"
        f" positions; `kafka2hive reset --table {table.name} --move-data -c MAP` starts the table over",
    )


def unknown_ids(state: Snapshot, topics: Collection[str], cluster: ClusterView) -> dict[str, str]:
    """Return Kafka's ids of those `topics` for which the ledger has positions without an id."""
    without_id = {p.topic_partition.topic for p in state.positions if p.topic_id == UNKNOWN_ID}
    views = [cluster.topics[topic] for topic in sorted(without_id.intersection(topics, cluster.topics))]
    return {view.name: view.id for view in views if view.id != UNKNOWN_ID}


def change_before_reading(
    decision: PositionsToCommit | Resume, topic_ids: Mapping[str, str], logs: Logs, table: Table, now: str
) -> change.FirstPositions:
    """Return the change without files that commits first positions, accepted gaps and new topic ids."""
    owned = table.owned
    first = decision if isinstance(decision, PositionsToCommit) else PositionsToCommit(())
    begins = bool(first.positions) and not owned.state.positions
    return change.FirstPositions(
        positions=first.positions,
        gaps=tuple(gap.entry(now, owned.ledger.next_epoch) for gap in first.gaps),
        topic_ids=topic_ids,
        registered=owned.registered,
        cluster_id=logs.cluster.id_of(table.cluster),
        location=table.location,
        start=table.rule.start.text if begins else None,
    )


def records_waiting(state: Snapshot, latest: Mapping[TopicPartition, Watermark]) -> int:
    """Count the offsets between a table's positions and the ends of their logs. Logs that are not in `latest` do not count."""
    known = (p for p in state.positions if p.topic_partition in latest)
    return sum(max(latest[p.topic_partition].offset - p.end, 0) for p in known)
