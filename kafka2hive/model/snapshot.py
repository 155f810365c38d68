"""The snapshot: a table's whole state after one epoch, as one value (design: docs/protocol.md)."""

from dataclasses import dataclass, field

from kafka2hive.model.files import DataFile, HivePartition
from kafka2hive.model.offsets import (
    UNKNOWN_ID,
    OffsetAccounting,
    OffsetRange,
    Position,
    RangeAccounting,
    TopicPartition,
)
from kafka2hive.model.window_counts import WindowCount

UNKNOWN_TIME = "-"
UNKNOWN_START = "-"
UNKNOWN_END = "0001-01-01T00:00:00Z"
"""The end of the period of an early partition that a rebuilt ledger has and the map does not know."""
IMPORTED_START = "imported "
"""Beginning of `start` in a ledger whose first positions came from another tool; the source follows."""
NO_SNAPSHOT = "-"
"""The value of `previous` in the first snapshot of a ledger."""
REBUILT = "rebuilt"
"""The owner of the snapshots that `recover --rebuild-ledger` writes; the first of them replaces all earlier ones."""

ACCEPT_LOSS, REFETCH = "accept-loss", "refetch"
"""The two remedies for a lost file: its records were given up, or read from Kafka again."""


@dataclass(frozen=True, slots=True)
class Tracking:
    """The completeness of partitions is tracked since the epoch `since`.

    Everything that Kafka held for the table at the time `through` is committed by this epoch or earlier ones. `through` is
    ISO-8601 UTC to the second, `-` if unknown.
    """

    since: int
    through: str = UNKNOWN_TIME


@dataclass(frozen=True, slots=True, kw_only=True)
class EventBounds:
    """The bounds of event time for one epoch. Every later decoding of the epoch's records uses the same bounds.

    `planned_ms`: when the epoch was planned (milliseconds since 1970), 0 before that. `max_future_ms`, `max_past_ms`: the
    map's bounds at that time. Rows of periods that ended at or before `late_before_ms` are late. A bound of None is unset.
    `expired_before_ms`: rows of periods that ended at or before it have expired (rule E1); 0 if none have.
    """

    planned_ms: int = 0
    max_future_ms: int | None = None
    max_past_ms: int | None = None
    late_before_ms: int | None = None
    expired_before_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenPartition:
    """A Hive partition with data files that no certificate counts yet.

    `files` and `rows` count these files since the epoch `since`, which was written at `opened_at` (ISO-8601 UTC).
    """

    partition: HivePartition
    since: int
    opened_at: str
    files: int
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """A complete Hive partition.

    `files` and `rows` count its data files of the epochs from `since` to the epoch that certifies it. `through` is as in
    Tracking. `policy` is the completion policy that decided. `success_file` is the name of an empty file to create in the
    partition's directory, "" if the map wants none.
    """

    partition: HivePartition
    since: int
    files: int
    rows: int
    through: str
    policy: str
    success_file: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlyPartition:
    """A Hive partition that is not compacted yet: its data files are at its early place, which is `partition.location`.

    `files` and `rows` count the data files there, since the epoch `since`. `closes` is the end of the partition's period.
    `certified` is the epoch whose certificate counts all these files, 0 if there is no such certificate.
    """

    partition: HivePartition
    since: int
    closes: str
    files: int
    rows: int
    certified: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionUnit:
    """Early files that compaction rewrote: `sources` consecutive files by (epoch, task, uuid), from `first` to `last`.

    Their rows are now in the files of this `task` and epoch at the home of `partition`.
    """

    partition: HivePartition
    task: int
    first: str
    last: str
    sources: int
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MovedPartition:
    """A Hive partition that compaction moved to its home in `epoch`; its early files are still at `early`.

    `late` is the newest epoch with late data at the home, 0 without late data; then both places hold the same rows.
    `right_since` is the time of the first look since which no look has found Hive's location at the early place. It is ""
    before the first look, and after a look that found the location there, or new data of the partition.
    """

    partition: HivePartition
    early: str
    epoch: int
    late: int
    right_since: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetiredPartition:
    """A moved partition whose early files, of epochs up to `through`, may be deleted since `epoch`.

    `partition` is at its home. `epoch` is in the name of the text file that makes a query at `early` fail.
    """

    partition: HivePartition
    early: str
    through: int
    epoch: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DroppedPartition:
    """An expired Hive partition at its home, whose files of epochs up to `epoch` are to be deleted.

    `gone_since` is the time of the first look since which every look has found that Hive does not have the partition; "" before
    that.
    """

    partition: HivePartition
    epoch: int
    gone_since: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptedGap:
    """Offsets that were accepted as lost before they were read (deleted by retention, a truncated log).

    If the table moved to another cluster, `range` is empty, and the reading goes on in the topic `moved_to`, in the topic
    partition with the same number. Otherwise `moved_to` is "".
    """

    range: OffsetRange
    reason: str
    accepted_at: str
    epoch: int
    moved_to: str = ""

    @property
    def target(self) -> TopicPartition:
        """Return the topic partition in which the reading goes on."""
        return TopicPartition(self.moved_to, self.range.topic_partition.number)


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptedLoss:
    """A committed file that was given up (`remedy` = ACCEPT_LOSS) or refetched (REFETCH)."""

    path: str
    remedy: str
    rows: int
    accepted_at: str
    epoch: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayedFile:
    """A committed dead-letter file whose letters `task` of this epoch decoded again; `path` is the file's final path.

    `account.read` counts the decoded letters, and `account.dead_lettered` the letters that became letters again.
    """

    path: str
    task: int
    account: OffsetAccounting


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedTable:
    """The map's description of a table at the time when Hive's table matched it; all fields are strings, for people.

    `created` is when Hive's table was created, as Hive wrote it; "" if unknown. It belongs to Hive's table and not to the
    description, so two descriptions that differ only in it are equal.
    """

    table: str
    location: str
    format: str
    columns: str
    partition_columns: str
    created: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class AddedColumn:
    """A column that schema evolution added to the table or gave a wider type.

    If a name repeats, the last entry wins. `schema` says which schema had the field, for people.
    """

    name: str
    type: str
    schema: str
    added_at: str
    epoch: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgottenRegistration:
    """A Hive partition with data that Hive refused to register (`reason`), and that an operator gave up.

    `accepted_by` names the operator's command as `<host>-<pid>-<uuid>`.
    """

    partition: HivePartition
    reason: str
    accepted_by: str
    accepted_at: str
    epoch: int


MOST_ORDERS = 100
"""How many orders a snapshot lists, the newest ones. The file of an older one has long left the inbox (docs/protocol.md)."""
ORDER_DONE = "done"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedOrder:
    """An order that this table's owner has answered, in the snapshot of `epoch`.

    `given_by` and `given_at` are copied from the order. If the order was carried out, `result` begins with ORDER_DONE, and
    the counts of its work may follow; otherwise `result` is the reason as `[code] message`.
    """

    id: str
    kind: str
    given_by: str
    given_at: str
    done_at: str
    epoch: int
    result: str

    @property
    def is_done(self) -> bool:
        return self.result.partition(" ")[0] == ORDER_DONE


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningReplay:
    """The replay of dead letters that the order with the id `order` started; it is not finished.

    It replays the letters of the epochs up to `through`. So far it has replaced `files` dead-letter files; `account` counts
    their letters as in ReplayedFile.
    """

    order: str
    through: int
    files: int = 0
    account: OffsetAccounting = OffsetAccounting()  # noqa: RUF009  a frozen value of another module


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """The table is paused `since` a time (ISO 8601 UTC), `by` an owner name, by the `order` of that id in `epoch`."""

    since: str
    by: str
    order: str
    epoch: int


@dataclass(frozen=True, slots=True, order=True)
class NewsProgress:
    """The `receiver` of that name in the map has taken all news of the epochs up to `through` (rule N4)."""

    receiver: str
    through: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The state of a table after epoch `epoch`. The newest snapshot is the whole state.

    - `positions`: every topic partition that the table ever read, including deleted ones, except those that a gap with
      `moved_to` replaces.
    - `accounts`, `files`: only those of this epoch.
    - `windows`: the counts of this epoch's records by time; empty for a table without `counts`.
    - `gaps`, `losses`, `forgotten`, `added`: cumulative.
    - `unregistered`: pending registrations: Hive partitions with data that Hive has not confirmed.
    - `withheld`: Hive partitions that Hive must not have before they have a certificate (`register: complete`).
    - `registered`: pending registrations of the previous snapshot that Hive has confirmed since.
    - `compared`: the tables (this one and the dead-letter table) that matched Hive's, as the map described them then.
    - `tracking`: the tracking of complete partitions, None if it is off.
    - `open`: partitions that are not complete. `certificates`: partitions that became complete in this epoch. `reopened`:
      partitions that became complete in the previous snapshot and are open again, because their certificate was not written.
    - `orders`: an operator's last orders that the owner has answered. `paused`: None unless one of them paused the table.
    - `bounds`: the bounds of event time of the newest epoch with records, None if the map had no such bounds then.
    - `replayed`: dead-letter files of earlier epochs that this epoch's files replace. `replaying`: None unless an order to
      replay dead letters is under way.
    - `early`: partitions at their early places. `units`: the units that this epoch compacted. `moved`: compacted partitions
      whose early files are still there. `retired`: compacted partitions whose early files are being deleted.
    - `dropped`: expired partitions that are being dropped from Hive, and whose files are then deleted.
    - `told`: how far each receiver of news has taken them.
    - `closed_through`: the latest end of the periods of all partitions that ever moved, "" before the first move.
    - `location`: the table's directory, so that recovery needs no map.
    - `start`: the start policy that chose the first positions, as text.
    - `newest_ms`: the newest record timestamp (milliseconds since 1970) that ever became visible, None before the first.
    - `written_at`: ISO-8601 UTC, for people; a decision uses it only as `opened_at` of an open partition.
    - `previous`: the checksum of the previous snapshot's text.
    - `checksum`: the checksum of this snapshot's text, "" if the text was neither read nor written yet.
    """

    ledger_id: str
    service: str
    table: str
    generation: int
    owner: str
    epoch: int
    written_at: str
    cluster_id: str = UNKNOWN_ID
    location: str = ""
    start: str = UNKNOWN_START
    newest_ms: int | None = None
    files: tuple[DataFile, ...] = ()
    positions: tuple[Position, ...] = ()
    accounts: tuple[RangeAccounting, ...] = ()
    gaps: tuple[AcceptedGap, ...] = ()
    losses: tuple[AcceptedLoss, ...] = ()
    unregistered: tuple[HivePartition, ...] = ()
    withheld: tuple[HivePartition, ...] = ()
    compared: tuple[ComparedTable, ...] = ()
    forgotten: tuple[ForgottenRegistration, ...] = ()
    added: tuple[AddedColumn, ...] = ()
    registered: tuple[HivePartition, ...] = ()
    lapsed: tuple[HivePartition, ...] = ()
    tracking: Tracking | None = None
    open: tuple[OpenPartition, ...] = ()
    certificates: tuple[Certificate, ...] = ()
    reopened: tuple[HivePartition, ...] = ()
    orders: tuple[RecordedOrder, ...] = ()
    paused: Pause | None = None
    bounds: EventBounds | None = None
    replayed: tuple[ReplayedFile, ...] = ()
    replaying: RunningReplay | None = None
    closed_through: str = ""
    early: tuple[EarlyPartition, ...] = ()
    units: tuple[CompactionUnit, ...] = ()
    moved: tuple[MovedPartition, ...] = ()
    retired: tuple[RetiredPartition, ...] = ()
    dropped: tuple[DroppedPartition, ...] = ()
    told: tuple[NewsProgress, ...] = ()
    windows: tuple[WindowCount, ...] = ()
    previous: str = NO_SNAPSHOT
    checksum: str = field(default="", init=False, repr=False, compare=False)
    _index: dict[TopicPartition, Position] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def with_checksum(self, checksum: str) -> "Snapshot":
        """Return a copy with the checksum of its text. `dataclasses.replace` would return a copy without checksum."""
        # each read and commit copies a snapshot, and `replace` takes three times as long
        copy = object.__new__(Snapshot)
        for name in self.__slots__:
            object.__setattr__(copy, name, getattr(self, name))
        object.__setattr__(copy, "checksum", checksum)
        return copy

    @property
    def topics(self) -> frozenset[str]:
        """The topics that the table has positions for, including deleted ones."""
        return frozenset(p.topic_partition.topic for p in self.positions)

    @property
    def withheld_until_certified(self) -> tuple[HivePartition, ...]:
        """The withheld partitions that became complete in this epoch: Hive gets them once their certificates are in place."""
        complete = {each.partition.name for each in self.certificates}
        return tuple(each for each in self.withheld if each.name in complete)

    @property
    def given_up(self) -> tuple[AcceptedLoss, ...]:
        """The lost files whose rows no file has any more. Those of refetched files are in newer files."""
        return tuple(loss for loss in self.losses if loss.remedy == ACCEPT_LOSS)

    @property
    def expired_before_ms(self) -> int:
        """The bound of expired periods (see EventBounds), 0 if none have expired."""
        return 0 if self.bounds is None else self.bounds.expired_before_ms

    def position(self, topic_partition: TopicPartition) -> Position | None:
        """Return the position of one topic partition, None if the table never read it."""
        if not self._index and self.positions:
            self._index.update({p.topic_partition: p for p in self.positions})
        return self._index.get(topic_partition)
