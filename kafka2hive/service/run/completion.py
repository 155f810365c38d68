"""Which Hive partitions of a run's tables are complete: what was read up to when, and what each table's policy says of it."""

import logging
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from kafka2hive.config.values import TableRule
from kafka2hive.kafka.positions import Logs
from kafka2hive.ledger.snapshot.change import Change, Completeness, DataEpoch, NotTracked
from kafka2hive.model.errors import TableError
from kafka2hive.model.files import HivePartition
from kafka2hive.model.offsets import TopicPartition
from kafka2hive.model.quantities import counted, utc_text
from kafka2hive.pipeline.completion.policy import Decider, Decides
from kafka2hive.pipeline.completion.read_through import Ends, ReadThrough
from kafka2hive.service.shared.table_state import Owned, Table
from kafka2hive.storage.port import Clock

log = logging.getLogger(__name__)

ASK_SECONDS = 10.0
_POLICY = "completion policy"
_GONE = "completion topics"


@dataclass(slots=True)
class Completion:
    """Every method is for one table, and only the thread that works on it calls them.

    A policy that fails is a warning of its table: data go on, and no partition is said to be complete.
    `waits_for_hive`: a partition that Hive was not told about, yet or ever, is not complete.
    `decider_of` a rule and a table's name.
    """

    _clock: Clock
    _waits_for_hive: bool
    _decider_of: Callable[[TableRule, str], Decides] = Decider
    _deciders: dict[str, Decides] = field(default_factory=dict)

    def looked(self, table: Table, logs: Logs, at_ms: int) -> None:
        """Kafka's logs were looked at, at `at_ms` or later. What counts is what Kafka had acknowledged: the high watermarks."""
        if table.rule.completion is None:
            return
        owned = table.owned
        positions = _positions(owned)
        wanted = logs.cluster.topic_partitions(table.topics)
        ends = {tp: logs.high[tp].offset for tp in wanted if tp in logs.high}
        absent = {tp.topic for tp in positions.keys() - set(wanted)}
        gone = sorted(topic for topic in absent.union(table.vanished) if _is_topic_of(table.rule, topic))
        self._warn(
            table,
            _GONE,
            f"{', '.join(gone)} is not in Kafka any more: whether all of it was read is not known"
            if gone
            else "",
        )
        if gone or len(ends) < len(wanted):
            return
        through = owned.read_through.reached(positions).looked(Ends(at_ms, ends)).reached(positions)
        table.ownership = replace(owned, read_through=through)

    def due(self, table: Table, ending: bool) -> Completeness | NotTracked | None:
        """What a snapshot is to say, because a partition became complete, or the map does not ask any more.

        The policy is asked every ASK_SECONDS, and when the run ends.
        """
        said = self._said(table, None, ending)
        return None if isinstance(said, Completeness) and not said.complete else said

    def said(self, table: Table, change: Change) -> Completeness | NotTracked | None:
        """What the table's next snapshot says, which commits `change`. The policy is asked every ASK_SECONDS."""
        return self._said(table, change) if change.completeness is None else change.completeness

    def _said(
        self, table: Table, change: Change | None, ending: bool = False
    ) -> Completeness | NotTracked | None:
        options, owned = table.rule.completion, table.owned
        if options is None:
            return NotTracked() if owned.state.tracking is not None else None
        through_ms = self.after(table, change).through_ms
        if through_ms is None:
            return Completeness()
        now = self._clock.monotonic()
        if not ending and now - owned.completion_asked < ASK_SECONDS:
            complete, policy = frozenset[HivePartition](), ""
        else:
            table.ownership = replace(owned, completion_asked=now)
            complete, policy = self._decided(table, owned, through_ms)
        return Completeness(
            through=utc_text(through_ms // 1000),
            complete=complete,
            policy=policy,
            success_file=options.success_file or "",
        )

    def certified(self, table: Table) -> None:
        """The table has a new snapshot: which of its certificates are in place is known. Others are a warning, no more."""
        ledger = table.owned.ledger
        for each in ledger.state.certificates:
            if each.partition in ledger.certified:
                table.uncertified.discard(each.partition.path)
            else:
                table.uncertified.add(each.partition.path)
        count = len(table.uncertified)
        table.warnings["certificates"] = (
            (
                f"the certificates of {counted(count, 'complete partition')} could not be written, {min(table.uncertified)} among"
                " them: the log says why; they are tried again, data go on",
            )
            if count
            else ()
        )

    def after(self, table: Table, change: Change | None) -> ReadThrough:
        """What is read through once `change` is committed."""
        owned = table.owned
        return owned.read_through.reached({**_positions(owned), **_moved(change)})

    def _decided(self, table: Table, owned: Owned, through_ms: int) -> tuple[frozenset[HivePartition], str]:
        unknown = _unknown_to_hive(table, owned) if self._waits_for_hive else frozenset()
        candidates = [each for each in owned.state.open if each.partition not in unknown]
        try:
            decider = self._deciders.get(table.name)
            if decider is None:
                decider = self._deciders[table.name] = self._decider_of(table.rule, table.name)
            complete = decider.complete(candidates, through_ms)
        except TableError as error:
            self._warn(table, _POLICY, str(error))
            return frozenset(), ""
        self._warn(table, _POLICY, "")
        return complete, decider.name

    def _warn(self, table: Table, about: str, text: str) -> None:
        """Empty: what there was to warn of is over."""
        told = (f"no partition is said to be complete: {text}",) if text else ()
        if told and table.warnings.get(about) != told:
            log.warning("%s: %s", table.name, told[0])
        table.warnings[about] = told


def _unknown_to_hive(table: Table, owned: Owned) -> frozenset[HivePartition]:
    """What Hive confirmed once in this run it has, though each epoch with more files registers it again: steady late records
    would postpone a certificate for ever.
    """
    return (owned.open_registrations - table.in_hive) | {each.partition for each in owned.state.forgotten}


def _is_topic_of(rule: TableRule, topic: str) -> bool:
    """Whether the map still takes the topic, were it there."""
    return topic in rule.topics if rule.pattern is None else re.fullmatch(rule.pattern, topic) is not None


def _positions(owned: Owned) -> Mapping[TopicPartition, int]:
    return {p.topic_partition: p.end for p in owned.state.positions}


def _moved(change: Change | None) -> Mapping[TopicPartition, int]:
    if not isinstance(change, DataEpoch):
        return {}
    ends: dict[TopicPartition, int] = {}
    for each in (account.range for account in change.accounts):
        ends[each.topic_partition] = max(each.end, ends.get(each.topic_partition, 0))
    return ends
