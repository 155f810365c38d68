"""Who decides which open partitions are complete: our own policy, or one that a package offers. Decides, does nothing."""

import datetime
from collections.abc import Sequence
from typing import Protocol

from kafka2hive.config.grammars.bucket_path import read_bucket_path
from kafka2hive.config.grammars.bucket_period import BucketEnds, period_of
from kafka2hive.config.values import TableRule
from kafka2hive.config.values.units import duration_text
from kafka2hive.model.completeness import OpenPartition
from kafka2hive.model.entry_points import PluginKind, foreign_code, load
from kafka2hive.model.errors import TableError
from kafka2hive.model.files import HivePartition
from kafka2hive.model.paths.partition_path import parse_partition_path
from kafka2hive.plugins import CompletionContext, CompletionPolicy, OpenBucket


class Decides(Protocol):
    """One table's decision; `name` stands in its certificates."""

    name: str

    def complete(self, partitions: Sequence[OpenPartition], through_ms: int) -> frozenset[HivePartition]: ...


class Decider:
    """One table's policy; `name` stands in its certificates. Raises TableError: `plugin.missing`, `plugin.failed`."""

    def __init__(self, rule: TableRule, table: str) -> None:
        options = rule.completion
        assert options is not None
        path = read_bucket_path(rule.bucketing.path)
        self._ends = BucketEnds(path, rule.bucketing.zone) if period_of(path) else None
        self._policy: CompletionPolicy
        if options.plugin is None:
            self.name = f"{duration_text(options.delay_seconds)} after its end"
            self._policy = AfterDelay(datetime.timedelta(seconds=options.delay_seconds))
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
        buckets = [self._bucket(each) for each in partitions]
        chosen = self._policy.complete(buckets, _instant(through_ms))
        return frozenset(each.partition for each, yes in zip(partitions, chosen, strict=True) if yes)

    def _bucket(self, each: OpenPartition) -> OpenBucket:
        path = each.partition.path
        end_ms = None if self._ends is None else self._ends.end_ms(path)
        return OpenBucket(
            values={name: value or None for name, value in parse_partition_path(path)},
            end=None if end_ms is None else _instant(end_ms),
            opened_at=datetime.datetime.fromisoformat(each.opened_at),
            files=each.files,
            rows=each.rows,
        )


class AfterDelay:
    """Complete `delay` after the bucket's end; what came late, or long after, `delay` after the first of it."""

    def __init__(self, delay: datetime.timedelta) -> None:
        self._delay = delay

    def complete(self, buckets: Sequence[OpenBucket], through: datetime.datetime) -> list[bool]:
        return [b.end is not None and max(b.end, b.opened_at) + self._delay <= through for b in buckets]


class PluginPolicy:
    """See CompletionPolicy. Raises TableError: `plugin.missing`, `plugin.failed`, `plugin.result`."""

    def __init__(self, name: str, context: CompletionContext) -> None:
        self._name = name
        make = load(PluginKind.COMPLETION_POLICY, name)
        with foreign_code(PluginKind.COMPLETION_POLICY, name):
            self._policy = make(context)

    def complete(self, buckets: Sequence[OpenBucket], through: datetime.datetime) -> list[bool]:
        with foreign_code(PluginKind.COMPLETION_POLICY, self._name):
            found = list(self._policy.complete(tuple(buckets), through))
            told = f"{found!r:.200}"
        if len(found) != len(buckets) or not all(type(yes) is bool for yes in found):
            raise TableError(
                "plugin.result",
                f"{PluginKind.COMPLETION_POLICY.value} {self._name}: complete gave {told} for {len(buckets)} partitions",
                "correct the plug-in: it gives True or False for each; no partition was said to be complete",
            )
        return found


def _instant(ms: int) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(ms // 1000, datetime.UTC)
