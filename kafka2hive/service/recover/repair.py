"""An operator's decisions after a STOP, recorded in the ledger: accept a lost file, refetch its records, accept a gap."""

from collections.abc import Callable, Collection, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from typing import assert_never

from kafka2hive.config.keys import StartKind, StartPolicy
from kafka2hive.kafka.cluster_moves import moved, renamed
from kafka2hive.kafka.port import Kafka
from kafka2hive.kafka.positions import (
    Decision,
    GapAcceptance,
    Halt,
    PositionsToCommit,
    Resume,
    TableIntent,
    decide,
)
from kafka2hive.kafka.problems import stop
from kafka2hive.ledger.history import final_snapshots, find_files
from kafka2hive.ledger.look import View
from kafka2hive.ledger.owned_ledger import OwnedLedger
from kafka2hive.ledger.promote import find
from kafka2hive.ledger.repair.compacted import DamagedUnit, UnitUnknown, damaged_unit
from kafka2hive.ledger.repair.withdrawal import withdrawn_certificates
from kafka2hive.ledger.retire import was_retired
from kafka2hive.ledger.snapshot.change import Repair
from kafka2hive.model.errors import ConfigError, ManualActionRequired
from kafka2hive.model.files import DataFile, FileKind
from kafka2hive.model.offsets import TopicPartition, cluster_of
from kafka2hive.model.paths.path import parent
from kafka2hive.model.paths.table_directory import other_place
from kafka2hive.model.progress import amounts
from kafka2hive.model.snapshot import ACCEPT_LOSS, REFETCH, AcceptedLoss, Certificate, Snapshot
from kafka2hive.service.recover.cluster_evidence import ClusterEvidence
from kafka2hive.service.recover.compacted import Rewrite, find_sources, refuse_wrong_rows
from kafka2hive.service.recover.lost_files import PlannedRepair, lost_files
from kafka2hive.service.recover.result import ClusterOffsets, RecoverRequest, is_named, is_pattern
from kafka2hive.service.tables.ledgers import did_you_mean
from kafka2hive.service.topics.kafka_view import logs_of, with_last_read
from kafka2hive.service.topics.routes import known_routes
from kafka2hive.service.wiring import Wiring

Refetch = Callable[[OwnedLedger, DataFile], tuple[DataFile, ...]]
"""Dumps the records of one lost file again, into staged files."""

LostFiles = Sequence[tuple[DataFile, str]]
"""The lost files of one table that the operator named, each with its remedy."""


def _by_unit(lost: LostFiles) -> list[LostFiles]:
    """Group the compacted files of a unit; every other file is a group of its own."""
    groups: dict[object, list[tuple[DataFile, str]]] = {}
    for file, remedy in lost:
        is_compacted = file.kind is FileKind.COMPACTED
        key = (file.hive_partition, file.task) if is_compacted else file.final
        groups.setdefault(key, []).append((file, remedy))
    return list(groups.values())


def remedies(accept_loss: Collection[str], refetch: Collection[str]) -> dict[str, str]:
    """Return the remedy for each path. Raises ConfigError if a path is named for both."""
    both = set(accept_loss) & set(refetch)
    if both:
        raise ConfigError("usage.both_remedies", f"{sorted(both)[0]}: give either --accept-loss or --refetch")
    return dict.fromkeys(accept_loss, ACCEPT_LOSS) | dict.fromkeys(refetch, REFETCH)


class Repairs:
    """Makes the Repair that a table's next snapshot records. `kafka` connects, and is called only if a decision needs it."""

    def __init__(
        self, wiring: Wiring, kafka: Callable[[], Kafka], refetch: Refetch, rewrite: Rewrite
    ) -> None:
        self._wiring = wiring
        self._kafka = kafka
        self._refetch = refetch
        self._rewrite = rewrite

    def refuse_unknown(
        self, ledgers: Collection[View], paths: Collection[str], gaps: Collection[GapAcceptance]
    ) -> None:
        """Check that a ledger knows each named file and topic, and that the topic has the named partition, before any change.

        Raises ConfigError (`usage.no_such_file`, `usage.no_such_topic`), ManualActionRequired, StorageError, ServiceUnavailable.
        """
        for path in sorted(set(paths)):
            if not any(self._knows(ledger, path) for ledger in ledgers):
                raise ConfigError(
                    "usage.no_such_file",
                    f"{path} is not a file of any table here: nothing was changed",
                    "give the full path of the `.final` file as the error message or `verify` shows it",
                )
        known = {p.topic_partition for ledger in ledgers for p in ledger.state.positions}
        for gap in gaps:
            self._refuse_unknown_topic(gap, known)

    def _knows(self, ledger: View, path: str) -> bool:
        return any(is_named(path, loss.path) for loss in ledger.state.losses) or bool(
            self._named(ledger, path)
        )

    def _refuse_unknown_topic(self, gap: GapAcceptance, known: Set[TopicPartition]) -> None:
        topics = {tp.topic for tp in known}
        if gap.topic not in topics:
            raise ConfigError(
                "usage.no_such_topic",
                f"no table here has read topic {gap.topic}: nothing was changed",
                did_you_mean(gap.topic, topics),
            )
        if gap.number is None or TopicPartition(gap.topic, gap.number) in known:
            return
        view = self._kafka().cluster().topics.get(gap.topic)
        if view is None or gap.number not in view.partitions:
            raise ConfigError(
                "usage.no_such_topic",
                f"topic {gap.topic} has no partition {gap.number}: nothing was changed",
                f"give one of its partitions, or {gap.topic}:* for all",
            )

    def lost_files(self, ledger: View | OwnedLedger, remedies: Mapping[str, str]) -> LostFiles:
        """Return the named files that are in this table's ledger and are lost, each once; a path prevails over a pattern.

        For a View the answer is only a hint, because another owner may repair the same files meanwhile. Raises
        ManualActionRequired, StorageError.
        """
        ports, recorded = self._wiring.ports, {loss.path for loss in ledger.state.losses}
        candidates: dict[str, tuple[DataFile, str]] = {}
        for path in sorted(set(remedies) - recorded, key=lambda path: not is_pattern(path)):
            candidates |= {f.final: (f, remedies[path]) for f in self._named(ledger, path)}
        paths = sorted(candidates.keys() - recorded - self._expired(ledger, candidates))
        named = [candidates[path] for path in paths]
        places = ports.concurrency.map(lambda entry: find(ports.files, ledger.paths.table, entry[0]), named)
        return [
            (file, remedy)
            for (file, remedy), place in zip(named, places, strict=True)
            if isinstance(place, ManualActionRequired) and not was_retired(ports.files, ledger.state, file)
        ]

    def _expired(self, ledger: View | OwnedLedger, paths: Collection[str]) -> set[str]:
        """Return those of the paths whose partition was dropped because it expired: their files are not lost.

        A partition that had moved has files at both of its places, and no text of K8 is left to say so.
        """
        if not paths or not ledger.state.expired_before_ms:
            return set()
        finals = final_snapshots(self._wiring.ports.files, ledger.paths, ledger.directory)
        homes = {line.partition for state in (ledger.state, *finals) for line in state.dropped}
        places = {place for home in homes for place in (home.location, other_place(home.location, home.path))}
        return {path for path in paths if parent(path) in places}

    def repair(self, owned: OwnedLedger, lost: LostFiles, request: RecoverRequest) -> Repair:
        """Return what the next snapshot records; empty if nothing was decided.

        Raises ManualActionRequired, ServiceUnavailable, TableError.
        """
        now = self._wiring.ports.clock.now()
        losses: list[AcceptedLoss] = []
        files: list[DataFile] = []
        with self._wiring.progress.work(
            f"repair {owned.paths.table}", **amounts([f for f, _ in lost])
        ) as advance:
            for group in _by_unit(lost):
                new, remedy = self._replacement(owned, group)
                files += new
                losses += (
                    AcceptedLoss(
                        path=f.final, remedy=remedy, rows=f.rows, accepted_at=now, epoch=owned.next_epoch
                    )
                    for f, _ in group
                )
                advance(**amounts([f for f, _ in group]))
        return replace(self.of_positions(owned.state, request), files=tuple(files), losses=tuple(losses))

    def _replacement(self, owned: OwnedLedger, lost: LostFiles) -> tuple[tuple[DataFile, ...], str]:
        """Return the staged files that replace lost files of one unit or one other file, and the remedy to record.

        What early files still hold is never given up: with `--accept-loss`, too, their rows are written again.
        """
        (first, remedy), files = lost[0], [file for file, _ in lost]
        if first.kind is not FileKind.COMPACTED:
            return (self._refetch(owned, first) if remedy == REFETCH else ()), remedy
        is_refetch = any(remedy == REFETCH for _, remedy in lost)
        try:
            unit = self._unit(owned, files)
        except UnitUnknown:
            if is_refetch:
                raise
            return (), ACCEPT_LOSS
        sources = find_sources(self._wiring.ports.files, owned.paths.table, unit, owned.state.losses)
        if not is_refetch:
            sources = replace(sources, missing=())
        new = self._rewrite(owned, unit, sources) if sources.present or sources.missing else ()
        if is_refetch:
            refuse_wrong_rows(unit, new)
        is_whole = sum(file.rows for file in new) == unit.lost_rows
        return new, REFETCH if is_whole else ACCEPT_LOSS

    def _unit(self, ledger: View | OwnedLedger, lost: Sequence[DataFile]) -> DamagedUnit:
        """Return the compaction unit of these files. Raises UnitUnknown, ManualActionRequired, StorageError."""
        finals = final_snapshots(self._wiring.ports.files, ledger.paths, ledger.directory)
        recorded = frozenset(loss.path for loss in ledger.state.losses)
        return damaged_unit(chain([ledger.state], finals), recorded, lost)

    def withdrawn(self, owned: OwnedLedger, repair: Repair) -> tuple[Certificate, ...]:
        """Return the certificates that the repair withdraws; the ledger must be final. Raises as `final_snapshots` does."""
        if not repair.losses or owned.state.tracking is None:
            return ()
        finals = tuple(final_snapshots(self._wiring.ports.files, owned.paths, owned.directory))
        return withdrawn_certificates(finals[::-1], owned.certified, [loss.path for loss in repair.losses])

    def planned_repairs(self, view: View) -> tuple[PlannedRepair, ...]:
        """Return what is lost of the epochs before the pending one, and what `--refetch` would do about it. Only reads.

        Raises ManualActionRequired, StorageError.
        """
        files = self._wiring.ports.files
        result: list[PlannedRepair] = []
        for lost in lost_files(self._wiring.ports, view):
            present = missing = 0
            if lost.kind is FileKind.COMPACTED:
                with suppress(UnitUnknown):
                    unit = self._unit(view, [lost])
                    sources = find_sources(files, view.paths.table, unit, view.state.losses)
                    present, missing = len(sources.present), len(sources.missing)
            result.append(PlannedRepair(lost, present, missing))
        return tuple(result)

    def of_positions(self, state: Snapshot, request: RecoverRequest) -> Repair:
        """Return the Repair that moves the table to another cluster, or records the accepted gaps in topics that it has read.

        It is empty if nothing was accepted, or Kafka and the ledger agree without it.
        Raises ManualActionRequired (what was accepted does not suffice), ServiceUnavailable.
        """
        if state.table in request.accept_cluster:
            return self._move(state, request.cluster_offsets)
        return self._gaps(state, request.accept_gap)

    def _move(self, state: Snapshot, offsets: ClusterOffsets | None) -> Repair:
        """Return the Repair that lets the table go on in the cluster that the map names; empty if it does already."""
        kafka = self._kafka()
        view = kafka.cluster()
        routed = known_routes(self._wiring, [state], view.topics).tables.get(state.table)
        if routed is None:
            raise ConfigError(
                "usage.no_such_table",
                f"--accept-cluster {state.table}: no rule of the map creates this table",
                "give the table a rule in the map, with the cluster that it reads from",
            )
        cluster = routed.rule.kafka or ""
        if (silent := view.silent.get(cluster)) is not None:
            raise silent
        cluster_id = view.id_of(cluster)
        if offsets is None or cluster_id == state.cluster_id:
            return self._recorded(state, renamed(state, cluster, cluster_id), cluster_id)
        topics = (*routed.topics, *routed.missing)
        targets = ClusterEvidence(self._wiring, kafka, view).targets(state, topics, offsets)
        return self._recorded(state, moved(targets, cluster_id, unproven=offsets.unproven), cluster_id)

    def _gaps(self, state: Snapshot, gaps: Collection[GapAcceptance]) -> Repair:
        topics = {gap.topic for gap in gaps} & state.topics
        if not topics:
            return Repair()
        cluster = cluster_of(min(topics))
        kafka = self._kafka()
        logs = with_last_read(kafka, state, logs_of(kafka, kafka.cluster(), topics))
        decision = decide(state, logs, TableIntent(topics, StartPolicy(StartKind.EARLIEST), acceptances=gaps))
        return self._recorded(state, decision, logs.cluster.id_of(cluster))

    def _recorded(self, state: Snapshot, decision: Decision | None, cluster_id: str) -> Repair:
        match decision:
            case Halt(problems):
                raise stop(state.table, problems)
            case PositionsToCommit(positions, accepted):
                now, epoch = self._wiring.ports.clock.now(), state.epoch + 1
                recorded = tuple(gap.entry(now, epoch) for gap in accepted)
                return Repair(positions=positions, gaps=recorded, cluster_id=cluster_id)
            case Resume() | None:
                return Repair()
            case _:
                assert_never(decision)

    def _named(self, ledger: View | OwnedLedger, path: str) -> list[DataFile]:
        """Return the file with this final path, or all files that fit the pattern, each as its newest snapshot has it."""
        names = partial(is_named, path)
        pending = (file for file in ledger.state.files if names(file.final))
        replayed = {file.path for file in ledger.state.replayed}  # also those of a pending snapshot
        earlier = find_files(self._wiring.ports.files, ledger.paths, ledger.directory, names)
        named = chain(pending, (file for file in earlier if file.final not in replayed))
        if not is_pattern(path):
            return list(islice(named, 1))
        return list({file.final: file for file in reversed(list(named))}.values())
