"""Early files of a partition that moved are deleted when nobody was sent to them for long enough (K8), on a real directory."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from kafka2hive.ledger.draft import draft
from kafka2hive.ledger.epoch import roll_forward
from kafka2hive.ledger.owned_ledger import OwnedLedger
from kafka2hive.ledger.ports import Ports
from kafka2hive.ledger.retire import (
    FRESH_SECONDS,
    MOST_DELETES,
    MOST_RETIRED,
    Looks,
    RetirementResult,
    is_retired,
    keep_places,
    retired_files,
    was_retired,
)
from kafka2hive.ledger.snapshot.change import PlaceUpdate, Repair
from kafka2hive.ledger.snapshot.codec import encode
from kafka2hive.ledger.snapshot.compaction import NotMoved, with_late_data, with_looks
from kafka2hive.ledger.turns import Turns
from kafka2hive.model.errors import ManualActionRequired
from kafka2hive.model.files import DataFile, FileKind, HivePartition
from kafka2hive.model.footer import Footer
from kafka2hive.model.paths.ledger import Generation, LedgerPaths, SnapshotState, snapshot_name
from kafka2hive.model.paths.table_directory import DataFileName
from kafka2hive.model.snapshot import ACCEPT_LOSS, AcceptedLoss, MovedPartition, RetiredPartition, Snapshot
from kafka2hive.model.text import unix_seconds
from kafka2hive.service.verify.history import audit_history, retired_paths
from kafka2hive.storage.concurrency import SystemClock
from kafka2hive.storage.local import LocalFileSystem
from kafka2hive.storage.port import FileStatus, Unavailable
from tests.harness.values import snapshot

TABLE, PATH, LEDGER_ID = "db.t", "dt=1", "ab" * 16
SINCE = "2026-01-01T00:00:00Z"
BEGAN = unix_seconds(SINCE) or 0.0
DAY = 86_400.0


class InOrder:
    """The Concurrency port, one after the other."""

    def map(self, function, items):  # type: ignore[no-untyped-def]
        return [function(item) for item in items]


class Place:
    """A partition that moved in epoch 4: two early files, one compacted file, and the ledger that says so."""

    def __init__(self, folder: Path, files: int = 2) -> None:
        self.location = f"file://{folder}/t"
        self.home = HivePartition(TABLE, PATH, f"{self.location}/{PATH}")
        self.early = folder / "t" / "_open" / PATH
        self.at_home = folder / "t" / PATH
        for directory in (self.early, self.at_home):
            directory.mkdir(parents=True)
        self.names = [self._name(1, number) for number in range(files)]
        for name in self.names:
            (self.early / name).write_bytes(b"early")
        self.compacted = DataFile(
            kind=FileKind.COMPACTED,
            staged="-",
            final=f"{self.home.location}/{self._name(4, 0)}",
            hive_partition=self.home,
            length=5,
            rows=2,
            checksum="-",
            task=0,
            ranges=(),
        )
        (self.at_home / self._name(4, 0)).write_bytes(b"large")
        self.moved = MovedPartition(
            partition=self.home, early=f"{self.location}/_open/{PATH}", epoch=4, late=0, right_since=SINCE
        )
        state = snapshot(
            ledger_id=LEDGER_ID, table=TABLE, location=self.location, epoch=4, files=(self.compacted,)
        )
        generation = Generation(1, SINCE, "o")
        paths = LedgerPaths(f"file://{folder}/k", TABLE)
        self.owned = OwnedLedger(paths, generation, state)
        directory = Path(self.owned.directory.removeprefix("file://"))
        directory.mkdir(parents=True)
        Path(paths.archives.removeprefix("file://")).mkdir(parents=True)
        (directory / snapshot_name(4, SnapshotState.FINAL)).write_bytes(encode(state))
        self.owned = OwnedLedger(paths, generation, replace(state, epoch=9, files=(), moved=(self.moved,)))
        self.ports = Ports(LocalFileSystem(), InOrder(), SystemClock(), lambda: "e" * 32)

    @staticmethod
    def _name(epoch: int, number: int, ledger: str = "abababab") -> str:
        name = DataFileName(
            slug="dt=1",
            task=0,
            ledger=ledger,
            generation=1,
            epoch=epoch,
            uuid=f"{number:032x}",
            extension="parquet",
        )
        return name.in_state("final")

    def keep(self, looks: Looks, now: float, turns: Turns[HivePartition] | None = None) -> RetirementResult:
        def publish(change: PlaceUpdate) -> OwnedLedger:
            state = draft(self.owned, "s", SINCE, change)
            self.owned = OwnedLedger(self.owned.paths, self.owned.generation, state)
            return self.owned

        return keep_places(
            self.ports,
            self.owned,
            looks,
            keep_seconds=DAY,
            now=now,
            footer_of=self.footer,
            publish=publish,
            turns=turns,
        )

    def footer(self, status: FileStatus) -> Footer:
        path = Path(status.path.removeprefix("file://"))
        content = path.read_bytes() if path.parent == self.at_home else b""
        if content == b"holes":
            raise Unavailable(status.path, "its blocks are missing")
        return Footer(
            kind=FileKind.DATA,
            ledger_id=LEDGER_ID,
            table=TABLE,
            generation=1,
            epoch=1,
            task=0,
            attempt="a",
            planned_at_ms=1,
            ranges=(),
            rows=2 if content == b"large" else 1,
            partition=self.home,
        )

    def right(self, at: float) -> Looks:
        return Looks({self.home: at})

    def early_names(self) -> list[str]:
        return sorted(path.name for path in self.early.iterdir())


def test_early_files_are_deleted_after_the_text_file_that_names_them_is_there(tmp_path: Path) -> None:
    place = Place(tmp_path)
    others = [place._name(1, 7, "ffffffff"), place._name(5, 8), "_SUCCESS", "by-hand.parquet"]
    for name in others:
        (place.early / name).write_bytes(b"of others")
    assert place.keep(place.right(BEGAN + DAY - 1), BEGAN + DAY - 1) == RetirementResult()
    assert place.owned.state.epoch == 9
    assert place.keep(place.right(BEGAN + DAY), BEGAN + DAY).deleted == 2
    mark = "moved-abababab-e000010.gz"
    assert place.early_names() == sorted([*others, mark])
    text = (place.early / mark).read_bytes()
    assert f"ALTER TABLE db.t PARTITION (dt='1') SET LOCATION '{place.home.location}'" in text.decode()
    named = retired_files(f"{place.moved.early}/{mark}", text)
    assert [Path(file.path).name for file in named] == place.names
    assert named[0].footer == place.footer(FileStatus("", 5, False)) and named[0].length == 5
    (line,) = place.owned.state.retired
    assert (line.early, line.through, line.epoch) == (place.moved.early, 4, 10)
    place.keep(Looks(), BEGAN + DAY)
    assert not place.owned.state.retired and not place.owned.state.moved
    assert place.keep(Looks(), BEGAN + DAY) == RetirementResult() and place.owned.state.epoch == 11


@pytest.mark.parametrize("age", [FRESH_SECONDS + 1, -1])
def test_a_look_of_another_time_does_not_retire(tmp_path: Path, age: float) -> None:
    place = Place(tmp_path)
    place.keep(place.right(BEGAN + 2 * DAY), BEGAN + 2 * DAY + age)
    assert place.owned.state.epoch == 9 and place.early_names() == place.names


def test_a_location_that_was_put_back_or_data_that_came_begin_the_time_anew(tmp_path: Path) -> None:
    place = Place(tmp_path)
    now = BEGAN + 2 * DAY
    place.keep(Looks({place.home: now}, frozenset({place.home})), now)
    assert [each.right_since for each in place.owned.state.moved] == [""]
    place.keep(place.right(now), now)
    assert [each.right_since for each in place.owned.state.moved] == ["2026-01-03T00:00:00Z"]
    late = replace(place.compacted, kind=FileKind.DATA)
    after = with_late_data(replace(place.owned.state, files=(late,)), frozenset())
    assert [(each.right_since, each.late) for each in after.moved] == [("", after.epoch)]


def test_a_file_that_is_fetched_again_to_its_home_begins_the_time_anew(tmp_path: Path) -> None:
    place = Place(tmp_path)
    late = replace(place.compacted, kind=FileKind.DATA, final=f"{place.home.location}/{place._name(10, 0)}")
    after = draft(place.owned, "s", SINCE, Repair(files=(late,)))
    assert [(each.right_since, each.late) for each in after.moved] == [("", 10)]
    findings = audit_history([place.owned.state, after])
    assert not [each for each in findings if each.code == "verify.compaction"]


def test_the_time_of_a_pending_registration_does_not_run(tmp_path: Path) -> None:
    place = Place(tmp_path)
    line = replace(place.moved, right_since="")
    state = replace(place.owned.state, moved=(line,), unregistered=(place.home,))
    place.owned = OwnedLedger(place.owned.paths, place.owned.generation, state)
    place.keep(place.right(BEGAN), BEGAN)
    assert place.owned.state.moved == (line,)


def test_without_the_section_in_the_map_nothing_is_retired(tmp_path: Path) -> None:
    place = Place(tmp_path)
    kept = keep_places(
        place.ports,
        place.owned,
        place.right(BEGAN + 999 * DAY),
        keep_seconds=float("inf"),
        now=BEGAN + 999 * DAY,
        footer_of=place.footer,
        publish=lambda change: place.owned,
    )
    assert kept == RetirementResult() and place.early_names() == place.names


def removed(place: Place) -> None:
    (place.at_home / place.compacted.final.rpartition("/")[2]).unlink()


def cut(place: Place) -> None:
    (place.at_home / place.compacted.final.rpartition("/")[2]).write_bytes(b"cut")


def replaced(place: Place) -> None:
    (place.at_home / place.compacted.final.rpartition("/")[2]).write_bytes(b"other")


def given_up(place: Place) -> None:
    loss = AcceptedLoss(path=place.compacted.final, remedy=ACCEPT_LOSS, rows=2, accepted_at=SINCE, epoch=8)
    place.owned = OwnedLedger(
        place.owned.paths, place.owned.generation, replace(place.owned.state, losses=(loss,))
    )


@pytest.mark.parametrize("harm", [removed, cut, replaced, given_up])
def test_early_files_stay_if_the_compacted_ones_are_not_whole(
    tmp_path: Path, harm: Callable[[Place], None]
) -> None:
    place = Place(tmp_path)
    harm(place)
    (problem,) = place.keep(place.right(BEGAN + DAY), BEGAN + DAY).problems
    assert problem.code == "compact.home_changed" and place.compacted.final in problem.message
    assert place.owned.state.epoch == 9 and place.early_names() == place.names


def test_early_files_stay_while_the_compacted_ones_cannot_be_read(tmp_path: Path) -> None:
    place = Place(tmp_path)
    large = place.at_home / place.compacted.final.rpartition("/")[2]
    large.write_bytes(b"holes")
    assert place.keep(place.right(BEGAN + DAY), BEGAN + DAY) == RetirementResult()
    assert place.owned.state.epoch == 9 and place.early_names() == place.names
    large.write_bytes(b"large")
    assert place.keep(place.right(BEGAN + DAY), BEGAN + DAY).deleted == 2


@pytest.mark.parametrize("harm", [removed, cut, replaced, given_up])
def test_early_files_stay_if_the_compacted_ones_change_between_commit_and_deletion(
    tmp_path: Path, harm: Callable[[Place], None]
) -> None:
    place = Place(tmp_path)
    (place.early / "_moved-abababab-e000010.gz.eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee.in-progress").write_bytes(b"")
    place.keep(place.right(BEGAN + DAY), BEGAN + DAY)
    place.ports = replace(place.ports, new_uuid=lambda: "f" * 32)
    harm(place)
    assert place.keep(Looks(), BEGAN + DAY).deleted == 0
    assert place.early_names()[-2:] == place.names and "moved-abababab-e000010.gz" not in place.early_names()
    assert len(place.owned.state.retired) == 1


def test_early_files_of_which_nothing_was_compacted_stay(tmp_path: Path) -> None:
    place = Place(tmp_path)
    state = replace(place.owned.state, moved=(replace(place.moved, epoch=3),))
    place.owned = OwnedLedger(place.owned.paths, place.owned.generation, state)
    (problem,) = place.keep(place.right(BEGAN + DAY), BEGAN + DAY).problems
    assert problem.code == "compact.home_changed" and place.early_names() == place.names


def test_so_many_files_are_deleted_at_a_time(tmp_path: Path) -> None:
    place = Place(tmp_path, MOST_DELETES + 3)
    assert place.keep(place.right(BEGAN + DAY), BEGAN + DAY).deleted == MOST_DELETES
    assert place.keep(Looks(), BEGAN + DAY).deleted == 3
    place.keep(Looks(), BEGAN + DAY)
    assert not place.owned.state.retired and place.early_names() == ["moved-abababab-e000010.gz"]


def test_a_place_whose_text_file_cannot_be_put_keeps_its_files(tmp_path: Path) -> None:
    place = Place(tmp_path)
    (place.early / "_moved-abababab-e000010.gz.eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee.in-progress").write_bytes(b"")
    assert place.keep(place.right(BEGAN + DAY), BEGAN + DAY).deleted == 0
    assert set(place.names) <= set(place.early_names()) and len(place.owned.state.retired) == 1
    place.ports = replace(place.ports, new_uuid=lambda: "f" * 32)
    assert place.keep(Looks(), BEGAN + DAY).deleted == 2


def test_a_draft_never_retires_what_was_not_looked_at(tmp_path: Path) -> None:
    place = Place(tmp_path)
    state = replace(place.owned.state, moved=(replace(place.moved, right_since=""),))
    for after in (state, replace(state, moved=())):
        with pytest.raises(NotMoved, match="cannot be retired"):
            with_looks(after, PlaceUpdate(retired=frozenset({place.home})))


def test_a_damaged_text_file_is_not_taken_for_one_that_names_nothing() -> None:
    with pytest.raises(ValueError, match="not a data file"):
        retired_files("file:///moved.gz", b'moved\nfile {"name":"x","length":1,"footer":{}}\n')


def early_file(place: Place, name: str) -> DataFile:
    there = HivePartition(TABLE, PATH, place.moved.early)
    return replace(
        place.compacted, kind=FileKind.DATA, hive_partition=there, final=f"{there.location}/{name}"
    )


def test_only_a_line_proves_that_files_may_be_gone(tmp_path: Path) -> None:
    place = Place(tmp_path)
    early, later = early_file(place, place.names[0]), early_file(place, place._name(5, 0))
    state = place.owned.state
    assert not is_retired(state, early) and not is_retired(replace(state, moved=()), early)
    line = RetiredPartition(partition=place.home, early=place.moved.early, through=4, epoch=9)
    retired = replace(state, moved=(), retired=(line,))
    assert is_retired(retired, early)
    assert not is_retired(retired, later) and not is_retired(retired, place.compacted)


@pytest.mark.parametrize("is_there", [True, False])
def test_a_file_at_an_early_place_without_any_line_is_promoted_or_missing(
    tmp_path: Path, is_there: bool
) -> None:
    place = Place(tmp_path)
    name = place._name(9, 5)
    staging = tmp_path / "t" / "_staging"
    staging.mkdir()
    staged = staging / name.replace(".final", ".pending")
    if is_there:
        staged.write_bytes(b"early")
    file = replace(early_file(place, name), staged=f"file://{staged}")
    owned = OwnedLedger(
        place.owned.paths,
        place.owned.generation,
        replace(place.owned.state, moved=(), files=(file,)),
        pending=True,
    )
    pending = Path(owned.snapshot_path(9, SnapshotState.PENDING).removeprefix("file://"))
    pending.write_bytes(encode(owned.state))
    if not is_there:
        with pytest.raises(ManualActionRequired, match="neither there nor staged"):
            roll_forward(place.ports, owned)
        return
    assert roll_forward(place.ports, owned).moves.renamed == 1
    assert (place.early / name).read_bytes() == b"early"


def test_a_file_is_no_loss_if_the_text_file_says_that_it_was_retired(tmp_path: Path) -> None:
    place = Place(tmp_path)
    early, later = early_file(place, place.names[0]), early_file(place, place._name(12, 0))
    foreign = early_file(place, place._name(1, 0, "ffffffff"))
    files = place.ports.files
    assert not was_retired(files, replace(place.owned.state, moved=()), early)
    place.keep(place.right(BEGAN + DAY), BEGAN + DAY)
    place.keep(Looks(), BEGAN + DAY)
    assert not place.owned.state.retired and was_retired(files, place.owned.state, early)
    for other in (later, foreign, place.compacted):
        assert not was_retired(files, place.owned.state, other)


def test_the_audit_knows_what_was_retired_and_notices_what_was_not_due(tmp_path: Path) -> None:
    place = Place(tmp_path)
    early = early_file(place, place.names[0])
    first: Snapshot = replace(place.owned.state, epoch=3, files=(early,), moved=())
    before = place.owned.state
    place.keep(place.right(BEGAN + DAY), BEGAN + DAY)
    after = place.owned.state
    assert retired_paths([first, before, after]) == {early.final}
    assert retired_paths([replace(first, epoch=5), before, after]) == frozenset()

    def codes(before: Snapshot, after: Snapshot) -> set[str]:
        return {f.code for f in audit_history([before, after]) if f.code == "verify.compaction"}

    assert codes(before, after) == set()
    assert codes(replace(before, moved=(replace(place.moved, right_since=""),)), after) != set()
    assert codes(replace(before, moved=()), after) != set()
    assert codes(before, replace(after, retired=())) != set()


def test_partitions_that_cannot_be_retired_keep_no_other_from_its_turn(tmp_path: Path) -> None:
    """More of them than one snapshot retires, and all are before it in the order."""
    place, turns = Place(tmp_path), Turns[HivePartition]()
    stuck = []
    for number in range(2 * MOST_RETIRED):
        path = f"dt=0{number:02}"
        early = tmp_path / "t" / "_open" / path
        early.mkdir(parents=True)
        (early / place._name(1, number)).write_bytes(b"early")
        home = HivePartition(TABLE, path, f"{place.location}/{path}")
        early_path = f"{place.location}/_open/{path}"
        stuck.append(MovedPartition(partition=home, early=early_path, epoch=4, late=0, right_since=SINCE))
    state = replace(place.owned.state, moved=(*stuck, place.moved))
    place.owned = OwnedLedger(place.owned.paths, place.owned.generation, state)
    problems = 0
    for call in range(3):
        now = BEGAN + DAY + 10 * call
        looks = Looks(dict.fromkeys((each.partition for each in (*stuck, place.moved)), now))
        problems += len(place.keep(looks, now, turns).problems)
    assert [each.partition for each in place.owned.state.retired] == [place.home]
    assert problems == len(stuck), "each was tried once, and waits now"
