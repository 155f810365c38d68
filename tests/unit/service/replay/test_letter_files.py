"""A replay decodes letters by the bounds of their epoch, and by what has expired since: rule E1 of docs/protocol.md."""

from dataclasses import replace

import pytest

from kafka2hive.ledger.history import Letters
from kafka2hive.ledger.owned_ledger import OwnedLedger
from kafka2hive.model.files import DataFile, FileKind, HivePartition
from kafka2hive.model.offsets import OffsetAccounting, RangeAccounting
from kafka2hive.model.paths.ledger import Generation, LedgerPaths
from kafka2hive.model.snapshot import AcceptedLoss, DroppedPartition, EventBounds, ReplayedFile, Snapshot
from kafka2hive.plan.contract import TableFailure, TableManifest, TableTask
from kafka2hive.service.replay.letter_files import FileOfLetters, UntouchedFiles, judge_batch
from tests.harness.task_files import offsets
from tests.harness.values import data_file, snapshot

READ = offsets("t", 0, 5, 9)
LETTERS = data_file(kind=FileKind.DEAD_LETTER, final="w/letters", rows=3, ranges=(READ,))


def task(bounds: EventBounds | None, state: Snapshot, *, counts_only: bool = False) -> TableTask:
    owned = OwnedLedger(LedgerPaths("file:///k", "d.t"), Generation(3, "20260101T000000Z", "me"), state)
    return FileOfLetters(LETTERS, bounds).task(
        state=state, owned=None if counts_only else owned, planned_at_ms=7, reason="", since=""
    )


@pytest.mark.parametrize("counts_only", [False, True])
@pytest.mark.parametrize(
    ("known", "expired", "bounds"),
    [
        (None, 0, None),
        (None, 50, EventBounds(expired_before_ms=50)),
        (EventBounds(planned_ms=3, late_before_ms=9), 0, EventBounds(planned_ms=3, late_before_ms=9)),
        (
            EventBounds(planned_ms=3, late_before_ms=9, expired_before_ms=20),
            50,
            EventBounds(planned_ms=3, late_before_ms=9, expired_before_ms=50),
        ),
    ],
)
def test_rows_that_have_expired_since_their_letters_were_written_stay_letters(
    known: EventBounds | None, expired: int, bounds: EventBounds | None, counts_only: bool
) -> None:
    state = snapshot(epoch=8, bounds=EventBounds(expired_before_ms=expired) if expired else None)
    made = task(known, state, counts_only=counts_only)
    assert made.bounds == bounds and made.ranges == (READ,) and made.planned_at_ms == 7
    assert (made.epoch, made.generation) == ((0, 0) if counts_only else (9, 3))


def manifest(read: int, dead_lettered: int, **more: object) -> TableManifest:
    account = OffsetAccounting(read=read, written=read - dead_lettered, dead_lettered=dead_lettered)
    return TableManifest(
        table="d.t",
        task=0,
        generation=3,
        epoch=9,
        files=(),
        accounts=(RangeAccounting(0, READ, account),),
        chosen=read,
        **more,  # type: ignore[arg-type]
    )


def test_a_batch_replaces_only_files_of_which_a_letter_became_something_else() -> None:
    untouched = UntouchedFiles()
    batch = judge_batch({0: LETTERS}, [manifest(3, 3)], untouched)
    assert (batch.replayed, batch.files, untouched.files, untouched.letters) == ((), (), 1, 3)
    batch = judge_batch({0: LETTERS}, [manifest(3, 2)], untouched)
    assert [each.path for each in batch.replayed] == ["w/letters"] and untouched.files == 1


def test_a_failure_of_the_tasks_ends_the_batch_and_replaces_nothing() -> None:
    failed = replace(manifest(3, 0), failure=TableFailure("storage.unavailable", "no answer", ""))
    other = replace(manifest(3, 0), task=1)
    batch = judge_batch({0: LETTERS, 1: LETTERS}, [failed, other], UntouchedFiles())
    assert batch.failure is failed.failure and batch.replayed == ()


PLACE, OTHER_PLACE = (
    HivePartition("d.letters", f"source_table=d.t/dt={day}", f"w/dt={day}") for day in (1, 2)
)


def letters_of(epoch: int, place: HivePartition) -> DataFile:
    return replace(LETTERS, final=f"{place.location}/e{epoch}", hive_partition=place)


def test_lost_replayed_and_dropped_files_have_no_letters_and_later_ones_have() -> None:
    """The lines are in the newest snapshot, or only in an older one."""
    files = [letters_of(epoch, PLACE) for epoch in range(1, 5)]
    kept = letters_of(2, OTHER_PLACE)
    history = [snapshot(epoch=epoch, files=(files[epoch - 1],)) for epoch in range(1, 5)]
    history[1] = replace(history[1], files=(files[1], kept))
    loss = AcceptedLoss(path=files[3].final, remedy="accept-loss", rows=3, accepted_at="now", epoch=5)
    replayed = ReplayedFile(path=files[2].final, task=0, account=OffsetAccounting(read=3, written=3))
    line = DroppedPartition(partition=PLACE, epoch=2)

    def found(newest: Snapshot, *older: Snapshot) -> list[str]:
        letters = Letters(newest)
        for each in (newest, *older):
            letters.add(each)
        return [file.final for file, _ in letters.oldest_first()]

    older = history[::-1]
    everything = [files[0].final, kept.final, files[1].final, files[2].final, files[3].final]
    assert found(snapshot(epoch=6), *older) == everything
    lines = snapshot(epoch=6, losses=(loss,), replayed=(replayed,), dropped=(line,))
    assert found(lines, *older) == [kept.final]
    ended = snapshot(epoch=5, losses=(loss,), replayed=(replayed,), dropped=(line,))
    assert found(snapshot(epoch=6, losses=(loss,)), ended, *older) == [kept.final]
    assert found(snapshot(epoch=6, dropped=(line,)), *older) == [kept.final, files[2].final, files[3].final]
