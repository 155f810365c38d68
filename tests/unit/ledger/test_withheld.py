"""Partitions that wait for their certificate before Hive gets them: rules G1 to G5, and the audit's own account of them."""

from dataclasses import replace
from pathlib import Path

import pytest

from kafka2hive.ledger.draft import draft
from kafka2hive.ledger.owned_ledger import OwnedLedger
from kafka2hive.ledger.repair.waiting import with_rebuilt_waiting
from kafka2hive.ledger.snapshot.change import (
    Change,
    Completeness,
    DataEpoch,
    Expiry,
    NoTracking,
    RegistrationUpdate,
    Replay,
)
from kafka2hive.ledger.snapshot.codec import decode, encode
from kafka2hive.ledger.snapshot.expiry import reasons_to_keep
from kafka2hive.ledger.withhold import new_partitions
from kafka2hive.model.errors import AmbiguousOutcome
from kafka2hive.model.files import DataFile, FileKind, HivePartition
from kafka2hive.model.metastore import MetastoreRefused
from kafka2hive.model.paths.ledger import Generation, LedgerPaths
from kafka2hive.model.snapshot import ComparedTable, EventBounds, ForgottenRegistration, Snapshot
from kafka2hive.service.verify.hive_partitions import audit_registrations
from kafka2hive.service.verify.snapshot_lines import audit_lines
from kafka2hive.storage.local import LocalFileSystem
from kafka2hive.storage.port import FileStatus, Unavailable
from tests.harness.clock import SkippedTime
from tests.harness.values import data_file, snapshot

TABLE, HOME, NOW = "air.flights", "file:///w/flights", "2026-11-21T08:00:00Z"
HOUR = HivePartition(TABLE, "dt=2026-11-21", f"{HOME}/dt=2026-11-21")
OTHER = HivePartition(TABLE, "dt=2026-11-22", f"{HOME}/dt=2026-11-22")
LETTERS = HivePartition("air.letters", "source_table=air.flights/dt=2026-11-21", "file:///w/letters/of")
WAITS = Completeness(withholds=True)


def file_in(partition: HivePartition, rows: int = 1, kind: FileKind = FileKind.DATA) -> DataFile:
    name = f"{rows}-{kind.value}"
    return data_file(
        kind=kind,
        hive_partition=partition,
        rows=rows,
        staged=f"{HOME}/_tmp/{name}",
        final=f"{partition.location}/{name}.final",
    )


def owned(state: Snapshot, *certified: HivePartition) -> OwnedLedger:
    generation = Generation(1, NOW, "me")
    return OwnedLedger(LedgerPaths("file:///k", TABLE), generation, state, certified=frozenset(certified))


def after(state: Snapshot, change: Change, *certified: HivePartition) -> Snapshot:
    """Return the next snapshot, in which the audit finds nothing wrong about registrations and completeness."""
    drafted = draft(owned(state, *certified), "air", NOW, change)
    wrong = {
        finding.message
        for finding in audit_lines([state, drafted])
        if finding.code in ("verify.registrations", "verify.completeness")
    }
    assert wrong == set()
    return drafted


def first_file(*withheld: HivePartition) -> Snapshot:
    """Return a snapshot with the first files of two hours, of which `withheld` wait, and with dead letters."""
    files = (file_in(HOUR), file_in(OTHER, 2), file_in(LETTERS, 3, FileKind.DEAD_LETTER))
    epoch = DataEpoch(files=files, accounts=(), completeness=WAITS, withheld=frozenset(withheld))
    return after(snapshot(table=TABLE, location=HOME), epoch)


def certified(state: Snapshot, *partitions: HivePartition) -> Snapshot:
    complete = replace(WAITS, complete=frozenset(partitions), policy="p", through=NOW)
    return after(state, RegistrationUpdate(completeness=complete))


def test_an_hour_that_waits_is_no_pending_registration() -> None:
    state = first_file(HOUR)
    assert state.withheld == (HOUR,)
    assert state.unregistered == (OTHER, LETTERS)
    assert decode(encode(state)) == state
    assert b'"format":10' in encode(state)
    assert b'"format":10' not in encode(first_file())


def test_it_waits_with_later_files_and_with_replayed_ones() -> None:
    state = after(first_file(HOUR), DataEpoch(files=(file_in(HOUR, 5),), accounts=(), completeness=WAITS))
    assert state.withheld == (HOUR,)
    assert after(state, Replay(files=(file_in(HOUR, 6),), replayed=())).withheld == (HOUR,)


def test_it_is_named_at_the_place_of_its_newest_files() -> None:
    elsewhere = replace(HOUR, location="file:///new/dt=2026-11-21")
    epoch = DataEpoch(files=(file_in(elsewhere),), accounts=(), completeness=WAITS)
    assert draft(owned(first_file(HOUR)), "air", NOW, epoch).withheld == (elsewhere,)


def test_hive_gets_it_once_its_certificate_is_in_place() -> None:
    complete = certified(first_file(HOUR, OTHER), HOUR)
    assert complete.withheld == (HOUR, OTHER) == (*complete.withheld_until_certified, OTHER)
    assert HOUR not in owned(complete).pending_registrations
    assert owned(complete, HOUR).released == {HOUR}
    assert HOUR in owned(complete, HOUR).pending_registrations

    pending = after(complete, RegistrationUpdate(), HOUR)
    assert (pending.withheld, HOUR in pending.unregistered) == ((OTHER,), True)
    confirmed = after(complete, RegistrationUpdate(registered=frozenset({HOUR})), HOUR)
    assert (confirmed.withheld, confirmed.registered) == ((OTHER,), (HOUR,))
    assert HOUR not in confirmed.unregistered


def test_it_waits_on_if_its_certificate_is_not_in_place() -> None:
    state = after(certified(first_file(HOUR), HOUR), RegistrationUpdate(completeness=WAITS))
    assert (state.withheld, state.reopened) == ((HOUR,), (HOUR,))
    assert [each.partition for each in state.open] == [HOUR, OTHER]


def test_a_confirmation_of_an_hour_that_waits_is_not_recorded() -> None:
    state = first_file(HOUR)
    assert after(state, RegistrationUpdate(registered=frozenset({HOUR}))).registered == ()


@pytest.mark.parametrize("over", [Completeness(), NoTracking()])
def test_with_another_map_all_that_waits_is_registered_at_once(over: Completeness | NoTracking) -> None:
    state = after(first_file(HOUR, OTHER), RegistrationUpdate(completeness=over))
    assert state.withheld == ()
    assert {HOUR, OTHER} <= set(state.unregistered)


def test_a_command_changes_nothing_and_begins_nothing_without_tracking() -> None:
    assert after(first_file(HOUR), RegistrationUpdate()).withheld == (HOUR,)
    replay = Replay(files=(file_in(HOUR),), replayed=(), withheld=frozenset({HOUR}))
    state = after(snapshot(table=TABLE, location=HOME), replay)
    assert (state.withheld, state.unregistered) == ((), (HOUR,))


def test_a_given_up_registration_does_not_wait() -> None:
    complete = certified(first_file(HOUR), HOUR)
    given_up = ForgottenRegistration(
        partition=HOUR, reason="no", accepted_by="me", accepted_at=NOW, epoch=complete.epoch + 1
    )
    state = after(complete, RegistrationUpdate(forgotten=(given_up,)), HOUR)
    assert (state.withheld, HOUR in state.unregistered) == ((), False)


def test_an_expired_hour_waits_for_its_registration_but_not_without_files() -> None:
    complete = certified(first_file(HOUR), HOUR)
    assert reasons_to_keep(complete)[HOUR.name] == "Hive has not confirmed it yet"
    bare = replace(first_file(HOUR), open=(), bounds=EventBounds(expired_before_ms=5))
    assert HOUR.name not in reasons_to_keep(bare)
    dropped = draft(owned(bare), "air", NOW, Expiry(dropped=frozenset({HOUR})))
    assert (dropped.withheld, [each.partition for each in dropped.dropped]) == ((), [HOUR])


class Listing(LocalFileSystem):
    """A file system that counts listings, or that does not answer them."""

    def __init__(self, *, away: bool = False) -> None:
        super().__init__()
        self.away, self.listed = away, 0

    def list(self, directory: str) -> tuple[FileStatus, ...]:
        self.listed += 1
        if self.away:
            raise Unavailable(directory)
        return super().list(directory)


@pytest.mark.parametrize(
    "trace",
    [
        "dt=2026-11-21/a.parquet.final",
        "_open/dt=2026-11-21/a.parquet.final",
        "dt=2026-11-21/_kafka2hive_complete-0123abcd-g000001-e000002.json",
    ],
)
def test_only_an_hour_without_any_trace_in_its_places_is_new(tmp_path: Path, trace: str) -> None:
    place = HivePartition(TABLE, HOUR.path, f"file://{tmp_path}/{HOUR.path}")
    epoch, state = DataEpoch(files=(file_in(place),), accounts=()), snapshot(table=TABLE)
    assert new_partitions(Listing(), state, epoch, lambda partition: True) == {place}
    assert new_partitions(Listing(), state, epoch, lambda partition: False) == frozenset()
    (tmp_path / trace).parent.mkdir(parents=True)
    (tmp_path / trace).write_text("x")
    assert new_partitions(Listing(), state, epoch, lambda partition: True) == frozenset()


def test_an_hour_that_the_ledger_names_is_not_looked_at_and_no_answer_decides_nothing() -> None:
    files, epoch = Listing(away=True), DataEpoch(files=(file_in(HOUR),), accounts=())
    for state in (first_file(HOUR), first_file(), replace(first_file(), unregistered=())):
        assert new_partitions(files, state, epoch, lambda partition: True) == frozenset()
    assert files.listed == 0
    with pytest.raises(AmbiguousOutcome):
        new_partitions(files, snapshot(table=TABLE), epoch, lambda partition: True)


def test_a_rebuilt_ledger_withholds_what_has_no_certificate() -> None:
    files = (file_in(HOUR, 3), file_in(OTHER, 4))
    base = snapshot(table=TABLE, location=HOME, files=files, unregistered=(HOUR, OTHER), written_at=NOW)
    rebuilt = with_rebuilt_waiting(base, {HOUR.path})
    assert (rebuilt.withheld, rebuilt.unregistered) == ((HOUR,), (OTHER,))
    assert [(each.partition, each.files, each.rows) for each in rebuilt.open] == [(HOUR, 1, 3)]
    assert with_rebuilt_waiting(base, ()) == base
    pending = replace(rebuilt, epoch=2, files=(file_in(HOUR, 7),), unregistered=(HOUR, OTHER))
    pending = with_rebuilt_waiting(pending, {HOUR.path}, before=rebuilt)
    assert (pending.withheld, pending.unregistered) == ((HOUR,), (OTHER,))
    assert [(each.files, each.rows) for each in pending.open] == [(2, 10)]


# the audit


def findings(before: Snapshot, drafted: Snapshot) -> set[str]:
    return {f.message for f in audit_lines([before, drafted]) if f.code == "verify.registrations"}


def test_the_audit_notices_an_hour_that_waits_on_or_is_lost_or_begins_to_wait_later() -> None:
    complete = certified(first_file(HOUR), HOUR)
    right = after(complete, RegistrationUpdate(), HOUR)
    still = replace(right, withheld=(HOUR,), unregistered=(OTHER, LETTERS))
    assert any("withholds it, though it has a certificate" in text for text in findings(complete, still))
    lost = replace(right, unregistered=(OTHER, LETTERS))
    assert any("lacks its pending registration" in text for text in findings(complete, lost))
    later = replace(
        after(first_file(), RegistrationUpdate()), withheld=(OTHER,), unregistered=(HOUR, LETTERS)
    )
    assert any("these are not its first files" in text for text in findings(first_file(), later))
    untracked = replace(after(first_file(HOUR), RegistrationUpdate()), tracking=None, open=())
    assert any("though tracking is off" in text for text in findings(first_file(HOUR), untracked))


class Hive:
    """Hive's locations by partition."""

    def __init__(self, *partitions: HivePartition) -> None:
        self.locations = {partition.name: partition.location for partition in partitions}

    def location(self, partition: HivePartition) -> str | None:
        if partition == LETTERS:
            raise MetastoreRefused("no such table")
        return self.locations.get(partition.name)


def audited(history: list[Snapshot], *shown: HivePartition) -> list[tuple[str, str]]:
    found = audit_registrations(history, history[-1], Hive(*shown), SkippedTime())
    return [(f.code, f.message) for f in found if "letters" not in f.where]


def test_hive_need_not_have_an_hour_before_its_certificate_and_must_have_it_after() -> None:
    opened = first_file(HOUR)
    assert audited([opened], OTHER) == []
    ((code, message),) = audited([opened], OTHER, HOUR)
    assert code == "verify.hive" and "although it is withheld until it is complete" in message
    assert f"ALTER TABLE {TABLE} DROP PARTITION (`dt`='2026-11-21')" in message
    complete = certified(opened, HOUR)
    assert audited([opened, complete], OTHER, HOUR) == []
    assert [code for code, _ in audited([opened, complete], OTHER)] == ["verify.unregistered"]
    again = after(complete, RegistrationUpdate(completeness=WAITS))
    assert audited([opened, complete, again], OTHER, HOUR) == [], "an owner may have seen the certificate"
    done = after(complete, RegistrationUpdate(registered=frozenset({HOUR})), HOUR)
    assert [code for code, _ in audited([opened, complete, done], OTHER)] == ["verify.hive"]


def test_a_comparison_is_kept_beside_what_waits() -> None:
    compared = ComparedTable(table=TABLE, location="", format="", columns="", partition_columns="")
    state = after(first_file(HOUR), RegistrationUpdate(compared=(compared,)))
    assert (state.compared, state.withheld) == ((compared,), (HOUR,))
