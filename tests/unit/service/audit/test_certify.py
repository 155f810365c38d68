"""Complete partitions in the ledger: certificates are written once, after a crash too; another's text stops the table."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from kafka2hive.ledger.audit.audit import audit_history
from kafka2hive.ledger.commit import commit
from kafka2hive.ledger.epoch import publish, roll_forward
from kafka2hive.ledger.owned_ledger import OwnedLedger
from kafka2hive.ledger.reading.history import History, read_history
from kafka2hive.ledger.reading.look import look
from kafka2hive.ledger.snapshot.change import Completeness, NotTracked, RegistrationUpdate
from kafka2hive.ledger.snapshot.completeness import NotOpen
from kafka2hive.ledger.snapshot.draft import draft
from kafka2hive.ledger.start import StartOrder, start
from kafka2hive.ledger.take_over import Owners
from kafka2hive.model.errors import ManualActionRequired
from kafka2hive.model.files import HivePartition
from kafka2hive.model.offsets import OffsetRange, TopicPartition
from kafka2hive.service.audit.verified import VerifyOrder
from kafka2hive.service.audit.verify import verify
from tests.harness.cli_ledger import READ, TABLE, Service, invoke, local, pending_service, tree
from tests.harness.owner import new_owner
from tests.harness.staged_epoch import commit_staged

DAYS = ("dt=2013-01-02", "dt=2013-01-03")
FLIGHTS = TopicPartition("flights", 0)


class Dump:
    """A table of two open days, whose first day of all was dumped before anybody asked which are complete."""

    def __init__(self, folder: Path) -> None:
        self.service: Service = pending_service(folder)
        self.owned: OwnedLedger = self.start()
        self.publish(Completeness(through="2013-01-03T00:00:00Z"))
        self.dump()

    def start(self) -> OwnedLedger:
        wiring = self.service.wiring
        location = wiring.map.tables[0].location
        order = StartOrder(wiring.paths(TABLE), lambda: None, Owners(new_owner), location)
        self.owned = start(wiring.ports, order).owned
        return self.owned

    def publish(self, completeness: Completeness | NotTracked | None) -> None:
        change = RegistrationUpdate(completeness=completeness)
        self.owned = publish(self.service.wiring.ports, self.owned, change).owned

    def dump(self) -> None:
        """An epoch with a file for each day; its driver is killed behind the commit."""
        end = next(p.end for p in self.owned.state.positions)
        commit_staged(self.service.wiring, self.owned, OffsetRange(FLIGHTS, end, end + READ), DAYS)
        self.start()

    def commit(self, day: str) -> OwnedLedger:
        """The day is complete, and the driver killed behind the commit."""
        change = RegistrationUpdate(completeness=self.complete(day))
        at = "2013-01-04T01:00:05Z"
        return commit(self.service.wiring.ports, self.owned, draft(self.owned, "demo", at, change))

    def complete(self, *days: str) -> Completeness:
        return Completeness(
            through="2013-01-04T01:00:00Z",
            complete=frozenset(self.partition(day) for day in days),
            policy="3600s after its end",
            success_file="_SUCCESS",
        )

    def partition(self, day: str) -> HivePartition:
        location = self.service.wiring.map.tables[0].location
        return HivePartition(TABLE, day, f"{location}/{day}")

    def certificates(self, day: str) -> list[Path]:
        return sorted(local(self.partition(day).location).glob("_kafka2hive_complete-*.json"))

    def findings(self) -> set[tuple[str, str]]:
        (table,) = verify(self.service.wiring, VerifyOrder(), None, None).tables
        return {(f.code, f.where) for f in table.findings}

    def history(self) -> History:
        files = self.service.wiring.ports.files
        return read_history(files, look(files, self.service.wiring.paths(TABLE)))


@pytest.fixture
def dump(tmp_path: Path) -> Dump:
    return Dump(tmp_path)


def test_a_certificate_counts_what_came_since_partitions_are_tracked(dump: Dump) -> None:
    dump.dump()
    dump.publish(dump.complete(DAYS[0]))
    (path,) = dump.certificates(DAYS[0])
    text = json.loads(path.read_text())
    assert (text["files"], text["rows"], text["epochs"]) == (2, READ, [4, 6])
    assert text["complete_through"] == "2013-01-04T01:00:00Z"
    assert text["positions"] == [{"topic": "flights", "number": 0, "end": 5 + 3 * READ}]
    assert (path.parent / "_SUCCESS").read_bytes() == b""
    assert [each.partition.path for each in dump.owned.state.open] == [DAYS[1]]
    assert dump.findings() == set()


def test_late_rows_get_a_certificate_of_their_own_and_the_first_stays_as_it_is(dump: Dump) -> None:
    dump.publish(dump.complete(DAYS[0]))
    (first,) = dump.certificates(DAYS[0])
    before = first.read_bytes()
    dump.dump()
    dump.publish(dump.complete(*DAYS))
    again, later = dump.certificates(DAYS[0])
    assert (again, again.read_bytes()) == (first, before)
    assert json.loads(later.read_text())["rows"] == READ // 2
    assert dump.findings() == set()


@pytest.mark.parametrize("written", ["nothing", "draft", "certificate", "everything"])
def test_whoever_rolls_forward_writes_the_same_certificate(dump: Dump, written: str) -> None:
    pending = dump.commit(DAYS[0])
    if written in ("certificate", "everything"):
        roll_forward(dump.service.wiring.ports, pending)
        local(dump.owned.snapshot_path(pending.state.epoch, "final")).rename(local(pending.state_path))
    if written == "certificate":
        (local(dump.partition(DAYS[0]).location) / "_SUCCESS").unlink()
    before = [path.read_bytes() for path in dump.certificates(DAYS[0])]
    dump.start()
    (path,) = dump.certificates(DAYS[0])
    assert before in ([], [path.read_bytes()])
    assert (path.parent / "_SUCCESS").exists()
    assert dump.findings() == set()


def test_another_text_in_its_place_stops_the_table_and_changes_nothing(dump: Dump, tmp_path: Path) -> None:
    pending = dump.commit(DAYS[0])
    place = local(dump.partition(DAYS[0]).location)
    path = place / (
        f"_kafka2hive_complete-{pending.state.ledger_id[:8]}-g{pending.generation.number:06d}"
        f"-e{pending.state.epoch:06d}.json"
    )
    path.write_text("{}")
    before = tree(tmp_path)
    with pytest.raises(ManualActionRequired) as stopped:
        roll_forward(dump.service.wiring.ports, pending)
    assert stopped.value.code == "ledger.conflict" and str(path) in stopped.value.message
    assert (tree(tmp_path), path.read_text()) == (before, "{}")


def test_what_has_no_files_since_cannot_be_complete(dump: Dump, tmp_path: Path) -> None:
    before = tree(tmp_path)
    with pytest.raises(NotOpen, match="dt=2013-01-01"):
        dump.publish(dump.complete("dt=2013-01-01"))
    assert tree(tmp_path) == before


def test_a_map_that_asks_no_more_ends_the_tracking(dump: Dump) -> None:
    dump.publish(NotTracked())
    assert dump.owned.state.open == ()
    dump.publish(None)
    dump.publish(Completeness())
    tracked = [each.tracking and each.tracking.since for each in dump.history().all[-4:]]
    assert tracked == [3, None, None, dump.owned.state.epoch]
    assert dump.findings() == set()


def test_the_time_that_was_read_through_never_goes_back(dump: Dump) -> None:
    dump.publish(Completeness(through="2013-01-02T00:00:00Z"))
    dump.publish(Completeness())
    assert dump.owned.state.tracking is not None
    assert dump.owned.state.tracking.through == "2013-01-03T00:00:00Z"


def test_verify_tells_a_certificate_that_is_gone_or_changed(dump: Dump) -> None:
    dump.publish(dump.complete(*DAYS))
    gone, changed = dump.certificates(DAYS[0])[0], dump.certificates(DAYS[1])[0]
    gone.unlink()
    changed.write_text(changed.read_text().replace('"rows": 5', '"rows": 6'))
    assert dump.findings() == {("verify.certificate", f"file://{path}") for path in (gone, changed)}


def test_the_audit_counts_anew(dump: Dump) -> None:
    dump.publish(dump.complete(DAYS[0]))
    *before, newest = dump.history().all
    (right,) = newest.certificates
    (still_open,) = newest.open
    assert newest.tracking is not None
    for edited in (
        replace(newest, certificates=(replace(right, rows=right.rows + 1),)),
        replace(newest, certificates=(replace(right, since=right.since - 1),)),
        replace(newest, certificates=(replace(right, through="2099-01-01T00:00:00Z"),)),
        replace(newest, certificates=()),
        replace(newest, open=(still_open, replace(still_open, partition=right.partition))),
        replace(newest, open=(replace(still_open, files=9),)),
        replace(newest, open=()),
        replace(newest, tracking=replace(newest.tracking, since=1)),
        replace(newest, tracking=replace(newest.tracking, through="2013-01-01T00:00:00Z")),
        replace(newest, tracking=None),
    ):
        assert "verify.completeness" in {f.code for f in audit_history([*before, edited])}, edited


def test_status_shows_open_partitions_and_up_to_when_all_was_read(dump: Dump) -> None:
    dump.publish(dump.complete(DAYS[0]))
    path = str(dump.service.map)
    assert "1 partition open; read through 2013-01-04T01:00:00Z" in invoke("status", "-c", path).stdout
    shown = json.loads(invoke("status", "--json", "-c", path).stdout)["tables"][0]["completion"]
    assert shown["read_through"] == "2013-01-04T01:00:00Z"
    assert [(each["partition"], each["rows"]) for each in shown["open"]] == [(DAYS[1], READ // 2)]
