"""`dead-letters replay`: after the map was changed, decode a table's dead letters again, so that they become rows once.

The unit is one dead-letter file. Its letters are decoded by the task's own code from the bytes that the file keeps, and what
they become is committed in one epoch with the file's name, after which the file is hidden (R11 of docs/protocol.md). A file
of which every letter would stay a letter is left as it is.
"""

import datetime
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from io import BytesIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kafka2hive.config.dead_letters import LATE, OUT_OF_RANGE
from kafka2hive.config.keys import MetadataColumn
from kafka2hive.ledger.epoch import publish
from kafka2hive.ledger.history import bounds_by_file, final_snapshots, letter_files
from kafka2hive.ledger.look import look
from kafka2hive.ledger.owned_ledger import OwnedLedger
from kafka2hive.ledger.snapshot.change import RegistrationUpdate, Replay
from kafka2hive.ledger.start import StartRequest, start
from kafka2hive.model.errors import TableError
from kafka2hive.model.files import UNKNOWN_CHECKSUM, DataFile, checksum_text
from kafka2hive.model.offsets import AccountingMismatch, OffsetAccounting
from kafka2hive.model.paths.ledger import LedgerPaths
from kafka2hive.model.snapshot import ComparedTable, EventBounds, ReplayedFile, Snapshot
from kafka2hive.plan.contract import Refusal, TableManifest, TableTask, TaskSettings
from kafka2hive.service.recover.forget import RegistrationOutcome
from kafka2hive.service.recover.heartbeat import RepairHeartbeat
from kafka2hive.service.recover.service import Outside
from kafka2hive.service.tables.live_stop import stopped_by_its_run
from kafka2hive.service.tables.manifests import frequent
from kafka2hive.service.wiring import Wiring
from kafka2hive.storage.port import NotFound
from kafka2hive.task.part import TablePart
from kafka2hive.task.replay import replay_letters, stored_letters
from kafka2hive.task.sink import OpenSink, PassingSink

_EPOCH_FILES, _EPOCH_LETTERS = 50, 200_000
"""The most files and, unless one file has more, letters of one epoch."""
_TIMES = "metadata.timestamp"
"""The reason of records whose timestamp no letter can hold: they are never decoded again."""
_UNREADABLE = (pa.ArrowException, OSError, KeyError)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayRequest:
    """Which letters of `table` to decode again: of one `reason`, or of records since a time (UTC), or all (None)."""

    table: str
    reason: str | None = None
    since: datetime.datetime | None = None
    plan_only: bool = False
    take_over: bool = False

    def chosen(self, rows: pa.Table) -> pa.Array:
        """Return the mask of the chosen letters."""
        mask = pc.not_equal(rows["reason"], _TIMES)
        if self.reason is not None:
            mask = pc.and_(mask, pc.equal(rows["reason"], self.reason))
        if self.since is not None:
            since = pa.scalar(self.since, pa.timestamp("us"))
            mask = pc.and_(mask, pc.greater_equal(rows["timestamp"].cast(pa.timestamp("us")), since))
        return pc.fill_null(mask, False).combine_chunks()


@dataclass(slots=True)
class ReplayResult:
    """What became of the letters. `account` is of the `files` that are replaced, or would be with `--plan`.

    `unchanged` files have chosen letters, all of which stay letters. `refusals` are the most frequent reasons of letters that
    were decoded again in vain. `not_read` has the paths of files that are missing or damaged, each with the reason.
    """

    account: OffsetAccounting = field(default_factory=OffsetAccounting)
    files: int = 0
    unchanged: int = 0
    unchanged_letters: int = 0
    epochs: list[int] = field(default_factory=list)
    unregistered: int = 0
    manifests: list[TableManifest] = field(default_factory=list)
    not_read: list[tuple[str, str]] = field(default_factory=list)

    @property
    def refusals(self) -> list[Refusal]:
        return frequent(self.manifests)


def replay_service(wiring: Wiring, request: ReplayRequest) -> ReplayResult:
    """Replay the dead letters of one table, or show with `--plan` what would become of them.

    A crash leaves orphans, or a committed epoch that the next start rolls forward; a second call does what is left.
    Raises ConfigError (no such table), NoLedger, OwnedByLiveRun, ManualActionRequired, Fenced, AmbiguousOutcome, TableError
    (also if Hive's table does not match the map), ServiceUnavailable.
    """
    outside = Outside(wiring)
    settings = outside.tables.settings(request.table)
    replay = _Replay(wiring, request, settings, wiring.paths(request.table))
    if request.plan_only:
        view = look(wiring.ports.files, replay.paths)
        replay.plan(view.state, view.directory, view.newest.pending)
        return replay.result
    with RepairHeartbeat(wiring) as heartbeat:
        owned = replay.take_over(heartbeat.begin)
        owned = replay.publish_all(owned, outside.compare)
        pending = frozenset(owned.state.unregistered) if replay.result.epochs else frozenset()
        outcome = outside.register(pending) if pending else RegistrationOutcome()
        if outcome.pending != pending:
            update = RegistrationUpdate(registered=pending - outcome.pending)
            publish(wiring.ports, owned, update)
        replay.result.unregistered = len(outcome.pending)
    return replay.result


@dataclass(slots=True)
class _Replay:
    """The replay of one table. `result` grows with each file.

    `bounds` are those of event time by which the epoch that read a file's records decided; they decide again.
    """

    wiring: Wiring
    request: ReplayRequest
    settings: TaskSettings
    paths: LedgerPaths
    result: ReplayResult = field(default_factory=ReplayResult)
    bounds: dict[str, EventBounds | None] = field(default_factory=dict)

    def take_over(self, announce: Callable[[], None]) -> OwnedLedger:
        wiring, location = self.wiring, self.settings.tables[self.request.table].location
        ownership = wiring.ownership_check(
            take_over=self.request.take_over, is_left=stopped_by_its_run(wiring)
        )

        order = StartRequest(
            self.paths,
            check=ownership.taking_over(self.paths, location, announce),
            owners=wiring.owners,
            keep=wiring.map.limits.keep_snapshots,
        )
        return start(wiring.ports, order).owned

    def plan(self, state: Snapshot, directory: str, pending: bool) -> None:
        """Count what the letters would become. Letters of a pending epoch are left out, because it may not be visible yet."""
        for file in self._letter_files(state, directory):
            if not (pending and file in state.files):
                self._tried(file, self._part(0, file, None))

    def publish_all(
        self, owned: OwnedLedger, compare: Callable[[Sequence[str]], tuple[ComparedTable, ...]]
    ) -> OwnedLedger:
        """Replay all files, some in each epoch. Hive's tables are compared with the map before the first commit."""
        compared: tuple[ComparedTable, ...] | None = None
        for batch in self._batches(self._letter_files(owned.state, owned.directory)):
            if compared is None:
                compared = compare((self.request.table, self.settings.dead_letter_table))
            change = self._change(owned, batch, compared)
            owned = publish(self.wiring.ports, owned, change).owned
            self.result.epochs.append(owned.state.epoch)
        return owned

    def _letter_files(self, state: Snapshot, directory: str) -> list[DataFile]:
        """Return the files of letters, the oldest first."""
        finals = list(final_snapshots(self.wiring.ports.files, self.paths, directory))
        self.bounds = bounds_by_file(finals[::-1])
        return [file for _, file in letter_files(state, finals)][::-1]

    def _batches(self, files: Iterable[DataFile]) -> Iterator[list[DataFile]]:
        """Yield the files of each epoch: those of which some letters become something else."""
        batch: list[DataFile] = []
        for file in files:
            if not self._tried(file, self._part(0, file, None)):
                continue
            batch.append(file)
            if len(batch) == _EPOCH_FILES or sum(f.rows for f in batch) >= _EPOCH_LETTERS:
                yield batch
                batch = []
        if batch:
            yield batch

    def _chosen(self, part: TablePart, rows: pa.Table) -> pa.Array:
        """Return the mask of the letters that are decoded again.

        Not among them: letters that bounds refused which a rebuilt ledger does not have, and letters without the record's
        timestamp if the table keeps it, because it may be one that no letter can hold.
        """
        mask = self.request.chosen(rows)
        if part.task.bounds is None:
            refused = pc.is_in(rows["reason"], value_set=pa.array([LATE, OUT_OF_RANGE]))
            mask = pc.and_(mask, pc.invert(refused.combine_chunks()))
        if any(column is MetadataColumn.TIMESTAMP for column, _ in part.table.metadata):
            mask = pc.and_(mask, pc.is_valid(rows["timestamp"]).combine_chunks())
        return mask

    def _tried(self, file: DataFile, part: TablePart) -> bool:
        """Decode the letters without writing, and return whether any of them becomes something else."""
        chosen = Counter[str]()

        def choose(rows: pa.Table) -> pa.Array:
            mask = self._chosen(part, rows)
            chosen["letters"] += pc.sum(mask).as_py() or 0
            return mask

        try:
            manifest = self._decoded(file, part, choose, lambda _place, _schema: PassingSink(_ignore))
        except NotFound:
            self.result.not_read.append((file.final, "is not there"))
            return False
        except _DamagedLetters as error:
            self.result.not_read.append((file.final, error.why))
            return False
        except _UNREADABLE as error:
            self.result.not_read.append((file.final, f"is damaged: {error}"))
            return False
        account = _account(file, manifest)
        if not chosen["letters"]:
            return False
        self.result.manifests.append(manifest)
        if account.dead_lettered == account.read:
            self.result.unchanged += 1
            self.result.unchanged_letters += chosen["letters"]
            return False
        self.result.files += 1
        self.result.account += account
        return True

    def _change(
        self, owned: OwnedLedger, batch: Sequence[DataFile], compared: tuple[ComparedTable, ...]
    ) -> Replay:
        """Stage what the letters of the files become, for the next epoch."""
        files: list[DataFile] = []
        replayed: list[ReplayedFile] = []
        for task, file in enumerate(batch):
            part = self._part(task, file, owned)
            manifest = self._decoded(file, part, partial(self._chosen, part), None)
            files += manifest.files
            replayed.append(ReplayedFile(path=file.final, task=task, account=_account(file, manifest)))
        return Replay(files=tuple(files), replayed=tuple(replayed), compared=compared)

    def _part(self, index: int, file: DataFile, owned: OwnedLedger | None) -> TablePart:
        task = TableTask(
            table=self.request.table,
            ledger_id=owned.state.ledger_id if owned else "",
            generation=owned.generation.number if owned else 0,
            epoch=owned.next_epoch if owned else 0,
            planned_at_ms=self.wiring.ports.clock.epoch_ms(),
            ranges=file.ranges,
            replay=True,
            bounds=self.bounds[file.final],
        )
        return TablePart(index=index, task=task, settings=self.settings)

    def _decoded(
        self,
        file: DataFile,
        part: TablePart,
        chosen: Callable[[pa.Table], pa.Array],
        open_sink: OpenSink | None,
    ) -> TableManifest:
        """Raise _DamagedLetters if the file is not the one that was committed, NotFound, one of _UNREADABLE, TableError."""
        data = self.wiring.ports.files.read(file.final)
        checksum = checksum_text(zlib.crc32(data))
        if file.checksum not in (UNKNOWN_CHECKSUM, checksum):
            raise _DamagedLetters(file, f"has {checksum}, but {file.checksum} was committed")
        reader = pq.ParquetFile(BytesIO(data), coerce_int96_timestamp_unit="us")
        if reader.metadata.num_rows != file.rows:
            raise _DamagedLetters(
                file, f"holds {reader.metadata.num_rows} letters, but {file.rows} were committed"
            )
        return replay_letters(part, stored_letters(reader), chosen, self.wiring.ports.files, open_sink)


class _DamagedLetters(TableError):
    """A file of letters is not the one that was committed; `why` says what differs."""

    def __init__(self, file: DataFile, why: str) -> None:
        self.why = why
        remedy = "`kafka2hive verify --contents` names all such files; nothing was changed"
        super().__init__("replay.damaged", f"{file.final} {why}", remedy)


def _account(file: DataFile, manifest: TableManifest) -> OffsetAccounting:
    """Return what became of the letters, without the offsets of other records.

    Raises AccountingMismatch unless it accounts for every letter that was committed.
    """
    total = sum((each.account for each in manifest.accounts), OffsetAccounting())
    if total.read != file.rows:
        raise AccountingMismatch(f"{file.final}: {total.read} letters decoded, {file.rows} committed")
    return OffsetAccounting(
        read=total.read,
        written=total.written,
        filtered=total.filtered,
        tombstones=total.tombstones,
        dead_lettered=total.dead_lettered,
        more_rows=total.more_rows,
    )


def _ignore(_rows: object, _ids: object, _paths: object) -> None:
    """Take rows that are only counted."""
