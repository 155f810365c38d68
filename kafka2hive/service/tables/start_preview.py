"""The STOP that a start of `run` would end in, found without touching anything: for `status` and `recover --plan`.

Decided by the code that decides it in a run: the look before a start, the look of a roll-forward, positions against Kafka.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from kafka2hive.config.route import RoutedTable
from kafka2hive.kafka.port import Kafka
from kafka2hive.kafka.positions import GapAcceptance, Halt, Logs, TableIntent, decide
from kafka2hive.kafka.problems import stop
from kafka2hive.ledger.file_state import FileState, find
from kafka2hive.ledger.look import View
from kafka2hive.model.errors import ManualActionRequired, ServiceUnavailable
from kafka2hive.model.files import DataFile
from kafka2hive.service.tables.kafka_view import logs_of, with_last_read
from kafka2hive.service.wiring import Wiring
from kafka2hive.storage.port import FileSystem


@dataclass(frozen=True, slots=True)
class KafkaLook:
    """One look at Kafka for many tables. `silent`: why there is none, or not all of it."""

    logs: Logs | None = None
    silent: str | None = None


def look_at_kafka(
    kafka: Kafka | None, views: Collection[View], routed: Mapping[str, RoutedTable], *, patterns: bool = False
) -> KafkaLook:
    """Topics and both ends of their logs, for every topic partition that the tables read or have read.

    `patterns`: the map has some, so that the topics there are matter also before a table has a ledger.
    """
    if kafka is None or not (views or patterns):
        return KafkaLook()
    names = {p.topic_partition.topic for v in views for p in v.state.positions}
    names |= {topic for table in routed.values() for topic in (*table.topics, *table.missing)}
    try:
        cluster = kafka.cluster(lambda name: name in names)
        return KafkaLook(logs_of(kafka, cluster, sorted(names)))
    except ServiceUnavailable as error:
        return KafkaLook(silent=error.message)


@dataclass(frozen=True, slots=True)
class PendingFiles:
    """Counts of a pending snapshot's files, and the first that a roll-forward would stop at."""

    staged: int
    already_there: int
    problem: ManualActionRequired | None = None


def pending_files(files: FileSystem, table: str, wanted: Iterable[DataFile]) -> PendingFiles:
    """What a roll-forward would find, without doing it: the files looked at one by one. Raises StorageError."""
    found = [find(files, table, file) for file in wanted]
    return PendingFiles(
        found.count(FileState.STAGED),
        found.count(FileState.MOVED),
        next((stop for stop in found if isinstance(stop, ManualActionRequired)), None),
    )


@dataclass(frozen=True, slots=True)
class WouldStop:
    """What a start would meet: the files of a pending epoch, if there is one, and the STOP, if there is one."""

    pending: PendingFiles | None
    stop: ManualActionRequired | None


@dataclass(slots=True, eq=False)
class StartPreview:
    """`kafka` None: what Kafka has to do with it is not asked. Nothing is touched, nobody is watched.

    `acceptances` and `accept_location` are what is accepted: gaps, and tables whose location changed.
    """

    _wiring: Wiring
    _kafka: Kafka | None
    _look: KafkaLook
    _routed: Mapping[str, RoutedTable]
    _acceptances: Collection[GapAcceptance] = ()
    _accept_location: Collection[str] = ()

    def of(self, view: View) -> WouldStop:
        """Raises StorageError, AmbiguousOutcome, NoLedger."""
        files, table = self._wiring.ports.files, view.paths.table
        pending = pending_files(files, table, view.state.files) if view.newest.pending else None
        refused = self._refused(view)
        return WouldStop(pending, refused or (pending.problem if pending else None) or self._by_kafka(view))

    def _refused(self, view: View) -> ManualActionRequired | None:
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
        if logs is None or routed is None:
            return None
        intent = TableIntent(
            [topic for topic in routed.topics if topic in logs.cluster.topics],
            routed.rule.start,
            by_pattern=routed.rule.pattern is not None,
            acceptances=self._acceptances,
        )
        decision = decide(view.state, self._with_last_read(view, logs), intent)
        return stop(view.paths.table, decision.problems) if isinstance(decision, Halt) else None

    def _with_last_read(self, view: View, logs: Logs) -> Logs:
        """Whether the log was rewritten, where that may be so; not known when Kafka does not give the record."""
        assert self._kafka is not None
        try:
            return with_last_read(self._kafka, view.state, logs)
        except ServiceUnavailable:
            return logs
