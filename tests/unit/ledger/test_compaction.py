"""Where data files belong, and what a compaction must fit to be drafted (K1, K3 to K5)."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kafka2hive.config.keys import WriterOptions
from kafka2hive.ledger.draft import draft
from kafka2hive.ledger.early_files import EarlyFile, cut, early_files, with_places
from kafka2hive.ledger.owned_ledger import OwnedLedger
from kafka2hive.ledger.repair.places import placed_staged, with_rebuilt_places
from kafka2hive.ledger.snapshot.change import (
    Change,
    Compaction,
    Completeness,
    DataEpoch,
    RegistrationUpdate,
    Replay,
)
from kafka2hive.ledger.snapshot.compaction import (
    UnitsDoNotFit,
    may_move,
    place_file,
    place_of,
    watched_partitions,
    with_late_data,
    with_moves,
)
from kafka2hive.model.errors import AmbiguousOutcome, ManualActionRequired, TableError
from kafka2hive.model.files import DataFile, FileKind, HivePartition
from kafka2hive.model.metastore import Metastore
from kafka2hive.model.offsets import OffsetAccounting, OffsetRange, Position, RangeAccounting, TopicPartition
from kafka2hive.model.paths.ledger import Generation, LedgerPaths
from kafka2hive.model.paths.path import base_name, join
from kafka2hive.model.paths.table_directory import DataFileName, early_place, other_place
from kafka2hive.model.snapshot import (
    ACCEPT_LOSS,
    UNKNOWN_END,
    AcceptedLoss,
    CompactionUnit,
    EarlyPartition,
    ForgottenRegistration,
    MovedPartition,
    OpenPartition,
    ReplayedFile,
    RetiredPartition,
    Snapshot,
    Tracking,
)
from kafka2hive.plan.contract import TaskSettings
from kafka2hive.service.recover.refetch import refetch_file
from kafka2hive.service.verify.compaction import audit_units
from kafka2hive.service.verify.history import audit_history
from kafka2hive.service.verify.hive_partitions import audit_registrations
from kafka2hive.storage.local import LocalFileSystem
from kafka2hive.storage.port import FileStatus, FileSystem, NotFound, Unavailable
from tests.harness.clock import SkippedTime
from tests.harness.task_files import table_settings
from tests.harness.values import data_file, file_name, snapshot

TABLE, LOCATION, PATH = "db.t", "hdfs://n/w/t", "dt=2026-01-30"
HOME = HivePartition(TABLE, PATH, join(LOCATION, PATH))
EARLY = HivePartition(TABLE, PATH, early_place(LOCATION, PATH))
CLOSES = "2026-01-31T00:00:00Z"


def state(
    closed: str = "2026-01-30T00:00:00Z", certified: int = 3, files: int = 2, rows: int = 10
) -> Snapshot:
    early = EarlyPartition(
        partition=EARLY, since=1, closes=CLOSES, files=files, rows=rows, certified=certified
    )
    return Snapshot(
        ledger_id="ab" * 16,
        service="s",
        table=TABLE,
        generation=1,
        owner="o",
        epoch=5,
        written_at="2026-02-01T00:00:00Z",
        location=LOCATION,
        tracking=Tracking(1, "2026-02-01T00:00:00Z"),
        closed_through=closed,
        early=(early,),
    )


def file(place: HivePartition, kind: FileKind, rows: int, task: int = 0, number: int = 0) -> DataFile:
    name = f"{PATH}_task_{task}-abababab-g000001-e000005-{number:032x}.parquet"
    return DataFile(
        kind=kind,
        staged=f"{LOCATION}/_tmp/{name}.pending",
        final=f"{place.location}/{name}.final",
        hive_partition=place,
        length=100,
        rows=rows,
        checksum="-",
        task=task,
        ranges=(),
    )


def unit(sources: int = 2, rows: int = 10) -> CompactionUnit:
    return CompactionUnit(partition=HOME, task=0, first="a", last="b", sources=sources, rows=rows)


def test_the_two_places_of_a_partition_are_each_others() -> None:
    assert other_place(EARLY.location, PATH) == HOME.location
    assert other_place(HOME.location, PATH) == EARLY.location
    deep = "dt=2026-01-30/hr=05"
    assert other_place(early_place(LOCATION, deep), deep) == join(LOCATION, deep)


NOT_MOVED = "2026-01-30T00:00:00Z"
MOVE = MovedPartition(partition=HOME, early=EARLY.location, epoch=4, late=0)


@pytest.mark.parametrize(
    ("early", "closed", "closes", "files", "place"),
    [
        (True, CLOSES, CLOSES, (), EARLY),  # it has an early line: it stays early until it moves
        (False, NOT_MOVED, CLOSES, (), EARLY),
        (False, "", CLOSES, (), EARLY),  # nothing ever moved
        (False, CLOSES, CLOSES, (), HOME),  # a period that ended with one that moved
        (False, NOT_MOVED, CLOSES, (HOME.location,), HOME),  # it began before the map had `compact`
        (
            False,
            NOT_MOVED,
            CLOSES,
            (EARLY.location,),
            HOME,
        ),  # it moved by another zone, and its home was emptied
        (False, NOT_MOVED, None, (), HOME),  # no period, or no `compact` any more
        (True, CLOSES, None, (), EARLY),
    ],
)
def test_data_belong_early_until_their_period_has_moved(
    early: bool, closed: str, closes: str | None, files: tuple[str, ...], place: HivePartition
) -> None:
    now = state(closed)
    now = now if early else replace(now, early=())
    assert place_of(now, HOME, closes, files.__contains__) == place


def test_a_moved_partition_stays_at_home_though_its_files_are_gone_and_its_zone_changed() -> None:
    now = replace(state(NOT_MOVED), early=(), moved=(MOVE,))
    assert place_of(now, HOME, CLOSES, lambda directory: False) == HOME


def test_only_a_certified_partition_whose_period_is_over_may_move_and_only_while_completeness_is_tracked() -> (
    None
):
    assert [e.partition for e in may_move(state(), frozenset())] == [EARLY]
    still_open = OpenPartition(partition=EARLY, since=5, opened_at=NOW, files=1, rows=5)
    assert may_move(replace(state(certified=0), open=(still_open,)), frozenset()) == ()
    assert may_move(replace(state(), tracking=None), frozenset()) == ()
    for through in ("2026-01-30T23:59:59Z", "-"):  # not read through its end; tracking began anew
        assert may_move(replace(state(), tracking=Tracking(1, through)), frozenset()) == ()


def test_what_came_while_nothing_was_tracked_moves_once_the_table_is_read_through_its_end_and_the_delay() -> (
    None
):
    untracked = state(certified=0)
    for through, delay, may in (
        ("2026-01-31T01:59:59Z", 7200.0, False),
        ("2026-01-31T02:00:00Z", 7200.0, True),
        ("2026-01-30T23:59:59Z", 0.0, False),
    ):
        now = replace(untracked, tracking=Tracking(4, through))
        assert bool(may_move(now, frozenset(), delay)) == may
    (early,) = untracked.early
    unknown = replace(untracked, early=(replace(early, closes=UNKNOWN_END),))
    assert may_move(unknown, frozenset()) == ()
    written = Compaction(files=(file(HOME, FileKind.COMPACTED, 10),), units=(unit(),), policy="p")
    assert with_moves(untracked, written).early == ()
    with pytest.raises(UnitsDoNotFit, match="not complete"):
        with_moves(unknown, written)


def test_a_table_whose_own_directory_has_the_name_of_early_places_has_none() -> None:
    table = join(LOCATION, "_open")
    home = HivePartition(TABLE, PATH, join(table, PATH))
    before = replace(BORN, location=table, closed_through="")
    account = RangeAccounting(0, READ, OffsetAccounting(read=6, written=6))
    after = following(
        before, DataEpoch(files=(of_epoch(1, home, FileKind.DATA, 6, READ),), accounts=(account,))
    )
    assert after.early == () and "verify.compaction" not in found(before, after)


def test_late_data_of_a_moved_partition_have_it_watched_again() -> None:
    late = of_epoch(6, HOME, FileKind.DATA, 1)
    after = replace(state(), epoch=6, early=(), files=(late,))
    assert with_late_data(after, frozenset({HOME})).moved == (replace(MOVE, epoch=6, late=6),)
    assert with_late_data(replace(after, moved=(MOVE,)), frozenset()).moved == (replace(MOVE, late=6),)
    assert with_late_data(after, frozenset()).moved == ()


def test_a_move_leaves_the_early_place_closes_the_period_and_certifies_the_home() -> None:
    written = file(HOME, FileKind.COMPACTED, 10)
    moved = with_moves(state(), Compaction(files=(written,), units=(unit(),), policy="p"))
    assert moved.early == () and moved.closed_through == CLOSES
    assert [(m.partition, m.early) for m in moved.moved] == [(HOME, EARLY.location)]
    assert [(c.partition, c.since, c.files, c.rows) for c in moved.certificates] == [(HOME, 1, 1, 10)]


@pytest.mark.parametrize(
    ("before", "units", "rows"),
    [
        (replace(state(certified=0), tracking=None), (unit(),), 10),
        (state(files=3), (unit(),), 10),
        (state(rows=11), (unit(),), 10),
        (state(), (unit(),), 9),
        (replace(state(), early=()), (unit(),), 10),
        (state(), (), 10),
    ],
    ids=["open", "a file is left out", "a row is left out", "a row is lost", "moved before", "no unit"],
)
def test_units_that_do_not_fit_are_never_committed(
    before: Snapshot, units: tuple[CompactionUnit, ...], rows: int
) -> None:
    change = Compaction(files=(file(HOME, FileKind.COMPACTED, rows),), units=units, policy="p")
    with pytest.raises(UnitsDoNotFit):
        with_moves(before, change)


def test_units_are_intervals_of_about_the_target() -> None:
    files = [EarlyFile(n, 0, "u", f"p{n}", length) for n, length in enumerate([40, 40, 40, 200, 10, 10])]
    assert [[f.epoch for f in interval] for interval in cut(files, 100)] == [[0, 1], [2], [3], [4, 5]]


def test_a_rebuilt_ledger_promotes_staged_files_where_their_partitions_are() -> None:
    there, staged = file(EARLY, FileKind.DATA, 5), file(HOME, FileKind.DATA, 5, 1, 1)
    pending = replace(state(closed="", files=0), early=(), files=(there, staged), unregistered=(EARLY, HOME))
    placed = placed_staged(pending, [there], [], {})
    assert [f.hive_partition for f in placed.files] == [EARLY, EARLY]
    assert placed.files[1].final.startswith(EARLY.location + "/") and placed.unregistered == (EARLY,)
    alone = replace(pending, files=(staged,), unregistered=(HOME,))
    assert (
        placed_staged(alone, [], [], {PATH: CLOSES}).files[0].hive_partition == EARLY
    )  # where it begins now
    assert placed_staged(alone, [], [], {}).files == (staged,)
    assert placed_staged(alone, [there], [file(HOME, FileKind.COMPACTED, 5)], {}).files == (staged,)


def test_a_rebuilt_ledger_knows_what_has_moved_and_what_is_early() -> None:
    data = tuple(file(EARLY, FileKind.DATA, 5, task, task) for task in range(2))
    base = replace(state(), files=data, unregistered=(EARLY,), early=())
    early = with_rebuilt_places(base, {PATH: CLOSES}, {}, [])
    assert [(e.partition, e.files, e.rows, e.certified) for e in early.early] == [(EARLY, 2, 10, 0)]
    moved = with_rebuilt_places(base, {PATH: CLOSES}, {}, [file(HOME, FileKind.COMPACTED, 10, number=9)])
    assert moved.early == () and [m.partition for m in moved.moved] == [HOME]
    assert moved.unregistered == (HOME,) and moved.closed_through == CLOSES
    assert [(u.sources, u.rows) for u in moved.units] == [(2, 10)]
    with pytest.raises(ManualActionRequired, match=r"rebuild\.compacted|do not hold all rows"):
        with_rebuilt_places(base, {PATH: CLOSES}, {}, [file(HOME, FileKind.COMPACTED, 9, number=9)])
    retired = {EARLY.location: 7}
    gone = with_rebuilt_places(base, {PATH: CLOSES}, retired, [file(HOME, FileKind.COMPACTED, 10, number=9)])
    assert not gone.early and not gone.moved
    assert [(r.partition, r.early, r.epoch) for r in gone.retired] == [(HOME, EARLY.location, 7)]
    for rows in (9, 0):
        written = [file(HOME, FileKind.COMPACTED, rows, number=9)] if rows else []
        with pytest.raises(ManualActionRequired, match="were retired") as lost:
            with_rebuilt_places(base, {PATH: CLOSES}, retired, written)
        assert lost.value.code == "rebuild.retired"


def following(
    before: Snapshot, change: Change, certified: frozenset[HivePartition] = frozenset()
) -> Snapshot:
    owned = OwnedLedger(LedgerPaths("file:///k", TABLE), Generation(1, NOW, before.owner), before)
    return draft(replace(owned, certified=certified), before.service, NOW, change)


def of_epoch(epoch: int, place: HivePartition, kind: FileKind, rows: int, *read: OffsetRange) -> DataFile:
    name = file_name("ab" * 16, 1, epoch, slug="dt", task=0, uuid=f"{epoch:032x}")
    return data_file(
        kind=kind,
        hive_partition=place,
        staged=join(f"{LOCATION}/_tmp", name.in_state("pending")),
        final=join(place.location, name.in_state("final")),
        rows=rows,
        task=0,
        ranges=read,
    )


def key_of(file: DataFile) -> str:
    parsed = DataFileName.parse(base_name(file.final))
    assert parsed is not None
    return EarlyFile(parsed[0].epoch, parsed[0].task, parsed[0].uuid, file.final, 1).key


NOW = "2026-02-01T00:00:00Z"
TP = TopicPartition("t", 0)
READ = OffsetRange(TP, 0, 6)
LETTERS = HivePartition("db.letters", "source_table=db.t", "hdfs://n/w/letters/source_table=db.t")
BORN = snapshot(
    epoch=0,
    ledger_id="ab" * 16,
    table=TABLE,
    location=LOCATION,
    generation=1,
    positions=(Position(TP, 0, 0),),
    closed_through="2026-01-30T00:00:00Z",
)
LETTER = of_epoch(1, LETTERS, FileKind.DEAD_LETTER, 2, READ)
DATA = following(
    BORN,
    DataEpoch(
        files=(of_epoch(1, EARLY, FileKind.DATA, 4, READ), LETTER),
        accounts=(RangeAccounting(0, READ, OffsetAccounting(read=6, written=4, dead_lettered=2)),),
        closes={PATH: CLOSES},
        completeness=Completeness(),
    ),
)
REPLAYED = following(
    DATA,
    Replay(
        files=(place_file(of_epoch(2, HOME, FileKind.DATA, 2, READ), {HOME: EARLY}),),
        replayed=(ReplayedFile(path=LETTER.final, task=0, account=OffsetAccounting(read=2, written=2)),),
        closes={PATH: CLOSES},
    ),
)
CERTIFIED = following(
    REPLAYED,
    RegistrationUpdate(completeness=Completeness(through=NOW, complete=frozenset({EARLY}), policy="p")),
)
WRITTEN = of_epoch(4, HOME, FileKind.COMPACTED, 6)
MOVED = following(
    CERTIFIED,
    Compaction(
        files=(WRITTEN,),
        units=(
            CompactionUnit(
                partition=HOME,
                task=0,
                first=key_of(DATA.files[0]),
                last=key_of(REPLAYED.files[0]),
                sources=2,
                rows=6,
            ),
        ),
        policy="p",
    ),
    frozenset({EARLY}),
)


LATE_READ = OffsetRange(TP, 6, 7)
LATE = following(
    MOVED,
    DataEpoch(
        files=(of_epoch(5, HOME, FileKind.DATA, 1, LATE_READ),),
        accounts=(RangeAccounting(0, LATE_READ, OffsetAccounting(read=1, written=1)),),
    ),
    frozenset({HOME}),
)


def found(*history: Snapshot) -> set[str]:
    return {finding.code for finding in audit_history(history)}


def test_rows_of_replayed_letters_are_early_and_move_with_the_others_and_the_audit_agrees() -> None:
    assert [(e.partition, e.files, e.rows) for e in REPLAYED.early] == [(EARLY, 2, 6)]
    assert MOVED.early == () and [m.partition for m in MOVED.moved] == [HOME]
    assert found(BORN, DATA, REPLAYED, CERTIFIED, MOVED, LATE) == set()
    assert [m.late for m in LATE.moved] == [5]
    unwatched = replace(LATE, moved=MOVED.moved)
    assert "verify.compaction" in found(BORN, DATA, REPLAYED, CERTIFIED, MOVED, unwatched)


def test_units_get_the_name_of_the_epoch_that_commits_them_and_those_of_another_start_are_refused() -> None:
    earlier = of_epoch(3, HOME, FileKind.COMPACTED, 6)  # ordered before the partition was certified
    change = Compaction(files=(earlier,), units=MOVED.units, policy="p")
    moved = following(CERTIFIED, change, frozenset({EARLY}))
    (file,) = moved.files
    assert file.staged == earlier.staged and "-e000004-" in file.final
    assert found(BORN, DATA, REPLAYED, CERTIFIED, moved) == set()
    later = replace(file, staged=of_epoch(5, HOME, FileKind.COMPACTED, 6).staged)
    assert found(BORN, DATA, REPLAYED, CERTIFIED, replace(moved, files=(later,))) != set()
    for other in (of_epoch(5, HOME, FileKind.COMPACTED, 6), renamed(earlier, "-g000001-", "-g000002-")):
        with pytest.raises(UnitsDoNotFit, match="is not of generation"):
            following(CERTIFIED, replace(change, files=(other,)), frozenset({EARLY}))


def renamed(file: DataFile, old: str, new: str) -> DataFile:
    return replace(file, staged=file.staged.replace(old, new), final=file.final.replace(old, new))


def test_a_partition_with_data_in_each_epoch_is_watched_as_long_as_it_may_hide_rows() -> None:
    assert HOME in LATE.unregistered and watched_partitions(LATE) == {HOME}
    assert EARLY in DATA.unregistered and watched_partitions(DATA) == {EARLY}
    assert watched_partitions(MOVED) == {HOME}
    given_up = ForgottenRegistration(partition=HOME, reason="r", accepted_by="o", accepted_at=NOW, epoch=6)
    forgotten = replace(LATE, forgotten=(given_up,))
    assert watched_partitions(forgotten) == frozenset()


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"units": (replace(MOVED.units[0], rows=5),)}, "verify.compaction"),
        ({"units": (replace(MOVED.units[0], sources=1),)}, "verify.compaction"),
        ({"units": (replace(MOVED.units[0], task=1),)}, "verify.file"),
        ({"files": (replace(WRITTEN, ranges=(READ,)),)}, "verify.file"),
        ({"files": (replace(WRITTEN, rows=5),)}, "verify.compaction"),
        ({"moved": ()}, "verify.compaction"),
        ({"moved": (replace(MOVED.moved[0], late=3),)}, "verify.compaction"),
        ({"early": CERTIFIED.early}, "verify.compaction"),
        ({"closed_through": "2026-01-29T00:00:00Z"}, "verify.compaction"),
    ],
)
def test_a_move_that_says_anything_else_is_found(changed: dict[str, object], code: str) -> None:
    assert code in found(BORN, DATA, REPLAYED, CERTIFIED, replace(MOVED, **changed))  # type: ignore[arg-type]


class Listings:
    """Directories by path; a directory that is not there gives no answer if `away`."""

    def __init__(self, directories: dict[str, list[str]], away: bool = False) -> None:
        self.directories, self.away = directories, away

    def list(self, path: str) -> tuple[FileStatus, ...]:
        if path not in self.directories:
            raise Unavailable(path) if self.away else NotFound(path)
        return tuple(FileStatus(join(path, name), 1, False) for name in self.directories[path])


def placed(files: Listings, before: Snapshot, closes: dict[str, str]) -> DataEpoch:
    epoch = DataEpoch(files=(of_epoch(5, HOME, FileKind.DATA, 1, READ),), accounts=())
    return with_places(cast(FileSystem, files), before, epoch, closes)


def test_files_that_readers_do_not_see_do_not_keep_a_partition_at_home() -> None:
    anchor = Listings({HOME.location: ["_SUCCESS"], EARLY.location: []})
    assert placed(anchor, BORN, {PATH: CLOSES}).files[0].hive_partition == EARLY
    other = Listings({HOME.location: ["by-hand.parquet"]})
    assert placed(other, BORN, {PATH: CLOSES}).files[0].hive_partition == HOME


@pytest.mark.parametrize("stranger", ["by-hand.parquet", base_name(WRITTEN.final)])
def test_a_partition_does_not_move_to_a_home_where_readers_would_see_files(stranger: str) -> None:
    names = [base_name(file.final) for file in (DATA.files[0], REPLAYED.files[0])]
    empty = {EARLY.location: names, HOME.location: ["_SUCCESS", ".part.crc"]}
    (early,) = CERTIFIED.early
    assert len(early_files(cast(FileSystem, Listings(empty)), CERTIFIED, early)) == 2
    filled = empty | {HOME.location: ["_SUCCESS", stranger]}
    with pytest.raises(TableError, match=stranger) as refusal:
        early_files(cast(FileSystem, Listings(filled)), CERTIFIED, early)
    assert refusal.value.code == "compact.home"


def test_data_of_a_partition_whose_early_files_are_still_there_have_it_watched_again() -> None:
    left = Listings({EARLY.location: ["a.parquet.final"]})
    late = placed(left, replace(BORN, closed_through=CLOSES), {PATH: CLOSES})
    assert late.files[0].hive_partition == HOME and late.moved == {HOME}
    after_reset = placed(left, replace(BORN, closed_through=""), {PATH: CLOSES})
    assert after_reset.files[0].hive_partition == HOME and after_reset.moved == {HOME}
    assert placed(Listings({}), replace(BORN, closed_through=CLOSES), {PATH: CLOSES}).moved == frozenset()
    marked = Listings({EARLY.location: ["a.parquet.final", "moved-abababab-e000007.gz"]})
    assert placed(marked, replace(BORN, closed_through=CLOSES), {PATH: CLOSES}).moved == frozenset()
    line = RetiredPartition(partition=HOME, early=EARLY.location, through=4, epoch=5)
    retired = replace(BORN, closed_through=CLOSES, retired=(line,))
    assert placed(left, retired, {PATH: CLOSES}).moved == frozenset()


def test_a_listing_without_an_answer_is_this_tables_trouble_alone() -> None:
    with pytest.raises(AmbiguousOutcome, match=r"ledger\.no_answer"):
        placed(Listings({}, away=True), BORN, {PATH: CLOSES})


def test_an_early_place_that_was_left_need_not_be_registered_though_its_line_ended() -> None:
    class Hive:
        def location(self, partition: HivePartition) -> str | None:
            return HOME.location if partition.path == PATH else partition.location

    history = [BORN, DATA, REPLAYED, CERTIFIED, replace(MOVED, moved=(), unregistered=())]
    hive = cast(Metastore, Hive())
    assert audit_registrations(history, history[-1], hive, SkippedTime()) == []
    assert audit_registrations(history[:-1], replace(CERTIFIED, unregistered=()), hive, SkippedTime()) != []


def test_early_files_of_a_moved_partition_are_not_fetched_again() -> None:
    owned = OwnedLedger(LedgerPaths("file:///k", TABLE), Generation(1, NOW, MOVED.owner), MOVED)
    settings = SimpleNamespace(tables={TABLE: SimpleNamespace(location=LOCATION)})
    with pytest.raises(ManualActionRequired, match="was compacted: its rows are in") as stop:
        refetch_file(owned, DATA.files[0], lambda table: cast(TaskSettings, settings), 0, None)
    assert stop.value.code == "refetch.compacted"


def test_a_file_that_was_accepted_as_lost_and_is_still_there_is_no_source(tmp_path: Path) -> None:
    place = early_place(f"file://{tmp_path}", PATH)
    names = [base_name(file(EARLY, FileKind.DATA, 1, number=number).final) for number in range(2)]
    for name in names:
        (tmp_path / "_open" / PATH).mkdir(parents=True, exist_ok=True)
        (tmp_path / "_open" / PATH / name).write_bytes(b"x")
    early = replace(state().early[0], partition=replace(EARLY, location=place), files=1)
    loss = AcceptedLoss(path=f"{place}/{names[0]}", remedy=ACCEPT_LOSS, rows=1, accepted_at=CLOSES, epoch=5)
    with pytest.raises(TableError, match="has 2 files of this ledger"):
        early_files(LocalFileSystem(), state(), early)
    (left,) = early_files(LocalFileSystem(), replace(state(), losses=(loss,)), early)
    assert left.path == f"{place}/{names[1]}"


@pytest.mark.parametrize(("accepted_in", "findings"), [(4, 0), (5, 0), (6, 0), (None, 1)])
def test_units_are_compared_with_the_sources_that_were_not_lost_by_then(
    accepted_in: int | None, findings: int
) -> None:
    """Two sources, one of which is lost before or after the unit of epoch 5, or was never accepted as lost."""
    sources = [file(EARLY, FileKind.DATA, 1, number=number) for number in range(2)]
    before = accepted_in is not None and accepted_in <= 5
    rows = {"a": [1]} if before else {"a": [1, 1]}
    written = file(HOME, FileKind.COMPACTED, len(rows["a"]))
    of_unit = replace(
        unit(sources=1 if before else 2),
        first=f"e000005-0-{0:032x}",
        last=f"e000005-0-{1:032x}",
    )
    loss = AcceptedLoss(
        path=sources[0].final, remedy=ACCEPT_LOSS, rows=1, accepted_at=CLOSES, epoch=accepted_in or 9
    )
    finals = [
        replace(state(), epoch=3, files=tuple(sources)),
        replace(state(), epoch=5, files=(written,), units=(of_unit,), losses=(loss,) if before else ()),
    ]
    files = ParquetFiles({sources[1].final: {"a": [1]}, written.final: rows})
    lost = {loss.path} if accepted_in is not None else set()
    settings = table_settings(columns=(("a", "bigint"),), writer=WriterOptions())
    assert len(audit_units(cast(FileSystem, files), finals, lost, settings)) == findings


class ParquetFiles:
    """A file system that has these tables at their paths."""

    def __init__(self, content: dict[str, dict[str, list[int]]]) -> None:
        self._content = content

    def read(self, path: str) -> bytes:
        if path not in self._content:
            raise NotFound(path)
        sink = pa.BufferOutputStream()
        pq.write_table(pa.table(self._content[path]), sink)
        return bytes(sink.getvalue().to_pybytes())
