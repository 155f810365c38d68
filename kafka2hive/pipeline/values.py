"""What driver and tasks say to each other: plans go out, manifests come back. No secrets in either.

Both travel as JSON text in Spark rows (`plan_to_json`, `manifest_to_json`); secrets travel in TaskSettings, which
goes out in the task's closure only.
"""

from dataclasses import astuple, dataclass, field, replace

import orjson

from kafka2hive.config.values import (
    Bucketing,
    Column,
    MetadataColumn,
    StorageOptions,
    Tombstones,
    WriterOptions,
)
from kafka2hive.model.files import DataFile, FileKind, HivePartition
from kafka2hive.model.offset_accounting import OffsetAccounting, RangeAccounting
from kafka2hive.model.offsets import OffsetRange, TopicPartition
from kafka2hive.pipeline.delivered import Delivered


@dataclass(frozen=True, slots=True)
class TableTask:
    """One table's share of a task: its ranges, and the (ledger, generation, epoch) its files are named by.

    `planned_at_ms` (epoch milliseconds) is the processing time of every record of the epoch. `only_bucket` keeps
    only the records of one Hive partition path (a refetch), None keeps all.
    """

    table: str
    ledger_id: str
    generation: int
    epoch: int
    planned_at_ms: int
    ranges: tuple[OffsetRange, ...]
    only_bucket: str | None = None


@dataclass(frozen=True, slots=True)
class TaskPlan:
    """One Spark task; `index` is unique within the run's epoch and stands in file names."""

    index: int
    tables: tuple[TableTask, ...]


@dataclass(frozen=True, slots=True)
class PlannedEpoch:
    """The tasks of one Spark job. `number` is the run's own counter, from 1; a ledger's stands in each TableTask."""

    number: int
    tasks: tuple[TaskPlan, ...]


@dataclass(frozen=True, slots=True)
class TableFailure:
    """Why one table failed in a task: a stable code and a text with path, topic and offset."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Refusal:
    """`count` records became dead letters for the reason `code` and this `column` ("": none is to blame).

    `topic_partition`, `offset` and `detail` are those of one of them.
    """

    code: str
    column: str
    count: int
    topic_partition: TopicPartition
    offset: int
    detail: str

    def more(self, count: int) -> "Refusal":
        return replace(self, count=self.count + count)


@dataclass(frozen=True, slots=True)
class ColumnsSeen:
    """Of `rows` decoded records none filled the columns `empty`.

    `strange`: a sample of JSON keys that no column takes, as paths; only where a column is empty.
    """

    rows: int = 0
    empty: tuple[str, ...] = ()
    strange: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TableManifest:
    """What a task made of its share of one table. With a `failure`, `files` are orphans and nothing may be committed.

    `generation` and `epoch` are those of the task's plan, which the files are named by.
    `delivered`: what Kafka's client says of each range that is not empty. `leader_epochs`: leader epoch of the last
    record read per topic partition, -1 unknown. `newest_ms`: newest record timestamp (epoch milliseconds), None
    without records. `seconds`: time per phase (fetch, decode, write, close). `refusals`: the most frequent
    reasons for dead letters.
    """

    table: str
    task: int
    generation: int
    epoch: int
    files: tuple[DataFile, ...] = ()
    accounts: tuple[RangeAccounting, ...] = ()
    delivered: tuple[Delivered, ...] = ()
    leader_epochs: tuple[tuple[TopicPartition, int], ...] = ()
    newest_ms: int | None = None
    seconds: tuple[tuple[str, float], ...] = ()
    refusals: tuple[Refusal, ...] = ()
    failure: TableFailure | None = None
    columns: ColumnsSeen = ColumnsSeen()


@dataclass(frozen=True, slots=True)
class TableSettings:
    """What a task must know of a table; the same for every epoch of a run.

    `columns` are the value's columns (resolved, also when the map left them to Hive), `metadata` the further columns
    taken from the record, appended after them in this order. `location` is the table's directory. `any_case`: the
    columns' names come from Hive, so the case of JSON keys does not matter.
    """

    table: str
    format: str
    columns: tuple[Column, ...]
    metadata: tuple[tuple[MetadataColumn, str], ...]
    bucketing: Bucketing
    zone: str
    tombstones: Tombstones
    writer: WriterOptions
    location: str
    any_case: bool = False


@dataclass(frozen=True, slots=True)
class TaskSettings:
    """Closure of every task: clients' settings with secrets, limits (bytes, counts), all tables by name."""

    kafka: tuple[tuple[str, str], ...] = field(repr=False)
    storage: StorageOptions = field(repr=False)
    tables: dict[str, TableSettings]
    dead_letter_table: str
    dead_letter_location: str
    file_bytes: int
    open_files: int
    memory_bytes: int
    stall_seconds: float = 300.0


def _range(value: OffsetRange) -> list[object]:
    return [value.topic_partition.topic, value.topic_partition.number, value.start, value.end]


def _parse_range(value: list[object]) -> OffsetRange:
    topic, number, start, end = value
    return OffsetRange(TopicPartition(str(topic), int(str(number))), int(str(start)), int(str(end)))


def plan_to_json(plan: TaskPlan) -> str:
    tables = [
        [
            t.table,
            t.ledger_id,
            t.generation,
            t.epoch,
            t.planned_at_ms,
            [_range(r) for r in t.ranges],
            t.only_bucket,
        ]
        for t in plan.tables
    ]
    return orjson.dumps([plan.index, tables]).decode()


def plan_from_json(text: str) -> TaskPlan:
    index, tables = orjson.loads(text)
    return TaskPlan(
        index,
        tuple(TableTask(t[0], t[1], t[2], t[3], t[4], tuple(map(_parse_range, t[5])), t[6]) for t in tables),
    )


def manifest_to_json(manifest: TableManifest) -> str:
    files = [
        [
            f.kind.value,
            f.staged,
            f.final,
            f.hive_partition.table,
            f.hive_partition.path,
            f.hive_partition.location,
            f.length,
            f.rows,
            f.checksum,
            f.task,
            [_range(r) for r in f.ranges],
        ]
        for f in manifest.files
    ]
    accounts = [[a.task, _range(a.range), *astuple(a.account)] for a in manifest.accounts]
    failure = None if manifest.failure is None else [manifest.failure.code, manifest.failure.message]
    return orjson.dumps(
        {
            "table": manifest.table,
            "task": manifest.task,
            "generation": manifest.generation,
            "epoch": manifest.epoch,
            "files": files,
            "accounts": accounts,
            "delivered": [
                [_range(d.range), d.begun, d.records, d.absent, d.position, d.log_end]
                for d in manifest.delivered
            ],
            "leader_epochs": [[t.topic, t.number, e] for t, e in manifest.leader_epochs],
            "newest_ms": manifest.newest_ms,
            "seconds": manifest.seconds,
            "refusals": [
                [
                    r.code,
                    r.column,
                    r.count,
                    r.topic_partition.topic,
                    r.topic_partition.number,
                    r.offset,
                    r.detail,
                ]
                for r in manifest.refusals
            ],
            "failure": failure,
            "columns": astuple(manifest.columns),
        }
    ).decode()


def manifest_from_json(text: str) -> TableManifest:
    value = orjson.loads(text)
    return TableManifest(
        table=value["table"],
        task=value["task"],
        generation=value["generation"],
        epoch=value["epoch"],
        files=tuple(
            DataFile(
                kind=FileKind(f[0]),
                staged=f[1],
                final=f[2],
                hive_partition=HivePartition(f[3], f[4], f[5]),
                length=f[6],
                rows=f[7],
                checksum=f[8],
                task=f[9],
                ranges=tuple(map(_parse_range, f[10])),
            )
            for f in value["files"]
        ),
        accounts=tuple(
            RangeAccounting(a[0], _parse_range(a[1]), OffsetAccounting(*a[2:])) for a in value["accounts"]
        ),
        delivered=tuple(Delivered(_parse_range(d[0]), *d[1:]) for d in value["delivered"]),
        leader_epochs=tuple((TopicPartition(t, n), e) for t, n, e in value["leader_epochs"]),
        newest_ms=value["newest_ms"],
        seconds=tuple((name, seconds) for name, seconds in value["seconds"]),
        refusals=tuple(
            Refusal(code, column, count, TopicPartition(topic, number), offset, detail)
            for code, column, count, topic, number, offset, detail in value["refusals"]
        ),
        failure=None if value["failure"] is None else TableFailure(*value["failure"]),
        columns=ColumnsSeen(value["columns"][0], *map(tuple, value["columns"][1:])),
    )
