"""Read the records of a lost file again from Kafka, with the code of a task."""

import shlex
from collections.abc import Callable
from dataclasses import replace

from kafka2hive.kafka.port import ClusterView
from kafka2hive.ledger.history import ReadFrom
from kafka2hive.ledger.owned_ledger import OwnedLedger
from kafka2hive.model.errors import ManualActionRequired
from kafka2hive.model.files import DataFile, FileKind
from kafka2hive.model.offsets import UNKNOWN_ID, cluster_of
from kafka2hive.model.paths.path import base_name, join, parent, same_location
from kafka2hive.model.paths.table_directory import early_place, is_early_place
from kafka2hive.model.snapshot import EventBounds
from kafka2hive.model.text import counted
from kafka2hive.plan.contract import TableTask, TaskPlan, TaskSettings


def restore_or_accept(table: str, lost: DataFile) -> str:
    """Return the remedy for a lost file that cannot be fetched again."""
    command = f"kafka2hive recover --table {table} --accept-loss {shlex.quote(lost.final)} -c MAP"
    return f"restore the file from a backup, or go on without it: `{command}`"


def refuse_other_topic(
    table: str, lost: DataFile, origin: ReadFrom | None, cluster: Callable[[], ClusterView]
) -> None:
    """Raise ManualActionRequired if the file's offsets are those of other records now: another cluster, or a recreated topic.

    Without an `origin` no snapshot says where they were read, and only their number is compared.
    """
    topics = sorted({r.topic_partition.topic for r in lost.ranges})
    if origin is None and not any(map(cluster_of, topics)):
        return
    now = cluster()
    for topic in topics:
        name = cluster_of(topic)
        if name and name not in {**now.ids, **now.silent}:
            raise ManualActionRequired(
                "refetch.other_topic",
                f"{lost.final}: the map does not have the cluster {name}, from which {topic} was read",
                f"give the cluster this name in the map while you fetch the file; or {restore_or_accept(table, lost)}",
            )
        if origin is None:
            continue
        view = now.topics.get(topic)
        before, found = origin.cluster_id, now.id_of(name)
        other = f"the map's brokers are of the Kafka cluster {found}, and it was read from {before}"
        if UNKNOWN_ID in (before, found) or before == found:
            before, found = origin.topic_ids.get(topic, UNKNOWN_ID), view.id if view else UNKNOWN_ID
            other = f"the topic {topic} was deleted and recreated since it was read"
        if UNKNOWN_ID not in (before, found) and before != found:
            raise ManualActionRequired(
                "refetch.other_topic",
                f"{lost.final}: {other}: its offsets are other records now",
                restore_or_accept(table, lost),
            )


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
    table = owned.paths.table
    task_settings = settings(table)
    _refuse_place(owned, lost, task_settings.tables[table].location)
    files = fetch_rows(owned, lost, task_settings, now_ms=now_ms, bounds=bounds, rows=lost.rows)
    if not _is_early(lost):
        return files
    place, directory = lost.hive_partition, parent(lost.final)
    return tuple(replace(f, hive_partition=place, final=join(directory, base_name(f.final))) for f in files)


def fetch_rows(
    owned: OwnedLedger,
    lost: DataFile,
    settings: TaskSettings,
    *,
    now_ms: int,
    bounds: EventBounds | None,
    rows: int,
) -> tuple[DataFile, ...]:
    """Dump what the lost file's task wrote to its Hive partition, or its dead letters, again into staged files.

    Raises ManualActionRequired unless these are as many `rows` as expected.
    """
    from kafka2hive.task import run_task
    from kafka2hive.task.fetch.consumer import forget_consumers

    bucket = lost.hive_partition.path if lost.kind is FileKind.DATA else None
    table = owned.paths.table
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
        (manifest,) = run_task(TaskPlan(0, (task,)), settings)
    finally:
        forget_consumers(settings)  # workers keep it for their next task
    if manifest.failure is not None:
        raise ManualActionRequired(
            manifest.failure.code, f"{lost.final}: {manifest.failure.message}", restore_or_accept(table, lost)
        )
    files = tuple(
        f
        for f in manifest.files
        if f.kind is lost.kind and (f.kind is FileKind.DEAD_LETTER or f.hive_partition.path == bucket)
    )
    found = sum(f.rows for f in files)
    if found != rows:
        raise ManualActionRequired(
            "refetch.rows",
            f"{lost.final} held {counted(rows, 'row')} of {', '.join(map(str, lost.ranges))}, Kafka now gives {found}",
            restore_or_accept(table, lost),
        )
    return files


def _refuse_place(owned: OwnedLedger, lost: DataFile, location: str) -> None:
    """Raise ManualActionRequired if readers would not see a new file at the place of the lost one.

    `location` is the table's location in the map.
    """
    partition = lost.hive_partition
    home = join(location, partition.path)
    if _is_early(lost) and all(each.partition != partition for each in owned.state.early):
        raise ManualActionRequired(
            "refetch.compacted",
            f"{lost.final} was compacted: its rows are in {home}",
            "if files are lost there, type `--refetch` with their paths; otherwise nothing needs to be done for readers, and"
            f" `kafka2hive recover --table {owned.paths.table} --accept-loss {shlex.quote(lost.final)} -c MAP` records that the"
            " file is gone",
        )
    directory = early_place(location, partition.path) if _is_early(lost) else home
    if lost.kind is FileKind.DATA and not same_location(partition.location, directory):
        raise ManualActionRequired(
            "refetch.location",
            f"{lost.final} is not in {location}, which is now the location of {owned.paths.table} in the map: readers of its"
            " partition would not see a new file there",
            f"{restore_or_accept(owned.paths.table, lost)}; or, while the new location is not accepted yet, set the old one"
            " in the map, repeat `--refetch`, then change it",
        )


def _is_early(file: DataFile) -> bool:
    return is_early_place(file.hive_partition.location, file.hive_partition.path)
