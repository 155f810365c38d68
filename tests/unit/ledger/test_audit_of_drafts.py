"""The audit agrees with drafted snapshots by its own counts, so a mistake of the draft is a finding."""

from dataclasses import replace

from kafka2hive.ledger.draft import draft
from kafka2hive.ledger.owned_ledger import OwnedLedger
from kafka2hive.ledger.snapshot.change import Completeness, DataEpoch
from kafka2hive.model.files import DataFile, FileKind, HivePartition
from kafka2hive.model.paths.ledger import Generation, LedgerPaths
from kafka2hive.model.snapshot import Snapshot
from kafka2hive.service.verify.snapshot_lines import audit_lines
from tests.harness.values import data_file, snapshot

TABLE, HOME = "air.flights", "file:///w/flights"
WHOLE = HivePartition(TABLE, "", HOME)
LETTERS = HivePartition(
    "air.letters", "source_table=air.flights", "file:///w/letters/source_table=air.flights"
)


def file_in(partition: HivePartition, rows: int, kind: FileKind = FileKind.DATA) -> DataFile:
    return data_file(
        kind=kind,
        hive_partition=partition,
        rows=rows,
        staged=f"{HOME}/_tmp/{rows}",
        final=f"{HOME}/{rows}.final",
    )


def codes(before: Snapshot, after: Snapshot) -> set[str]:
    """Return the findings about registrations and complete partitions, without those about file names."""
    return {found.code for found in audit_lines([before, after])} & {
        "verify.registrations",
        "verify.completeness",
    }


def drafted() -> tuple[Snapshot, ...]:
    """Return three snapshots: files and dead letters, more of them, and a certificate."""
    found = [snapshot(table=TABLE, location=HOME)]
    for change in (
        DataEpoch(
            files=(file_in(WHOLE, 3), file_in(LETTERS, 2, FileKind.DEAD_LETTER)),
            accounts=(),
            completeness=Completeness(),
        ),
        DataEpoch(files=(file_in(WHOLE, 5), file_in(WHOLE, 7)), accounts=(), completeness=Completeness()),
        DataEpoch(files=(), accounts=(), completeness=Completeness(complete=frozenset({WHOLE}), policy="p")),
    ):
        owned = OwnedLedger(
            LedgerPaths("file:///k", TABLE), Generation(1, "2026-11-21T08:00:00Z", "me"), found[-1]
        )
        found.append(draft(owned, "air", "2026-11-21T08:00:00Z", change))
    return tuple(found)


def test_the_audit_finds_nothing_in_what_a_draft_says_of_registrations_and_open_partitions() -> None:
    first, *rest = drafted()
    for before, after in zip((first, *rest), rest, strict=False):
        assert codes(before, after) == set(), after.epoch
    assert {p.table for p in rest[0].unregistered} == {TABLE, "air.letters"}
    assert [(o.files, o.rows) for o in rest[1].open] == [(3, 15)]
    assert [(c.files, c.rows) for c in rest[2].certificates] == [(3, 15)]


def test_a_draft_that_owes_hive_less_or_counts_otherwise_is_found() -> None:
    first, second, third, last = drafted()
    assert codes(first, replace(second, unregistered=second.unregistered[:1])) == {"verify.registrations"}
    (known,) = third.open
    assert codes(second, replace(third, open=(replace(known, rows=14),))) == {"verify.completeness"}
    assert codes(third, replace(last, certificates=())) == {"verify.completeness"}
