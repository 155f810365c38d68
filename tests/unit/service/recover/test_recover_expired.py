"""Files of dropped partitions are no losses: neither refetched nor given up, also long after their lines have ended."""

from dataclasses import replace
from pathlib import Path

import pytest

from kafka2hive.kafka.client import KafkaAdmin
from kafka2hive.ledger.look import look
from kafka2hive.ledger.owned_ledger import OwnedLedger
from kafka2hive.ledger.snapshot.codec import encode
from kafka2hive.model.files import DataFile, HivePartition
from kafka2hive.model.paths.path import base_name, join, parent
from kafka2hive.model.paths.table_directory import RetirementName, early_place, ledger_tag
from kafka2hive.model.snapshot import DroppedPartition, EventBounds, Snapshot
from kafka2hive.service.recover.repair import Repairs
from kafka2hive.service.recover.result import RecoveredTable, RecoverRequest
from kafka2hive.service.recover.service import recover
from kafka2hive.service.start.takeover import RegistrationOutcome
from tests.harness.cli_ledger import TABLE, Service, local, pending_service
from tests.harness.repairs import no_rewrite

EXPIRED = EventBounds(expired_before_ms=1)


def no_kafka() -> KafkaAdmin:
    raise AssertionError("nobody asked for Kafka")


def no_refetch(owned: OwnedLedger, lost: DataFile) -> tuple[DataFile, ...]:
    raise AssertionError(f"{lost.final} is fetched again")


class Table:
    """A table whose epoch 2 is final, with two files that were deleted since."""

    def __init__(self, folder: Path) -> None:
        self.service: Service = pending_service(folder)
        self.recover(RecoverRequest())
        for number in range(2):
            self.service.final(number).unlink()
        self.home = self.service.files[0].hive_partition
        self.lost = tuple(file.final for file in self.service.files)

    def recover(self, request: RecoverRequest) -> RecoveredTable:
        wiring = self.service.wiring
        repairs = Repairs(wiring, no_kafka, no_refetch, no_rewrite)
        (table,) = recover(wiring, request, RegistrationOutcome, repairs).tables
        return table

    @property
    def state(self) -> Snapshot:
        return look(self.service.wiring.ports.files, self.service.wiring.paths(TABLE)).state

    def restate(self, **changes: object) -> None:
        view = look(self.service.wiring.ports.files, self.service.wiring.paths(TABLE))
        path = local(f"{view.directory}/e{view.state.epoch:06d}.final")
        path.write_bytes(encode(replace(view.state, **changes)))  # type: ignore[arg-type]

    def drop(self, home: HivePartition) -> None:
        line = DroppedPartition(partition=home, epoch=3, gone_since="2026-01-01T00:00:00Z")
        self.restate(bounds=EXPIRED, dropped=(line,))

    def go_on(self) -> None:
        """Write another snapshot, without files and without the lines of dropped partitions."""
        view = look(self.service.wiring.ports.files, self.service.wiring.paths(TABLE))
        newer = replace(view.state, epoch=view.state.epoch + 1, files=(), dropped=())
        local(f"{view.directory}/e{newer.epoch:06d}.final").write_bytes(encode(newer))

    def move_early(self) -> None:
        """Let the files be those of the partition's early place, which was retired before it was dropped."""
        files = []
        for file in self.state.files:
            place = early_place(self.home.location.removesuffix("/" + self.home.path), self.home.path)
            partition = replace(file.hive_partition, location=place)
            files.append(replace(file, hive_partition=partition, final=join(place, base_name(file.final))))
        self.restate(files=tuple(files))
        self.lost = tuple(file.final for file in files)


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return Table(tmp_path)


def requests(table: Table) -> list[RecoverRequest]:
    pattern = f"{parent(table.lost[0])}/*"
    return [
        RecoverRequest(accept_loss=table.lost[:1]),
        RecoverRequest(refetch=table.lost[:1]),
        RecoverRequest(accept_loss=(pattern,)),
        RecoverRequest(refetch=(pattern,)),
    ]


@pytest.mark.parametrize("request_number", range(4))
@pytest.mark.parametrize("early", [False, True])
@pytest.mark.parametrize("ended", [False, True])
def test_what_has_expired_is_neither_given_up_nor_fetched_again(
    table: Table, request_number: int, early: bool, ended: bool
) -> None:
    if early:
        table.move_early()
    table.drop(table.home)
    if ended:
        table.go_on()
    recovered = table.recover(requests(table)[request_number])
    assert (recovered.error, recovered.repaired) == (None, ())
    assert table.state.losses == ()


def test_a_lost_file_beside_a_dropped_partition_is_given_up(table: Table) -> None:
    table.drop(
        replace(table.home, path="dt=2012-01-01", location=parent(table.home.location) + "/dt=2012-01-01")
    )
    recovered = table.recover(RecoverRequest(accept_loss=table.lost[:1]))
    assert recovered.repaired == table.lost[:1]
    assert [loss.path for loss in table.state.losses] == list(table.lost[:1])
    again = table.recover(RecoverRequest(accept_loss=(f"{parent(table.lost[0])}/*",)))
    assert again.repaired == table.lost[1:], "the first one is recorded already"


def test_a_retired_file_is_no_loss_and_a_lost_one_is_recorded_with_the_epoch_that_does_so(
    table: Table,
) -> None:
    table.move_early()
    directory = parent(table.lost[0])
    local(directory).mkdir(parents=True)
    table.go_on()
    mark = RetirementName(ledger_tag(table.state.ledger_id), table.state.epoch).text
    (local(directory) / mark).touch()
    retired = table.recover(RecoverRequest(accept_loss=(f"{directory}/*",)))
    assert (retired.error, retired.repaired) == (None, ())
    (local(directory) / mark).unlink()
    assert table.recover(RecoverRequest(accept_loss=(f"{directory}/*",))).repaired == table.lost
    epochs = {loss.epoch for loss in table.state.losses}
    assert epochs == {table.state.epoch} and table.state.losses[0].rows == table.service.files[0].rows
