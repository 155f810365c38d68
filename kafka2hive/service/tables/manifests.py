"""From the manifests of an epoch to a table's change: judged before the commit, dead letters too. Pure."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from kafka2hive.ledger.owned_ledger import OwnedLedger
from kafka2hive.ledger.snapshot.change import DataEpoch
from kafka2hive.model.errors import Kafka2HiveError, SchemaDiffers, TableError
from kafka2hive.model.files import FileKind, HivePartition
from kafka2hive.model.offset_accounting import AccountingMismatch, OffsetAccounting
from kafka2hive.model.offsets import OffsetRange, TopicPartition, first_ranges
from kafka2hive.plan.contract import (
    ColumnsSeen,
    Refusal,
    TableManifest,
    UnmappedField,
    UnmappedFields,
    check_accounts,
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """One table's epoch, ready to be committed. `columns`: which columns its records left empty, `unmapped`: what none takes.
    `changed`: how many values the map's leeway changed, by kind.
    `fallback_tasks`: how many tasks had no compiled decoder.
    """

    change: DataEpoch
    total: OffsetAccounting
    columns: ColumnsSeen
    unmapped: UnmappedFields = field(default_factory=UnmappedFields)
    changed: Mapping[str, int] = field(default_factory=dict)
    fallback_tasks: int = 0


def check_epoch(table: str, manifests: Sequence[TableManifest], ledger: OwnedLedger) -> None:
    """The tasks wrote for the very epoch that is to be committed next. Raises Kafka2HiveError: a bug, the run must end."""
    next_up = (ledger.generation.number, ledger.next_epoch)
    if strays := [at for m in manifests if (at := (m.generation, m.epoch)) != next_up]:
        raise Kafka2HiveError(
            "task.wrong_epoch",
            f"{table}: tasks wrote for generation {strays[0][0]}, epoch {strays[0][1]};"
            f" generation {next_up[0]}, epoch {next_up[1]} is to be committed",
            "report it: a bug; nothing of the epoch was committed",
        )


def judge_manifests(
    table: str,
    planned: Sequence[OffsetRange],
    manifests: Sequence[TableManifest],
    dead_letter_share: float,
    registered: frozenset[HivePartition],
    cluster_id: str,
    location: str,
) -> Outcome:
    """All or nothing: every planned range delivered by the client and accounted for, every file's rows explained, few
    dead letters. The rows of a file are those that Parquet counted when it wrote the footer.

    Raises TableError (a task's failure, too many dead letters) and AccountingMismatch (a bug: the run must end).
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
    )
    fallback = sum(not m.is_compiled for m in manifests)
    return Outcome(
        change=change,
        total=total,
        columns=_columns(manifests),
        unmapped=_unmapped(manifests),
        changed=_changed(manifests),
        fallback_tasks=fallback,
    )


def _check_rows(table: str, kind: FileKind, rows: int, accounted: int) -> None:
    if rows != accounted:
        raise AccountingMismatch(
            f"{table}: {kind.value} files hold {rows} rows, the accounts say {accounted}"
        )


def _leader_epochs(manifests: Sequence[TableManifest]) -> dict[TopicPartition, int]:
    """The newest leader epoch read of each topic partition; several tasks may have read parts of one."""
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


def _columns(manifests: Sequence[TableManifest]) -> ColumnsSeen:
    """Over all tasks that decoded anything: empty is what is empty in each of them."""
    some = [manifest.columns for manifest in manifests if manifest.columns.rows]
    empty = tuple(name for name in some[0].empty if all(name in seen.empty for seen in some)) if some else ()
    unmapped = tuple(dict.fromkeys(key for seen in some for key in seen.unmapped)) if empty else ()
    return ColumnsSeen(sum(seen.rows for seen in some), empty, unmapped)


def _unmapped(manifests: Sequence[TableManifest]) -> UnmappedFields:
    """Over all tasks."""
    by_name: dict[str, UnmappedField] = {}
    for one in (found for manifest in manifests for found in manifest.unmapped.fields):
        known = by_name.get(one.name)
        by_name[one.name] = one if known is None else replace(known, records=known.records + one.records)
    return UnmappedFields(sum(m.unmapped.looked_at for m in manifests), tuple(by_name.values()))


FLOOR_RECORDS = 100
"""An epoch that read fewer records says too little of a share: one bad record of three is no wrong map."""

SHOWN = 3


def check_dead_letters(
    table: str,
    planned: Sequence[OffsetRange],
    total: OffsetAccounting,
    manifests: Sequence[TableManifest],
    share: float,
) -> None:
    """Raises TableError (`dead_letters.too_many`). With a share of 0 not one dead letter passes, in any epoch."""
    if total.dead_lettered <= share * total.read or (share > 0 and total.read < FLOOR_RECORDS):
        return
    reasons = "; ".join(_text(one, total.dead_lettered) for one in frequent(manifests)[:SHOWN])
    raise TableError(
        "dead_letters.too_many",
        f"{table}: {total.dead_lettered} of {total.read} records of {first_ranges(planned)} cannot be decoded or bucketed,"
        f" more than the map's dead_letter_share {share}. Most frequent: {reasons or 'unknown'}",
        "correct the columns or the producer, or raise dead_letter_share; nothing was committed",
    )


def frequent(manifests: Sequence[TableManifest]) -> list[Refusal]:
    """The reasons of all tasks, the most frequent first."""
    found: dict[tuple[str, str], Refusal] = {}
    for one in (refusal for manifest in manifests for refusal in manifest.refusals):
        known = found.get((one.code, one.column))
        found[one.code, one.column] = one if known is None else known.more(one.count)
    return sorted(found.values(), key=lambda one: (-one.count, one.code, one.column))


def _text(one: Refusal, of: int) -> str:
    column = f" in column {one.column}" if one.column else ""
    return f"{one.count} of {of} {one.code}{column}, e.g. {one.topic_partition}@{one.offset} ({one.detail})"
