"""What `status`, `where` and `certificate` say about expired partitions: from the drop until long after the last file is gone."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from kafka2hive.config.load import load_map
from kafka2hive.ledger.epoch import publish
from kafka2hive.ledger.retention import KEEP_SECONDS, Retention
from kafka2hive.ledger.snapshot.change import RegistrationUpdate
from kafka2hive.model.text import utc_text
from kafka2hive.service.inspect.certificate import (
    Completion,
    PartitionName,
    PartitionReport,
    await_completion,
    certificate,
)
from kafka2hive.service.inspect.status import TableStatus, status
from kafka2hive.service.inspect.where import OffsetPlace, PartitionDrop, where
from kafka2hive.service.wiring import wire
from tests.harness.cli_ledger import READ, TABLE, invoke
from tests.harness.clock import SkippedTime
from tests.unit.service.test_certificate import Locations
from tests.unit.service.verify.test_certify import DAYS, Dump

OLD, YOUNG = DAYS
EXPIRED = "2013-01-03T00:00:00Z"
EXPIRED_MS = 1_357_171_200_000
"""The end of OLD's period."""
LOOK = 1_800_000_000.0
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

    def expire(self, day: str = OLD, before_ms: int = EXPIRED_MS) -> int:
        """Record that the day is dropped; return the epoch."""
        work = self._work()
        assert work.expire(before_ms, [self.partition(day)])
        self.owned = work.owned
        return self.owned.state.epoch

    def drop(self, *, delete: bool = False) -> None:
        """Record that Hive does not have the dropped days any more, and delete their files."""
        work = self._work()
        looks = work.drop(LOOK)
        if delete:
            assert work.delete(looks, LOOK).files
        self.owned = work.owned

    def _work(self) -> Retention:
        return Retention(self.service.wiring.ports, self.owned, None, "_SUCCESS", keep_seconds=0)

    def table(self, *, count_files: bool = False) -> TableStatus:
        return status(self.service.wiring, None, [TABLE], count_files=count_files).tables[0]

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
    epoch = dump.expire()
    steps = [PartitionDrop(epoch)]
    assert (dump.drops(FIRST_DUMP), dump.report().drop) == ({OLD: steps[0]}, steps[0])
    dump.drop()
    steps.append(PartitionDrop(epoch, utc_text(LOOK)))
    assert (dump.drops(FIRST_DUMP), dump.report().drop) == ({OLD: steps[1]}, steps[1])
    dump.drop(delete=True)
    steps.append(PartitionDrop(epoch, utc_text(LOOK), dump.owned.state.written_at))
    dump.publish(None)
    assert (dump.drops(FIRST_DUMP), dump.report().drop) == ({OLD: steps[2]}, steps[2])
    assert [drop.deletable_from for drop in steps] == ["", *[utc_text(LOOK + KEEP_SECONDS)] * 2]
    assert dump.drops(SECOND_DUMP) == {}


def test_a_dropped_partition_is_no_fault_of_hive_and_nobody_waits_for_it(dump: Retained) -> None:
    dump.expire()
    clock = SkippedTime()
    report = await_completion(lambda: dump.report(metastore=Locations(None)), clock, 3600, print)
    assert (report.completion, report.exit_code, report.findings) == (Completion.DROPPED, 78, ())
    dump.drop(delete=True)
    report = await_completion(lambda: dump.report(metastore=Locations(None)), clock, 3600, print)
    assert (report.completion, report.exit_code, clock.waits) == (Completion.DROPPED, 78, [])
    assert dump.report(YOUNG).completion is Completion.COMPLETE


def test_a_period_that_expired_without_a_file_is_not_waited_for_either(dump: Retained) -> None:
    assert dump.report("dt=2012-12-31").completion is Completion.ABSENT
    dump.expire()
    dump.drop(delete=True)
    never = dump.report("dt=2012-12-31")
    assert (never.completion, never.exit_code, never.drop) == (Completion.EXPIRED, 78, None)
    assert dump.report("dt=2013-01-04").completion is Completion.ABSENT


def test_status_counts_the_files_that_wait_for_their_deletion_if_it_is_asked_for_the_table(
    dump: Retained,
) -> None:
    nothing = dump.table().retention
    assert nothing is not None and (nothing.expired_before, nothing.dropped) == ("", ())
    epoch = dump.expire()
    dump.drop()
    retention = dump.table(count_files=True).retention
    assert retention is not None and (retention.retain_seconds, retention.expired_before) == (
        864_000,
        EXPIRED,
    )
    (dropped,) = retention.dropped
    assert (dropped.partition, dropped.drop.epoch) == (dump.partition(OLD), epoch)
    assert (dropped.files, retention.waits) == (2, ()), "a data file and its certificate"
    assert dropped.length is not None and dropped.length > 0
    unasked = dump.table().retention
    assert unasked is not None and unasked.dropped[0].files is None
    dump.drop(delete=True)
    after = dump.table(count_files=True).retention
    assert after is not None and (after.expired_before, after.dropped) == (EXPIRED, ())


def test_status_names_expired_partitions_that_wait_and_why(dump: Retained) -> None:
    dump.dump([YOUNG])
    dump.expire()
    assert dump.table().retention.waits == ()  # type: ignore[union-attr]
    dump.drop(delete=True)
    work = dump._work()
    work.expire(EXPIRED_MS + 86_400_000, ())
    waits = dump.table().retention.waits  # type: ignore[union-attr]
    assert [path for path, _ in waits] == [YOUNG] and "not complete" in waits[0][1]


def test_the_commands_print_it(dump: Retained) -> None:
    config = str(dump.service.map)
    epoch = dump.expire()
    dump.drop()
    plain = invoke("status", "--table", TABLE, "-c", config).stdout
    assert f"periods that ended by {EXPIRED} have expired (retain 10.0 d)" in plain
    later = utc_text(LOOK + KEEP_SECONDS)
    assert "dropped: 1 partition, 2 files with " in plain and f"can be deleted from {later}" in plain
    told = invoke("where", FIRST_DUMP, "-c", config)
    assert told.exit_code == 0
    assert f"dropped by retention in epoch {epoch}, its files will be deleted after {later}" in told.stdout
    (path,) = [file.final for file in dump.history().all[4].files if file.hive_partition.path == OLD]
    assert path in told.stdout
    page = dump.service.map.parent / "report.html"
    invoke("report", "-o", str(page), "-c", config)
    assert "files of 1 dropped partition are not deleted yet" in page.read_text()
    dump.drop(delete=True)
    told = invoke("where", FIRST_DUMP, "-c", config)
    assert told.exit_code == 0 and path not in told.stdout and f"rows  {OLD}\n" in told.stdout
    gone = f"dropped by retention in epoch {epoch}, its files were deleted by {dump.owned.state.written_at}"
    assert gone in told.stdout
    answer = invoke("certificate", f"{TABLE}/{OLD}", "-c", config, "--wait", "1h")
    assert answer.exit_code == 78 and f"{TABLE}/{OLD} does not exist any more: {gone}" in answer.stdout
    printed = json.loads(invoke("certificate", f"{TABLE}/{OLD}", "-c", config, "--json").stdout)
    assert (printed["state"], printed["exit_code"]) == ("dropped", 78)
    assert printed["dropped"]["epoch"] == epoch and printed["dropped"]["deleted_at"]
    answer = invoke("certificate", f"{TABLE}/dt=2012-12-31", "-c", config)
    assert answer.exit_code == 78 and "has expired and has no file" in answer.stdout
