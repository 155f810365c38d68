"""A ledger from footers alone: proven offsets are accepted, unproven ones need an operator, and nothing is duplicated."""

from dataclasses import replace

import pytest

from kafka2hive.ledger.repair.rebuild import LedgerFile, LostLedger, RebuiltSnapshots, rebuild
from kafka2hive.model.errors import ManualActionRequired
from kafka2hive.model.files import FileKind, HivePartition
from kafka2hive.model.footer import Footer
from kafka2hive.model.offsets import OffsetAccounting, OffsetRange
from kafka2hive.service.verify.history import audit_history
from tests.harness.task_files import LEDGER, offsets
from tests.harness.values import file_name

PLACE = LostLedger(
    ledger_id=LEDGER,
    service="s",
    table="d.t",
    location="w/t",
    staging="w/t/_tmp",
    now="2013-01-01T00:00:00Z",
)


class Table:
    """The files of a table as tasks would have written them."""

    def __init__(self) -> None:
        self.files: list[LedgerFile] = []

    def wrote(
        self,
        epoch: int,
        *ranges: OffsetRange,
        rows: tuple[int, ...],
        task: int = 0,
        attempt: str = "",
        generation: int = 1,
        staged: tuple[int, ...] = (),
        written: int | None = None,
        letters: int = 0,
        plan: int = 0,
        accounts: bool = True,
        replay: bool = False,
    ) -> list[LedgerFile]:
        """Add one attempt of a task: a file for each of `rows`, the last with accounts; those numbered in `staged` are staged."""
        attempt = attempt or f"attempt-{epoch}-{task}"
        total = sum(rows) if written is None else written
        left = [total, letters]
        shares = []
        for r in ranges:
            share = [
                min(count, len(r) - done) for count, done in ((left[0], 0), (left[1], min(left[0], len(r))))
            ]
            left = [left[0] - share[0], left[1] - share[1]]
            read = sum(share)
            shares.append(
                OffsetAccounting(read=read, written=share[0], dead_lettered=share[1], absent=len(r) - read)
            )
        made = []
        counts = [(FileKind.DATA, n) for n in rows] + [(FileKind.DEAD_LETTER, letters)] * bool(letters)
        for number, (kind, count) in enumerate(counts):
            uuid = f"{len(self.files) + number:032x}"
            name = file_name(LEDGER, generation, epoch, task=task, uuid=uuid)
            home = "t" if kind is FileKind.DATA else "dead"
            partition = HivePartition(f"d.{home}", f"n={number}", f"w/{home}/n={number}")
            last = accounts and number == len(counts) - 1
            footer = Footer(
                kind=kind,
                ledger_id=LEDGER,
                table="d.t",
                generation=generation,
                epoch=epoch,
                task=task,
                attempt=attempt,
                planned_at_ms=plan,
                ranges=tuple(ranges),
                rows=count,
                partition=partition,
                accounts=tuple(shares) if last else None,
                replay=replay,
            )
            final = number not in staged
            path = (
                f"{partition.location}/{name.in_state('final')}"
                if final
                else f"w/t/_tmp/{name.in_state('pending')}"
            )
            made.append(LedgerFile(path=path, name=name, final=final, length=100, footer=footer))
        self.files += made
        return made

    def rebuilt(self, *accepted: OffsetRange) -> RebuiltSnapshots:
        result = rebuild(PLACE, self.files, lambda r: r in accepted)
        history = [s for s in (result.final, result.pending) if s]
        assert audit_history(history) == ()
        return result

    def stop(self, *accepted: OffsetRange) -> ManualActionRequired:
        with pytest.raises(ManualActionRequired) as stopped:
            rebuild(PLACE, self.files, lambda r: r in accepted)
        return stopped.value


def r(start: int, end: int, number: int = 0) -> OffsetRange:
    return offsets("t", number, start, end)


def ends(result: RebuiltSnapshots) -> dict[str, tuple[int, int]]:
    return {str(p.topic_partition): (p.start, p.end) for p in result.newest.positions}


@pytest.fixture
def table() -> Table:
    """Return two epochs, the second of two tasks, one of them with a dead letter and an absent offset."""
    made = Table()
    made.wrote(1, r(0, 10), r(0, 9, 1), rows=(10, 4))
    made.wrote(2, r(10, 20), rows=(6, 2), letters=1)
    made.wrote(2, r(9, 12, 1), rows=(3,), task=1)
    return made


def test_whole_files_give_the_whole_ledger_under_names_never_used(table: Table) -> None:
    result = table.rebuilt()
    assert ends(result) == {"t-0": (0, 20), "t-1": (0, 12)}
    assert (result.final.ledger_id, result.final.generation, result.final.epoch) == (LEDGER, 2, 3)
    assert {f.final for f in result.final.files} == {f.path for f in table.files}
    assert set(result.final.unregistered) == {f.hive_partition for f in result.final.files}
    assert sum(a.account.dead_lettered for a in result.final.accounts) == 1
    assert (result.pending, result.unproven) == (None, ())


def test_every_missing_file_is_noticed_whichever_it_is(table: Table) -> None:
    for missing in list(table.files):
        rest = Table()
        rest.files = [f for f in table.files if f is not missing]
        if (
            missing.footer.task == 1
        ):  # the newest epoch's only file of its topic partition: the offsets are read again
            assert ends(rest.rebuilt()) == {"t-0": (0, 20), "t-1": (0, 9)}
            continue
        stopped = rest.stop()
        assert stopped.code == "rebuild.unproven"
        assert all(str(source) in stopped.message for source in missing.footer.ranges)
        for tp in {source.topic_partition for source in missing.footer.ranges}:
            assert f"--accept-gap {tp.topic}:{tp.number}" in stopped.remedy
        accepted = rest.rebuilt(*missing.footer.ranges)
        assert ends(accepted) == {"t-0": (0, 20), "t-1": (0, 12)}  # visible rows are never read again
        assert {gap.range for gap in accepted.final.gaps} == set(missing.footer.ranges)


def test_a_hole_that_no_file_names_is_asked_about(table: Table) -> None:
    table.wrote(4, r(25, 30), rows=(5,))
    stopped = table.stop()
    assert (stopped.code, "t-0@[20, 25): no file names them" in stopped.message) == ("rebuild.unproven", True)
    result = table.rebuilt(r(20, 25))
    assert ends(result)["t-0"] == (0, 30)
    assert [gap.range for gap in result.final.gaps] == [r(20, 25)]


def test_what_lies_before_the_first_file_is_asked_about(table: Table) -> None:
    table.wrote(3, r(7, 9, 2), rows=(2,))
    assert "t-2@[0, 7): no file names them, unless the table began after them" in table.stop().message
    result = table.rebuilt(r(0, 7, 2))
    assert ends(result)["t-2"] == (0, 9)


def test_an_epoch_half_made_visible_becomes_pending_with_all_its_files(table: Table) -> None:
    half = table.wrote(3, r(20, 25), rows=(2, 3), staged=(1,))
    other = table.wrote(3, r(12, 15, 1), rows=(3,), task=1, staged=(0,))
    table.wrote(3, r(12, 15, 1), rows=(3,), task=1, staged=(0,), attempt="twin")
    orphan = table.wrote(4, r(25, 30), rows=(5,), staged=(0,))
    result = table.rebuilt()
    assert result.pending is not None
    assert (result.final.epoch, result.pending.epoch) == (5, 6)
    assert ends(result) == {"t-0": (20, 25), "t-1": (12, 15)}
    names = {f.final.rpartition("/")[2] for f in result.pending.files}
    assert names == {f.name.in_state("final") for f in (*half, *other)}
    assert all(f.staged.startswith("w/t/_tmp/") for f in result.pending.files)
    assert result.left_staged == 1 + len(orphan)


def test_staged_files_of_another_plan_or_without_all_their_rows_are_orphans(table: Table) -> None:
    table.wrote(3, r(20, 25), rows=(5,))
    table.wrote(3, r(12, 99, 1), rows=(87,), task=1, staged=(0,), plan=1)
    table.wrote(3, r(12, 15, 1), rows=(2,), task=1, staged=(0,), written=3, attempt="half")
    result = table.rebuilt()
    assert (result.pending, result.left_staged) == (None, 2)
    assert ends(result) == {"t-0": (0, 25), "t-1": (0, 12)}


def test_nothing_visible_means_nothing_to_rebuild_from(table: Table) -> None:
    only = Table()
    only.wrote(1, r(0, 5), rows=(5,), staged=(0,))
    assert only.stop().code == "rebuild.nothing"


def test_a_file_dumped_again_counts_for_the_one_that_was_lost(table: Table) -> None:
    lost = table.files.pop(0)
    table.wrote(3, *lost.footer.ranges, rows=(10,), attempt="again", written=10)
    result = table.rebuilt()
    assert ends(result) == {"t-0": (0, 20), "t-1": (0, 12)}
    assert sum(f.rows for f in result.final.files) == 26


def lost_and_dumped_again(staged: tuple[int, ...]) -> Table:
    """Return a task whose first file, of 4 rows, was lost and refetched by a later epoch in two files."""
    table = Table()
    table.wrote(1, r(0, 10), rows=(4, 3, 3))
    table.wrote(2, r(10, 20), rows=(10,))
    del table.files[0]
    table.wrote(5, r(0, 10), rows=(3, 1), written=4, generation=2, staged=staged, accounts=False)
    return table


def test_every_staged_file_of_a_half_visible_second_dump_is_pending() -> None:
    table = lost_and_dumped_again(staged=(1,))
    (staged,) = (f for f in table.files if not f.final)
    result = table.rebuilt()
    assert ends(result) == {"t-0": (0, 20)}
    assert (result.left_staged, result.unproven) == (0, ())
    assert result.pending is not None
    assert all(f.final.rpartition("/")[2] != staged.name.in_state("final") for f in result.final.files)
    assert staged.name.in_state("final") in {f.final.rpartition("/")[2] for f in result.pending.files}
    assert sum(f.rows for s in (result.final, result.pending) for f in s.files) == 20


def test_a_second_dump_that_is_all_visible_leaves_nothing_pending() -> None:
    result = lost_and_dumped_again(staged=()).rebuilt()
    assert (result.pending, sum(f.rows for f in result.final.files)) == (None, 20)


def test_two_second_dumps_of_one_epoch_are_both_pending() -> None:
    """Each is task 0 of its own plan."""
    table = lost_and_dumped_again(staged=(1,))
    table.wrote(3, r(20, 30), rows=(4, 6))
    lost = table.files.pop(-2)
    half = {"generation": 2, "staged": (1,), "accounts": False}
    table.wrote(5, r(20, 30), rows=(3, 1), written=lost.footer.rows, attempt="z", plan=1, **half)  # type: ignore[arg-type]
    result = table.rebuilt()
    assert (result.left_staged, result.unproven) == (0, ())
    assert result.pending is not None and sum(f.rows for f in result.pending.files) == 30


def test_the_rows_a_second_dump_of_dead_letters_wrote_by_the_way_stay_orphans() -> None:
    table = Table()
    table.wrote(1, r(0, 10), rows=(8,), letters=2)
    letters = table.files.pop()
    table.files[0] = replace(
        table.files[0], footer=replace(table.files[0].footer, accounts=letters.footer.accounts)
    )
    table.wrote(2, r(0, 10), rows=(8,), letters=2, staged=(0,))
    result = table.rebuilt()
    assert (result.pending, result.left_staged, result.unproven) == (None, 1, ())
    assert sum(f.rows for f in result.final.files) == 10


def test_two_second_dumps_whose_task_has_no_file_left_are_asked_about() -> None:
    table = Table()
    first, second = (
        table.wrote(5, r(0, 10), rows=(0,) * number + (rows,), attempt=str(number))
        for number, rows in enumerate((4, 6))
    )
    table.files = [first[0], second[1]]
    assert table.stop().code == "rebuild.unproven"
    result = table.rebuilt(r(0, 10))
    assert sum(f.rows for f in result.final.files) == 10


@pytest.mark.parametrize("overlap", [r(19, 25), r(0, 3)])
def test_offsets_that_go_back_are_never_guessed_about(table: Table, overlap: OffsetRange) -> None:
    table.wrote(3, overlap, rows=(len(overlap),))
    assert table.stop().code == "rebuild.went_back"


def test_two_visible_attempts_of_one_task_are_doubled_rows(table: Table) -> None:
    table.wrote(2, r(9, 12, 1), rows=(3,), task=1, attempt="twin")
    assert table.stop().code == "rebuild.impossible"


def test_a_footer_that_does_not_fit_its_name_stops(table: Table) -> None:
    table.files[0] = replace(table.files[0], name=replace(table.files[0].name, epoch=9))
    assert table.stop().code == "rebuild.impossible"


def test_footers_are_read_as_they_were_written(table: Table) -> None:
    for file in table.files:
        pairs = {k.encode(): v.encode() for k, v in file.footer.metadata().items()}
        assert Footer.parse({**pairs, b"other": b"\xff"}) == file.footer
        assert Footer.parse({**pairs, b"kafka2hive.format_version": b"1"}) is None
        for key in pairs:
            assert Footer.parse({**pairs, key: b"\xff["}) is None or key.endswith(
                (b"id", b"table", b"attempt", b"partition", b"location")
            )
            if key != b"kafka2hive.accounts":
                assert Footer.parse({k: v for k, v in pairs.items() if k != key}) is None


def test_replayed_letters_prove_no_row_that_was_read_with_them() -> None:
    table = Table()
    first = table.wrote(1, r(0, 100), rows=(80,), letters=20)
    table.wrote(2, r(100, 110), rows=(10,))
    table.wrote(3, r(0, 100), rows=(20,), attempt="again", replay=True)
    table.files.remove(first[1])  # hidden
    assert "t-0@[0, 100): task 0 of epoch 1: its dead letters were replayed" in table.stop().message
    assert ends(table.rebuilt(r(0, 100))) == {"t-0": (0, 110)}
    table.files.remove(first[0])  # retention
    stopped = table.stop()
    assert stopped.code == "rebuild.unproven" and "t-0@[0, 100)" in stopped.message
    result = table.rebuilt(r(0, 100))
    assert ends(result) == {"t-0": (0, 110)}
    assert sum(f.rows for f in result.final.files) == 30


def test_files_of_letters_of_one_task_may_be_replayed_in_one_epoch() -> None:
    table = Table()
    table.wrote(1, r(0, 100), rows=(), letters=20)
    table.files.clear()  # both files are hidden
    table.wrote(3, r(0, 100), rows=(10,), attempt="x", replay=True)
    table.wrote(3, r(0, 100), rows=(10,), attempt="y", task=1, replay=True)
    assert table.stop().code == "rebuild.unproven"
    assert sum(f.rows for f in table.rebuilt(r(0, 100)).final.files) == 20


def test_a_replay_that_is_half_visible_goes_on() -> None:
    table = Table()
    table.wrote(1, r(0, 100), rows=(80,), letters=20)
    table.wrote(3, r(0, 100), rows=(15,), letters=5, attempt="x", replay=True, staged=(1,))
    result = table.rebuilt(r(0, 100))
    assert sum(f.rows for f in result.newest.files) == 120
    table.files = [f for f in table.files if f.footer.replay]
    table.wrote(2, r(100, 110), rows=(10,))
    result = table.rebuilt(r(0, 100))
    assert ends(result) == {"t-0": (0, 110)} and result.pending is not None
    assert sum(f.rows for f in result.newest.files) == 30
