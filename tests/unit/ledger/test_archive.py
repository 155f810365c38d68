"""The archive of old snapshots under repeated calls: junk neither blocks it nor hides the history; damage is still reported."""

import gc
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest

from kafka2hive.ledger.cleanup import archive_snapshots
from kafka2hive.ledger.epoch import publish
from kafka2hive.ledger.history import final_snapshots
from kafka2hive.ledger.init import init
from kafka2hive.ledger.look import look
from kafka2hive.ledger.owned_ledger import OwnedLedger
from kafka2hive.ledger.ports import Ports
from kafka2hive.ledger.snapshot.change import RegistrationUpdate
from kafka2hive.ledger.snapshot.codec import decode
from kafka2hive.ledger.start import Owners, StartRequest, start
from kafka2hive.model.errors import ManualActionRequired
from kafka2hive.model.paths.ledger import LedgerPaths
from kafka2hive.model.snapshot import Snapshot
from kafka2hive.service.verify.history import audit_history
from kafka2hive.storage.local import LocalFileSystem, LocalWriter
from kafka2hive.storage.port import FileSystem, StorageError
from tests.harness.cli_ledger import TABLE, local, pending_service
from tests.harness.clock import SkippedTime
from tests.harness.owner import new_owner

KEEP = 2


class Repeating(LocalFileSystem):
    """Remembers the calls about one epoch's snapshot and can repeat them, as a client's retries may."""

    def __init__(self, epoch: str) -> None:
        super().__init__()
        self._epoch = epoch
        self._sent: list[tuple[str, ...]] = []

    def create(self, path: str) -> LocalWriter:
        if self._epoch in path:
            self._sent.append((path,))
        return super().create(path)

    def rename(self, source: str, target: str) -> None:
        if self._epoch in source:
            self._sent.append((source, target))
        super().rename(source, target)

    def repeat(self) -> None:
        sent, self._sent = self._sent, []
        for call in sent:
            with suppress(StorageError):  # nobody hears the answer
                if len(call) == 1:
                    super().create(call[0]).close()
                else:
                    super().rename(*call)


@pytest.fixture
def ports(tmp_path: Path) -> Ports:
    return replace(pending_service(tmp_path).wiring.ports, files=Repeating("/e000001."))


@pytest.fixture
def paths(tmp_path: Path) -> LedgerPaths:
    return LedgerPaths(f"{tmp_path.as_uri()}/archived", TABLE)


def began(ports: Ports, paths: LedgerPaths) -> OwnedLedger:
    return start(
        ports, StartRequest(paths, lambda: None, Owners(new_owner), f"{paths.root}/table", KEEP)
    ).owned


def epochs(ports: Ports, owned: OwnedLedger, count: int) -> OwnedLedger:
    for _ in range(count):
        owned = publish(ports, owned, RegistrationUpdate()).owned
    return owned


@pytest.fixture
def owned(ports: Ports, paths: LedgerPaths) -> OwnedLedger:
    """Return a ledger with six epochs, the first ones archived; every call of epoch 1 was repeated since."""
    init(ports, paths, "demo", f"{paths.root}/table")
    made = epochs(ports, began(ports, paths), 6)
    assert archive_snapshots(ports, made, KEEP) == 5
    assert isinstance(ports.files, Repeating)
    ports.files.repeat()
    junk = local(made.directory) / "e000001.final"
    assert junk.exists() and not junk.stat().st_size, "no junk was made"
    return made


def history(files: FileSystem, paths: LedgerPaths) -> list[int]:
    snapshots = list(final_snapshots(files, paths, look(files, paths).directory))[::-1]
    assert audit_history(snapshots) == ()
    return [snapshot.epoch for snapshot in snapshots]


def archived(paths: LedgerPaths) -> list[str]:
    return sorted(p.name for p in local(paths.archives).rglob("*.final"))


def here(owned: OwnedLedger) -> list[str]:
    return sorted(p.name for p in local(owned.directory).iterdir())


def names(numbers: Iterable[int]) -> list[str]:
    return [f"e{number:06d}.final" for number in numbers]


def test_junk_of_repeated_calls_does_not_wedge_the_archive_and_goes(
    ports: Ports, paths: LedgerPaths, owned: OwnedLedger
) -> None:
    assert history(ports.files, paths) == list(range(7))
    owned = epochs(ports, owned, 3)
    assert archive_snapshots(ports, owned, KEEP) == 3
    assert (archived(paths), here(owned)) == (names(range(8)), names([8, 9]))
    assert history(ports.files, paths) == list(range(10))


def test_a_history_that_is_read_keeps_no_snapshot_in_memory(
    ports: Ports, paths: LedgerPaths, owned: OwnedLedger
) -> None:
    owned = epochs(ports, owned, 30)
    archive_snapshots(ports, owned, KEEP)
    decode.cache_clear()
    gc.collect()
    before = living_snapshots()
    reading = final_snapshots(ports.files, paths, owned.directory)
    read = sum(1 for _ in islice(reading, 30))
    decode.cache_clear()
    gc.collect()
    assert living_snapshots() - before <= 1
    assert read + sum(1 for _ in reading) == 37


def living_snapshots() -> int:
    return sum(isinstance(each, Snapshot) for each in gc.get_objects())


def test_junk_of_repeated_calls_is_not_archived_by_the_next_owner(
    ports: Ports, paths: LedgerPaths, owned: OwnedLedger
) -> None:
    """The next generation has another archive directory, which lacks epoch 1."""
    epochs(ports, owned, 3)
    successor = began(replace(ports, clock=Tomorrow()), paths)
    assert (archived(paths), here(successor)) == (names(range(8)), names([8, 9]))
    assert len(list(local(paths.archives).iterdir())) == 2
    assert history(ports.files, paths) == list(range(10))


class Tomorrow(SkippedTime):
    """A clock of a later second than that of the first start."""

    def now(self) -> str:
        return "2099-01-01T00:00:00Z"


@pytest.mark.parametrize("archive", ["00000101T000000Z", "99991231T235959Z"])
def test_an_empty_file_beside_the_archived_snapshot_of_its_epoch_is_no_damage(
    ports: Ports, paths: LedgerPaths, owned: OwnedLedger, archive: str
) -> None:
    """An earlier version left it, in an archive that sorts before or after that of the real snapshot."""
    other = local(paths.archives) / archive
    other.mkdir()
    (local(owned.directory) / "e000001.final").rename(other / "e000001.final")
    assert history(ports.files, paths) == list(range(7))
    owned = epochs(ports, owned, 2)
    assert archive_snapshots(ports, owned, KEEP) == 2
    assert history(ports.files, paths) == list(range(9))


@pytest.mark.parametrize("where", ["archive", "directory"])
@pytest.mark.parametrize("left", [b"", b"cut off"])
def test_a_snapshot_that_is_really_damaged_is_told_with_and_without_junk_beside_it(
    ports: Ports, paths: LedgerPaths, owned: OwnedLedger, left: bytes, where: str
) -> None:
    (real,) = local(paths.archives).rglob("e000001.final")
    damaged = real if where == "archive" else local(owned.directory) / "e000005.final"
    damaged.write_bytes(left)
    for _ in range(2):
        with pytest.raises(ManualActionRequired) as stopped:
            history(ports.files, paths)
        assert stopped.value.code == "ledger.damaged"
        (local(owned.directory) / "e000001.final").unlink(missing_ok=True)  # the junk


def test_an_empty_final_whose_real_one_is_nowhere_is_neither_moved_nor_deleted(
    ports: Ports, paths: LedgerPaths, owned: OwnedLedger
) -> None:
    (real,) = local(paths.archives).rglob("e000001.final")
    real.unlink()
    owned = epochs(ports, owned, 2)
    assert archive_snapshots(ports, owned, KEEP) == 2
    assert here(owned) == names([1, 7, 8])
    with pytest.raises(ManualActionRequired):
        history(ports.files, paths)


def test_one_snapshot_that_cannot_be_archived_does_not_hold_up_the_others(
    ports: Ports, paths: LedgerPaths, owned: OwnedLedger
) -> None:
    owned = epochs(ports, owned, 3)
    (archive,) = local(paths.archives).iterdir()
    (archive / "e000005.final").touch()
    assert archive_snapshots(ports, owned, KEEP) == 2
    assert here(owned) == names([5, 8, 9])
    assert history(ports.files, paths) == list(range(10))
