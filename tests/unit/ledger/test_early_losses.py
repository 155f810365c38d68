"""Losses and given-up registrations of early partitions: the lines follow, and what was given up does not move."""

from dataclasses import replace

from kafka2hive.ledger.draft import draft
from kafka2hive.ledger.owned_ledger import OwnedLedger
from kafka2hive.ledger.snapshot.change import Change, RegistrationUpdate, Repair
from kafka2hive.ledger.snapshot.compaction import may_move, watched_partitions
from kafka2hive.model.files import DataFile, HivePartition
from kafka2hive.model.paths.ledger import Generation, LedgerPaths
from kafka2hive.model.paths.path import join
from kafka2hive.model.paths.table_directory import early_place
from kafka2hive.model.snapshot import (
    ACCEPT_LOSS,
    REFETCH,
    AcceptedLoss,
    EarlyPartition,
    ForgottenRegistration,
    MovedPartition,
    Snapshot,
    Tracking,
)
from tests.harness.values import data_file, file_name, snapshot

TABLE, LOCATION, NOW = "db.t", "hdfs://n/w/t", "2026-02-02T00:00:00Z"
ID = "ab" * 16


def at(path: str) -> HivePartition:
    return HivePartition(TABLE, path, early_place(LOCATION, path))


FIRST, SECOND = at("dt=2026-01-30"), at("dt=2026-01-30x")  # one location is the beginning of the other


def file(place: HivePartition, epoch: int, rows: int, number: int = 0) -> DataFile:
    name = file_name(ID, 1, epoch, slug="dt", uuid=f"{number:032x}").in_state("final")
    return data_file(hive_partition=place, final=join(place.location, name), rows=rows)


FILES = (file(FIRST, 1, 4), file(FIRST, 2, 6, 1), file(SECOND, 2, 5, 2))
STATE = snapshot(
    ledger_id=ID,
    table=TABLE,
    location=LOCATION,
    epoch=5,
    tracking=Tracking(1, NOW),
    early=tuple(
        EarlyPartition(
            partition=place, since=1, closes="2026-01-31T00:00:00Z", files=files, rows=rows, certified=3
        )
        for place, files, rows in ((FIRST, 2, 10), (SECOND, 1, 5))
    ),
    unregistered=(FIRST, SECOND),
)


def after(before: Snapshot, change: Change) -> Snapshot:
    owned = OwnedLedger(LedgerPaths("file:///k", TABLE), Generation(1, NOW, "me"), before)
    return draft(owned, "s", NOW, change)


def loss(file: DataFile, remedy: str = ACCEPT_LOSS) -> AcceptedLoss:
    return AcceptedLoss(path=file.final, remedy=remedy, rows=file.rows, accepted_at=NOW, epoch=6)


def counts(state: Snapshot) -> list[tuple[str, int, int]]:
    return [(each.partition.path, each.files, each.rows) for each in state.early]


def test_an_accepted_loss_leaves_the_line_of_its_early_partition_once() -> None:
    lost = after(STATE, Repair(losses=(loss(FILES[0]),)))
    assert counts(lost) == [(FIRST.path, 1, 6), (SECOND.path, 1, 5)]
    assert counts(after(lost, RegistrationUpdate())) == counts(lost), (
        "later epochs keep the loss, and subtract nothing"
    )
    assert FIRST in may_be_moved(lost)
    assert counts(after(STATE, Repair(losses=(loss(FILES[2]),)))) == [(FIRST.path, 2, 10)]


def may_be_moved(state: Snapshot) -> set[HivePartition]:
    return {each.partition for each in may_move(state, frozenset())}


def test_an_early_partition_whose_files_are_all_lost_ends_and_is_not_registered() -> None:
    lost = after(STATE, Repair(losses=(loss(FILES[0]), loss(FILES[1]))))
    assert counts(lost) == [(SECOND.path, 1, 5)]
    assert lost.unregistered == (SECOND,)


def test_a_file_that_is_fetched_again_takes_the_place_of_the_lost_one() -> None:
    again = file(FIRST, 6, 4, 9)
    repaired = after(STATE, Repair(losses=(loss(FILES[0], REFETCH),), files=(again,)))
    assert counts(repaired) == counts(STATE)
    (line, _) = repaired.early
    assert line.certified == 0, "its certificate does not count the new file"
    assert FIRST in repaired.unregistered


def test_a_loss_at_home_concerns_no_early_partition() -> None:
    home = HivePartition(TABLE, FIRST.path, join(LOCATION, FIRST.path))
    assert counts(after(STATE, Repair(losses=(loss(file(home, 1, 4)),)))) == counts(STATE)


def test_a_partition_whose_registration_was_given_up_neither_moves_nor_is_watched() -> None:
    assert may_be_moved(STATE) == {FIRST, SECOND}
    given_up = ForgottenRegistration(
        partition=FIRST, reason="no permission", accepted_by="me", accepted_at=NOW, epoch=6
    )
    forgotten = after(STATE, RegistrationUpdate(forgotten=(given_up,)))
    assert may_be_moved(forgotten) == {SECOND}
    assert watched_partitions(forgotten) == {SECOND} == set(forgotten.unregistered)
    moved = MovedPartition(
        partition=replace(FIRST, location=join(LOCATION, FIRST.path)), early=FIRST.location, epoch=4, late=0
    )
    given_up = replace(given_up, partition=moved.partition)
    assert watched_partitions(replace(STATE, early=(), moved=(moved,), forgotten=(given_up,))) == set()
