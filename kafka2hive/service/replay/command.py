"""`dead-letters replay`: after the map was changed, decode a table's dead letters again, so that they become rows exactly once.

The unit is one dead-letter file. The code of tasks decodes its letters from the bytes in the file. The results are committed
together with the file's name in one epoch, after which the file is hidden (R11 of docs/protocol.md). If all letters of a file
would fail again, the file stays unchanged. If a live run owns the table, the run gets an order to do the replay.
"""

import datetime
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from kafka2hive.config.keys import TableRule
from kafka2hive.ledger.epoch import publish
from kafka2hive.ledger.history import Letters
from kafka2hive.ledger.inbox import ReplayLetters
from kafka2hive.ledger.look import look
from kafka2hive.ledger.owned_ledger import OwnedLedger
from kafka2hive.ledger.snapshot.change import RegistrationUpdate, Replay
from kafka2hive.model.files import DataFile
from kafka2hive.model.offsets import OffsetAccounting
from kafka2hive.model.paths.ledger import LedgerPaths
from kafka2hive.model.snapshot import ComparedTable, RecordedOrder, ReplayedFile, Snapshot
from kafka2hive.plan.contract import Refusal, TableManifest, TaskSettings
from kafka2hive.service.orders.delivery import ANSWER_SECONDS, Note, give_order, here_or_by_order
from kafka2hive.service.repair_heartbeat import RepairHeartbeat
from kafka2hive.service.replay.letter_files import (
    FileOfLetters,
    ReplayCounts,
    UntouchedFiles,
    account_of,
    oldest_first,
    rules_digest,
    search_letters,
)
from kafka2hive.service.tables.live_stop import stopped_by_its_run
from kafka2hive.service.tables.manifests import refusals_by_count
from kafka2hive.service.tables.places import with_places
from kafka2hive.service.tables.takeover import (
    Announce,
    RegistrationOutcome,
    TablesInHive,
    known_ledger,
    take_over,
)
from kafka2hive.service.wiring import Wiring
from kafka2hive.task.letter_replay import stage_letters, try_letters
from kafka2hive.task.part import TablePart
from kafka2hive.task.run import rare_garbage_collection

_EPOCH_FILES, _EPOCH_LETTERS = 50, 200_000
"""The limits of one epoch: the most files, and the number of letters after which no further file is added."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayRequest:
    """The letters of `table` to decode again: those with this `reason`, of records since this time (UTC); None: all."""

    table: str
    reason: str | None = None
    since: datetime.datetime | None = None
    plan_only: bool = False
    take_over: bool = False

    @property
    def since_text(self) -> str:
        return "" if self.since is None else self.since.isoformat()


@dataclass(slots=True)
class ReplayResult:
    """The result of a replay, or of its plan.

    - `files`, `account`: the number of files that are replaced, and the account of their letters.
    - `unchanged`, `unchanged_letters`: files whose chosen letters all fail again, and the number of these letters.
    - `refusals`: the reasons of letters that fail again, the most frequent first.
    - `not_read`: files that could not be read, each with the reason; `not_read_files` counts all of them.
    - `order`: the ledger's line about the order, if a live run did the replay; then `epochs` and `refusals` are unknown.
    """

    account: OffsetAccounting = field(default_factory=OffsetAccounting)
    files: int = 0
    unchanged: int = 0
    unchanged_letters: int = 0
    epochs: list[int] = field(default_factory=list)
    unregistered: int = 0
    manifests: list[TableManifest] = field(default_factory=list)
    not_read: list[tuple[str, str]] = field(default_factory=list)
    not_read_files: int = 0
    order: RecordedOrder | None = None

    @property
    def refusals(self) -> list[Refusal]:
        return refusals_by_count(self.manifests)


def replay_service(
    wiring: Wiring,
    request: ReplayRequest,
    *,
    seconds: float = ANSWER_SECONDS,
    note: Note = lambda text: None,
) -> ReplayResult:
    """Replay the dead letters of one table; without a ledger there are none. With `plan_only`, only count the results.

    If a live run owns the table, the run gets an order, and this process waits `seconds` for the answer; `note` gets lines of
    progress. A crash leaves orphans, or a committed epoch that the next start rolls forward; a second call replays the rest.
    Raises ConfigError (no such table), ManualActionRequired, Fenced, AmbiguousOutcome, TableError
    (also if Hive's table does not match the map), ServiceUnavailable (also `order.unanswered`).
    """
    if (paths := known_ledger(wiring, request.table)) is None:
        return ReplayResult()
    in_hive = TablesInHive(wiring, f"dead-letters replay --table {request.table}")
    settings = in_hive.tables.settings(request.table)
    rule = in_hive.tables.by_name[request.table].rule
    if request.plan_only:
        replay = _Replay(wiring=wiring, request=request, settings=settings, rule=rule, paths=paths)
        view = look(wiring.ports.files, paths)
        replay.plan(view.state, view.directory, view.newest.pending)
        return replay.complete_result()
    order = ReplayLetters(request.reason or "", request.since_text, rules_digest(rule, wiring.map))
    return here_or_by_order(
        partial(_replay_here, wiring, request, in_hive, settings),
        lambda: result_of_order(give_order(wiring, request.table, order, seconds=seconds, note=note).record),
        note,
    )


def result_of_order(record: RecordedOrder) -> ReplayResult:
    """Return the result that a run has recorded for an order that it carried out."""
    counts = ReplayCounts.parse(record.result)
    return ReplayResult(
        account=counts.account,
        files=counts.files,
        unchanged=counts.unchanged,
        unchanged_letters=counts.unchanged_letters,
        not_read=list(counts.not_read),
        not_read_files=counts.not_read_files,
        order=record,
    )


def _replay_here(
    wiring: Wiring, request: ReplayRequest, in_hive: TablesInHive, settings: TaskSettings
) -> ReplayResult:
    """Take the table over and replay its letters in this process. Raises OwnedByLiveRun before it changes anything."""
    rule = in_hive.tables.by_name[request.table].rule
    replay = _Replay(
        wiring=wiring, request=request, settings=settings, rule=rule, paths=wiring.paths(request.table)
    )
    with RepairHeartbeat(wiring) as heartbeat:
        owned = replay.take_over(heartbeat.begin)
        owned = replay.publish_all(owned, in_hive.compare)
        pending = frozenset(owned.state.unregistered) if replay.result.epochs else frozenset()
        outcome = in_hive.register(pending) if pending else RegistrationOutcome()
        if outcome.pending != pending:
            update = RegistrationUpdate(registered=pending - outcome.pending)
            publish(wiring.ports, owned, update)
        replay.result.unregistered = len(outcome.pending)
    return replay.complete_result()


@dataclass(slots=True)
class _Replay:
    """The replay of one table by this process. Each decoded file is added to `result`."""

    wiring: Wiring
    request: ReplayRequest
    settings: TaskSettings
    rule: TableRule
    paths: LedgerPaths
    result: ReplayResult = field(default_factory=ReplayResult)
    untouched: UntouchedFiles = field(default_factory=UntouchedFiles)

    def complete_result(self) -> ReplayResult:
        self.result.unchanged = self.untouched.files
        self.result.unchanged_letters = self.untouched.letters
        self.result.not_read = self.untouched.not_read
        self.result.not_read_files = len(self.untouched.not_read)
        return self.result

    def take_over(self, announce: Announce) -> OwnedLedger:
        wiring, location = self.wiring, self.settings.tables[self.request.table].location
        ownership = wiring.ownership_check(
            take_over=self.request.take_over, is_stopped=stopped_by_its_run(wiring)
        )
        return take_over(wiring, self.paths, location, ownership, announce=announce)

    def plan(self, state: Snapshot, directory: str, pending: bool) -> None:
        """Decode all letters without writing. Files of a pending epoch are left out, because they may not be visible yet."""
        for letter_file in self._letter_files(state, directory):
            if not (pending and letter_file.file in state.files):
                self._try_letters(letter_file, state)

    def publish_all(
        self, owned: OwnedLedger, compare: Callable[[Sequence[str]], tuple[ComparedTable, ...]]
    ) -> OwnedLedger:
        """Replay all files, in one epoch per batch. Hive's tables are compared with the map before the first commit."""
        compared: tuple[ComparedTable, ...] | None = None
        for batch in self._batches(self._letter_files(owned.state, owned.directory), owned.state):
            if compared is None:
                compared = compare((self.request.table, self.settings.dead_letter_table))
            change = self._change(owned, batch, compared)
            owned = publish(self.wiring.ports, owned, change).owned
            self.result.epochs.append(owned.state.epoch)
        return owned

    def _letter_files(self, state: Snapshot, directory: str) -> list[FileOfLetters]:
        """Return the files of letters, the oldest first."""
        search = search_letters(self.wiring.ports.files, self.paths, directory, Letters(state, state.epoch))
        (letters,) = deque(search, maxlen=1)
        return oldest_first(letters)

    def _batches(self, files: Iterable[FileOfLetters], state: Snapshot) -> Iterator[list[FileOfLetters]]:
        """Yield the files to replay, one batch per epoch. Files whose letters all fail again are left out."""
        batch: list[FileOfLetters] = []
        for letter_file in files:
            if not self._try_letters(letter_file, state):
                continue
            batch.append(letter_file)
            if (
                len(batch) == _EPOCH_FILES
                or sum(letter_file.file.rows for letter_file in batch) >= _EPOCH_LETTERS
            ):
                yield batch
                batch = []
        if batch:
            yield batch

    def _try_letters(self, letter_file: FileOfLetters, state: Snapshot) -> bool:
        """Decode the letters of one file without writing, and add the counts. Return whether the file must be replaced."""
        with rare_garbage_collection():
            manifest = try_letters(self._part(0, letter_file, state, None), self.wiring.ports.files)
        if manifest.chosen:
            self.result.manifests.append(manifest)
        if self.untouched.note(letter_file.file, manifest):
            return False
        self.result.files += 1
        self.result.account += account_of(letter_file.file, manifest)
        return True

    def _change(
        self, owned: OwnedLedger, batch: Sequence[FileOfLetters], compared: tuple[ComparedTable, ...]
    ) -> Replay:
        """Decode the files' letters and stage the results. Return the change for the next epoch. A crash leaves orphans."""
        files: list[DataFile] = []
        replayed: list[ReplayedFile] = []
        for task, letter_file in enumerate(batch):
            with rare_garbage_collection():
                manifest = stage_letters(
                    self._part(task, letter_file, owned.state, owned), self.wiring.ports.files
                )
            files += manifest.files
            account = account_of(letter_file.file, manifest)
            replayed.append(ReplayedFile(path=letter_file.file.final, task=task, account=account))
        change = Replay(files=tuple(files), replayed=tuple(replayed), compared=compared)
        return with_places(self.wiring.ports.files, owned.state, self.rule, change)

    def _part(
        self, index: int, letter_file: FileOfLetters, state: Snapshot, owned: OwnedLedger | None
    ) -> TablePart:
        now_ms = self.wiring.ports.clock.epoch_ms()
        task = letter_file.task(
            state=state,
            owned=owned,
            planned_at_ms=now_ms,
            reason=self.request.reason or "",
            since=self.request.since_text,
        )
        return TablePart(index=index, task=task, settings=self.settings)
