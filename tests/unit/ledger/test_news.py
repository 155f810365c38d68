"""Which news follow from snapshots: ids, order, certificates that were never in place, gaps of the history, progress."""

from dataclasses import replace
from pathlib import Path

import pytest

from kafka2hive.ledger.draft import NewsGoBack, draft
from kafka2hive.ledger.history import finals_after
from kafka2hive.ledger.news import NewsKind, news_of, news_of_history
from kafka2hive.ledger.owned_ledger import OwnedLedger
from kafka2hive.ledger.snapshot.change import RegistrationUpdate
from kafka2hive.ledger.snapshot.codec import encode
from kafka2hive.model.files import HivePartition
from kafka2hive.model.offsets import OffsetAccounting
from kafka2hive.model.paths.ledger import Generation, LedgerPaths
from kafka2hive.model.snapshot import (
    NO_SNAPSHOT,
    REBUILT,
    Certificate,
    CompactionUnit,
    DroppedPartition,
    NewsProgress,
    ReplayedFile,
    Snapshot,
)
from kafka2hive.service.verify.snapshot_lines import audit_lines
from kafka2hive.storage.local import LocalFileSystem
from tests.harness.values import data_file, snapshot

TABLE, HOME = "air.flights", "file:///w/flights"
DAY = HivePartition(TABLE, "dt=2026-11-21", f"{HOME}/dt=2026-11-21")
NEXT = HivePartition(TABLE, "dt=2026-11-22", f"{HOME}/dt=2026-11-22")
ALL = Certificate(
    partition=DAY, since=3, files=2, rows=9, through="2026-11-22T01:00:00Z", policy="1h", success_file=""
)


def kinds(state: Snapshot) -> list[str]:
    return [news.kind.value for news in news_of(state)]


def test_what_is_withdrawn_is_told_before_what_is_complete() -> None:
    """A snapshot withdraws a certificate that was never in place and certifies the same partition again."""
    state = snapshot(
        epoch=7,
        certificates=(ALL,),
        reopened=(DAY,),
        units=(
            CompactionUnit(partition=NEXT, task=0, first="a", last="b", sources=2, rows=5),
            CompactionUnit(partition=NEXT, task=1, first="c", last="d", sources=2, rows=6),
        ),
        dropped=(
            DroppedPartition(partition=DAY, epoch=6),
            DroppedPartition(partition=NEXT, epoch=7),
        ),
        files=(data_file(task=4, hive_partition=NEXT), data_file(task=5, hive_partition=DAY)),
        replayed=(ReplayedFile(path="x.final", task=4, account=OffsetAccounting(read=3, written=3)),),
    )
    assert kinds(state) == ["reopened", "replayed", "compacted", "complete", "dropped"]
    of = {news.kind: news for news in news_of(state)}
    assert of[NewsKind.COMPLETE].id == f"{state.ledger_id}/7/complete/dt=2026-11-21"
    assert of[NewsKind.REPLAYED].id == f"{state.ledger_id}/7/replayed/4"
    assert of[NewsKind.REPLAYED].facts["partitions"] == [NEXT.path]
    assert of[NewsKind.COMPACTED].facts == {"rows": 11}
    assert of[NewsKind.COMPLETE].facts["rows"] == 9
    assert of[NewsKind.DROPPED].partition == NEXT


def test_a_certificate_that_was_never_in_place_is_not_told() -> None:
    first, second = snapshot(epoch=7, certificates=(ALL,)), snapshot(epoch=8, reopened=(DAY,))
    assert [[n.kind.value for n in news] for news in news_of_history(6, [first, second])] == [[]]
    assert kinds(first) == ["complete"] and news_of(first, [DAY]) == ()


def test_epochs_that_lack_in_the_history_are_told_as_lost() -> None:
    kept = [snapshot(epoch=epoch, certificates=(ALL,)) for epoch in (4, 9)]
    told = [news for epoch in news_of_history(1, [*kept, snapshot(epoch=10)]) for news in epoch]
    assert [(news.kind.value, news.epoch) for news in told] == [
        ("lost", 3),
        ("complete", 4),
        ("lost", 8),
        ("complete", 9),
    ]
    assert told[0].facts == {"first": 2, "last": 3}


def test_a_rebuilt_ledger_tells_that_what_was_before_is_unknown() -> None:
    first = replace(snapshot(epoch=7), owner=REBUILT, previous=NO_SNAPSHOT)
    assert kinds(first) == ["lost"]
    assert kinds(replace(first, previous="sha256:of the final one")) == []


def test_snapshots_are_found_in_the_archive_and_once(tmp_path: Path) -> None:
    files, paths = LocalFileSystem(), LedgerPaths(tmp_path.as_uri(), TABLE)
    here, archive = f"{tmp_path.as_uri()}/g", f"{paths.archives}/2026"
    files.mkdirs(here)
    files.mkdirs(archive)

    def put(directory: str, epoch: int, content: bytes | None = None) -> None:
        path = Path(directory.removeprefix("file://")) / f"e{epoch:06d}.final"
        path.write_bytes(encode(snapshot(epoch=epoch)) if content is None else content)

    for epoch in (2, 3, 4):
        put(archive, epoch)
    for epoch in (4, 5, 6):
        put(here, epoch)
    put(here, 7, b"")  # junk of a delayed create
    found = [each.epoch for each in finals_after(files, paths, here, 1, 100)]
    assert found == [2, 3, 4, 5, 6]
    assert [each.epoch for each in finals_after(files, paths, here, 4, 1)] == [5]
    assert finals_after(files, paths, here, 6, 10) == []


def test_a_receiver_never_goes_back_and_never_gets_ahead() -> None:
    state = snapshot(epoch=7, told=(NewsProgress("airflow", 5),))
    owned = OwnedLedger(LedgerPaths("file:///k", TABLE), Generation(1, "now", "me"), state)

    def after(*told: NewsProgress) -> tuple[NewsProgress, ...]:
        return draft(owned, "air", "now", RegistrationUpdate(told=told)).told

    assert after(NewsProgress("dbt", 2), NewsProgress("airflow", 7)) == (
        NewsProgress("airflow", 7),
        NewsProgress("dbt", 2),
    )
    assert after() == (), "the map does not name it any more"
    assert draft(owned, "air", "now", RegistrationUpdate()).told == state.told, (
        "a command does not know the map"
    )
    for wrong in (NewsProgress("airflow", 4), NewsProgress("airflow", 8)):
        with pytest.raises(NewsGoBack):
            after(wrong)


def test_the_audit_sees_a_receiver_that_goes_back() -> None:
    before = snapshot(epoch=7, told=(NewsProgress("airflow", 5),))
    for through, wrong in ((4, True), (8, True), (7, False)):
        after = replace(before, epoch=8, told=(NewsProgress("airflow", through),))
        codes = {finding.code for finding in audit_lines([before, after])}
        assert ("verify.told" in codes) is wrong
