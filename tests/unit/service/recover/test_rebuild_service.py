"""`recover --rebuild-ledger` on a local disk: real footers, a real archive, and a rename whose answer is lost."""

import shutil
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import cast

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kafka2hive.config.keys import TableRule, WriterOptions
from kafka2hive.formats.files import encoding_of
from kafka2hive.kafka.client import KafkaAdmin
from kafka2hive.kafka.positions import GapAcceptance
from kafka2hive.ledger.epoch import publish
from kafka2hive.ledger.history import final_snapshots
from kafka2hive.ledger.location import read_marker
from kafka2hive.ledger.look import look
from kafka2hive.ledger.ports import RetryPolicy
from kafka2hive.ledger.snapshot.change import RegistrationUpdate
from kafka2hive.ledger.start import Owners, StartRequest, start
from kafka2hive.model.errors import AmbiguousOutcome, ManualActionRequired, ServiceUnavailable
from kafka2hive.model.footer import Footer
from kafka2hive.model.offsets import OffsetAccounting, OffsetRange, TopicPartition
from kafka2hive.model.paths.path import base_name, join, parent
from kafka2hive.model.paths.table_directory import (
    DataFileName,
    certificate_path,
    early_place,
    staging_directory,
)
from kafka2hive.model.snapshot import UNKNOWN_END
from kafka2hive.service.recover.rebuild import RebuiltLedger, rebuild_ledger
from kafka2hive.service.recover.result import RecoverRequest
from kafka2hive.service.recover.service import rebuild_and_recover
from kafka2hive.service.wiring import Wiring
from kafka2hive.storage.local import LocalFileSystem
from kafka2hive.storage.port import FileStatus, OutcomeUnknown, Unavailable
from tests.harness.cli_ledger import READ, TABLE, Service, local, pending_service
from tests.harness.compiled_library import needs_compiled
from tests.harness.owner import new_owner
from tests.unit.service.later_epochs import FLIGHTS

KEEP = 2


def go_on(service: Service, epochs: int) -> None:
    """A start and so many epochs without files; a start archives all but the newest snapshots."""
    wiring = service.wiring
    order = StartRequest(wiring.paths(TABLE), lambda: None, Owners(new_owner), keep=KEEP)
    owned = start(wiring.ports, order).owned
    for _ in range(epochs):
        owned = publish(wiring.ports, owned, RegistrationUpdate()).owned


def write_file_of(service: Service, path: str, taken: OffsetRange, rows: int = READ) -> None:
    """A file, of the format of its name, that says what it holds: records of a range, all of which a task of the epoch
    that its name tells has written.
    """
    file = service.files[0]
    parsed = DataFileName.parse(base_name(path))
    assert parsed is not None
    name = parsed[0]
    ledger = read_marker(service.wiring.ports.files, service.wiring.map.tables[0].location)
    assert ledger is not None
    accounts = (OffsetAccounting(read=READ, written=READ, bytes=300),)
    footer = Footer(
        kind=file.kind,
        ledger_id=ledger,
        table=TABLE,
        generation=name.generation,
        epoch=name.epoch,
        task=name.task,
        attempt=f"attempt-{name.epoch}",
        planned_at_ms=0,
        ranges=(taken,),
        rows=rows,
        partition=file.hive_partition,
        accounts=accounts,
    )
    schema = pa.schema([("n", pa.int64())], metadata=footer.metadata())
    table = pa.table({"n": range(rows)}, schema=schema)
    if name.extension == "parquet":
        pq.write_table(table, local(path))
        return
    with pa.OSFile(str(local(path)), "wb") as stream:
        other_file = encoding_of(_OPTIONS[name.extension]).open(stream, table)
        other_file.write(table)
        other_file.end(footer.metadata())


_OPTIONS = {
    "orc": WriterOptions(format="orc"),
    "json.gz": WriterOptions(format="json", compression="gzip"),
    "json": WriterOptions(format="json", compression="none"),
    "text.zst": WriterOptions(format="text", compression="zstd"),
    "avro": WriterOptions(format="avro", compression="gzip"),
}
"""By the extension of the files."""


@pytest.fixture
def lost_ledger(tmp_path: Path) -> Service:
    """One visible file of epoch 2, then many epochs without files, most of them archived; the ledger is deleted."""
    service = pending_service(tmp_path, file_count=1)
    go_on(service, epochs=12)
    go_on(service, epochs=0)
    (file,) = service.files
    write_file_of(service, file.final, file.ranges[0])
    shutil.rmtree(local(service.wiring.paths(TABLE).table_directory))
    return service


def _no_kafka() -> KafkaAdmin:
    raise AssertionError("nobody asked for Kafka")


def rebuilt(wiring: Wiring) -> RebuiltLedger:
    before = (GapAcceptance("flights", 0),)
    return rebuild_ledger(wiring, TABLE, before, plan_only=False, take_over=True, kafka=_no_kafka)


def test_epochs_go_on_above_those_of_the_archive(lost_ledger: Service) -> None:
    paths, files = lost_ledger.wiring.paths(TABLE), lost_ledger.wiring.ports.files
    archived = {int(p.name[1:7]) for p in local(paths.archives).rglob("e*.final")}
    assert max(archived) > 2

    ledger = rebuilt(lost_ledger.wiring).ledger

    assert ledger.final.epoch > max(archived)
    go_on(lost_ledger, epochs=12)
    go_on(lost_ledger, epochs=0)
    history = list(final_snapshots(files, paths, look(files, paths).directory))
    assert [s.epoch for s in history] == list(range(ledger.final.epoch + 12, ledger.final.epoch - 1, -1))


@pytest.mark.parametrize(
    "extension", ["orc", "json.gz", "text.zst", pytest.param("avro", marks=needs_compiled)]
)
def test_half_visible_files_prove_a_ledger_as_those_of_parquet_do(tmp_path: Path, extension: str) -> None:
    service = pending_service(tmp_path, file_count=2)
    ours, theirs = (
        replace(f, final=renamed(f.final, extension), staged=renamed(f.staged, extension))
        for f in service.files
    )
    for file in service.files:
        local(file.staged).unlink()
    local(parent(ours.final)).mkdir(parents=True, exist_ok=True)
    write_file_of(service, ours.final, ours.ranges[0], ours.rows)
    write_file_of(service, theirs.staged, theirs.ranges[0], theirs.rows)
    shutil.rmtree(local(service.wiring.paths(TABLE).table_directory))

    found = rebuilt(service.wiring)

    pending = found.ledger.pending
    assert found.files == 2 and pending is not None
    assert {f.final for f in pending.files} == {ours.final, theirs.final}
    assert found.ledger.newest.positions[0].end == ours.ranges[0].end


def renamed(path: str, extension: str) -> str:
    parsed = DataFileName.parse(base_name(path))
    assert parsed is not None
    return join(parent(path), replace(parsed[0], extension=extension).in_state(parsed[1]))


def test_files_of_lines_without_compression_prove_nothing_and_stop_a_rebuild(lost_ledger: Service) -> None:
    (file,) = lost_ledger.files
    local(file.final).unlink()
    plain = renamed(file.final, "json")
    write_file_of(lost_ledger, plain, file.ranges[0])

    with pytest.raises(ManualActionRequired, match="do not say which offsets they hold") as refused:
        rebuilt(lost_ledger.wiring)

    assert refused.value.code == "rebuild.untracked" and plain in str(refused.value)


def test_epochs_go_on_above_those_of_files_that_nobody_finished(lost_ledger: Service) -> None:
    (file,) = lost_ledger.files
    begun = local(file.staged.replace("-g000001-e000002-", "-g000007-e000099-"))
    begun.with_name(begun.name.replace(".pending", ".in-progress")).touch()

    ledger = rebuilt(lost_ledger.wiring).ledger

    assert (ledger.final.generation, ledger.final.epoch) == (8, 100)


def test_epochs_go_on_above_those_of_certificates(lost_ledger: Service) -> None:
    """An epoch without files may have certified a partition: its number is used."""
    (file,) = lost_ledger.files
    place = file.hive_partition.location
    mine = DataFileName.parse(base_name(file.final))
    assert mine is not None
    local(certificate_path(place, mine[0].ledger, 7, 99)).touch()
    local(certificate_path(place, "0" * 8, 8, 200)).touch()  # another ledger's

    ledger = rebuilt(lost_ledger.wiring).ledger

    assert (ledger.final.generation, ledger.final.epoch) == (8, 100)


@pytest.mark.parametrize(
    ("own_path", "closes"), [("dt=%Y-%m-%d", "2013-01-02T00:00:00Z"), ("%H", UNKNOWN_END)]
)
def test_only_the_tables_own_rule_says_when_the_periods_of_its_early_partitions_end(
    lost_ledger: Service, own_path: str, closes: str
) -> None:
    wiring, (file,) = lost_ledger.wiring, lost_ledger.files
    (own,) = wiring.map.tables
    place = early_place(own.location, file.hive_partition.path)
    local(place).mkdir(parents=True)
    shutil.move(local(file.final), local(place))

    def with_path(rule: TableRule, path: str) -> TableRule:
        return replace(rule, bucketing=replace(rule.bucketing, path=path))

    family = with_path(replace(own, table="x.{topic}", pattern="(?P<topic>.+)"), "dt=%Y-%m")
    tables = (family, with_path(own, own_path))
    ledger = rebuilt(replace(wiring, map=replace(wiring.map, tables=tables))).ledger
    assert [(e.partition.location, e.closes, e.certified) for e in ledger.final.early] == [(place, closes, 0)]


class Unclear(LocalFileSystem):
    """The first rename's answer is lost, and `silent` questions about its target have none, either."""

    def __init__(self, done: bool, silent: int) -> None:
        super().__init__()
        self._done = done
        self._silent = silent
        self._target: str | None = None

    def rename(self, source: str, target: str) -> None:
        if self._target is not None:
            return super().rename(source, target)
        self._target = target
        if self._done:
            super().rename(source, target)
        raise OutcomeUnknown(source)

    def read(self, path: str) -> bytes:
        self._question(path)
        return super().read(path)

    def stat(self, path: str) -> FileStatus:
        self._question(path)
        return super().stat(path)

    def _question(self, path: str) -> None:
        if self._silent and self._target is not None and path.startswith(self._target):
            self._silent -= 1
            raise Unavailable(path)


def unclear(service: Service, done: bool, silent: int) -> Wiring:
    retry_policy = RetryPolicy(attempts=4, first=0.01)
    ports = replace(service.wiring.ports, files=Unclear(done, silent), retry_policy=retry_policy)
    return replace(service.wiring, ports=ports)


@pytest.mark.parametrize("done", [True, False])
@pytest.mark.parametrize("silent", [0, 1, 2])
def test_a_rename_without_an_answer_is_asked_about_until_there_is_one(
    lost_ledger: Service, done: bool, silent: int
) -> None:
    ledger = rebuilt(unclear(lost_ledger, done, silent)).ledger
    files, paths = lost_ledger.wiring.ports.files, lost_ledger.wiring.paths(TABLE)
    assert look(files, paths).state == ledger.final


def test_where_nothing_answers_any_more_a_rebuilding_ends_unclear(lost_ledger: Service) -> None:
    with pytest.raises(AmbiguousOutcome):
        rebuilt(unclear(lost_ledger, done=True, silent=99))


def test_a_ledger_that_another_rebuilding_made_is_not_taken_for_ones_own(lost_ledger: Service) -> None:
    wiring = unclear(lost_ledger, done=False, silent=1)
    other = replace(lost_ledger.wiring.map, service="other")

    class Overtaken(Unclear):
        def rename(self, source: str, target: str) -> None:
            try:
                super().rename(source, target)
            except OutcomeUnknown:
                rebuilt(replace(lost_ledger.wiring, map=other))
                raise

    wiring = replace(wiring, ports=replace(wiring.ports, files=Overtaken(done=False, silent=1)))
    with pytest.raises(ManualActionRequired, match="a ledger is rebuilt only if it is lost"):
        rebuilt(wiring)


def test_where_a_ledger_is_there_nothing_is_read_and_nothing_is_planned(lost_ledger: Service) -> None:
    rebuilt(lost_ledger.wiring)
    unread = replace(lost_ledger.wiring, map=replace(lost_ledger.wiring.map, tables=()))
    with pytest.raises(ManualActionRequired, match="a ledger is rebuilt only if it is lost"):
        rebuild_ledger(unread, TABLE, (), plan_only=True, take_over=True, kafka=_no_kafka)


class Delayed(LocalFileSystem):
    """A promote that was sent before the ledger was lost, and is carried out after the first listing of one of `places`."""

    def __init__(self, places: Collection[str], source: Path, target: Path) -> None:
        super().__init__()
        self._places = places
        self._source, self._target = source, target

    def list(self, path: str) -> tuple[FileStatus, ...]:
        children = super().list(path)
        if path in self._places and self._source.exists():
            self._source.rename(self._target)
        return children


def with_delayed_promote(service: Service, when: str) -> tuple[Wiring, str]:
    """Epoch 13 took offsets 15 to 25; its file is moved to the given final path after the listings of `when`."""
    (known,) = service.files
    location = service.wiring.map.tables[0].location
    staged, final = (path.replace("-e000002-", "-e000013-") for path in (known.staged, known.final))
    write_file_of(service, staged, OffsetRange(known.ranges[0].topic_partition, 15, 25))
    staging, partition = staging_directory(location), parent(final)
    places = {"the first": {staging, partition}, "the second": {location}, "both": {partition}}[when]
    files = Delayed(places, local(staged), local(final))
    return replace(service.wiring, ports=replace(service.wiring.ports, files=files)), final


@pytest.mark.parametrize("when", ["the first", "the second"])
def test_a_delayed_promote_between_the_two_listings_is_seen(lost_ledger: Service, when: str) -> None:
    """Visible places listed first do not show the file yet, and staging listed after them shows it no more."""
    wiring, final = with_delayed_promote(lost_ledger, when)

    ledger = rebuilt(wiring).ledger

    assert final in {f.final for f in ledger.newest.files}
    assert [p.end for p in ledger.newest.positions] == [25]


def test_a_promote_that_lands_after_both_listings_means_rebuild_again(lost_ledger: Service) -> None:
    wiring, final = with_delayed_promote(lost_ledger, "both")

    with pytest.raises(AmbiguousOutcome) as moved:
        rebuilt(wiring)

    assert moved.value.code == "rebuild.moving"
    assert not local(lost_ledger.wiring.paths(TABLE).table_directory).exists()
    assert [p.end for p in rebuilt(wiring).ledger.newest.positions] == [25]
    assert local(final).exists()


class Kafka:
    """A consumer group that is ahead of the files; `away`: nobody answers."""

    def __init__(self, away: bool = False) -> None:
        self.offsets = {FLIGHTS: 40}
        self.away = away

    def group_offsets(self, group: str, wanted: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        if self.away:
            raise ServiceUnavailable("kafka.unavailable", "no answer")
        return {tp: self.offsets[tp] for tp in wanted}

    def commit_group_offsets(self, group: str, offsets: dict[TopicPartition, int]) -> bool:
        self.offsets |= offsets
        return True


@pytest.mark.parametrize(("away", "offset"), [(False, 15), (True, 40)])
def test_the_consumer_group_is_set_back_to_the_rebuilt_ledger(
    lost_ledger: Service, away: bool, offset: int, caplog: pytest.LogCaptureFixture
) -> None:
    kafka = Kafka(away)
    order = RecoverRequest(rebuild=TABLE, accept_gap=(GapAcceptance("flights", 0),), take_over=True)
    result = rebuild_and_recover(lost_ledger.wiring, order, TABLE, lambda: cast(KafkaAdmin, kafka))
    assert result.exit_code == 0, result
    assert kafka.offsets == {FLIGHTS: offset}
    assert ("is not set back" in caplog.text) == away


def test_a_plan_of_a_rebuild_leaves_the_consumer_group(lost_ledger: Service) -> None:
    order = RecoverRequest(rebuild=TABLE, accept_gap=(GapAcceptance("flights", 0),), plan_only=True)
    assert rebuild_and_recover(lost_ledger.wiring, order, TABLE, _no_kafka).exit_code == 0
