"""What `status`, `where` and `certificate` say about expired partitions: from the drop until long after the last file is gone."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from kafka2hive.config.load import load_map
from kafka2hive.ledger.epoch import publish
from kafka2hive.ledger.snapshot.change import Expiry, RegistrationUpdate
from kafka2hive.ledger.snapshot.expiry import NEEDS_HIVE
from kafka2hive.model.files import HivePartition
from kafka2hive.model.snapshot import ComparedTable
from kafka2hive.service.inspect.certificate import (
    Completion,
    PartitionName,
    PartitionReport,
    await_completion,
    certificate,
)
from kafka2hive.service.inspect.status import RetentionStatus, status
from kafka2hive.service.inspect.where import OffsetPlace, PartitionDrop, where
from kafka2hive.service.wiring import wire
from tests.harness.cli_ledger import READ, TABLE, invoke, local
from tests.harness.clock import SkippedTime
from tests.unit.service.test_certificate import Locations
from tests.unit.service.verify.test_certify import DAYS, Dump

OLD, YOUNG = DAYS
EXPIRED = "2013-01-03T00:00:00Z"
EXPIRED_MS = 1_357_171_200_000
"""The end of OLD's period."""
LOOK, DAY_LATER = "2026-01-01T08:00:00Z", "2026-01-02T08:00:00Z"
FIRST_DUMP, SECOND_DUMP = "flights-0@16", f"flights-0@{16 + READ}"


class Retained(Dump):
    """The table of Dump, both days complete and known to Hive, and a map with `retain`."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.dump([YOUNG])
        self.publish(self.complete(*DAYS))
        registered = RegistrationUpdate(registered=frozenset(self.owned.state.unregistered))
        self.owned = publish(self.service.wiring.ports, self.owned, registered).owned
        path = self.service.map
        path.write_text(path.read_text() + "    retain: 10d\n")
        self.service = replace(self.service, wiring=wire(load_map(str(path), {})))

    def expire(self, *days: str, before_ms: int = EXPIRED_MS) -> int:
        """Record what has expired, and which days are dropped; return the epoch."""
        return self.record(Expiry(expired_before_ms=before_ms, dropped=frozenset(map(self.partition, days))))

    def lose(self) -> None:
        """Record that Hive does not have OLD any more."""
        self.record(Expiry(gone=frozenset({self.partition(OLD)}), gone_at=LOOK))

    def delete(self) -> None:
        """Delete the files of OLD, and record it."""
        shutil.rmtree(local(self.partition(OLD).location))
        self.record(Expiry(cleared=frozenset({self.partition(OLD)})))

    def record(self, change: Expiry) -> int:
        self.owned = publish(self.service.wiring.ports, self.owned, change).owned
        return self.owned.state.epoch

    def retention(self, *, count_files: bool = False) -> RetentionStatus:
        (table,) = status(self.service.wiring, None, [TABLE], count_files=count_files).tables
        assert table.retention is not None
        return table.retention

    def report(self, day: str = OLD, metastore: Locations | None = None) -> PartitionReport:
        return certificate(self.service.wiring, PartitionName(TABLE, day), metastore)

    def drops(self, place: str) -> dict[str, PartitionDrop]:
        """The drops that `where` tells, by partition."""
        (answer,) = where(self.service.wiring, OffsetPlace.parse(place))
        of = {file.final: file.hive_partition.path for file in answer.files}
        return {of[path]: drop for path, drop in answer.drops.items()}


@pytest.fixture
def dump(tmp_path: Path) -> Retained:
    return Retained(tmp_path)


def test_each_step_of_a_drop_is_told_with_the_time_of_the_next(dump: Retained) -> None:
    assert dump.drops(FIRST_DUMP) == {} and dump.report().completion is Completion.COMPLETE
    epoch = dump.expire(OLD)
    steps = [PartitionDrop(epoch)]
    assert (dump.drops(FIRST_DUMP), dump.report().drop) == ({OLD: steps[0]}, steps[0])
    dump.lose()
    steps.append(PartitionDrop(epoch, LOOK))
    assert (dump.drops(FIRST_DUMP), dump.report().drop) == ({OLD: steps[1]}, steps[1])
    dump.delete()
    steps.append(PartitionDrop(epoch, LOOK, dump.owned.state.written_at))
    dump.publish(None)
    assert (dump.drops(FIRST_DUMP), dump.report().drop) == ({OLD: steps[2]}, steps[2])
    assert [drop.deletable_from for drop in steps] == ["", DAY_LATER, DAY_LATER]
    assert dump.drops(SECOND_DUMP) == {}


def test_a_dropped_partition_is_no_fault_of_hive_and_nobody_waits_for_it(dump: Retained) -> None:
    clock = SkippedTime()

    def waited() -> PartitionReport:
        return await_completion(lambda: dump.report(metastore=Locations(None)), clock, 3600, print)

    dump.expire(OLD)
    dump.lose()
    report = waited()
    assert (report.completion, report.exit_code, report.findings) == (Completion.DROPPED, 78, ())
    dump.delete()
    report = waited()
    assert (report.completion, report.exit_code, clock.waits) == (Completion.DROPPED, 78, [])
    assert dump.report(YOUNG).completion is Completion.COMPLETE


def test_a_period_that_expired_without_a_file_is_not_waited_for_either(dump: Retained) -> None:
    assert dump.report("dt=2012-12-31").completion is Completion.ABSENT
    dump.expire()
    never = dump.report("dt=2012-12-31")
    assert (never.completion, never.exit_code, never.drop) == (Completion.EXPIRED, 78, None)
    assert dump.report("dt=2013-01-04").completion is Completion.ABSENT
    assert dump.report().completion is Completion.COMPLETE, "expired, and not dropped yet"


def test_status_counts_the_files_that_wait_for_their_deletion_if_it_is_asked_for_the_table(
    dump: Retained,
) -> None:
    nothing = dump.retention()
    assert (nothing.expired_before, nothing.dropped) == ("", ())
    epoch = dump.expire(OLD)
    retention = dump.retention(count_files=True)
    assert (retention.retain_seconds, retention.expired_before) == (864_000, EXPIRED)
    (dropped,) = retention.dropped
    assert (dropped.partition, dropped.drop.epoch) == (dump.partition(OLD), epoch)
    assert (dropped.files, retention.waits) == (2, ()), "a data file and its certificate"
    assert dropped.length is not None and dropped.length > 0
    assert dump.retention().dropped[0].files is None
    dump.lose()
    dump.delete()
    after = dump.retention(count_files=True)
    assert (after.expired_before, after.dropped) == (EXPIRED, ())


def test_status_names_expired_partitions_that_wait_and_why(dump: Retained) -> None:
    dump.dump([YOUNG])
    dump.expire(OLD)
    assert dump.retention().waits == ()
    dump.expire(before_ms=EXPIRED_MS + 86_400_000)
    ((path, why),) = dump.retention().waits
    assert path == YOUNG and "not complete" in why


def test_without_hive_status_names_expired_days_that_an_earlier_map_has_told_hive_of(dump: Retained) -> None:
    day = f"source_table={TABLE}/dt=2013-01-02"
    letters = HivePartition("air.dead", day, f"file:///dead/{day}")
    restated = replace(dump.owned, state=replace(dump.owned.state, unregistered=(letters,)))
    dump.owned = restated
    dump.expire()
    assert dump.retention().waits == ()
    compared = ComparedTable(table="air.dead", location="", format="", columns="", partition_columns="")
    dump.owned = replace(dump.owned, state=replace(dump.owned.state, compared=(compared,)))
    dump.expire(before_ms=EXPIRED_MS + 1)
    assert dump.retention().waits == ((day, NEEDS_HIVE),)


def test_the_commands_print_it(dump: Retained) -> None:
    config = str(dump.service.map)
    epoch = dump.expire(OLD)
    dump.lose()
    plain = invoke("status", "--table", TABLE, "-c", config).stdout
    assert f"periods that ended by {EXPIRED} have expired (retain 10.0 d)" in plain
    assert "dropped: 1 partition, 2 files with " in plain and f"can be deleted from {DAY_LATER}" in plain
    told = invoke("where", FIRST_DUMP, "-c", config)
    assert told.exit_code == 0
    gone = f"dropped by retention in epoch {epoch}, its files "
    assert f"{gone}will be deleted after {DAY_LATER}" in told.stdout
    (path,) = [file.final for file in dump.history().all[4].files if file.hive_partition.path == OLD]
    assert path in told.stdout
    page = dump.service.map.parent / "report.html"
    invoke("report", "-o", str(page), "-c", config)
    assert "files of 1 dropped partition are not deleted yet" in page.read_text()
    dump.delete()
    gone += f"were deleted by {dump.owned.state.written_at}"
    told = invoke("where", FIRST_DUMP, "-c", config)
    assert told.exit_code == 0 and path not in told.stdout and f"rows  {OLD}\n" in told.stdout
    assert gone in told.stdout
    answer = invoke("certificate", f"{TABLE}/{OLD}", "-c", config, "--wait", "1h")
    assert answer.exit_code == 78 and f"{TABLE}/{OLD} does not exist any more: {gone}" in answer.stdout
    printed = json.loads(invoke("certificate", f"{TABLE}/{OLD}", "-c", config, "--json").stdout)
    assert (printed["state"], printed["exit_code"]) == ("dropped", 78)
    assert printed["dropped"]["epoch"] == epoch and printed["dropped"]["deleted_at"]
    answer = invoke("certificate", f"{TABLE}/dt=2012-12-31", "-c", config)
    assert answer.exit_code == 78 and "has expired and has no file" in answer.stdout
