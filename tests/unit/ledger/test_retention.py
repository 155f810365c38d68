"""What expires, what may be dropped, and what is deleted: rules E1 to E4 of docs/protocol.md."""

import math
from dataclasses import replace
from pathlib import Path

import pytest

from kafka2hive.config.keys import CompactOptions
from kafka2hive.config.load import load_text
from kafka2hive.config.yaml.problems import MapInvalid
from kafka2hive.ledger.draft import BoundGoesBack, draft
from kafka2hive.ledger.owned_ledger import OwnedLedger
from kafka2hive.ledger.ports import Ports
from kafka2hive.ledger.retention import _delete_files, never_in_hive
from kafka2hive.ledger.snapshot.change import Change, DataEpoch, Expiry
from kafka2hive.ledger.snapshot.expiry import NotExpired
from kafka2hive.model.errors import TableError
from kafka2hive.model.files import FileKind, HivePartition
from kafka2hive.model.paths.ledger import Generation, LedgerPaths
from kafka2hive.model.snapshot import ComparedTable, DroppedPartition, EventBounds, MovedPartition, Snapshot
from kafka2hive.service.hive.places import keep_seconds
from kafka2hive.service.retention.expired import success_files
from kafka2hive.service.tables.read_through import event_bounds, expired_before
from kafka2hive.service.verify.history import audit_history, expired_paths
from kafka2hive.storage.concurrency import SystemClock
from kafka2hive.storage.local import LocalFileSystem
from tests.harness.values import data_file, snapshot
from tests.unit.ledger.test_retire import InOrder, Place

TABLE, PLACE = "db.t", "file:///w/t"
OLD, YOUNG = (HivePartition(TABLE, f"dt={day}", f"{PLACE}/dt={day}") for day in (1, 2))
DAY_MS = 86_400_000
MAP = """
service: s
kafka: {{bootstrap.servers: k}}
storage: {{uri: "file:///w"}}
hive: {{url: "hive://h"}}
tables:
  - {{table: db.t, topics: [t], columns: {{at: timestamp}}, retain: 10d, {more}}}
"""


def state(**changes: object) -> Snapshot:
    return replace(snapshot(table=TABLE, location=PLACE, epoch=4), **changes)  # type: ignore[arg-type]


def after(before: Snapshot, change: Change) -> Snapshot:
    owned = OwnedLedger(LedgerPaths("file:///k", TABLE), Generation(1, "2026-01-01T00:00:00Z", "o"), before)
    return draft(owned, "s", "2026-01-01T00:00:00Z", change)


def test_a_partition_is_dropped_then_gone_then_cleared_and_the_audit_follows() -> None:
    dropped = after(state(), Expiry(expired_before_ms=7, dropped=frozenset({OLD})))
    gone = after(dropped, Expiry(gone=frozenset({OLD}), gone_at="2026-01-02T00:00:00Z"))
    looked = after(gone, Expiry(gone=frozenset({OLD}), gone_at="2026-01-03T00:00:00Z"))
    back = after(looked, Expiry(back=frozenset({OLD})))
    cleared = after(looked, Expiry(cleared=frozenset({OLD})))
    assert dropped.bounds == EventBounds(expired_before_ms=7)
    assert dropped.dropped == (DroppedPartition(partition=OLD, epoch=5),)
    assert looked.dropped[0].gone_since == "2026-01-02T00:00:00Z" and back.dropped[0].gone_since == ""
    assert cleared.dropped == () and cleared.bounds == dropped.bounds
    codes = {finding.code for finding in audit_history([state(), dropped, gone, looked, cleared])}
    assert not codes & {"verify.retention", "verify.bounds"}


@pytest.mark.parametrize(
    "in_use",
    [
        {"unregistered": (OLD,)},
        {"moved": (MovedPartition(partition=OLD, early=f"{PLACE}/_open/dt=1", epoch=3, late=0),)},
        {"dropped": (DroppedPartition(partition=OLD, epoch=3),)},
    ],
)
def test_a_partition_in_use_is_never_dropped(in_use: dict[str, object]) -> None:
    with pytest.raises(NotExpired, match="dt=1"):
        after(state(**in_use), Expiry(expired_before_ms=7, dropped=frozenset({OLD})))


def test_nothing_is_cleared_that_hive_may_have_and_nothing_fills_a_dropped_partition() -> None:
    dropped = after(state(), Expiry(expired_before_ms=7, dropped=frozenset({OLD})))
    with pytest.raises(NotExpired, match="Hive may still have it"):
        after(dropped, Expiry(cleared=frozenset({OLD})))
    with pytest.raises(NotExpired, match="nothing has expired"):
        after(state(), Expiry(dropped=frozenset({OLD})))
    file = replace(data_file(), hive_partition=OLD, kind=FileKind.DATA)
    with pytest.raises(TableError, match="dropped partition"):
        after(dropped, DataEpoch(files=(file,), accounts=(), bounds=dropped.bounds))


def test_dead_letters_are_told_from_rows_of_a_partition_with_the_same_path() -> None:
    letters = HivePartition("db.dead", OLD.path, "file:///w/dead/dt=1")
    dropped = after(state(unregistered=(OLD,)), Expiry(expired_before_ms=7, dropped=frozenset({letters})))
    rows, of_letters = (
        replace(data_file(), hive_partition=home, kind=kind)
        for home, kind in ((OLD, FileKind.DATA), (letters, FileKind.DEAD_LETTER))
    )
    assert after(dropped, DataEpoch(files=(rows,), accounts=(), bounds=dropped.bounds)).files == (rows,)
    with pytest.raises(TableError, match="correct this machine's clock"):
        after(dropped, DataEpoch(files=(of_letters,), accounts=(), bounds=dropped.bounds))
    with pytest.raises(NotExpired, match="Hive has not confirmed it"):
        after(state(unregistered=(letters,)), Expiry(expired_before_ms=7, dropped=frozenset({letters})))


COMPARED = ComparedTable(table=TABLE, location=PLACE, format="orc", columns="", partition_columns="")


def test_without_hive_a_partition_that_hive_never_had_is_gone_at_once_and_not_registered_any_more() -> None:
    told_at = "2026-01-02T00:00:00Z"
    change = Expiry(expired_before_ms=7, dropped=frozenset({OLD}), without_hive=True, gone_at=told_at)
    before = state(unregistered=(OLD, YOUNG))
    dropped = after(before, change)
    assert dropped.dropped == (DroppedPartition(partition=OLD, epoch=5, gone_since=told_at),)
    assert dropped.unregistered == (YOUNG,)
    cleared = after(dropped, Expiry(cleared=frozenset({OLD})))
    codes = {finding.code for finding in audit_history([before, dropped, cleared])}
    assert not codes & {"verify.retention", "verify.registrations"}
    assert never_in_hive(dropped) == {OLD}
    assert never_in_hive(replace(dropped, compared=(COMPARED,))) == frozenset()


@pytest.mark.parametrize(
    "told", [{"unregistered": (OLD,), "compared": (COMPARED,)}, {"unregistered": (YOUNG,)}]
)
def test_without_hive_nothing_is_dropped_that_an_earlier_map_has_told_hive_of(
    told: dict[str, object],
) -> None:
    change = Expiry(
        expired_before_ms=7, dropped=frozenset({OLD}), without_hive=True, gone_at="2026-01-02T00:00:00Z"
    )
    with pytest.raises(NotExpired, match="Hive may have it"):
        after(state(**told), change)
    dropped = after(state(unregistered=(OLD,)), change)
    codes = {finding.code for finding in audit_history([state(**told), dropped])}
    assert "verify.retention" in codes


@pytest.mark.parametrize("bounds", [None, EventBounds(expired_before_ms=6)])
def test_what_has_expired_stays_expired(bounds: EventBounds | None) -> None:
    with pytest.raises(BoundGoesBack, match="have expired"):
        after(state(bounds=EventBounds(expired_before_ms=7)), DataEpoch(files=(), accounts=(), bounds=bounds))
    assert after(state(bounds=EventBounds(expired_before_ms=7)), Expiry(expired_before_ms=6)).bounds == (
        EventBounds(expired_before_ms=7)
    )


def rule_of(more: str = "bucket: {{path: 'dt=%Y-%m-%d'}}") -> object:
    return load_text(MAP.format(more=more.format()), "m.yaml", {}).tables[0]


def test_the_bound_is_before_the_clock_and_before_the_newest_record() -> None:
    rule = rule_of()
    for now, newest, bound in ((100, 90, 80), (90, 100, 80), (5, 90, 0), (90, None, 0)):
        known = state(newest_ms=None if newest is None else newest * DAY_MS)
        assert expired_before(rule, known, now * DAY_MS) == bound * DAY_MS  # type: ignore[arg-type]
    expired = state(bounds=EventBounds(expired_before_ms=7))
    assert event_bounds(rule, expired) == EventBounds(expired_before_ms=7)  # type: ignore[arg-type]
    assert event_bounds(rule, state()) is None  # type: ignore[arg-type]


def test_without_compact_and_completion_early_files_are_retired_and_success_files_known() -> None:
    rule = rule_of()
    assert keep_seconds(rule) == CompactOptions().keep_seconds  # type: ignore[arg-type]
    assert keep_seconds(replace(rule, retain=None)) == math.inf  # type: ignore[arg-type, type-var]
    assert success_files(rule) == {"_SUCCESS"}  # type: ignore[arg-type]
    named = rule_of("bucket: {{path: 'dt=%Y-%m-%d'}}, completion: {{delay: 1d, success_file: _DONE}}")
    assert success_files(named) == {"_DONE", "_SUCCESS"}  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ("bucket: {{path: ''}}", "bucket.path is empty; it must name whole periods"),
        ("bucket: {{path: 'hr=%H'}}", "must name whole periods"),
        ("bucket: {{path: 'dt=%Y-%m-%d'}}, completion: {{delay: 10d}}", "longer than completion.delay"),
    ],
)
def test_a_retention_that_cannot_work_is_refused(more: str, message: str) -> None:
    with pytest.raises(MapInvalid) as caught:
        rule_of(more)
    assert message in "\n".join(problem.render("m") for problem in caught.value.problems)


def test_own_files_are_deleted_and_then_the_directories_but_files_of_others_stay(tmp_path: Path) -> None:
    place = Place(tmp_path)
    home, early = place.at_home, place.early
    later = Place._name(9, 7)
    (home / later).write_bytes(b"later")
    (home / "_SUCCESS").write_bytes(b"")
    ports = Ports(LocalFileSystem(), InOrder(), SystemClock(), lambda: "e" * 32)
    line = DroppedPartition(partition=place.home, epoch=5)
    first = _delete_files(ports, place.owned.state, line, {"_SUCCESS"})
    assert (first.files, first.is_clear) == (3, False) and not list(early.iterdir())
    second = _delete_files(ports, place.owned.state, line, {"_SUCCESS"})
    assert second.is_clear and [Path(path).name for path in second.foreign] == [later]
    assert [child.name for child in home.iterdir()] == [later] and not early.exists()
    (home / later).unlink()
    assert _delete_files(ports, place.owned.state, line, {"_SUCCESS"}).is_clear
    assert not home.exists() and (tmp_path / "t").exists()


def test_an_audit_does_not_miss_files_of_dropped_partitions() -> None:
    old = replace(data_file(), hive_partition=OLD, final=f"{OLD.location}/a", kind=FileKind.DATA)
    young = replace(data_file(), hive_partition=YOUNG, final=f"{YOUNG.location}/b", kind=FileKind.DATA)
    before = state(files=(old, young))
    assert expired_paths([before]) == frozenset()
    dropped = after(before, Expiry(expired_before_ms=7, dropped=frozenset({OLD})))
    assert expired_paths([before, dropped]) == {old.final}
