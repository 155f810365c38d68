"""The commit point: an owned ledger allows one commit, and an unclear one is read back."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from kafka2hive.ledger.draft import draft
from kafka2hive.ledger.epoch import commit
from kafka2hive.ledger.owned_ledger import OwnedLedger
from kafka2hive.ledger.ports import Ports, RetryPolicy
from kafka2hive.ledger.snapshot.change import RegistrationUpdate
from kafka2hive.ledger.snapshot.codec import encode
from kafka2hive.model.errors import AmbiguousOutcome, ExitCode, Fenced, Kafka2HiveError
from kafka2hive.model.snapshot import Snapshot
from kafka2hive.storage.local import LocalFileSystem
from kafka2hive.storage.port import OutcomeUnknown, Unavailable
from tests.harness.cli_ledger import Service, local, pending_service, tree
from tests.unit.service.later_epochs import take


@pytest.fixture
def service(tmp_path: Path) -> Service:
    return pending_service(tmp_path)


@pytest.fixture
def owned(service: Service) -> OwnedLedger:
    return take(service.wiring)


def snapshot_of(owned: OwnedLedger, written_at: str = "2013-01-01T00:00:00Z") -> Snapshot:
    return draft(owned, "demo", written_at, RegistrationUpdate())


class Unclear(LocalFileSystem):
    """A file system in which a commit's rename has no answer; `instead` is what happens to the draft."""

    def __init__(self, instead: Callable[[Path, Path], object], readable: bool = True) -> None:
        super().__init__()
        self._instead = instead
        self._readable = readable

    def rename(self, source: str, target: str) -> None:
        if target.endswith(".pending"):
            self._instead(local(source), local(target))
            raise OutcomeUnknown(source)
        super().rename(source, target)

    def read(self, path: str) -> bytes:
        if path.endswith(".pending") and not self._readable:
            raise Unavailable(path)
        return super().read(path)


def with_files(service: Service, files: LocalFileSystem) -> Ports:
    return replace(service.wiring.ports, files=files, retry_policy=RetryPolicy(attempts=2, first=0.01))


def nothing(draft: Path, pending: Path) -> None:
    """Lose the request."""


def refused_the_second_time(ports: Ports, owned: OwnedLedger, folder: Path) -> bool:
    before = tree(folder)
    with pytest.raises(Kafka2HiveError) as refused:
        commit(ports, owned, snapshot_of(owned, "2013-01-01T00:00:01Z"))
    return (refused.value.code, refused.value.exit_code, tree(folder)) == (
        "ledger.spent",
        ExitCode.BUG,
        before,
    )


def test_a_second_commit_of_what_is_held_is_refused_and_changes_nothing(
    service: Service, owned: OwnedLedger, tmp_path: Path
) -> None:
    after = commit(service.wiring.ports, owned, snapshot_of(owned))
    assert refused_the_second_time(service.wiring.ports, owned, tmp_path)
    assert after.pending and after.state.epoch == owned.next_epoch


def test_after_an_unclear_commit_the_same_epoch_is_refused_too(
    service: Service, owned: OwnedLedger, tmp_path: Path
) -> None:
    with pytest.raises(AmbiguousOutcome):
        commit(with_files(service, Unclear(nothing)), owned, snapshot_of(owned))
    assert refused_the_second_time(service.wiring.ports, owned, tmp_path)


def test_a_draft_of_the_wrong_epoch_does_not_use_up_what_is_held(
    service: Service, owned: OwnedLedger
) -> None:
    with pytest.raises(ValueError, match="does not follow"):
        commit(service.wiring.ports, owned, replace(snapshot_of(owned), epoch=owned.next_epoch + 1))
    assert commit(service.wiring.ports, owned, snapshot_of(owned)).pending


def test_an_unclear_commit_that_was_done_is_found_by_its_very_bytes(
    service: Service, owned: OwnedLedger
) -> None:
    wanted = snapshot_of(owned)
    done = Unclear(lambda draft, pending: draft.rename(pending))
    assert commit(with_files(service, done), owned, wanted).state == wanted


@pytest.mark.parametrize(
    "other",
    [
        lambda mine: encode(replace(mine, written_at="2013-01-01T00:00:09Z")),
        lambda mine: encode(mine)[:-1],
        lambda mine: b"",
    ],
)
def test_another_snapshot_under_the_pending_name_is_not_taken_for_this_one(
    service: Service, owned: OwnedLedger, other: Callable[[Snapshot], bytes]
) -> None:
    mine = snapshot_of(owned)
    there = Unclear(lambda draft, pending: pending.write_bytes(other(mine)))
    with pytest.raises(AmbiguousOutcome) as unclear:
        commit(with_files(service, there), owned, mine)
    assert unclear.value.code == "ledger.other_commit"


def test_a_commit_that_cannot_be_read_back_is_unclear(service: Service, owned: OwnedLedger) -> None:
    done = Unclear(lambda draft, pending: draft.exists() and draft.rename(pending), readable=False)
    with pytest.raises(AmbiguousOutcome) as unclear:
        commit(with_files(service, done), owned, snapshot_of(owned))
    assert unclear.value.code == "ledger.no_answer"


def test_a_commit_whose_directory_is_taken_over_before_it_is_read_back_is_fenced(
    service: Service, owned: OwnedLedger
) -> None:
    class TakenOver(Unclear):
        def read(self, path: str) -> bytes:
            home = local(owned.directory)
            home.rename(home.with_name(home.name.replace("g00000", "g00001")))
            return super().read(path)

    with pytest.raises(Fenced):
        commit(
            with_files(service, TakenOver(lambda draft, pending: draft.rename(pending))),
            owned,
            snapshot_of(owned),
        )
