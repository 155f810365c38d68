"""Two repairs at once: what a person asked for is judged after the take-over, and a move in between is no loss."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from kafka2hive.kafka.client import KafkaAdmin
from kafka2hive.ledger.history import final_snapshots
from kafka2hive.ledger.look import look
from kafka2hive.ledger.owned_ledger import OwnedLedger
from kafka2hive.model.files import DataFile
from kafka2hive.model.paths.path import join, parent
from kafka2hive.model.paths.table_directory import bucket_slug
from kafka2hive.service.recover.repair import Repairs
from kafka2hive.service.recover.result import RecoveredTable, RecoverRequest
from kafka2hive.service.recover.service import recover
from kafka2hive.service.start.preview import pending_files
from kafka2hive.service.start.takeover import RegistrationOutcome
from kafka2hive.service.wiring import Wiring
from kafka2hive.storage.local import LocalFileSystem
from kafka2hive.storage.port import FileStatus, write_file
from tests.harness.cli_ledger import TABLE, Service, pending_service
from tests.harness.repairs import no_rewrite
from tests.harness.staged_epoch import CONTENT
from tests.harness.values import file_name


class Meanwhile(LocalFileSystem):
    """A local disk on which something happens once, right after the `nth` question that `when` is about."""

    def __init__(self, when: Callable[[str], bool], then: Callable[[], object], nth: int = 1) -> None:
        super().__init__()
        self._when = when
        self._then = then
        self._left = nth

    def read(self, path: str) -> bytes:
        try:
            return super().read(path)
        finally:
            self._happen(path)

    def stat(self, path: str) -> FileStatus:
        try:
            return super().stat(path)
        finally:
            self._happen(path)

    def _happen(self, path: str) -> None:
        if self._left and self._when(path):
            self._left -= 1
            if not self._left:
                self._then()


class Fetched:
    """Writes a file like the lost one at each call, as a refetch would."""

    def __init__(self, wiring: Wiring) -> None:
        self.wiring = wiring
        self.times = 0

    def __call__(self, owned: OwnedLedger, lost: DataFile) -> tuple[DataFile, ...]:
        self.times += 1
        name = file_name(
            owned.state.ledger_id,
            owned.generation.number,
            owned.next_epoch,
            slug=bucket_slug(lost.hive_partition.path),
            task=lost.task,
            uuid=f"{self.times + 100:032x}",
        )
        file = replace(
            lost,
            staged=join(parent(lost.staged), name.in_state("pending")),
            final=join(lost.hive_partition.location, name.in_state("final")),
        )
        write_file(self.wiring.ports.files, file.staged, CONTENT)
        return (file,)


def _no_kafka() -> KafkaAdmin:
    raise AssertionError("nobody asked for Kafka")


def on(service: Service, files: LocalFileSystem) -> Wiring:
    return replace(service.wiring, ports=replace(service.wiring.ports, files=files))


def recovered(wiring: Wiring, order: RecoverRequest, fetched: Fetched) -> RecoveredTable:
    repairs = Repairs(wiring, _no_kafka, fetched, no_rewrite)
    (table,) = recover(wiring, order, RegistrationOutcome, repairs).tables
    return table


@pytest.mark.parametrize("how", ["refetch", "accept-loss"])
def test_a_file_that_another_recover_has_repaired_meanwhile_is_not_repaired_again(
    tmp_path: Path, how: str
) -> None:
    service = pending_service(tmp_path)
    lost = service.files[0].final
    service.staged(0).unlink()
    fetched = Fetched(service.wiring)
    other = RecoverRequest(refetch=(lost,))
    mine = other if how == "refetch" else RecoverRequest(accept_loss=(lost,))
    wiring = on(
        service,
        Meanwhile(
            lambda path: path.endswith("/e000002.pending"),
            lambda: recovered(service.wiring, other, fetched),
        ),
    )

    table = recovered(wiring, mine, fetched)

    assert fetched.times == 1
    assert len(list(service.final(0).parent.glob("*.final"))) == 2  # the other one's, and the second file
    assert (table.error, table.repaired) == (None, ())
    losses = look(service.wiring.ports.files, service.wiring.paths(TABLE)).state.losses
    assert [(loss.path, loss.remedy) for loss in losses] == [(lost, "refetch")]


def test_a_file_that_came_back_meanwhile_is_moved_and_not_given_up(tmp_path: Path) -> None:
    service = pending_service(tmp_path)
    service.staged(0).rename(tmp_path / "trash")
    wiring = on(
        service,
        Meanwhile(
            lambda path: path in (service.files[0].staged, service.files[0].final),
            lambda: (tmp_path / "trash").rename(service.staged(0)),
            nth=2,
        ),
    )

    table = recovered(wiring, RecoverRequest(accept_loss=(service.files[0].final,)), Fetched(wiring))

    assert service.final(0).exists()
    assert (table.repaired, table.moves.given_up, table.moves.renamed) == ((), 0, 2)


def promoted_between_the_looks(service: Service) -> Meanwhile:
    """A dying owner's promote that lands after the first of the two looks at the first file."""

    def promote() -> None:
        service.final(0).parent.mkdir()
        service.staged(0).rename(service.final(0))

    return Meanwhile(lambda path: path in (service.files[0].staged, service.files[0].final), promote)


def test_a_file_promoted_between_two_looks_is_not_fetched_again(tmp_path: Path) -> None:
    service = pending_service(tmp_path)
    wiring = on(service, promoted_between_the_looks(service))
    fetched = Fetched(wiring)

    table = recovered(wiring, RecoverRequest(refetch=(service.files[0].final,)), fetched)

    assert (fetched.times, table.repaired, table.moves.given_up) == (0, (), 0)
    assert len(list(service.final(0).parent.glob("*.final"))) == 2
    paths = service.wiring.paths(TABLE)
    view = look(service.wiring.ports.files, paths)
    newest = next(final_snapshots(service.wiring.ports.files, paths, view.directory))
    assert newest.losses == ()


def test_a_plan_does_not_take_a_move_between_its_looks_for_a_loss(tmp_path: Path) -> None:
    service = pending_service(tmp_path)

    found = pending_files(promoted_between_the_looks(service), TABLE, service.files)

    assert found.problem is None
    assert found.staged + found.already_there == len(service.files)
