"""The files of dead letters that a replay decodes again, by a run or by a command. Only `search_letters` does I/O."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import orjson

from kafka2hive.config.keys import ServiceMap, TableRule
from kafka2hive.ledger.history import Letters, final_snapshots
from kafka2hive.ledger.owned_ledger import OwnedLedger
from kafka2hive.model.files import DataFile
from kafka2hive.model.offsets import AccountingMismatch, OffsetAccounting
from kafka2hive.model.paths.ledger import LedgerPaths
from kafka2hive.model.snapshot import ORDER_DONE, EventBounds, ReplayedFile, RunningReplay, Snapshot
from kafka2hive.plan.contract import (
    LETTERS_DAMAGED,
    LETTERS_MISSING,
    LetterFile,
    TableFailure,
    TableManifest,
    TableTask,
)
from kafka2hive.service.tables.read_through import with_expiry
from kafka2hive.storage.port import FileSystem

_MOST_NAMED = 3
"""Maximum number of unreadable files that an order's result names."""


@dataclass(frozen=True, slots=True)
class FileOfLetters:
    """A dead-letter file of a ledger, and the bounds of event time that applied when its records were read."""

    file: DataFile
    bounds: EventBounds | None

    def task(
        self,
        state: Snapshot,
        owned: OwnedLedger | None,
        planned_at_ms: int,
        reason: str,
        since: str,
    ) -> TableTask:
        """Return the task that decodes the file's letters for the next epoch of `owned`; None: the results are only counted.

        `reason` and `since` restrict the letters, as in LetterFile.
        """
        return TableTask(
            table=state.table,
            ledger_id=state.ledger_id if owned else "",
            generation=owned.generation.number if owned else 0,
            epoch=owned.next_epoch if owned else 0,
            planned_at_ms=planned_at_ms,
            ranges=self.file.ranges,
            bounds=with_expiry(self.bounds, state),
            replay=LetterFile(
                path=self.file.final,
                rows=self.file.rows,
                checksum=self.file.checksum,
                reason=reason,
                since=since,
            ),
        )


def search_letters(
    files: FileSystem, paths: LedgerPaths, directory: str, letters: Letters
) -> Iterator[Letters]:
    """Add one snapshot after another to `letters`, and yield `letters` after each, so that the caller may pause the search.

    After an error, a second call with the same `letters` resumes at the last snapshot added, if the owner is still the same.
    Raises ManualActionRequired (a damaged snapshot), StorageError, including NotFound if snapshots are archived meanwhile.
    """
    yield letters
    for snapshot in final_snapshots(files, paths, directory, letters.oldest):
        letters.add(snapshot)
        yield letters


def oldest_first(letters: Letters) -> list[FileOfLetters]:
    return [FileOfLetters(file, bounds) for file, bounds in letters.oldest_first()]


def account_of(file: DataFile, manifest: TableManifest) -> OffsetAccounting:
    """Return the account of the file's letters, without absent offsets.

    Raises AccountingMismatch unless the manifest accounts for every letter that was committed.
    """
    total = sum((entry.account for entry in manifest.accounts), OffsetAccounting())
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


@dataclass(slots=True)
class UntouchedFiles:
    """The files that a replay leaves unchanged.

    `files` counts the files whose chosen letters all fail again, `letters` those letters. `without_bytes` counts the letters
    of all files, also replaced ones, that cannot be decoded because they do not hold their records. `not_read` has the paths
    of files that cannot be read, and the reasons.
    """

    files: int = 0
    letters: int = 0
    without_bytes: int = 0
    not_read: list[tuple[str, str]] = field(default_factory=list)

    def note(self, file: DataFile, manifest: TableManifest) -> bool:
        """Count the file if it stays unchanged, and return whether it does. A file without a chosen letter is not counted."""
        failure = manifest.failure
        if failure is not None:
            self.not_read.append((file.final, failure.message))
            return True
        self.without_bytes += manifest.without_bytes
        if not manifest.chosen:
            return True
        account = account_of(file, manifest)
        if account.dead_lettered < account.read:
            return False
        self.files += 1
        self.letters += manifest.chosen
        return True


@dataclass(frozen=True, slots=True)
class ReplayBatch:
    """The result of one batch: `files` replace the dead-letter files that `replayed` names. A `failure` ends the replay."""

    files: tuple[DataFile, ...] = ()
    replayed: tuple[ReplayedFile, ...] = ()
    failure: TableFailure | None = None


def judge_batch(
    planned: Mapping[int, DataFile], manifests: Sequence[TableManifest], untouched: UntouchedFiles
) -> ReplayBatch:
    """Return the result of a batch; `planned` has each task's file. Raises AccountingMismatch as `account_of` does."""
    files: list[DataFile] = []
    replayed: list[ReplayedFile] = []
    for manifest in sorted(manifests, key=lambda m: m.task):
        file = planned[manifest.task]
        if manifest.failure and manifest.failure.code not in (LETTERS_MISSING, LETTERS_DAMAGED):
            return ReplayBatch(failure=manifest.failure)
        if untouched.note(file, manifest):
            continue
        files += manifest.files
        account = account_of(file, manifest)
        replayed.append(ReplayedFile(path=file.final, task=manifest.task, account=account))
    return ReplayBatch(tuple(files), tuple(replayed))


def progress_after(running: RunningReplay, replayed: Sequence[ReplayedFile]) -> RunningReplay:
    """Return the order's progress after an epoch that records these files."""
    total = sum((file.account for file in replayed), running.account)
    return replace(running, files=running.files + len(replayed), account=total)


_COUNTS = {"letters": "read", "written": "written", "more_rows": "more_rows", "filtered": "filtered"}
_COUNTS |= {"tombstones": "tombstones", "again": "dead_lettered"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayCounts:
    """The result of a replay by order: how many `files` were replaced, and the account of their letters.

    `unchanged` and `unchanged_letters` count the files whose chosen letters all fail again, and those letters. `not_read` names
    the first of the `not_read_files`; `without_bytes` counts letters that do not hold their records.
    """

    files: int
    account: OffsetAccounting
    unchanged: int
    unchanged_letters: int
    not_read_files: int
    not_read: tuple[tuple[str, str], ...]
    without_bytes: int = 0

    @staticmethod
    def of(running: RunningReplay, untouched: UntouchedFiles) -> "ReplayCounts":
        return ReplayCounts(
            files=running.files,
            account=running.account,
            unchanged=untouched.files,
            unchanged_letters=untouched.letters,
            not_read_files=len(untouched.not_read),
            not_read=tuple(untouched.not_read[:_MOST_NAMED]),
            without_bytes=untouched.without_bytes,
        )

    @property
    def result(self) -> str:
        """The counts as text for the order's line in the ledger."""
        account = {name: getattr(self.account, attribute) for name, attribute in _COUNTS.items()}
        names = [name for name in _COUNTS_OF_FILES if name != _WITHOUT_BYTES or self.without_bytes]
        counts_of_files = {name: getattr(self, name) for name in names}
        return f"{ORDER_DONE} {orjson.dumps({'files': self.files} | account | counts_of_files).decode()}"

    @staticmethod
    def parse(result: str) -> "ReplayCounts":
        """Return the counts in the result of an order that was carried out."""
        counts: dict[str, Any] = {_WITHOUT_BYTES: 0} | orjson.loads(result.removeprefix(ORDER_DONE))
        account = OffsetAccounting(**{attribute: counts[name] for name, attribute in _COUNTS.items()})
        counts_of_files = {name: counts[name] for name in _COUNTS_OF_FILES} | {
            "not_read": tuple(map(tuple, counts["not_read"]))
        }
        return ReplayCounts(files=counts["files"], account=account, **counts_of_files)


_WITHOUT_BYTES = "without_bytes"
"""The count that a result has only if it is not 0."""
_COUNTS_OF_FILES = tuple(f.name for f in fields(ReplayCounts) if f.name not in ("files", "account"))


def rules_digest(rule: TableRule, service_map: ServiceMap) -> str:
    """Return a digest of the parts of the map that decide what becomes of the table's records.

    It does not cover columns that are read from Hive, the code of plug-ins, or the registry's schemas.
    """
    dead = service_map.dead_letters
    text = f"{rule.settings(rule.columns)!r} {dead.table} {dead.location} {service_map.storage.warehouse}"
    text += f" {dead.payload} {service_map.mask_keys!r}" if dead.payload is not None else ""
    return hashlib.sha256(text.encode()).hexdigest()
