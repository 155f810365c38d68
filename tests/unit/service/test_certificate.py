"""`certificate` tells a scheduler a partition's state, and finds every way in which its certificates can be untrue."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from kafka2hive.ledger.epoch import publish
from kafka2hive.ledger.owned_ledger import OwnedLedger
from kafka2hive.ledger.repair.withdrawal import withdrawn_certificates
from kafka2hive.ledger.snapshot.change import Completeness, NoTracking, Repair
from kafka2hive.model.errors import ConfigError, ExitCode, ServiceUnavailable
from kafka2hive.model.files import DataFile, HivePartition
from kafka2hive.model.metastore import MetastoreUnavailable
from kafka2hive.model.paths.path import join, parent
from kafka2hive.model.paths.table_directory import bucket_slug
from kafka2hive.model.snapshot import ACCEPT_LOSS, REFETCH, AcceptedLoss
from kafka2hive.service.inspect.certificate import (
    Completion,
    PartitionName,
    PartitionReport,
    await_completion,
    certificate,
)
from kafka2hive.storage.port import write_file
from tests.harness.cli_ledger import READ, TABLE, invoke, local
from tests.harness.clock import SkippedTime
from tests.harness.one_by_one import OneByOne
from tests.harness.values import file_name
from tests.unit.service.verify.test_certify import DAYS, Dump, dump

__all__ = ["dump"]

DAY = DAYS[0]
NAME = PartitionName(TABLE, DAY)


class Locations(OneByOne):
    """A metastore that has every partition at one location, or does not answer."""

    def __init__(self, location: str | None, answers: bool = True) -> None:
        self._location = location
        self._answers = answers

    def add_partitions(self, partitions: object) -> dict[HivePartition, str]:
        raise AssertionError("a command that only reads registers nothing")

    def location(self, partition: HivePartition) -> str | None:
        if not self._answers:
            raise MetastoreUnavailable("connection refused")
        return self._location


def report(dump: Dump, day: str = DAY, metastore: Locations | None = None) -> PartitionReport:
    return certificate(dump.service.wiring, PartitionName(TABLE, day), metastore)


def test_a_partition_is_open_then_complete_then_late_then_complete_again(dump: Dump) -> None:
    first = report(dump)
    assert first.completion is Completion.OPEN and first.exit_code is ExitCode.SET_ASIDE
    assert first.open is not None and (first.open.files, first.open.rows) == (1, READ // 2)
    dump.publish(dump.complete(DAY))
    second = report(dump)
    assert second.completion is Completion.COMPLETE and second.exit_code is ExitCode.DONE
    assert (second.files, second.rows, second.open) == (1, READ // 2, None)
    assert [path for path, _, _ in second.certificates] == [
        f"{dump.partition(DAY).location}/{path.name}" for path in dump.certificates(DAY)
    ]
    dump.dump([DAY])
    third = report(dump)
    assert third.completion is Completion.LATE and third.exit_code is ExitCode.SET_ASIDE
    assert third.open is not None and third.open.rows == READ and third.rows == READ // 2
    dump.publish(dump.complete(DAY))
    fourth = report(dump)
    assert fourth.completion is Completion.COMPLETE and len(fourth.certificates) == 2
    assert (fourth.files, fourth.rows) == (2, READ // 2 + READ)


def test_an_open_partition_that_was_removed_is_not_waited_for(dump: Dump) -> None:
    """Its rows are lost; "not complete yet" would let a scheduler wait for ever."""
    assert not report(dump).findings
    shutil.rmtree(local(dump.partition(DAY).location))
    removed = report(dump)
    assert [finding.code for finding in removed.findings] == ["verify.missing"]
    assert removed.completion is Completion.OPEN and removed.exit_code is ExitCode.STOP
    shown = invoke("certificate", str(NAME), "-c", str(dump.service.map))
    assert shown.exit_code == 76 and f"--refetch {removed.findings[0].where}" in shown.stdout, shown.output


def test_a_partition_without_a_record_is_absent(dump: Dump) -> None:
    absent = report(dump, "dt=2099-01-01")
    assert absent.completion is Completion.ABSENT and absent.exit_code is ExitCode.SET_ASIDE
    assert absent.location.endswith("/dt=2099-01-01")


@pytest.mark.parametrize("day", ["dt=2099-02-30", "dt=2099-xx-01", "day=2099-01-01", "dt=2099-01-01/hr=07"])
@pytest.mark.parametrize("has_ledger", [True, False])
def test_a_partition_that_no_record_leads_to_is_a_mistake_and_not_waited_for(
    dump: Dump, day: str, has_ledger: bool
) -> None:
    if not has_ledger:
        config = dump.service.map
        text = config.read_text().replace(TABLE, "air.planes") + "    completion: {}\n"
        config.write_text(text)
        result = invoke("certificate", f"air.planes/{day}", "--wait", "1h", "-c", str(config))
        assert result.exit_code == 78 and "[usage.partition]" in result.stderr, result.output
        return
    with pytest.raises(ConfigError) as caught:
        report(dump, day, Locations(None, answers=False))
    assert caught.value.code == "usage.partition" and "dt=%Y-%m-%d" in caught.value.message


def test_without_a_ledger_a_table_without_completion_is_not_waited_for(dump: Dump) -> None:
    config = dump.service.map
    config.write_text(config.read_text().replace(TABLE, "air.planes"))
    result = invoke("certificate", f"air.planes/{DAY}", "--wait", "1h", "-c", str(config))
    assert result.exit_code == 78 and "[certificate.none]" in result.stderr, result.output


def test_a_certificate_that_was_committed_and_is_not_written_yet_does_not_count(dump: Dump) -> None:
    dump.commit(DAY)
    assert report(dump).completion is Completion.OPEN
    dump.start()
    assert report(dump).completion is Completion.COMPLETE


def damaged_text(dump: Dump) -> None:
    (path,) = dump.certificates(DAY)
    path.write_text(json.dumps(json.loads(path.read_text()) | {"rows": 1}))


def lost_certificate(dump: Dump) -> None:
    dump.publish(Completeness())  # a certificate of the newest epoch may still be on its way
    (path,) = dump.certificates(DAY)
    path.unlink()


def data_file(dump: Dump) -> Path:
    (path,) = local(dump.partition(DAY).location).glob("*.final*")
    return path


def lost_file(dump: Dump) -> None:
    data_file(dump).unlink()


def short_file(dump: Dump) -> None:
    data_file(dump).write_bytes(b"PAR1")


@pytest.mark.parametrize(
    ("harm", "code"),
    [
        (damaged_text, "verify.certificate"),
        (lost_certificate, "verify.certificate"),
        (lost_file, "verify.missing"),
        (short_file, "verify.length"),
    ],
)
def test_an_untrue_certificate_is_a_finding(dump: Dump, harm: object, code: str) -> None:
    dump.publish(dump.complete(DAY))
    assert report(dump).findings == ()
    assert callable(harm)
    harm(dump)
    untrue = report(dump)
    assert [finding.code for finding in untrue.findings] == [code]
    assert untrue.exit_code is ExitCode.STOP
    assert report(dump, DAYS[1]).findings == ()


def test_a_certificate_that_counts_other_rows_than_the_snapshots_is_a_finding(dump: Dump) -> None:
    """Snapshot and certificate agree with each other, but not with the files."""
    state = dump.owned.state
    wrong = tuple(replace(each, rows=each.rows + 1) for each in state.open)
    dump.owned = replace(dump.owned, state=replace(state, open=wrong))
    dump.publish(dump.complete(DAY))
    assert [finding.code for finding in report(dump).findings] == ["verify.completeness"]


def test_a_complete_partition_waits_for_hive(dump: Dump) -> None:
    dump.publish(dump.complete(DAY))
    here = dump.partition(DAY).location
    assert report(dump, metastore=Locations(here)).completion is Completion.COMPLETE
    missing = report(dump, metastore=Locations(None))
    assert missing.completion is Completion.UNREGISTERED
    assert missing.exit_code is ExitCode.SET_ASIDE and not missing.findings  # its registration is pending
    with pytest.raises(ServiceUnavailable, match="connection refused"):
        report(dump, metastore=Locations(here, answers=False))


def test_a_partition_that_waited_for_its_certificate_waits_for_hive_with_it(dump: Dump) -> None:
    state, place = dump.owned.state, dump.partition(DAY)
    others = tuple(each for each in state.unregistered if each != place)
    waits = replace(state, withheld=(place,), unregistered=others)
    dump.owned = replace(dump.owned, state=waits)
    dump.publish(replace(dump.complete(DAY), withholds=True))
    assert dump.owned.state.withheld == (place,)
    missing = report(dump, metastore=Locations(None))
    assert missing.completion is Completion.UNREGISTERED and not missing.findings


def test_an_older_partition_is_found_after_its_table_has_moved(dump: Dump) -> None:
    old = dump.partition(DAY).location
    dump.publish(dump.complete(DAY))
    dump.move()
    assert report(dump).completion is Completion.COMPLETE
    assert report(dump, metastore=Locations(old)).completion is Completion.COMPLETE


def remove(dump: Dump, day: str) -> list[DataFile]:
    """Remove the directory of a partition by hand; return the files that were in it."""
    place = dump.partition(day).location
    shutil.rmtree(local(place))
    return [f for each in dump.history().finals for f in each.files if f.hive_partition.location == place]


def repair(dump: Dump, lost: list[DataFile], *, refetched: bool) -> None:
    """Record the lost files, with staged copies of them if they are refetched, as `recover` does."""
    wiring, owned = dump.service.wiring, dump.start()
    finals = dump.history().finals
    losses = tuple(
        AcceptedLoss(
            path=file.final,
            remedy=REFETCH if refetched else ACCEPT_LOSS,
            rows=file.rows,
            accepted_at=wiring.ports.clock.now(),
            epoch=owned.next_epoch,
        )
        for file in lost
    )
    new = tuple(again(dump, owned, file, n) for n, file in enumerate(lost)) if refetched else ()
    withdrawn = withdrawn_certificates(finals, owned.certified, [file.final for file in lost])
    change = Repair(losses=losses, files=new, withdrawn=withdrawn)
    dump.owned = publish(wiring.ports, owned, change).owned


def again(dump: Dump, owned: OwnedLedger, file: DataFile, number: int) -> DataFile:
    name = file_name(
        owned.state.ledger_id,
        owned.generation.number,
        owned.next_epoch,
        slug=bucket_slug(file.hive_partition.path),
        uuid=f"{number + 500:032x}",
        task=file.task,
    )
    new = replace(
        file,
        staged=join(parent(file.staged), name.in_state("pending")),
        final=join(file.hive_partition.location, name.in_state("final")),
    )
    write_file(dump.service.wiring.ports.files, new.staged, b"x" * file.length)
    return new


@pytest.mark.parametrize("is_in_hive", [True, False])
def test_a_certified_partition_that_was_removed_is_a_finding_and_complete_again_after_its_repair(
    dump: Dump, is_in_hive: bool
) -> None:
    hive = Locations(dump.partition(DAY).location) if is_in_hive else None
    dump.dump([DAY])
    dump.publish(dump.complete(DAY))
    dump.publish(Completeness())
    before = report(dump, metastore=hive)
    assert before.completion is Completion.COMPLETE
    lost = remove(dump, DAY)
    gone = report(dump, metastore=hive)
    assert gone.exit_code is ExitCode.STOP
    assert {f.final for f in lost} <= {finding.where for finding in gone.findings}

    repair(dump, lost, refetched=True)
    opened = report(dump, metastore=hive)
    assert opened.completion is Completion.OPEN and not opened.findings
    dump.publish(dump.complete(DAY))
    dump.publish(Completeness())
    after = report(dump, metastore=hive)
    assert (after.completion, after.files, after.rows) == (Completion.COMPLETE, before.files, before.rows)
    assert not dump.findings()


def test_one_file_fetched_again_is_counted_once_by_the_one_certificate_that_is_left(dump: Dump) -> None:
    dump.publish(dump.complete(DAY))
    dump.dump([DAY])
    dump.publish(dump.complete(DAY))
    before = report(dump)
    assert len(before.certificates) == 2
    lost = [f for f in dump.history().finals[-2].files if f.hive_partition == dump.partition(DAY)]
    for file in lost:
        local(file.final).unlink()
    repair(dump, lost, refetched=True)
    dump.publish(dump.complete(DAY))
    after = report(dump)
    assert (after.files, after.rows, len(after.certificates)) == (before.files, before.rows, 1)
    assert not dump.findings()


def test_a_partition_of_which_all_files_were_given_up_is_absent(dump: Dump) -> None:
    dump.publish(dump.complete(DAY))
    lost = [
        f for each in dump.history().finals for f in each.files if f.hive_partition == dump.partition(DAY)
    ]
    local(lost[0].final).unlink()
    repair(dump, lost, refetched=False)
    assert report(dump).completion is Completion.ABSENT
    assert not dump.findings()


def test_files_older_than_the_completion_section_get_no_certificate(dump: Dump) -> None:
    with pytest.raises(ConfigError) as caught:
        report(dump, "dt=2013-01-01")
    assert caught.value.code == "certificate.none" and "older than" in caught.value.message


def test_a_table_whose_partitions_are_not_tracked_says_what_to_add(dump: Dump) -> None:
    dump.publish(NoTracking())
    with pytest.raises(ConfigError, match="not tracked") as caught:
        report(dump)
    assert "completion" in caught.value.remedy


def test_waiting_ends_when_the_partition_is_complete_and_notes_each_change_once(dump: Dump) -> None:
    dump.publish(dump.complete(DAY))
    done = report(dump)
    away = ServiceUnavailable("storage.unavailable", "the NameNode is away", "")
    answers: list[PartitionReport | ServiceUnavailable] = [
        PartitionReport(completion=Completion.ABSENT),
        PartitionReport(completion=Completion.ABSENT),
        away,
        PartitionReport(completion=Completion.OPEN),
        done,
    ]

    def ask() -> PartitionReport:
        answer = answers.pop(0)
        if isinstance(answer, ServiceUnavailable):
            raise answer
        return answer

    notes: list[str] = []
    clock = SkippedTime()
    assert await_completion(ask, clock, 3600, notes.append) is done
    assert notes == ["absent", str(away), "open"]
    assert clock.waits == [5.0] * 4


def test_waiting_ends_in_time_with_what_is_known_then() -> None:
    clock = SkippedTime()
    last = await_completion(
        lambda: PartitionReport(completion=Completion.OPEN), clock, 12, lambda change: None
    )
    assert last.exit_code is ExitCode.SET_ASIDE
    assert clock.waits == [5.0, 5.0, 2.0]


def test_waiting_for_a_service_that_stays_away_ends_with_its_error() -> None:
    def ask() -> PartitionReport:
        raise ServiceUnavailable("storage.unavailable", "the NameNode is away", "")

    with pytest.raises(ServiceUnavailable):
        await_completion(ask, SkippedTime(), 12, lambda change: None)


def test_the_command_prints_the_state_and_ends_with_its_code(dump: Dump) -> None:
    config = str(dump.service.map)
    open_yet = invoke("certificate", str(NAME), "-c", config)
    assert open_yet.exit_code == 75 and "is not complete yet: 5 rows in 1 file" in open_yet.stdout
    dump.publish(dump.complete(DAY))
    complete = invoke("certificate", str(NAME), "-c", config, "--wait", "1h")
    assert complete.exit_code == 0, complete.output
    assert f"{NAME} is complete: 5 rows in 1 file" in complete.stdout
    assert "certified at" in complete.stdout and "_kafka2hive_complete-" in complete.stdout
    lost_file(dump)
    untrue = invoke("certificate", str(NAME), "-c", config, "--json")
    assert untrue.exit_code == 76
    document = json.loads(untrue.stdout)
    assert (document["exit_code"], document["state"], document["rows"]) == (76, "complete", 5)
    assert [finding["code"] for finding in document["findings"]] == ["verify.missing"]
    unknown = invoke("certificate", "air.fligths/dt=2013-01-01", "-c", config)
    assert unknown.exit_code == 78 and "did you mean air.flights?" in unknown.stderr


@pytest.mark.parametrize(
    "text", ["air.flights", "flights/dt=1", "air.flights/", "air.flights/2013", "a.b.c/dt=1"]
)
def test_a_name_that_is_no_partition_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="not a Hive partition"):
        PartitionName.parse(text)
    assert str(PartitionName.parse("air.flights/dt=1/hr=2/")) == "air.flights/dt=1/hr=2"
