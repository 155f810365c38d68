"""Decides which Hive partitions of a run's tables are complete, from the time each table is read through and its policy."""

import datetime
import logging
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from kafka2hive.config.keys import TableRule
from kafka2hive.config.keys.bucket_path import BucketEnds, period_of, read_bucket_path
from kafka2hive.config.keys.units import duration_text
from kafka2hive.kafka.positions import Logs
from kafka2hive.ledger.snapshot.change import Change, Completeness, DataEpoch, NoTracking
from kafka2hive.model.entry_points import PluginKind, foreign_code, load
from kafka2hive.model.errors import TableError
from kafka2hive.model.files import HivePartition
from kafka2hive.model.instant import as_datetime, instant_seconds, last_end_over
from kafka2hive.model.offsets import TopicPartition
from kafka2hive.model.paths.path import parse_partition_path
from kafka2hive.model.snapshot import OpenPartition
from kafka2hive.model.text import counted, utc_text
from kafka2hive.plugins import CompletionContext, CompletionPolicy, OpenBucket
from kafka2hive.service.tables.read_through import Ends, ReadThrough
from kafka2hive.service.tables.table_state import CompletionProgress, Owned, Table
from kafka2hive.storage.port import Clock

log = logging.getLogger(__name__)

ASK_SECONDS = 10.0
_POLICY, _TOPICS = "completion policy", "completion topics"
"""The subjects of a table's warnings."""


class PartitionDecider(Protocol):
    """Decides for one table which partitions are complete; `name` is written into its certificates."""

    name: str

    def complete(self, partitions: Sequence[OpenPartition], through_ms: int) -> frozenset[HivePartition]: ...


class Decider:
    """The completion policy of one table's rule in the map. Raises TableError: `plugin.missing`, `plugin.failed`."""

    def __init__(self, rule: TableRule, table: str) -> None:
        options = rule.completion
        assert options is not None
        path = read_bucket_path(rule.bucketing.path)
        self._ends = BucketEnds(path, rule.bucketing.zone) if period_of(path) else None
        self._delay = options.delay_seconds
        self._policy: CompletionPolicy | None = None
        if options.plugin is None:
            self.name = f"{duration_text(options.delay_seconds)} after its end"
        else:
            self.name = f"plugin {options.plugin.name}"
            context = CompletionContext(
                table=table,
                path=rule.bucketing.path,
                zone=rule.bucketing.zone,
                delay=datetime.timedelta(seconds=options.delay_seconds),
                options=dict(options.plugin.options),
            )
            self._policy = PluginPolicy(options.plugin.name, context)

    def complete(self, partitions: Sequence[OpenPartition], through_ms: int) -> frozenset[HivePartition]:
        """Raises TableError: `plugin.failed`, `plugin.result`."""
        if not partitions:
            return frozenset()
        if self._policy is None:
            return frozenset(entry.partition for entry in partitions if self._is_over(entry, through_ms))
        buckets = [self._bucket(entry) for entry in partitions]
        chosen = self._policy.complete(buckets, as_datetime(through_ms // 1000))
        return frozenset(entry.partition for entry, yes in zip(partitions, chosen, strict=True) if yes)

    def _is_over(self, entry: OpenPartition, through_ms: int) -> bool:
        """Return whether a partition is complete by `completion.delay`: so long after its bucket's end.

        If the partition was opened after the bucket's end (by late or old records), the delay begins when it was opened.
        """
        end_ms = None if self._ends is None else self._ends.end_ms(entry.partition.path)
        if end_ms is None:
            return False
        end_ms = max(end_ms, instant_seconds(entry.opened_at) * 1000)
        return end_ms <= last_end_over(through_ms, self._delay, per_second=1000)

    def _bucket(self, entry: OpenPartition) -> OpenBucket:
        path = entry.partition.path
        end_ms = None if self._ends is None else self._ends.end_ms(path)
        return OpenBucket(
            values={name: value or None for name, value in parse_partition_path(path)},
            end=None if end_ms is None else as_datetime(end_ms // 1000),
            opened_at=as_datetime(instant_seconds(entry.opened_at)),
            files=entry.files,
            rows=entry.rows,
        )


class PluginPolicy:
    """A plug-in's CompletionPolicy, whose answers are checked.

    Raises TableError: `plugin.missing`, `plugin.failed`, `plugin.result`.
    """

    def __init__(self, name: str, context: CompletionContext) -> None:
        self._name = name
        make = load(PluginKind.COMPLETION_POLICY, name)
        with foreign_code(PluginKind.COMPLETION_POLICY, name):
            self._policy = make(context)

    def complete(self, buckets: Sequence[OpenBucket], through: datetime.datetime) -> list[bool]:
        with foreign_code(PluginKind.COMPLETION_POLICY, self._name):
            answers = list(self._policy.complete(tuple(buckets), through))
            shown = f"{answers!r:.200}"
        if len(answers) != len(buckets) or not all(type(yes) is bool for yes in answers):
            raise TableError(
                "plugin.result",
                f"{PluginKind.COMPLETION_POLICY.value} {self._name}: complete() returned {shown} for {len(buckets)} partitions",
                "correct the plug-in: it must return True or False for each partition; no partition became complete",
            )
        return answers


@dataclass(slots=True)
class CompletionTracker:
    """Tracks completeness for all tables of a run. Calls for one table must not overlap.

    If a policy fails, its table gets a warning: it goes on committing, but no partition becomes complete.
    With `_waits_for_hive`, a partition becomes complete only after it is registered in Hive.
    `_decider_of` makes a decider from a rule and a table's name.
    """

    _clock: Clock
    _waits_for_hive: bool
    _decider_of: Callable[[TableRule, str], PartitionDecider] = Decider
    _deciders: dict[str, PartitionDecider] = field(default_factory=dict)

    def note_ends(self, table: Table, logs: Logs, at_ms: int) -> None:
        """Note the high watermarks in `logs`, which were read at `at_ms` (wall clock) or later."""
        if table.rule.completion is None:
            return
        owned = table.owned
        positions = _positions(owned)
        topic_partitions = logs.cluster.topic_partitions(table.topics)
        ends = {tp: logs.high[tp].offset for tp in topic_partitions if tp in logs.high}
        absent = {tp.topic for tp in positions.keys() - set(topic_partitions)}
        gone = sorted(topic for topic in absent.union(table.vanished) if _is_topic_of(table.rule, topic))
        self._warn(
            table,
            _TOPICS,
            f"{', '.join(gone)} no longer exists in Kafka, so it is unknown whether all its records were read"
            if gone
            else "",
        )
        if gone or len(ends) < len(topic_partitions):
            return
        before = table.completion.read_through.after(positions)
        through = before.with_target(Ends(at_ms, ends)).after(positions)
        table.completion = replace(table.completion, read_through=through)

    def ask_for_news(self, table: Table, ending: bool) -> Completeness | NoTracking | None:
        """Return the completeness to record in a separate snapshot; None if it can wait for the next change.

        It cannot wait if a partition became complete, if the map no longer has `completion`, or if partitions are withheld and
        the map no longer has `register: complete`. The policy is asked every ASK_SECONDS, and if the run is `ending`.
        """
        answer = self._ask(table, None, ending)
        if not isinstance(answer, Completeness) or answer.complete:
            return answer
        return answer if table.owned.state.withheld and not answer.withholds else None

    def ask(self, table: Table, change: Change) -> Completeness | NoTracking | None:
        """Return the completeness that the snapshot of `change` records. The policy is asked every ASK_SECONDS."""
        return self._ask(table, change) if change.completeness is None else change.completeness

    def _ask(
        self, table: Table, change: Change | None, ending: bool = False
    ) -> Completeness | NoTracking | None:
        options, owned = table.rule.completion, table.owned
        if options is None:
            return NoTracking() if owned.state.tracking is not None else None
        through_ms = self.read_through_after(table, change).through_ms
        if through_ms is None:
            return Completeness(withholds=table.rule.registers_complete)
        now = self._clock.monotonic()
        if not ending and now - table.completion.asked_at < ASK_SECONDS:
            complete, policy = frozenset[HivePartition](), ""
        else:
            table.completion = replace(table.completion, asked_at=now)
            complete, policy = self._ask_policy(table, owned, through_ms)
            if complete and change is None:
                complete |= self._to_certify_again(table, owned)
        return Completeness(
            through=utc_text(through_ms // 1000),
            complete=complete,
            policy=policy,
            success_file=options.success_file or "",
            withholds=table.rule.registers_complete,
        )

    def forget(self, table: Table) -> None:
        """Forget a table's decider; `note_take_over` does the rest."""
        self._deciders.pop(table.name, None)

    def note_take_over(self, table: Table) -> None:
        """Forget the progress of a table that was taken over, because its ledger does not say when Kafka was last looked at."""
        table.completion = CompletionProgress(uncertified=table.completion.uncertified)
        self.note_certificates(table)

    def note_commit(self, table: Table, read_through: ReadThrough) -> None:
        """Note a published change; `read_through` is what `read_through_after` returned for it before the commit."""
        table.completion = replace(table.completion, read_through=read_through)
        self.note_certificates(table)

    def note_certificates(self, table: Table) -> None:
        """Note which certificates of the newest snapshot are in place, and warn if some are missing."""
        ledger = table.owned.ledger
        newest = {entry.partition.path for entry in ledger.state.certificates}
        missing = {e.partition.path for e in ledger.state.certificates if e.partition not in ledger.certified}
        uncertified = (table.completion.uncertified - newest) | missing
        table.completion = replace(table.completion, uncertified=uncertified)
        count = len(uncertified)
        table.warnings["certificates"] = (
            (
                f"the certificates of {counted(count, 'complete partition')} could not be written, for example of"
                f" {min(uncertified)}: the log says why; the run tries again, and the table goes on committing",
            )
            if count
            else ()
        )

    def read_through_after(self, table: Table, change: Change | None) -> ReadThrough:
        """Return the time that the table is read through once `change` is committed."""
        return table.completion.read_through.after({**_positions(table.owned), **_new_positions(change)})

    def _ask_policy(
        self, table: Table, owned: Owned, through_ms: int
    ) -> tuple[frozenset[HivePartition], str]:
        unknown = self._unknown(table, owned)
        candidates = [entry for entry in owned.state.open if entry.partition not in unknown]
        try:
            decider = self._deciders.get(table.name)
            if decider is None:
                decider = self._deciders[table.name] = self._decider_of(table.rule, table.name)
            complete = decider.complete(candidates, through_ms)
            self._note_awaited(table, decider, [e for e in candidates if e.partition not in complete])
        except TableError as error:
            self._warn(table, _POLICY, str(error))
            return frozenset(), ""
        self._warn(table, _POLICY, "")
        return complete, decider.name

    def _to_certify_again(self, table: Table, owned: Owned) -> frozenset[HivePartition]:
        """Return the complete partitions without a certificate in place, to be certified again by the next snapshot.

        That snapshot withdraws those certificates (R10). If it only opened the partitions again, they would become complete in
        a further one: as long as no certificate can be written, an idle table would commit one snapshot after the other.
        """
        complete = {entry.partition for entry in owned.state.certificates}
        return frozenset(complete - owned.ledger.certified - self._unknown(table, owned))

    def _unknown(self, table: Table, owned: Owned) -> frozenset[HivePartition]:
        """Return the partitions that must be registered in Hive before they can be complete."""
        return _unknown_to_hive(table, owned) if self._waits_for_hive else frozenset()

    def _note_awaited(self, table: Table, decider: PartitionDecider, rest: Sequence[OpenPartition]) -> None:
        """Note whether one of the other partitions would be complete if the table were read through now.

        A plug-in may be asked only about what was read; with one, each open partition may be waiting.
        """
        options = table.rule.completion
        if options is None or table.rule.flush.max_interval_seconds is None:
            return
        now_ms = self._clock.epoch_ms()
        is_awaited = bool(rest) if options.plugin is not None else bool(decider.complete(rest, now_ms))
        table.completion = replace(table.completion, is_awaited=is_awaited)

    def _warn(self, table: Table, subject: str, text: str) -> None:
        """Set the table's warning about this subject; an empty string clears it."""
        texts = (f"no partition becomes complete: {text}",) if text else ()
        if texts and table.warnings.get(subject) != texts:
            log.warning("%s: %s", table.name, texts[0])
        table.warnings[subject] = texts


def _unknown_to_hive(table: Table, owned: Owned) -> frozenset[HivePartition]:
    """Return the open partitions that are not registered in Hive.

    A partition that Hive has confirmed in this run counts as registered: each epoch with more files makes it a pending
    registration again, so steady late records would otherwise postpone its certificate for ever.
    """
    waiting = owned.open_registrations - table.hive.confirmed
    if not table.rule.registers_complete:  # the next snapshot makes them pending registrations (G4)
        waiting |= frozenset(owned.state.withheld) - table.hive.confirmed
    return waiting | {entry.partition for entry in owned.state.forgotten}


def _is_topic_of(rule: TableRule, topic: str) -> bool:
    """Return whether the map would read the topic if it existed."""
    return topic in rule.topics if rule.pattern is None else re.fullmatch(rule.pattern, topic) is not None


def _positions(owned: Owned) -> Mapping[TopicPartition, int]:
    return {p.topic_partition: p.end for p in owned.state.positions}


def _new_positions(change: Change | None) -> Mapping[TopicPartition, int]:
    """Return the positions that the change moves."""
    if not isinstance(change, DataEpoch):
        return {}
    ends: dict[TopicPartition, int] = {}
    for entry in (account.range for account in change.accounts):
        ends[entry.topic_partition] = max(entry.end, ends.get(entry.topic_partition, 0))
    return ends
