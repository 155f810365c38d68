"""What driver and tasks say to each other: plans go out, manifests return. No secrets in either.

Spark pickles both, as elements of the job's collection. The driver takes nothing else from it than one manifest per table
and task of the plan (`planned_manifests`); what stands in them is checked before the commit (service/tables/manifests.py).
Secrets travel in TaskSettings, which goes out in the closure of the task's function only.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from kafka2hive.config.keys import RegistryOptions, StorageOptions, TableSettings
from kafka2hive.model.errors import TableError
from kafka2hive.model.files import DataFile
from kafka2hive.model.offset_accounting import AccountingMismatch, RangeAccounting
from kafka2hive.model.offsets import OffsetRange, TopicPartition
from kafka2hive.model.writer_schema import WriterId

NEVER = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivered:
    """One range as the client itself tells it: the second opinion on a task's account.

    `begun` is the offset that the client was assigned at. `records` were delivered inside the range; `absent` offsets
    were passed over: the next record, or the end of the log, came behind them. `position` is the client's own position
    when the range was given up, and `log_end` the end of the log that it reported last; NEVER where it had none.
    """

    range: OffsetRange
    begun: int
    records: int
    absent: int
    position: int
    log_end: int

    def check(self, account: RangeAccounting) -> None:
        """Raises AccountingMismatch unless the whole range was delivered, and `account` says the same of it."""
        if self.begun != self.range.start:
            raise AccountingMismatch(f"{self.range}: the client was assigned at offset {self.begun}")
        if max(self.position, self.log_end) < self.range.end:
            raise AccountingMismatch(
                f"{self.range}: the client came to offset {self.position} only, and to no end of the log behind the range"
            )
        read, absent = account.account.read, account.account.absent
        if (self.records, self.absent) != (read, absent):
            raise AccountingMismatch(
                f"{self.range}: the client delivered {self.records} records and passed {self.absent} offsets without"
                f" one, the account says {read} read and {absent} absent"
            )


def check_accounts(accounts: Sequence[RangeAccounting], delivered: Sequence[Delivered]) -> None:
    """Raises AccountingMismatch unless each account adds up, and is what the client delivered of that very range."""
    for account in accounts:
        account.check()
    of_range = {one.range: one for one in delivered}
    wanted = [account.range for account in accounts if len(account.range)]
    if sorted(wanted) != sorted(one.range for one in delivered):
        raise AccountingMismatch(
            f"accounts of {', '.join(map(str, wanted))}, but the client's counts are of"
            f" {', '.join(str(one.range) for one in delivered) or 'no range'}"
        )
    for account in accounts:
        if len(account.range):
            of_range[account.range].check(account)


@dataclass(frozen=True, slots=True, kw_only=True)
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
    """Why one table failed in a task: a stable code, a text with path, topic and offset, and what to do where it is known.

    `writer`: the schema that has what the table's columns do not take.
    """

    code: str
    message: str
    remedy: str = ""
    writer: WriterId | None = None

    @property
    def error(self) -> TableError:
        """For code that ends by raising instead of by a manifest."""
        return TableError(self.code, self.message, self.remedy)


@dataclass(frozen=True, slots=True, kw_only=True)
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

    `unmapped`: a sample of JSON keys that no column takes, as paths; only where a column is empty.
    """

    rows: int = 0
    empty: tuple[str, ...] = ()
    unmapped: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class UnmappedField:
    """A key of JSON records that no column takes. `records` had it, one of them at this topic partition and offset."""

    name: str
    records: int
    topic_partition: TopicPartition
    offset: int


@dataclass(frozen=True, slots=True)
class UnmappedFields:
    """Of `looked_at` records, a sample of those that became rows. Each name stands once; there is a bound on their number."""

    looked_at: int = 0
    fields: tuple[UnmappedField, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TableManifest:
    """What a task made of its share of one table. With a `failure`, `files` are orphans and nothing may be committed.

    `generation` and `epoch` are those of the task's plan, which the files are named by.
    `delivered`: what Kafka's client says of each range that is not empty. `leader_epochs`: leader epoch of the last
    record read per topic partition, -1 unknown. `newest_ms`: newest record timestamp (epoch milliseconds), None
    without records. `seconds`: time per phase (fetch, decode, write, close). `refusals`: the most frequent
    reasons for dead letters. `changed`: values that the map's leeway changed, by kind.
    `is_compiled`: the worker has the compiled decoder.
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
    unmapped: UnmappedFields = UnmappedFields()
    changed: tuple[tuple[str, int], ...] = ()
    is_compiled: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
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
    registry: RegistryOptions | None = field(default=None, repr=False)
    stall_seconds: float = 300.0


def planned_manifests(tasks: Sequence[TaskPlan], returned: Sequence[object]) -> list[TableManifest]:
    """What the tasks returned, as it came. Raises AccountingMismatch (a bug: nothing of the epoch may be committed) unless
    it is exactly one manifest per table and task, each for the generation and epoch of its plan.
    """
    manifests = [one for one in returned if isinstance(one, TableManifest)]
    if len(manifests) < len(returned):
        other = next(one for one in returned if not isinstance(one, TableManifest))
        raise AccountingMismatch(f"a task returned {type(other).__name__} instead of a manifest")
    planned = Counter((t.table, task.index, t.generation, t.epoch) for task in tasks for t in task.tables)
    came = Counter((m.table, m.task, m.generation, m.epoch) for m in manifests)
    if planned != came:
        raise AccountingMismatch(
            "manifests as (table, task, generation, epoch):"
            f" missing {sorted(planned - came)[:10]}, not planned {sorted(came - planned)[:10]}"
        )
    return manifests
