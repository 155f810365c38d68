"""The check of an epoch's manifests before the commit. It turns a table's manifests into its change. Pure."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from kafka2hive.config.dead_letters import OUT_OF_BOUNDS
from kafka2hive.ledger.owned_ledger import OwnedLedger
from kafka2hive.ledger.snapshot.change import DataEpoch
from kafka2hive.model.errors import Kafka2HiveError, SchemaDiffers, TableError
from kafka2hive.model.files import FileKind, HivePartition
from kafka2hive.model.offsets import (
    AccountingMismatch,
    OffsetAccounting,
    OffsetRange,
    RangeAccounting,
    TopicPartition,
    first_ranges,
)
from kafka2hive.model.snapshot import EventBounds
from kafka2hive.model.window_counts import WindowCount, check_windows
from kafka2hive.plan.contract import (
    BrokenRule,
    ColumnsSeen,
    Refusal,
    TableManifest,
    UnmappedField,
    UnmappedFields,
    check_accounts,
)

FLOOR_RECORDS = 100
"""The share of dead letters is checked from this many records on, because one of three does not show that the map is wrong."""
_MOST_REASONS = 3


@dataclass(frozen=True, slots=True)
class Outcome:
    """One table's epoch, ready to be committed.

    - `total`: the sum of the accounts.
    - `columns`: the columns that its records left empty.
    - `unmapped`: the fields that the columns do not take.
    - `changed`: how many values the leeway of the map's columns changed, by kind.
    - `broken`: how many rows broke the map's rules, by rule.
    - `fallback_tasks`: how many tasks lacked the compiled decoder.
    """

    change: DataEpoch
    total: OffsetAccounting
    columns: ColumnsSeen
    unmapped: UnmappedFields = field(default_factory=UnmappedFields)
    changed: Mapping[str, int] = field(default_factory=dict)
    fallback_tasks: int = 0
    broken: Sequence[BrokenRule] = ()


def check_epoch(table: str, manifests: Sequence[TableManifest], ledger: OwnedLedger) -> None:
    """Check that the tasks wrote for the next epoch of the ledger. Raises Kafka2HiveError (a bug: the run must end)."""
    next_up = (ledger.generation.number, ledger.next_epoch)
    if strays := [written for m in manifests if (written := (m.generation, m.epoch)) != next_up]:
        raise Kafka2HiveError(
            "task.wrong_epoch",
            f"{table}: tasks wrote for generation {strays[0][0]}, epoch {strays[0][1]}, but the next commit is of"
            f" generation {next_up[0]}, epoch {next_up[1]}",
            "please report this bug; the epoch was not committed for this table",
        )


def judge_manifests(
    table: str,
    planned: Sequence[OffsetRange],
    manifests: Sequence[TableManifest],
    dead_letter_share: float,
    registered: frozenset[HivePartition],
    cluster_id: str,
    location: str,
    bounds: EventBounds | None = None,
) -> Outcome:
    """Check one table's manifests and return its outcome. If it raises, the table's epoch must not be committed.

    Every planned range must be delivered by the client and accounted for, the files must hold as many rows as the accounts
    say, and dead letters must not exceed the share. A file's row count comes from its footer. `bounds` are the bounds in the
    tasks' plans; without bounds, no row can be out of range or late.

    Raises TableError (a task failed, too many dead letters) and AccountingMismatch (a bug: the run must end).
    """
    for manifest in manifests:
        if manifest.failure:
            failure = manifest.failure
            if failure.writer is not None:
                raise SchemaDiffers(failure.message, failure.remedy, failure.writer)
            raise TableError(failure.code, f"{table}: {failure.message}", failure.remedy)
        check_accounts(manifest.accounts, manifest.delivered)
    accounts = tuple(a for m in manifests for a in m.accounts)
    if sorted(a.range for a in accounts) != sorted(planned):
        raise AccountingMismatch(
            f"{table}: planned {first_ranges(planned)}, accounted {first_ranges([a.range for a in accounts])}"
        )
    files = tuple(f for m in manifests for f in m.files)
    total = sum((a.account for a in accounts), OffsetAccounting())
    _check_rows(table, FileKind.DATA, sum(f.rows for f in files if f.kind is FileKind.DATA), total.rows)
    dead = sum(f.rows for f in files if f.kind is FileKind.DEAD_LETTER)
    _check_rows(table, FileKind.DEAD_LETTER, dead, total.dead_lettered)
    if bounds is None and (total.out_of_range or total.late):
        raise AccountingMismatch(f"{table}: rows are out of range or late, but the plan has no bounds")
    check_dead_letters(
        table=table, planned=planned, total=total, manifests=manifests, share=dead_letter_share
    )
    change = DataEpoch(
        files=files,
        accounts=accounts,
        leader_epochs=_leader_epochs(manifests),
        registered=registered,
        cluster_id=cluster_id,
        location=location,
        newest_ms=max((m.newest_ms for m in manifests if m.newest_ms is not None), default=None),
        bounds=bounds,
        windows=_windows(accounts, manifests),
    )
    fallback = sum(not m.is_compiled for m in manifests)
    return Outcome(
        change=change,
        total=total,
        columns=_columns(manifests),
        unmapped=_unmapped(manifests),
        changed=_changed(manifests),
        broken=_broken(manifests),
        fallback_tasks=fallback,
    )


def check_dead_letters(
    table: str,
    planned: Sequence[OffsetRange],
    total: OffsetAccounting,
    manifests: Sequence[TableManifest],
    share: float,
) -> None:
    """Raise TableError (`dead_letters.too_many`) if dead letters exceed the map's share. A share of 0 forbids dead letters.

    Late rows and rows out of range do not count.
    """
    if total.bad <= share * total.read or (share > 0 and total.read < FLOOR_RECORDS):
        return
    bad = [refusal for refusal in refusals_by_count(manifests) if refusal.code not in OUT_OF_BOUNDS]
    reasons = "; ".join(_text(refusal, total.bad) for refusal in bad[:_MOST_REASONS])
    raise TableError(
        "dead_letters.too_many",
        f"{table}: {total.bad} of {total.read} records of {first_ranges(planned)} cannot be decoded or bucketed,"
        f" more than the map's dead_letter_share {share}. Most frequent: {reasons or 'unknown'}",
        "correct the columns or the producer, or raise dead_letter_share; the epoch was not committed for this table",
    )


def refusals_by_count(manifests: Sequence[TableManifest]) -> list[Refusal]:
    """Return the tasks' reasons for dead letters with their counts added up, the most frequent first."""
    sums: dict[tuple[str, str], Refusal] = {}
    for refusal in (refusal for manifest in manifests for refusal in manifest.refusals):
        known = sums.get((refusal.code, refusal.column))
        sums[refusal.code, refusal.column] = refusal if known is None else known.more(refusal.count)
    return sorted(sums.values(), key=lambda refusal: (-refusal.count, refusal.code, refusal.column))


def _windows(
    accounts: Sequence[RangeAccounting], manifests: Sequence[TableManifest]
) -> tuple[WindowCount, ...]:
    """Return the counts by time of all tasks. Raises AccountingMismatch unless they add up, or no task has counted."""
    if all(manifest.windows is None for manifest in manifests):
        return ()
    windows = tuple(window for manifest in manifests for window in manifest.windows or ())
    check_windows(accounts, windows)
    return windows


def _check_rows(table: str, kind: FileKind, rows: int, accounted: int) -> None:
    if rows != accounted:
        raise AccountingMismatch(
            f"{table}: {kind.value} files hold {rows} rows, the accounts say {accounted}"
        )


def _leader_epochs(manifests: Sequence[TableManifest]) -> dict[TopicPartition, int]:
    """Return the newest leader epoch per topic partition; several tasks may have read parts of one topic partition."""
    newest: dict[TopicPartition, int] = {}
    for manifest in manifests:
        for topic_partition, epoch in manifest.leader_epochs:
            newest[topic_partition] = max(epoch, newest.get(topic_partition, -1))
    return newest


def _changed(manifests: Sequence[TableManifest]) -> dict[str, int]:
    changed: Counter[str] = Counter()
    for manifest in manifests:
        changed.update(dict(manifest.changed))
    return dict(changed)


def _broken(manifests: Sequence[TableManifest]) -> tuple[BrokenRule, ...]:
    """Add up the counts of all tasks."""
    sums: dict[BrokenRule, int] = {}
    for broken in (broken for manifest in manifests for broken in manifest.broken):
        rule = replace(broken, rows=0)
        sums[rule] = sums.get(rule, 0) + broken.rows
    return tuple(replace(rule, rows=rows) for rule, rows in sums.items())


def _columns(manifests: Sequence[TableManifest]) -> ColumnsSeen:
    """Merge the observations of all tasks with rows. A column is empty if it is empty in each of these tasks."""
    parts = [manifest.columns for manifest in manifests if manifest.columns.rows]
    empty = (
        tuple(name for name in parts[0].empty if all(name in seen.empty for seen in parts)) if parts else ()
    )
    unmapped = tuple(dict.fromkeys(key for seen in parts for key in seen.unmapped)) if empty else ()
    return ColumnsSeen(sum(seen.rows for seen in parts), empty, unmapped)


def _unmapped(manifests: Sequence[TableManifest]) -> UnmappedFields:
    """Add up the observations of all tasks."""
    by_name: dict[str, UnmappedField] = {}
    for seen in (seen for manifest in manifests for seen in manifest.unmapped.fields):
        known = by_name.get(seen.name)
        by_name[seen.name] = seen if known is None else replace(known, records=known.records + seen.records)
    return UnmappedFields(sum(m.unmapped.looked_at for m in manifests), tuple(by_name.values()))


def _text(refusal: Refusal, total: int) -> str:
    column = f" in column {refusal.column}" if refusal.column else ""
    example = f"{refusal.topic_partition}@{refusal.offset} ({refusal.detail})"
    return f"{refusal.count} of {total} {refusal.code}{column}, e.g. {example}"
