"""Compared tables and forgotten registrations are carried from snapshot to snapshot."""

from kafka2hive.ledger.draft import draft
from kafka2hive.ledger.owned_ledger import OwnedLedger
from kafka2hive.ledger.snapshot.change import Change, DataEpoch, NewColumns, RegistrationUpdate
from kafka2hive.ledger.snapshot.codec import encode
from kafka2hive.model.files import HivePartition
from kafka2hive.model.offsets import OffsetRange, TopicPartition
from kafka2hive.model.paths.ledger import Generation, LedgerPaths
from kafka2hive.model.snapshot import AddedColumn, ComparedTable, ForgottenRegistration, Snapshot
from tests.harness.values import data_file, snapshot

NOW = "2026-11-21T08:00:00Z"
REFUSED = HivePartition("air.flights", "dt=1", "file:///w/dt=1")
OTHER = HivePartition("air.flights", "dt=2", "file:///w/dt=2")


def following(state: Snapshot, change: Change) -> Snapshot:
    owned = OwnedLedger(LedgerPaths("file:///k", "air.flights"), Generation(1, NOW, "me"), state)
    return draft(owned, "air", NOW, change)


def compared(table: str, columns: str) -> ComparedTable:
    return ComparedTable(
        table=table, location="file:///w", format="parquet", columns=columns, partition_columns="dt string"
    )


FIRST = snapshot(table="air.flights", unregistered=(REFUSED, OTHER))


def test_what_was_compared_stands_in_every_later_snapshot_until_it_is_compared_anew() -> None:
    own, letters = compared("air.flights", "a int"), compared("air.letters", "b int")
    second = following(FIRST, RegistrationUpdate(compared=(letters, own)))
    assert second.compared == following(second, RegistrationUpdate()).compared == (own, letters)
    again = compared("air.flights", "a bigint")
    assert following(second, RegistrationUpdate(compared=(again,))).compared == (again, letters)


def test_a_registration_that_was_given_up_is_never_a_debt_again() -> None:
    given_up = ForgottenRegistration(
        partition=REFUSED, reason="denied", accepted_by="me", accepted_at=NOW, epoch=2
    )
    second = following(FIRST, RegistrationUpdate(forgotten=(given_up,)))
    assert (second.unregistered, second.forgotten) == ((OTHER,), (given_up,))
    ranges = (OffsetRange(TopicPartition("t", 0), 0, 1),)
    again = data_file(staged="a", final="b", hive_partition=REFUSED, ranges=ranges)
    third = following(second, DataEpoch(files=(again,), accounts=(), registered=frozenset({OTHER})))
    assert (third.unregistered, third.registered, third.forgotten) == ((), (OTHER,), (given_up,))
    assert following(third, RegistrationUpdate()).forgotten == (given_up,)


def test_a_debt_stays_until_it_is_said_to_be_registered() -> None:
    second = following(FIRST, RegistrationUpdate())
    assert (second.unregistered, second.registered) == (FIRST.unregistered, ())
    unknown = HivePartition("air.flights", "dt=3", "file:///w/dt=3")
    third = following(second, RegistrationUpdate(registered=frozenset({OTHER, unknown})))
    assert (third.unregistered, third.registered) == ((REFUSED,), (OTHER,))
    assert following(third, RegistrationUpdate()).registered == ()


def test_added_columns_stand_in_every_later_snapshot_and_the_format_says_that_there_are_some() -> None:
    first, wider = (
        AddedColumn(name="x", type=kind, schema="id 1", added_at=NOW, epoch=n)
        for n, kind in ((2, "int"), (3, "bigint"))
    )
    second = following(FIRST, NewColumns(added=(first,)))
    third = following(second, NewColumns(added=(wider,), registered=frozenset({OTHER})))
    assert (third.added, third.unregistered) == ((first, wider), (REFUSED,))
    assert following(third, RegistrationUpdate()).added == third.added
    assert b'"format":1,' in encode(FIRST) and b'"format":2,' in encode(second)
