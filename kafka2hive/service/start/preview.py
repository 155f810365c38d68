"""The STOP that a start of `run` would meet, found without changing anything: for `status` and `recover --plan`.

It uses the code of a run: the check before a take-over, the search for the files of a roll-forward, and the comparison of
positions with Kafka.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from kafka2hive.config.route import RoutedTable
from kafka2hive.kafka.port import Kafka
from kafka2hive.kafka.positions import GapAcceptance, Halt, Logs, TableIntent, decide
from kafka2hive.kafka.problems import stop
from kafka2hive.ledger.look import View
from kafka2hive.ledger.promote import FileState, find
from kafka2hive.model.errors import ManualActionRequired, ServiceUnavailable
from kafka2hive.model.files import DataFile
from kafka2hive.service.topics.kafka_view import logs_of, with_last_read
from kafka2hive.service.wiring import Wiring
from kafka2hive.storage.port import FileSystem


@dataclass(frozen=True, slots=True)
class KafkaLook:
    """One reading of Kafka's state for many tables. `error` says why Kafka, or one of several clusters, did not answer."""

    logs: Logs | None = None
    error: str | None = None


def look_at_kafka(
    kafka: Kafka | None, views: Collection[View], routed: Mapping[str, RoutedTable], *, patterns: bool = False
) -> KafkaLook:
    """Request both ends of all logs that the tables read or have read.

    `patterns` says that the map has patterns, so that Kafka's topics matter even before a table has a ledger.
    """
    if kafka is None or not (views or patterns):
        return KafkaLook()
    names = {p.topic_partition.topic for v in views for p in v.state.positions}
    names |= {topic for table in routed.values() for topic in (*table.topics, *table.missing)}
    try:
        cluster = kafka.cluster(lambda name: name in names)
        silent = "; ".join(error.message for _, error in sorted(cluster.silent.items()))
        return KafkaLook(logs_of(kafka, cluster, sorted(names)), silent or None)
    except ServiceUnavailable as error:
        return KafkaLook(error=error.message)


@dataclass(frozen=True, slots=True)
class PendingFiles:
    """Counts of a pending snapshot's files, and the problem at which a roll-forward would stop."""

    staged: int
    already_there: int
    problem: ManualActionRequired | None = None


def pending_files(files: FileSystem, table: str, expected: Iterable[DataFile]) -> PendingFiles:
    """Search for the files as a roll-forward would, without moving them. Raises StorageError."""
    states = [find(files, table, file) for file in expected]
    return PendingFiles(
        states.count(FileState.STAGED),
        states.count(FileState.MOVED),
        next((state for state in states if isinstance(state, ManualActionRequired)), None),
    )


@dataclass(frozen=True, slots=True)
class StartOutlook:
    """The files of a pending epoch, and the STOP that a start would meet; None stands for no pending epoch or no STOP."""

    pending: PendingFiles | None
    stop: ManualActionRequired | None


@dataclass(slots=True, eq=False)
class StartPreview:
    """Finds the STOP that a start would meet, without changes and without watching heartbeats.

    If `_kafka` is None, positions are not compared with Kafka. `_acceptances` and `_accept_location` are the operator's
    decisions: accepted gaps, and tables whose new location or cluster is accepted.
    """

    _wiring: Wiring
    _kafka: Kafka | None
    _look: KafkaLook
    _routed: Mapping[str, RoutedTable]
    _acceptances: Collection[GapAcceptance] = ()
    _accept_location: Collection[str] = ()
    _accept_cluster: Collection[str] = ()

    def of(self, view: View) -> StartOutlook:
        """Return the outlook of a start of this table. Raises StorageError, AmbiguousOutcome, NoLedger."""
        files, table = self._wiring.ports.files, view.paths.table
        pending = pending_files(files, table, view.state.files) if view.newest.pending else None
        by_ledger = self._by_ledger(view)
        return StartOutlook(
            pending, by_ledger or (pending.problem if pending else None) or self._by_kafka(view)
        )

    def _by_ledger(self, view: View) -> ManualActionRequired | None:
        routed = self._routed.get(view.paths.table)
        accepted = view.paths.table in self._accept_location
        ownership = self._wiring.ownership_check(take_over=True)
        try:
            ownership.check(view.paths, routed.rule.location if routed and not accepted else None)
        except ManualActionRequired as stopped:
            return stopped
        return None

    def _by_kafka(self, view: View) -> ManualActionRequired | None:
        logs, routed = self._look.logs, self._routed.get(view.paths.table)
        if logs is None or routed is None or view.paths.table in self._accept_cluster:
            return None
        intent = TableIntent(
            # without a topic of the ledger, the map may name another cluster
            [topic for topic in routed.topics or routed.missing if topic in logs.cluster.topics],
            routed.rule.start,
            by_pattern=routed.rule.pattern is not None,
            acceptances=self._acceptances,
        )
        decision = decide(view.state, self._with_last_read(view, logs), intent)
        return stop(view.paths.table, decision.problems) if isinstance(decision, Halt) else None

    def _with_last_read(self, view: View, logs: Logs) -> Logs:
        """Return the logs with the leader epochs that show a rewritten log; unchanged if Kafka does not return a record."""
        assert self._kafka is not None
        try:
            return with_last_read(self._kafka, view.state, logs)
        except ServiceUnavailable:
            return logs
