"""The last look before a commit: whatever does not add up in the manifests of an epoch commits nothing."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from kafka2hive.model.errors import TableError
from kafka2hive.model.files import DataFile, FileKind, HivePartition
from kafka2hive.model.offsets import (
    AccountingMismatch,
    OffsetAccounting,
    OffsetRange,
    RangeAccounting,
    TopicPartition,
)
from kafka2hive.plan.contract import NEVER, TableFailure, TableManifest
from kafka2hive.service.tables.manifests import Outcome, judge_manifests
from tests.harness.task_files import delivered_as, offsets
from tests.harness.values import data_file

FIRST, SECOND, THIRD = offsets("t", 0, 0, 100), offsets("t", 0, 100, 130), offsets("t", 1, 7, 17)
NOTHING = offsets("t", 2, 5, 5)
PLANNED = (FIRST, SECOND, THIRD, NOTHING)
HERE = HivePartition("db.t", "dt=1", "file:///w/db.t/dt=1")

Manifests = tuple[TableManifest, ...]


def file_of(kind: FileKind, rows: int, task: int) -> DataFile:
    name = f"{kind.value}-{task}"
    return data_file(
        kind=kind,
        staged=f"file:///w/db.t/_tmp/{name}",
        final=f"{HERE.location}/{name}",
        hive_partition=HERE,
        length=9,
        rows=rows,
        checksum="crc32:00000000",
        task=task,
    )


def manifest_of(task: int, *accounts: RangeAccounting, **more: Any) -> TableManifest:
    """With one file of each kind that has rows, and a client that delivered just these records."""
    total = sum((a.account for a in accounts), OffsetAccounting())
    files = [file_of(FileKind.DATA, total.written, task)]
    if total.dead_lettered:
        files.append(file_of(FileKind.DEAD_LETTER, total.dead_lettered, task))
    return TableManifest(
        table="db.t",
        task=task,
        generation=1,
        epoch=7,
        files=tuple(files),
        accounts=accounts,
        delivered=delivered_as(accounts),
        **more,
    )


SOUND: Manifests = (
    manifest_of(
        0,
        RangeAccounting(0, FIRST, OffsetAccounting(90, 80, 4, 3, 3, 10, 900)),
        RangeAccounting(0, NOTHING, OffsetAccounting()),
        leader_epochs=((TopicPartition("t", 0), 4),),
        newest_ms=50,
    ),
    manifest_of(
        1,
        RangeAccounting(1, SECOND, OffsetAccounting(30, 30, bytes=300)),
        RangeAccounting(1, THIRD, OffsetAccounting(10, 9, 0, 1, 0, 0, 100)),
        leader_epochs=((TopicPartition("t", 0), 6), (TopicPartition("t", 1), 2)),
        newest_ms=40,
    ),
)


def judge(
    manifests: Manifests, planned: tuple[OffsetRange, ...] = PLANNED, dead_letter_share: float = 0.1
) -> Outcome:
    return judge_manifests("db.t", planned, manifests, dead_letter_share, frozenset(), "c", "file:///w/db.t")


def with_account(**changes: int) -> Manifests:
    """The first range's account changed; the client still says what it said."""
    one = SOUND[0].accounts[0]
    changed = replace(one, account=replace(one.account, **changes))
    return replace(SOUND[0], accounts=(changed, *SOUND[0].accounts[1:])), SOUND[1]


def with_delivered(**changes: Any) -> Manifests:
    """What the client says of the first range changed."""
    return replace(SOUND[0], delivered=(replace(SOUND[0].delivered[0], **changes),)), SOUND[1]


def both_say(absent: int) -> Manifests:
    """The first range's absent offsets, in the account and in the client's words."""
    account, delivered = with_account(absent=absent)[0], with_delivered(absent=absent)[0]
    return replace(account, delivered=delivered.delivered), SOUND[1]


def with_file(kind: FileKind, more: int) -> Manifests:
    """The first task's file of this kind holds other rows."""
    files = tuple(replace(f, rows=f.rows + more) if f.kind is kind else f for f in SOUND[0].files)
    return replace(SOUND[0], files=files), SOUND[1]


def test_a_sound_epoch_is_committed_with_all_that_its_tasks_say() -> None:
    outcome = judge(SOUND)
    assert outcome.total == OffsetAccounting(130, 119, 4, 4, 3, 10, 1300)
    assert outcome.change.accounts == (*SOUND[0].accounts, *SOUND[1].accounts)
    assert outcome.change.files == (*SOUND[0].files, *SOUND[1].files)
    assert outcome.change.leader_epochs == {TopicPartition("t", 0): 6, TopicPartition("t", 1): 2}
    assert outcome.change.newest_ms == 50
    assert judge(SOUND[::-1]).change.leader_epochs == outcome.change.leader_epochs


WRONG: dict[str, Callable[[], Manifests]] = {
    "a data file holds a row less": lambda: with_file(FileKind.DATA, -1),
    "a data file holds a row more": lambda: with_file(FileKind.DATA, 1),
    "a dead-letter file holds a row less": lambda: with_file(FileKind.DEAD_LETTER, -1),
    "a dead-letter file holds a row more": lambda: with_file(FileKind.DEAD_LETTER, 1),
    "a row went into the other kind of file": lambda: (
        replace(SOUND[0], files=(file_of(FileKind.DATA, 81, 0), file_of(FileKind.DEAD_LETTER, 2, 0))),
        SOUND[1],
    ),
    "a record is nowhere": lambda: with_account(written=79),
    "a record is counted in two places": lambda: with_account(filtered=5),
    "a record more than the range has": lambda: with_account(read=91, written=81),
    "an offset less than the range has": lambda: with_account(absent=9),
    "task and client agree on an offset less than the range has": lambda: both_say(absent=9),
    "task and client agree on an offset more than the range has": lambda: both_say(absent=11),
    "a negative count hides another": lambda: with_account(
        written=84, filtered=0, tombstones=-1, dead_lettered=7
    ),
    "a negative absent hides a record more": lambda: with_account(read=101, written=91, absent=-1),
    "a negative size": lambda: with_account(bytes=-1),
    "read and absent are mixed up": lambda: with_account(read=91, written=81, absent=9),
    "the client delivered a record more": lambda: with_delivered(records=91),
    "the client passed over an offset less": lambda: with_delivered(absent=9),
    "the client began behind the range's start": lambda: with_delivered(begun=1),
    "the client did not come to the end": lambda: with_delivered(position=99),
    "the end of the log came too early": lambda: with_delivered(position=99, log_end=99),
    "the client says nothing of a range": lambda: (replace(SOUND[0], delivered=()), SOUND[1]),
    "the client speaks of another range": lambda: (
        replace(SOUND[0], delivered=(replace(SOUND[0].delivered[0], range=offsets("t", 3, 0, 100)),)),
        SOUND[1],
    ),
    "the client says the same range twice": lambda: (
        replace(SOUND[0], delivered=SOUND[0].delivered * 2),
        SOUND[1],
    ),
    "a task is missing": lambda: (SOUND[0],),
    "no task said anything": lambda: (),
    "a task is there twice": lambda: (*SOUND, SOUND[1]),
    "a range that nobody planned": lambda: (
        *SOUND,
        manifest_of(2, RangeAccounting(2, offsets("t", 4, 0, 1), OffsetAccounting(1, 1))),
    ),
    "another range than the one planned": lambda: (
        SOUND[0],
        manifest_of(
            1,
            RangeAccounting(1, SECOND, OffsetAccounting(30, 30)),
            RangeAccounting(1, offsets("t", 1, 7, 18), OffsetAccounting(11, 11)),
        ),
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_does_not_add_up_is_refused(what: str) -> None:
    with pytest.raises(AccountingMismatch):
        judge(WRONG[what]())


def test_a_plan_of_which_only_a_part_was_read_is_refused() -> None:
    with pytest.raises(AccountingMismatch, match="planned"):
        judge(SOUND, (*PLANNED, offsets("t", 9, 0, 1)))
    with pytest.raises(AccountingMismatch, match="planned"):
        judge(SOUND, PLANNED[1:])


def test_the_end_of_the_log_behind_a_range_is_as_good_as_the_clients_position() -> None:
    assert judge(with_delivered(position=NEVER, log_end=100)).total.read == 130


def test_one_failed_task_commits_nothing_even_where_its_numbers_are_right() -> None:
    failed = replace(SOUND[1], failure=TableFailure("storage.no_room", "file:///w/db.t/_tmp: quota"))
    with pytest.raises(TableError, match="quota") as error:
        judge((SOUND[0], failed))
    assert error.value.code == "storage.no_room"


def test_an_account_of_no_offsets_needs_no_word_of_the_client() -> None:
    account = RangeAccounting(0, NOTHING, OffsetAccounting())
    assert judge((manifest_of(0, account),), (NOTHING,)).total == OffsetAccounting()
