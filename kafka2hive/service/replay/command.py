"""`dead-letters replay`: after the map was changed, decode a table's dead letters again, so that they become rows exactly once.

The unit is one dead-letter file. The code of tasks decodes its letters from the bytes in the file. The results are committed
together with the file's name in one epoch, after which the file is hidden (R11 of docs/protocol.md). If all letters of a file
would fail again, the file stays unchanged. If a live run owns the table, the run gets an order to do the replay.
"""

import datetime
from collections import deque
from dataclasses import dataclass, field, replace
from functools import partial

from kafka2hive.ledger.history import Letters
from kafka2hive.ledger.inbox import Order, ReplayLetters
from kafka2hive.ledger.look import View, look
from kafka2hive.ledger.snapshot.change import Change, Replay
from kafka2hive.model.offsets import OffsetAccounting
from kafka2hive.model.snapshot import ComparedTable, RecordedOrder, RunningReplay
from kafka2hive.plan.contract import Refusal, TableManifest, TaskPlan, TaskSettings
from kafka2hive.service.chores.command_owner import CommandOwner
from kafka2hive.service.orders.delivery import (
    ANSWER_SECONDS,
    Note,
    give_order,
    here_or_by_order,
    order_of_user,
)
from kafka2hive.service.repair_heartbeat import RepairHeartbeat
from kafka2hive.service.replay.chore import ReplayChore
from kafka2hive.service.replay.letter_files import (
    ReplayCounts,
    UntouchedFiles,
    account_of,
    oldest_first,
    rules_digest,
    search_letters,
)
from kafka2hive.service.start.takeover import TablesInHive, known_ledger, register_released, take_over
from kafka2hive.service.tables.ledgers import no_answer_about
from kafka2hive.service.tables.live_stop import stopped_by_its_run
from kafka2hive.service.tables.manifests import refusals_by_count
from kafka2hive.service.wiring import Wiring
from kafka2hive.storage.port import FileSystem, StorageError
from kafka2hive.task.fetch.consumer import process_consumer
from kafka2hive.task.letter_replay import LettersTask, try_letters
from kafka2hive.task.part import TablePart, task_environment
from kafka2hive.task.run import rare_garbage_collection

_EPOCH_FILES = 50
"""The most files of one epoch."""


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
    - `without_bytes`: chosen letters that stay because they do not hold their records (`dead_letters.payload`).
    - `refusals`: the reasons of letters that fail again, the most frequent first.
    - `not_read`: files that could not be read, each with the reason; `not_read_files` counts all of them.
    - `order`: the ledger's line about the order, if a live run did the replay; then `epochs` and `refusals` are unknown.
    """

    account: OffsetAccounting = field(default_factory=OffsetAccounting)
    files: int = 0
    unchanged: int = 0
    unchanged_letters: int = 0
    without_bytes: int = 0
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
        return _plan(wiring, request, settings, look(wiring.ports.files, paths))
    instruction = ReplayLetters(request.reason or "", request.since_text, rules_digest(rule, wiring.map))
    order = order_of_user(wiring, request.table, instruction)

    def by_order() -> ReplayResult:
        answer = give_order(wiring, request.table, instruction, seconds=seconds, note=note)
        return result_of_order(answer.record)

    def here() -> ReplayResult:
        return _replay_here(wiring=wiring, request=request, in_hive=in_hive, settings=settings, order=order)

    return here_or_by_order(here, by_order, note)


def result_of_order(record: RecordedOrder) -> ReplayResult:
    """Return the result that a run has recorded for an order that it carried out."""
    counts = ReplayCounts.parse(record.result)
    return ReplayResult(
        account=counts.account,
        files=counts.files,
        unchanged=counts.unchanged,
        unchanged_letters=counts.unchanged_letters,
        without_bytes=counts.without_bytes,
        not_read=list(counts.not_read),
        not_read_files=counts.not_read_files,
        order=record,
    )


def _replay_here(
    wiring: Wiring, request: ReplayRequest, in_hive: TablesInHive, settings: TaskSettings, order: Order
) -> ReplayResult:
    """Take the table over and carry the order out in this process; then release it, and register its partitions.

    Raises OwnedByLiveRun before it changes anything.
    """
    rule, result = in_hive.tables.by_name[request.table].rule, ReplayResult()
    ownership = wiring.ownership_check(take_over=request.take_over, is_stopped=stopped_by_its_run(wiring))
    compare = _HiveComparison(in_hive, (request.table, settings.dead_letter_table))
    with RepairHeartbeat(wiring) as heartbeat:
        owned = take_over(
            wiring, wiring.paths(request.table), rule.location, ownership, announce=heartbeat.begin
        )
        owner = CommandOwner(wiring.ports, rule, owned, compare.prepare)
        _carry_out(wiring=wiring, owner=owner, order=order, settings=settings, result=result)
    if result.epochs:
        ledger = owner.table.owned.ledger
        result.unregistered = len(register_released(wiring.ports, ledger, in_hive.register).pending)
    return result


def _carry_out(
    wiring: Wiring, owner: CommandOwner, order: Order, settings: TaskSettings, result: ReplayResult
) -> None:
    """Let the chore of a run carry the order out; this process does what Spark's tasks do, one epoch per batch."""
    table, files = owner.table, wiring.ports.files
    chore = ReplayChore(wiring, owner, once=True, listeners=[_ReplayReport(result)])
    chore.begin(table, [order], frozenset())
    with wiring.progress.work(f"search for dead letters of {table.name}"):
        chore.step(is_idle=True)
    name = f"replay dead letters of {table.name}"
    with wiring.progress.work(name, files=chore.files_left(table.name)) as advance:
        while not chore.ended():
            manifests = list[TableManifest]()
            for plan in chore.tasks_with((), _EPOCH_FILES):
                manifests += _run_here(plan, settings, files)
                advance(files=1, letters=sum(m.chosen for m in manifests[-1:]))
            result.manifests += [manifest for manifest in manifests if manifest.chosen]
            before = table.owned.state.epoch
            chore.publish(table, manifests)
            if table.owned.state.epoch != before:
                result.epochs.append(table.owned.state.epoch)
            chore.step(is_idle=True)


def _run_here(plan: TaskPlan, settings: TaskSettings, files: FileSystem) -> list[TableManifest]:
    """Return what a worker's task of this plan returns. A crash leaves orphans."""
    consumer = partial(process_consumer, settings.kafka)  # letters are read from files, so it is never called
    with rare_garbage_collection():
        return list(LettersTask(plan, task_environment(settings, files, consumer, lambda: None)).outputs())


@dataclass(slots=True)
class _ReplayReport:
    """Writes what the chore says into the result."""

    result: ReplayResult

    def interrupted(self, table: str, error: StorageError) -> None:
        raise no_answer_about(table, error) from error

    def ended(self, table: str, done: RunningReplay, untouched: UntouchedFiles) -> None:
        self.result.files, self.result.account = done.files, done.account
        _note_untouched(self.result, untouched)


@dataclass(slots=True)
class _HiveComparison:
    """Compares Hive's `tables` with the map before the first commit, and the partitions of new files before each."""

    in_hive: TablesInHive
    tables: tuple[str, ...]
    compared: tuple[ComparedTable, ...] | None = None

    def prepare(self, change: Change) -> Change:
        """Return the change as this command commits it: with the comparison, and without the progress of an order."""
        assert isinstance(change, Replay)
        if self.compared is None:
            self.compared = self.in_hive.compare(self.tables)
        self.in_hive.compare_partitions({file.hive_partition for file in change.files})
        return replace(change, compared=self.compared, running=None)


def _note_untouched(result: ReplayResult, untouched: UntouchedFiles) -> None:
    result.unchanged, result.unchanged_letters = untouched.files, untouched.letters
    result.without_bytes = untouched.without_bytes
    result.not_read, result.not_read_files = untouched.not_read, len(untouched.not_read)


def _plan(wiring: Wiring, request: ReplayRequest, settings: TaskSettings, view: View) -> ReplayResult:
    """Decode all letters without writing, and count. Files of a pending epoch are left out: they may not be visible yet."""
    result, untouched, state, pending = ReplayResult(), UntouchedFiles(), view.state, view.newest.pending
    search = search_letters(wiring.ports.files, view.paths, view.directory, Letters(state, state.epoch))
    with wiring.progress.work(f"search for dead letters of {request.table}"):
        (letters,) = deque(search, maxlen=1)
    chosen = [each for each in oldest_first(letters) if not (pending and each.file in state.files)]
    with wiring.progress.work(f"decode dead letters of {request.table}", files=len(chosen)) as advance:
        for letter_file in chosen:
            task = letter_file.task(
                state=state,
                owned=None,
                planned_at_ms=wiring.ports.clock.epoch_ms(),
                reason=request.reason or "",
                since=request.since_text,
            )
            with rare_garbage_collection():
                manifest = try_letters(TablePart(index=0, task=task, settings=settings), wiring.ports.files)
            if manifest.chosen:
                result.manifests.append(manifest)
            if not untouched.note(letter_file.file, manifest):
                result.files += 1
                result.account += account_of(letter_file.file, manifest)
            advance(files=1, letters=manifest.chosen)
    _note_untouched(result, untouched)
    return result
