"""An epoch that records lost files is audited like any other: its rows are those of the accounts and of the lost files."""

from dataclasses import replace

import pytest

from kafka2hive.ledger.draft import draft
from kafka2hive.ledger.owned_ledger import OwnedLedger
from kafka2hive.ledger.snapshot.change import Change, DataEpoch, Repair
from kafka2hive.model.files import DataFile, FileKind, HivePartition
from kafka2hive.model.offsets import OffsetAccounting, OffsetRange, Position, RangeAccounting, TopicPartition
from kafka2hive.model.paths.ledger import Generation, LedgerPaths
from kafka2hive.model.paths.path import join
from kafka2hive.model.snapshot import ACCEPT_LOSS, REFETCH, AcceptedLoss, Snapshot
from kafka2hive.service.verify.history import audit_history
from tests.harness.values import data_file, file_name, snapshot

TABLE, HOME, NOW = "air.flights", "file:///w/flights", "2026-11-21T08:00:00Z"
TP = TopicPartition("t", 0)
FIRST, SECOND = OffsetRange(TP, 0, 6), OffsetRange(TP, 6, 12)
WHOLE = HivePartition(TABLE, "", HOME)
LETTERS = HivePartition(
    "air.letters", "source_table=air.flights", "file:///w/letters/source_table=air.flights"
)
BEGINNING = snapshot(
    epoch=0, ledger_id="5f" * 16, table=TABLE, location=HOME, generation=1, positions=(Position(TP, 0, 0),)
)


def file(epoch: int, task: int, read: OffsetRange, rows: int, kind: FileKind = FileKind.DATA) -> DataFile:
    partition = WHOLE if kind is FileKind.DATA else LETTERS
    uuid = f"{100 * epoch + 10 * task + rows:032x}"
    name = file_name(BEGINNING.ledger_id, 1, epoch, slug="all", task=task, uuid=uuid)
    return data_file(
        kind=kind,
        hive_partition=partition,
        staged=join(f"{HOME}/_tmp", name.in_state("pending")),
        final=join(partition.location, name.in_state("final")),
        rows=rows,
        task=task,
        ranges=(read,),
    )


def following(state: Snapshot, change: Change) -> Snapshot:
    owned = OwnedLedger(LedgerPaths("file:///k", TABLE), Generation(1, NOW, BEGINNING.owner), state)
    return draft(owned, BEGINNING.service, NOW, change)


LOST, OTHER = file(1, 0, FIRST, 6), file(1, 1, SECOND, 4)
LETTER = file(1, 1, SECOND, 2, FileKind.DEAD_LETTER)
DATA = following(
    BEGINNING,
    DataEpoch(
        files=(LOST, OTHER, LETTER),
        accounts=(
            RangeAccounting(0, FIRST, OffsetAccounting(read=6, written=6)),
            RangeAccounting(1, SECOND, OffsetAccounting(read=6, written=4, dead_lettered=2)),
        ),
    ),
)
AGAIN = file(2, 0, FIRST, 6)


def loss(lost: DataFile, remedy: str = REFETCH) -> AcceptedLoss:
    return AcceptedLoss(path=lost.final, remedy=remedy, rows=lost.rows, accepted_at=NOW, epoch=2)


REPAIRED = following(DATA, Repair(files=(AGAIN,), losses=(loss(LOST),)))


def found(repaired: Snapshot, data: Snapshot = DATA) -> set[str]:
    return {finding.code for finding in audit_history([BEGINNING, data, repaired])}


def test_a_lost_file_that_was_dumped_again_and_one_that_was_given_up_are_in_order() -> None:
    assert found(REPAIRED) == set()
    given_up = following(DATA, Repair(losses=(loss(LOST, ACCEPT_LOSS), loss(LETTER, ACCEPT_LOSS))))
    assert found(given_up) == set()


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"files": (replace(AGAIN, rows=5),)}, "verify.rows"),
        ({"files": (AGAIN, file(2, 1, FIRST, 1))}, "verify.rows"),
        ({"files": ()}, "verify.rows"),
        ({"losses": (replace(loss(LOST), remedy=ACCEPT_LOSS),)}, "verify.rows"),
        ({"files": (replace(AGAIN, ranges=(SECOND,)),)}, "verify.file"),
        ({"losses": (replace(loss(LOST), rows=5),)}, "verify.decision"),
        ({"losses": (loss(LOST), replace(loss(LOST), path=f"{HOME}/unknown.final"))}, "verify.decision"),
    ],
)
def test_an_epoch_with_a_recorded_loss_that_says_anything_else_is_found(
    changed: dict[str, object], code: str
) -> None:
    assert found(replace(REPAIRED, **changed)) - {"verify.registrations"} == {code}  # type: ignore[arg-type]
