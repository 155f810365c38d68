"""Certificates of complete partitions are written once, even after a crash, and none of them stops the table."""

import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from kafka2hive.ledger.certify import certify
from kafka2hive.ledger.draft import draft
from kafka2hive.ledger.epoch import commit, publish, roll_forward
from kafka2hive.ledger.history import History, read_history
from kafka2hive.ledger.location import accept_location
from kafka2hive.ledger.look import look
from kafka2hive.ledger.owned_ledger import OwnedLedger
from kafka2hive.ledger.snapshot.change import Completeness, NoTracking, RegistrationUpdate, Repair
from kafka2hive.ledger.snapshot.completeness import NotOpen
from kafka2hive.ledger.start import Owners, StartRequest, start
from kafka2hive.model.files import HivePartition
from kafka2hive.model.offsets import OffsetRange, TopicPartition
from kafka2hive.model.snapshot import AcceptedLoss, Certificate
from kafka2hive.service.verify.history import audit_history
from kafka2hive.service.verify.result import VerifyRequest
from kafka2hive.service.verify.verify import verify
from kafka2hive.storage.local import LocalFileSystem
from kafka2hive.storage.port import Denied
from tests.harness.cli_ledger import READ, TABLE, Service, invoke, local, moved_wiring, pending_service, tree
from tests.harness.owner import new_owner
from tests.harness.staged_epoch import commit_staged
from tests.harness.values import data_file, file_name

DAYS = ("dt=2013-01-02", "dt=2013-01-03")
FLIGHTS = TopicPartition("flights", 0)


class OtherMount(LocalFileSystem):
    """A local disk on which `place` is another mount or encryption zone: renames into it and out of it fail."""

    def __init__(self, place: str) -> None:
        super().__init__()
        self._place = place

    def rename(self, source: str, target: str) -> None:
        if source.startswith(self._place) != target.startswith(self._place):
            raise Denied(source, f"cannot be moved to {target}, on another mount")
        super().rename(source, target)


class Dump:
    """A table with two open days, and an earlier day that was dumped before the map asked for completeness."""

    def __init__(self, folder: Path) -> None:
        self.service: Service = pending_service(folder)
        self.owned: OwnedLedger = self.start()
        self.publish(Completeness(through="2013-01-03T00:00:00Z"))
        self.dump()

    def start(self) -> OwnedLedger:
        wiring = self.service.wiring
        location = wiring.map.tables[0].location
        order = StartRequest(wiring.paths(TABLE), lambda: None, Owners(new_owner), location)
        self.owned = start(wiring.ports, order).owned
        return self.owned

    def publish(self, completeness: Completeness | NoTracking | None) -> None:
        change = RegistrationUpdate(completeness=completeness)
        self.owned = publish(self.service.wiring.ports, self.owned, change).owned

    def dump(self, days: Sequence[str] = DAYS) -> None:
        """Commit an epoch with a file for each day; the driver is killed after the commit."""
        end = next(p.end for p in self.owned.state.positions)
        commit_staged(self.service.wiring, self.owned, OffsetRange(FLIGHTS, end, end + READ), days)
        self.start()

    def commit(self, day: str) -> OwnedLedger:
        """Commit that the day is complete; the driver is killed after the commit."""
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

    def move(self) -> str:
        """Run `recover --accept-location` to another mount, and return the new location."""
        wiring = moved_wiring(self.service)
        new = wiring.map.tables[0].location
        files = OtherMount(new)
        self.service = replace(self.service, wiring=replace(wiring, ports=replace(wiring.ports, files=files)))
        self.owned = accept_location(self.service.wiring.ports, self.owned, new)
        return new

    def partition(self, day: str) -> HivePartition:
        location = self.service.wiring.map.tables[0].location
        return HivePartition(TABLE, day, f"{location}/{day}")

    def certificates(self, day: str) -> list[Path]:
        return sorted(local(self.partition(day).location).glob("_kafka2hive_complete-*.json"))

    def findings(self) -> set[tuple[str, str]]:
        (table,) = verify(self.service.wiring, VerifyRequest(), None, None).tables
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


def test_a_certificate_that_cannot_be_written_stops_no_data_and_is_tried_again(dump: Dump) -> None:
    pending = dump.commit(DAYS[0])
    place = local(dump.partition(DAYS[0]).location)
    path = place / (
        f"_kafka2hive_complete-{pending.state.ledger_id[:8]}-g{pending.generation.number:06d}"
        f"-e{pending.state.epoch:06d}.json"
    )
    path.write_text("{}")
    dump.owned = roll_forward(dump.service.wiring.ports, pending).owned
    assert dump.owned.certified == frozenset()
    dump.publish(Completeness())
    assert dump.owned.state.reopened == (dump.partition(DAYS[0]),)
    assert {each.partition.path for each in dump.owned.state.open} == set(DAYS)
    dump.publish(dump.complete(DAYS[0]))
    *_, again = dump.certificates(DAYS[0])
    assert json.loads(again.read_text())["rows"] == READ // 2
    assert path.read_text() == "{}" and dump.findings() == {("verify.certificate", f"file://{path}")}
    path.write_text("")  # as late calls leave a withdrawn one
    assert dump.findings() == set()
    again.write_text("")
    assert dump.findings() == {("verify.certificate", f"file://{again}")}


def test_a_certificate_does_not_count_a_file_that_is_given_up_with_its_epoch(dump: Dump) -> None:
    """Run `recover --accept-loss` on a pending epoch that also certifies."""
    wiring = dump.service.wiring
    end = next(p.end for p in dump.owned.state.positions)
    ranges = OffsetRange(FLIGHTS, end, end + READ)
    gone, _ = commit_staged(wiring, dump.owned, ranges, DAYS, dump.complete(DAYS[0]))
    local(gone.staged).unlink()
    order = StartRequest(
        wiring.paths(TABLE),
        lambda: None,
        Owners(new_owner),
        wiring.map.tables[0].location,
        before_roll_forward=lambda _: frozenset({gone.final}),
    )
    final = start(wiring.ports, order).owned
    assert not dump.certificates(DAYS[0])
    loss = AcceptedLoss(
        path=gone.final, remedy="accept-loss", rows=gone.rows, accepted_at="-", epoch=final.next_epoch
    )
    dump.owned = publish(dump.service.wiring.ports, final, Repair(losses=(loss,))).owned
    dump.publish(dump.complete(DAYS[0]))
    (path,) = dump.certificates(DAYS[0])
    text = json.loads(path.read_text())
    assert (text["files"], text["rows"], text["given_up"]) == (1, READ // 2, [gone.final])


def test_a_withdrawn_certificate_leaves_its_partition_open_since_it_was_to_be_written(dump: Dump) -> None:
    owned = dump.commit(DAYS[0])
    later = draft(owned, "demo", "2013-01-09T00:00:00Z", RegistrationUpdate())
    opened = {each.partition.path: each.opened_at for each in later.open}
    assert opened[DAYS[0]] == "2013-01-04T01:00:05Z"


def test_only_a_loss_of_a_file_that_no_certificate_counts_is_taken_out_of_an_open_partition(
    dump: Dump,
) -> None:
    def open_after_loss(path: str) -> dict[str, int]:
        loss = AcceptedLoss(path=path, remedy="accept-loss", rows=READ // 2, accepted_at="-", epoch=9)
        after = draft(dump.owned, "demo", "2013-01-09T00:00:00Z", Repair(losses=(loss,)))
        return {each.partition.path: each.files for each in after.open}

    (first,) = [f.final for f in dump.owned.state.files if f.hive_partition.path == DAYS[0]]
    assert open_after_loss(first) == {DAYS[1]: 1}
    dump.publish(dump.complete(DAYS[0]))
    dump.dump([DAYS[0]])
    assert open_after_loss(first) == {DAYS[0]: 1, DAYS[1]: 1}


def test_what_has_no_files_since_cannot_be_complete(dump: Dump, tmp_path: Path) -> None:
    before = tree(tmp_path)
    with pytest.raises(NotOpen, match="dt=2013-01-01"):
        dump.publish(dump.complete("dt=2013-01-01"))
    assert tree(tmp_path) == before


def test_a_map_that_asks_no_more_ends_the_tracking(dump: Dump) -> None:
    dump.publish(NoTracking())
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
    dump.publish(Completeness())
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


def test_late_files_do_not_renew_the_time_at_which_a_partition_was_opened(dump: Dump) -> None:
    """Otherwise steady late records would postpone the certificate for ever."""
    early = tuple(replace(each, opened_at="2012-12-31T00:00:00Z") for each in dump.owned.state.open)
    dump.owned = replace(dump.owned, state=replace(dump.owned.state, open=early))
    before = {each.partition.path: (each.since, each.opened_at) for each in early}
    dump.dump()
    assert {each.partition.path: (each.since, each.opened_at) for each in dump.owned.state.open} == before
    newest = dump.owned.state
    late = tuple(replace(each, opened_at="2099-01-01T00:00:00Z") for each in newest.open)
    *earlier, _ = dump.history().all
    found = {f.code for f in audit_history([*earlier, replace(newest, open=late)])}
    assert "verify.completeness" in found


def test_after_a_move_a_certificate_counts_the_files_of_both_locations_and_crosses_no_mount(
    dump: Dump,
) -> None:
    old = {day: local(dump.partition(day).location) for day in DAYS}
    new = local(dump.move())
    dump.dump(DAYS[:1])
    dump.publish(dump.complete(*DAYS))
    assert dump.owned.certified == {each.partition for each in dump.owned.state.certificates}
    (moved,), (stayed,) = (
        list(place.glob("_kafka2hive_complete-*")) for place in (new / DAYS[0], old[DAYS[1]])
    )
    told = [json.loads(path.read_text()) for path in (moved, stayed)]
    assert [(text["partition"], text["files"], text["rows"]) for text in told] == [
        (DAYS[0], 2, READ // 2 + READ),
        (DAYS[1], 1, READ // 2),
    ]
    assert not list(old[DAYS[0]].glob("_kafka2hive_complete-*")) and not (new / DAYS[1]).exists()
    dump.publish(Completeness())
    assert not dump.owned.state.open and not dump.owned.state.reopened
    assert dump.findings() == set()


def test_a_directory_that_was_removed_after_a_move_is_not_made_again_for_a_certificate(dump: Dump) -> None:
    gone = local(dump.partition(DAYS[1]).location)
    new = local(dump.move())
    dump.dump(DAYS[:1])
    shutil.rmtree(gone)
    dump.publish(dump.complete(*DAYS))
    assert {each.path for each in dump.owned.certified} == {DAYS[0]}
    dump.start()
    dump.dump(DAYS[:1])  # data go on
    assert [each.path for each in dump.owned.state.reopened] == [DAYS[1]]
    assert not gone.exists() and not (new / DAYS[1]).exists()
    ((certificate,), second) = dump.certificates(DAYS[0]), dump.owned.state.open
    assert json.loads(certificate.read_text())["rows"] == READ // 2 + READ
    assert [(each.partition.path, each.rows) for each in second] == [(DAYS[0], READ), (DAYS[1], READ // 2)]


def test_a_certificate_waits_for_each_file_that_its_epoch_adds(dump: Dump) -> None:
    """Nobody may read "complete" before the rows are there: the promote's answer and the listing may differ."""
    partition = dump.partition(DAYS[0])
    name = file_name(dump.owned.state.ledger_id, 1, 9).in_state("final")
    counted = data_file(hive_partition=partition, final=f"{partition.location}/{name}")
    certificate = Certificate(
        partition=partition,
        since=1,
        files=2,
        rows=2,
        through="2013-01-04T00:00:00Z",
        policy="p",
        success_file="",
    )
    state = replace(dump.owned.state, epoch=9, files=(counted,), certificates=(certificate,))
    owned = replace(dump.owned, state=state, certified=frozenset())
    ports = dump.service.wiring.ports
    assert certify(ports, owned).certified == frozenset() and dump.certificates(DAYS[0]) == []
    file = local(counted.final)
    for hidden in (f"_{name}", name.removesuffix(".final") + ".pending"):
        file.with_name(hidden).touch()
        assert certify(ports, owned).certified == frozenset() and dump.certificates(DAYS[0]) == []
    file.touch()
    given_up = frozenset({counted.final})
    assert certify(ports, owned, given_up).certified == frozenset() and dump.certificates(DAYS[0]) == []
    assert certify(ports, owned).certified == {partition} and len(dump.certificates(DAYS[0])) == 1
    assert certify(ports, owned).certified == {partition}, "it is there"
