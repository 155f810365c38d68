"""An operator's decisions after a STOP, recorded in the ledger: accept a lost file, refetch its records, accept a gap."""

from collections.abc import Callable, Collection, Mapping, Sequence, Set
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from typing import assert_never

from kafka2hive.config.keys import StartKind, StartPolicy
from kafka2hive.kafka.port import Kafka
from kafka2hive.kafka.positions import GapAcceptance, Halt, PositionsToCommit, Resume, TableIntent, decide
from kafka2hive.kafka.problems import stop
from kafka2hive.ledger.history import final_snapshots, find_files
from kafka2hive.ledger.look import View
from kafka2hive.ledger.owned_ledger import OwnedLedger
from kafka2hive.ledger.promote import find
from kafka2hive.ledger.retire import was_retired
from kafka2hive.ledger.snapshot.change import Repair
from kafka2hive.model.errors import ConfigError, ManualActionRequired
from kafka2hive.model.files import DataFile, FileKind
from kafka2hive.model.offsets import TopicPartition
from kafka2hive.model.paths.path import base_name, join, parent, same_location
from kafka2hive.model.paths.table_directory import early_place, is_early_place
from kafka2hive.model.snapshot import ACCEPT_LOSS, REFETCH, AcceptedLoss, EventBounds, Snapshot
from kafka2hive.model.text import counted
from kafka2hive.plan.contract import TableTask, TaskPlan, TaskSettings
from kafka2hive.service.recover.result import is_named, is_pattern
from kafka2hive.service.tables.kafka_view import logs_of, with_last_read
from kafka2hive.service.tables.ledgers import did_you_mean
from kafka2hive.service.wiring import Wiring

_REMEDY = (
    "restore the file from a backup, or go on without it: `kafka2hive recover --accept-loss PATH -c MAP`"
)

Refetch = Callable[[OwnedLedger, DataFile], tuple[DataFile, ...]]
"""Dumps the records of one lost file again, into staged files."""

LostFiles = Sequence[tuple[DataFile, str]]
"""The lost files of one table that the operator named, each with its remedy."""


def remedies(accept_loss: Collection[str], refetch: Collection[str]) -> dict[str, str]:
    """Return the remedy for each path. Raises ConfigError if a path is named for both."""
    both = set(accept_loss) & set(refetch)
    if both:
        raise ConfigError("usage.both_remedies", f"{sorted(both)[0]}: give either --accept-loss or --refetch")
    return dict.fromkeys(accept_loss, ACCEPT_LOSS) | dict.fromkeys(refetch, REFETCH)


class Repairs:
    """Makes the Repair that a table's next snapshot records. `kafka` connects, and is called only if a decision needs it."""

    def __init__(self, wiring: Wiring, kafka: Callable[[], Kafka], refetch: Refetch) -> None:
        self._wiring = wiring
        self._kafka = kafka
        self._refetch = refetch

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
        """Return those of the paths whose partition was dropped because it expired: their files are not lost."""
        if not paths or not ledger.state.expired_before_ms:
            return set()
        finals = final_snapshots(self._wiring.ports.files, ledger.paths, ledger.directory)
        dropped = {line.partition.location for state in (ledger.state, *finals) for line in state.dropped}
        return {path for path in paths if parent(path) in dropped}

    def repair(self, owned: OwnedLedger, lost: LostFiles, gaps: Collection[GapAcceptance]) -> Repair:
        """Return what the next snapshot records; empty if nothing was decided.

        Raises ManualActionRequired, ServiceUnavailable.
        """
        now = self._wiring.ports.clock.now()
        losses = tuple(
            AcceptedLoss(path=f.final, remedy=remedy, rows=f.rows, accepted_at=now, epoch=owned.next_epoch)
            for f, remedy in lost
        )
        files = tuple(new for f, remedy in lost if remedy == REFETCH for new in self._refetch(owned, f))
        return replace(self.gap_repair(owned.state, gaps), files=files, losses=losses)

    def gap_repair(self, state: Snapshot, gaps: Collection[GapAcceptance]) -> Repair:
        """Return the Repair that records the accepted gaps in topics that this table has read, and the new positions.

        It is empty if there is no such gap or Kafka and the ledger agree without it.
        Raises ManualActionRequired (the accepted gaps do not suffice), ServiceUnavailable.
        """
        topics = {gap.topic for gap in gaps} & state.topics
        if not topics:
            return Repair()
        kafka = self._kafka()
        logs = with_last_read(kafka, state, logs_of(kafka, kafka.cluster(), topics))
        decision = decide(state, logs, TableIntent(topics, StartPolicy(StartKind.EARLIEST), acceptances=gaps))
        match decision:
            case Halt(problems):
                raise stop(state.table, problems)
            case PositionsToCommit(positions, accepted):
                now, epoch = self._wiring.ports.clock.now(), state.epoch + 1
                recorded = tuple(gap.entry(now, epoch) for gap in accepted)
                return Repair(positions=positions, gaps=recorded, cluster_id=logs.cluster.cluster_id)
            case Resume():
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


def refetch_file(
    owned: OwnedLedger,
    lost: DataFile,
    settings: Callable[[str], TaskSettings],
    now_ms: int,
    bounds: EventBounds | None,
) -> tuple[DataFile, ...]:
    """Dump the lost file's records again and return the staged files that hold exactly those; the caller commits them.

    `bounds` must be the bounds of the epoch that read the records, so that the same rows are written and refused.
    `settings` returns a task's settings for a table. Files of other buckets that the task has to write are orphans, which
    the next start deletes. Raises ManualActionRequired if Kafka no longer has all of the records,
    or if the table's location has changed: a Hive partition has one location, so readers would not see the new file.
    """
    from kafka2hive.task import run_task
    from kafka2hive.task.fetch.consumer import forget_consumer

    table = owned.paths.table
    task_settings = settings(table)
    _refuse_place(owned, lost, task_settings.tables[table].location)
    bucket = lost.hive_partition.path if lost.kind is FileKind.DATA else None
    task = TableTask(
        table=table,
        ledger_id=owned.state.ledger_id,
        generation=owned.generation.number,
        epoch=owned.next_epoch,
        planned_at_ms=now_ms,
        ranges=lost.ranges,
        only_bucket=bucket,
        bounds=bounds,
    )
    try:
        (manifest,) = run_task(TaskPlan(0, (task,)), task_settings)
    finally:
        forget_consumer(task_settings.kafka)  # workers keep it for their next task
    if manifest.failure is not None:
        raise ManualActionRequired(
            manifest.failure.code, f"{lost.final}: {manifest.failure.message}", _REMEDY
        )
    files = tuple(
        f
        for f in manifest.files
        if f.kind is lost.kind and (f.kind is FileKind.DEAD_LETTER or f.hive_partition.path == bucket)
    )
    rows = sum(f.rows for f in files)
    if rows != lost.rows:
        raise ManualActionRequired(
            "refetch.rows",
            f"{lost.final} held {counted(lost.rows, 'row')} of {', '.join(map(str, lost.ranges))}, Kafka now gives {rows}",
            _REMEDY,
        )
    if not _is_early(lost):
        return files
    place, directory = lost.hive_partition, parent(lost.final)
    return tuple(replace(f, hive_partition=place, final=join(directory, base_name(f.final))) for f in files)


def _refuse_place(owned: OwnedLedger, lost: DataFile, location: str) -> None:
    """Raise ManualActionRequired if readers would not see a new file at the place of the lost one.

    `location` is the table's location in the map.
    """
    partition = lost.hive_partition
    if lost.kind is FileKind.COMPACTED:
        raise ManualActionRequired(
            "refetch.compacted",
            f"{lost.final} was compacted from the files at the partition's early place, so it has no offsets to read again",
            "restore the file from a backup; until they are deleted, the early files in"
            f" {early_place(location, partition.path)} have the same rows",
        )
    home = join(location, partition.path)
    if _is_early(lost) and all(each.partition != partition for each in owned.state.early):
        raise ManualActionRequired(
            "refetch.compacted",
            f"{lost.final} was compacted: its rows are in {home}",
            f"nothing needs to be done for readers; `--accept-loss '{lost.final}'` records that the file is gone",
        )
    directory = early_place(location, partition.path) if _is_early(lost) else home
    if lost.kind is FileKind.DATA and not same_location(partition.location, directory):
        raise ManualActionRequired(
            "refetch.location",
            f"{lost.final} is not in {location}, which is now the location of {owned.paths.table} in the map: readers of its"
            " partition would not see a new file there",
            f"{_REMEDY}; or, while the new location is not accepted yet, set the old one in the map, repeat"
            " `--refetch`, then change it",
        )


def _is_early(file: DataFile) -> bool:
    return is_early_place(file.hive_partition.location, file.hive_partition.path)
