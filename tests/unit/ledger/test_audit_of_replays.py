"""A snapshot that replays dead letters is audited: each letter is a row, filtered, a tombstone, or a letter again, once."""

from dataclasses import replace

import pytest

from kafka2hive.ledger.history import Letters, letter_files
from kafka2hive.ledger.snapshot.change import Completeness, RegistrationUpdate, Replay
from kafka2hive.model.files import FileKind
from kafka2hive.model.offsets import AccountingMismatch, OffsetAccounting
from kafka2hive.model.snapshot import (
    ACCEPT_LOSS,
    DroppedPartition,
    EventBounds,
    RecordedOrder,
    ReplayedFile,
    RunningReplay,
    Snapshot,
)
from kafka2hive.service.verify.history import audit_history
from tests.unit.ledger.test_audit_of_losses import BEGINNING, DATA, LETTER, SECOND, file, following, loss

ROWS, AGAIN = file(2, 0, SECOND, 1), file(2, 0, SECOND, 1, FileKind.DEAD_LETTER)
ACCOUNT = OffsetAccounting(read=2, written=1, dead_lettered=1)
CHANGE = Replay(files=(ROWS, AGAIN), replayed=(ReplayedFile(path=LETTER.final, task=0, account=ACCOUNT),))
REPLAYED = following(DATA, CHANGE)


def found(*after: Snapshot) -> set[str]:
    return {finding.code for finding in audit_history([BEGINNING, DATA, *after])}


def test_replayed_letters_are_in_order_and_no_letters_to_replay_any_more() -> None:
    assert found(REPLAYED) == set()
    assert list(letter_files(DATA, [DATA])) == [LETTER]
    assert list(letter_files(REPLAYED, [REPLAYED, DATA])) == [AGAIN]
    # it is pending, and its letters may be hidden already
    assert list(letter_files(REPLAYED, [DATA])) == []
    later = following(REPLAYED, RegistrationUpdate())
    assert later.replayed == () and found(REPLAYED, later) == set()
    assert list(letter_files(later, [later, REPLAYED, DATA])) == [AGAIN]
    lines = (DroppedPartition(partition=LETTER.hive_partition, epoch=DATA.epoch),)
    dropped = replace(following(DATA, RegistrationUpdate()), dropped=lines)
    assert list(letter_files(dropped, [dropped, DATA])) == []
    cleared, letters = replace(dropped, epoch=dropped.epoch + 1, dropped=()), Letters(DATA)
    assert [letters.add(each) for each in (cleared, dropped, DATA)] == [[], [], []]
    assert letters.expired == [LETTER]
    lost = replace(REPLAYED, losses=(loss(AGAIN, ACCEPT_LOSS),))
    assert list(letter_files(lost, [REPLAYED, DATA])) == []


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"path": ROWS.final}, "verify.replay"),
        ({"path": "file:///w/unknown.final"}, "verify.replay"),
        ({"task": 1}, "verify.replay"),
        ({"account": replace(ACCOUNT, read=3, filtered=1)}, "verify.replay"),
        ({"account": replace(ACCOUNT, filtered=1)}, "verify.replay"),
    ],
)
def test_a_replay_that_says_anything_else_is_found(changed: dict[str, object], code: str) -> None:
    one = replace(REPLAYED.replayed[0], **changed)  # type: ignore[arg-type]
    assert code in found(replace(REPLAYED, replayed=(one,)))


def test_letters_that_are_replayed_twice_or_for_other_offsets_are_found() -> None:
    files = (file(3, 0, SECOND, 1), file(3, 0, SECOND, 1, FileKind.DEAD_LETTER))
    twice = following(REPLAYED, replace(CHANGE, files=files))
    assert found(REPLAYED, twice) == {"verify.replay"}
    elsewhere = tuple(replace(f, ranges=(BEGINNING_RANGE,)) for f in REPLAYED.files)
    assert {"verify.replay", "verify.file"} <= found(replace(REPLAYED, files=elsewhere))


BEGINNING_RANGE = replace(SECOND, start=0, end=6)


@pytest.mark.parametrize(
    "change",
    [
        replace(CHANGE, files=(ROWS,)),
        replace(CHANGE, files=(*CHANGE.files, file(2, 0, SECOND, 2))),
        replace(CHANGE, replayed=(replace(CHANGE.replayed[0], account=replace(ACCOUNT, filtered=1)),)),
    ],
)
def test_files_that_are_not_what_the_letters_became_are_never_committed(change: Replay) -> None:
    with pytest.raises(AccountingMismatch):
        following(DATA, change)


def test_rows_that_come_back_are_counted_as_open() -> None:
    tracked = replace(DATA, tracking=None)
    after = following(tracked, replace(CHANGE, completeness=Completeness()))
    assert [(o.files, o.rows, o.since) for o in after.open] == [(1, 1, 2)]


def letters_of(newest: Snapshot, snapshots: list[Snapshot], through: int = 99) -> list[object]:
    letters = Letters(newest, through)
    for each in snapshots:
        letters.add(each)
    return list(letters.oldest_first())


def test_letters_to_replay_have_the_bounds_by_which_their_records_were_read() -> None:
    bounds = EventBounds(late_before_ms=1), EventBounds(late_before_ms=2)
    data = replace(DATA, bounds=bounds[0])
    replayed = replace(REPLAYED, bounds=bounds[1])
    assert letters_of(data, [data]) == [(LETTER, bounds[0])]
    assert letters_of(replayed, [replayed, data]) == [(AGAIN, bounds[0])]
    assert letters_of(replayed, [data]) == []
    assert letters_of(replayed, [replayed, data], through=DATA.epoch) == []
    assert letters_of(data, [data], through=DATA.epoch) == [(LETTER, bounds[0])]
    lost = replace(replayed, losses=(loss(AGAIN, ACCEPT_LOSS),))
    assert letters_of(lost, [replayed, data]) == []


def test_a_replay_by_order_counts_what_its_lines_say_until_the_order_is_recorded() -> None:
    running = RunningReplay(order="o", through=DATA.epoch, files=1, account=ACCOUNT)
    begun = following(DATA, replace(CHANGE, running=running))
    assert found(begun) == set() and begun.replaying == running
    still = following(begun, RegistrationUpdate())
    assert still.replaying == running and found(begun, still) == set()
    done = RecordedOrder(
        id="o",
        kind="replay",
        given_by="a",
        given_at="t",
        done_at="t",
        epoch=still.epoch + 1,
        result="done {}",
    )
    ended = following(still, RegistrationUpdate(orders=(done,)))
    assert ended.replaying is None and found(begun, still, ended) == set()
    wrong = (
        (replace(begun, replaying=replace(running, files=2)),),
        (replace(begun, replaying=replace(running, through=begun.epoch)),),
        (begun, replace(still, replaying=None)),
        (begun, still, replace(ended, replaying=running)),
    )
    assert all("verify.order" in found(*each) for each in wrong)
