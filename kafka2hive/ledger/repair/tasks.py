"""Which files a lost ledger's epochs had committed, by task: the files by attempt, with what is staged or dumped again. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from kafka2hive.model.errors import ManualActionRequired
from kafka2hive.model.files import FileKind, HivePartition
from kafka2hive.model.footer import Footer
from kafka2hive.model.offset_accounting import AccountingMismatch, OffsetAccounting, RangeAccounting
from kafka2hive.model.offsets import OffsetRange
from kafka2hive.model.paths.data_file import DataFileName


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundFile:
    """A file with this ledger's name, staged (`.pending`) or final, and what its footer says; `length` in bytes."""

    path: str
    name: DataFileName
    final: bool
    length: int
    footer: Footer


@dataclass(slots=True)
class Task:
    """The files of one attempt of one task; `more` were dumped again for files of it that were lost."""

    files: list[FoundFile]
    more: list[FoundFile] = field(default_factory=list)

    @property
    def first(self) -> Footer:
        return self.files[0].footer

    @property
    def epoch(self) -> tuple[int, int]:
        return self.first.generation, self.first.epoch

    @property
    def ranges(self) -> tuple[OffsetRange, ...]:
        return self.first.ranges

    @property
    def every_file(self) -> tuple[FoundFile, ...]:
        return (*self.files, *self.more)

    @property
    def accounts(self) -> tuple[OffsetAccounting, ...] | None:
        return next((f.footer.accounts for f in self.files if f.footer.accounts is not None), None)

    def doubt(self) -> str | None:
        """Why the files do not prove that all rows are there; None: they do."""
        accounts = self.accounts
        if accounts is None:
            return "the files that were closed last are not there"
        total = sum(accounts, OffsetAccounting())
        for kind, wanted in ((FileKind.DATA, total.rows), (FileKind.DEAD_LETTER, total.dead_lettered)):
            rows = sum(f.footer.rows for f in self.every_file if f.footer.kind is kind)
            if rows != wanted:
                return f"its {kind.value} files hold {rows:,} of {wanted:,} rows"
        try:
            for source, account in zip(self.ranges, accounts, strict=True):
                RangeAccounting(0, source, account).check()
        except AccountingMismatch as error:
            return str(error)
        return None


def committed_tasks(files: Sequence[FoundFile], newest: tuple[int, int]) -> list[Task]:
    """By epoch and ranges. `newest`: generation and epoch of the newest visible file. Raises ManualActionRequired:
    the impossible.
    """
    attempts = _promised(files, _attempts(f for f in files if f.final), newest)
    return _with_refetched(sorted(attempts, key=lambda a: (a.epoch, a.ranges)))


def _attempts(files: Iterable[FoundFile]) -> list[Task]:
    """Files by attempt, and each attempt's footers say the same."""
    by_attempt: dict[str, list[FoundFile]] = {}
    for file in files:
        by_attempt.setdefault(file.footer.attempt, []).append(file)
    attempts = [Task(sorted(group, key=lambda f: f.path)) for group in by_attempt.values()]
    for attempt in attempts:
        one = attempt.first
        for file in attempt.files:
            other = file.footer
            same = (other.generation, other.epoch, other.task, other.ranges) == (
                *attempt.epoch,
                one.task,
                one.ranges,
            )
            if not same or (file.name.generation, file.name.epoch) != attempt.epoch:
                raise _impossible(
                    f"{file.path}: its footer does not fit its name or its attempt's other files"
                )
    return attempts


def _promised(files: Sequence[FoundFile], attempts: Sequence[Task], newest: tuple[int, int]) -> list[Task]:
    """Staged files of the newest committed epoch: they are committed, too. Gives all attempts with those.

    Of a task with a visible file only that attempt counts; of another one any whole attempt of the same plan will do.
    Two files dumped again in one epoch are two attempts of task 0.
    """
    here = {a.first.attempt: a for a in attempts if a.epoch == newest}
    plans = {a.first.planned_at_ms for a in here.values()}
    seen = {a.first.task for a in here.values()}
    there = {file.name for file in files if file.final}
    staged = [
        f
        for f in files
        if not f.final
        and f.name not in there
        and (f.footer.generation, f.footer.epoch) == newest
        and f.footer.planned_at_ms in plans
    ]
    chosen: list[Task] = []
    for attempt in sorted(_attempts(staged), key=lambda a: a.first.attempt):
        visible = here.get(attempt.first.attempt)
        if visible is not None:
            visible.files += attempt.files
        elif attempt.first.task not in seen and attempt.doubt() is None:
            seen.add(attempt.first.task)
            chosen.append(attempt)
    return [*attempts, *chosen]


def _with_refetched(attempts: Sequence[Task]) -> list[Task]:
    """Tasks alone: an attempt with the very ranges of an earlier epoch's task dumped a lost file of it again.

    It replaces files of one kind; what it wrote of the other by the way was never committed. Two of one epoch whose
    task has no file left replace files of different Hive partitions.
    """
    tasks: dict[tuple[OffsetRange, ...], Task] = {}
    for attempt in attempts:
        earlier = tasks.get(attempt.ranges)
        if earlier is None:
            tasks[attempt.ranges] = attempt
        elif earlier.epoch < attempt.epoch or not _places(earlier) & _places(attempt):
            kinds = {f.footer.kind for f in attempt.files if f.final}
            earlier.more += [f for f in attempt.files if f.footer.kind in kinds]
        else:
            raise _impossible(
                f"{earlier.files[0].path} and {attempt.files[0].path}: two attempts of one task are visible"
            )
    return list(tasks.values())


def _places(task: Task) -> set[tuple[FileKind, HivePartition]]:
    return {(f.footer.kind, f.footer.partition) for f in task.every_file}


def _impossible(text: str) -> ManualActionRequired:
    return ManualActionRequired(
        "rebuild.impossible", text, "restore the ledger from a backup; nothing was changed"
    )
