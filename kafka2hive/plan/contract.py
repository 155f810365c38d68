"""The contract between the driver and the tasks: plans go out, manifests return. Neither holds secrets.

Spark pickles both as elements of the job's collection. The driver accepts only one manifest per table and task of the plan
(`planned_manifests`) and checks their content before the commit (service/tables/manifests.py).
Secrets travel in TaskSettings, which is sent only in the closure of the task's function.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from kafka2hive.config.keys import LetterTimestamps, RegistryOptions, StorageOptions, TableSettings
from kafka2hive.config.keys.column_rules import OnBreak
from kafka2hive.config.keys.masks import LetterPayload
from kafka2hive.model.errors import TableError
from kafka2hive.model.files import DataFile, HivePartition
from kafka2hive.model.offsets import AccountingMismatch, OffsetRange, RangeAccounting, TopicPartition
from kafka2hive.model.snapshot import EventBounds
from kafka2hive.model.window_counts import WindowCount
from kafka2hive.model.writer_schema import WriterId

NEVER = -1
"""An offset in ClientCounts that the client did not report."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientCounts:
    """The counts of Kafka's client for one range, against which a task's account is checked.

    - `begun`: the offset at which the client was assigned.
    - `records`: how many records the client delivered inside the range.
    - `absent`: how many offsets it skipped before the next record or the end of the log.
    - `position`: the client's position when the range was released, NEVER if it had no position.
    - `log_end`: the end of the log that the client reported last, NEVER if it reported none.
    """

    range: OffsetRange
    begun: int
    records: int
    absent: int
    position: int
    log_end: int

    def check(self, account: RangeAccounting) -> None:
        """Raise AccountingMismatch unless the whole range was delivered and `account` has the same counts."""
        if self.begun != self.range.start:
            raise AccountingMismatch(f"{self.range}: the client was assigned at offset {self.begun}")
        if max(self.position, self.log_end) < self.range.end:
            raise AccountingMismatch(
                f"{self.range}: the client stopped at offset {self.position}, before the range's end and the log's end"
            )
        read, absent = account.account.read, account.account.absent
        if (self.records, self.absent) != (read, absent):
            raise AccountingMismatch(
                f"{self.range}: the client delivered {self.records} records and skipped {self.absent} absent offsets,"
                f" but the account has {read} read and {absent} absent"
            )


def check_accounts(accounts: Sequence[RangeAccounting], delivered: Sequence[ClientCounts]) -> None:
    """Raise AccountingMismatch unless each account adds up and equals the client's counts of the same range."""
    for account in accounts:
        account.check()
    counts_by_range = {counts.range: counts for counts in delivered}
    ranges = [account.range for account in accounts if len(account.range)]
    if sorted(ranges) != sorted(counts.range for counts in delivered):
        raise AccountingMismatch(
            f"accounts of {', '.join(map(str, ranges))}, but the client's counts are of"
            f" {', '.join(str(counts.range) for counts in delivered) or 'no range'}"
        )
    for account in accounts:
        if len(account.range):
            counts_by_range[account.range].check(account)


CLUSTER_STALL_SECONDS = 30.0

LETTERS_WITHOUT_BYTES = "replay.no_payload"
"""The code of letters that a replay leaves because they do not hold their records."""
LETTERS_MISSING, LETTERS_DAMAGED = "replay.missing", "replay.damaged"
"""The codes of a manifest's failure if a dead-letter file is gone, or differs from the committed file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LetterFile:
    """A committed dead-letter file to decode again: final path, rows and checksum from its ledger.

    Only letters with this `reason`, of records not older than `since` (ISO 8601, UTC), are decoded; "" restricts nothing.
    """

    path: str
    rows: int
    checksum: str
    reason: str = ""
    since: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableTask:
    """One table's share of a task: its ranges, and the ledger, generation and epoch that are in its file names.

    `planned_at_ms` (epoch milliseconds) is the processing time of every record of the epoch. `only_bucket` is the path of
    the Hive partition to which a refetch restricts the rows; None keeps all rows. `bounds` are the epoch's bounds of event
    time. With `replay`, the task decodes the letters of this file that lie in `ranges`, and reads nothing from Kafka.
    """

    table: str
    ledger_id: str
    generation: int
    epoch: int
    planned_at_ms: int
    ranges: tuple[OffsetRange, ...]
    only_bucket: str | None = None
    bounds: EventBounds | None = None
    replay: LetterFile | None = None


@dataclass(frozen=True, slots=True)
class TaskPlan:
    """The plan of one Spark task; `index` is unique within the run's epoch and is part of file names."""

    index: int
    tables: tuple[TableTask, ...]


@dataclass(frozen=True, slots=True)
class PlannedEpoch:
    """The tasks of one epoch. `number` is the run's own counter, from 1; the ledger's epoch is in each TableTask."""

    number: int
    tasks: tuple[TaskPlan, ...]


@dataclass(frozen=True, slots=True)
class TableFailure:
    """The failure of one table in a task: a stable code, a message with path, topic and offset, and a remedy if known.

    `writer` is set only if the failure is SchemaDiffers: the schema whose fields the table's columns do not take.
    """

    code: str
    message: str
    remedy: str = ""
    writer: WriterId | None = None

    @property
    def error(self) -> TableError:
        """Return the failure as an exception, for callers that raise instead of returning a manifest."""
        return TableError(self.code, self.message, self.remedy)


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """`count` records became dead letters for the reason `code` in `column`, which is "" if the cause is not a column.

    `topic_partition`, `offset` and `detail` describe one of these records, as an example.
    """

    code: str
    column: str
    count: int
    topic_partition: TopicPartition
    offset: int
    detail: str

    def more(self, count: int) -> "Refusal":
        """Return the same refusal of `count` more records."""
        return replace(self, count=self.count + count)


@dataclass(frozen=True, slots=True)
class ColumnsSeen:
    """The columns that stayed `empty` in all of the `rows` decoded rows.

    `unmapped` is a sample of JSON keys, as paths, that the columns do not take; it is empty if every column was filled.
    """

    rows: int = 0
    empty: tuple[str, ...] = ()
    unmapped: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class UnmappedField:
    """A JSON key that the columns do not take. `records` counts the records with the key; one of them is at `offset`."""

    name: str
    records: int
    topic_partition: TopicPartition
    offset: int


@dataclass(frozen=True, slots=True)
class UnmappedFields:
    """The unmapped fields of `looked_at` sampled records. Each name occurs once, and the number of names is bounded."""

    looked_at: int = 0
    fields: tuple[UnmappedField, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenRule:
    """How many rows broke a rule of a column; `on_break` says whether their messages are dead letters or they were written.

    A row is counted for each rule that it breaks, also if its message is a dead letter for another reason.
    """

    column: str
    rule: str
    on_break: OnBreak
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TableManifest:
    """The result of a task for one table. With a `failure`, `files` are orphans and the driver commits nothing.

    - `generation`, `epoch`: as in the task's plan and in the file names.
    - `delivered`: the client's counts of each range that is not empty.
    - `leader_epochs`: the leader epoch of the last record read per topic partition, -1 if unknown.
    - `newest_ms`: the newest record timestamp (epoch milliseconds), None without records.
    - `seconds`: the time per phase (fetch, decode, bucket, write, close).
    - `refusals`: the most frequent reasons for dead letters.
    - `changed`: how many values the map's leeway changed, by kind.
    - `broken`: how many rows broke the map's rules, by rule.
    - `is_compiled`: whether the worker has the compiled decoder.
    - `chosen`: how many letters a replay decoded again.
    - `without_bytes`: how many more it would have, but they do not hold their records (`dead_letters.payload`).
    - `windows`: the counts of the records by time, None for a table without `counts`.
    """

    table: str
    task: int
    generation: int
    epoch: int
    files: tuple[DataFile, ...] = ()
    accounts: tuple[RangeAccounting, ...] = ()
    delivered: tuple[ClientCounts, ...] = ()
    leader_epochs: tuple[tuple[TopicPartition, int], ...] = ()
    newest_ms: int | None = None
    seconds: tuple[tuple[str, float], ...] = ()
    refusals: tuple[Refusal, ...] = ()
    failure: TableFailure | None = None
    columns: ColumnsSeen = ColumnsSeen()
    unmapped: UnmappedFields = UnmappedFields()
    changed: tuple[tuple[str, int], ...] = ()
    broken: tuple[BrokenRule, ...] = ()
    is_compiled: bool = True
    chosen: int = 0
    without_bytes: int = 0
    windows: tuple[WindowCount, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSettings:
    """The settings in every task's closure: client settings with secrets, limits (bytes, counts), all tables by name.

    `kafka` has the properties of the map's cluster, `clusters` those of its further ones, by name.
    `mask_keys` are the keys of `mask: hmac`, the one that masks first.
    """

    kafka: tuple[tuple[str, str], ...] = field(repr=False)
    storage: StorageOptions = field(repr=False)
    tables: dict[str, TableSettings]
    dead_letter_table: str
    dead_letter_location: str
    file_bytes: int
    open_files: int
    memory_bytes: int
    dead_letter_timestamps: LetterTimestamps | None = None
    dead_letter_payload: LetterPayload = "keep"
    mask_keys: tuple[bytes, ...] = field(default=(), repr=False)
    registry: RegistryOptions | None = field(default=None, repr=False)
    stall_seconds: float = 300.0
    clusters: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = field(default=(), repr=False)

    @property
    def fetch_stall_seconds(self) -> float:
        """How long a fetch waits for records: shorter with several clusters, because the tables of the others wait too."""
        return min(self.stall_seconds, CLUSTER_STALL_SECONDS) if self.clusters else self.stall_seconds

    def kafka_of(self, cluster: str) -> tuple[tuple[str, str], ...]:
        """Return the properties of a cluster, the map's own for ""."""
        return dict(self.clusters)[cluster] if cluster else self.kafka


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitAssignment:
    """The work of one compaction unit: copy the rows of the early files `sources` to the partition's `home`.

    `sources` are full paths, in order. The names of the staged files contain the ledger, generation, epoch and task.
    """

    sources: Sequence[str]
    home: HivePartition
    table_location: str
    ledger_id: str
    generation: int
    epoch: int
    task: int
    planned_at_ms: int
    target_bytes: int


@dataclass(frozen=True, slots=True)
class WrittenUnit:
    """The staged files of a unit, with all rows of the first `sources` files of its assignment."""

    files: tuple[DataFile, ...]
    sources: int
    rows: int


@dataclass(frozen=True, slots=True)
class UnitResult:
    """The result of the unit `task`: either `written`, or a `failure`, after which its files are orphans."""

    task: int
    written: WrittenUnit | None = None
    failure: TableFailure | None = None


def planned_manifests(tasks: Sequence[TaskPlan], returned: Sequence[object]) -> list[TableManifest]:
    """Return the manifests in the order in which the tasks returned them.

    Raises AccountingMismatch unless there is exactly one manifest per table and task, with the generation and epoch of its
    plan. That error is a bug; the caller must not commit the epoch.
    """
    manifests = [result for result in returned if isinstance(result, TableManifest)]
    if len(manifests) < len(returned):
        other = next(result for result in returned if not isinstance(result, TableManifest))
        raise AccountingMismatch(f"a task returned {type(other).__name__} instead of a manifest")
    planned = Counter((t.table, task.index, t.generation, t.epoch) for task in tasks for t in task.tables)
    actual = Counter((m.table, m.task, m.generation, m.epoch) for m in manifests)
    if planned != actual:
        raise AccountingMismatch(
            "manifests as (table, task, generation, epoch):"
            f" missing {sorted(planned - actual)[:10]}, not planned {sorted(actual - planned)[:10]}"
        )
    return manifests
