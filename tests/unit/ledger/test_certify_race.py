"""A certificate that comes into its place between the look and the rename: ours by another process, or somebody else's."""

import logging
from dataclasses import replace
from pathlib import Path

import pytest

from kafka2hive.ledger.certify import certify
from kafka2hive.ledger.owned_ledger import OwnedLedger
from kafka2hive.model.completeness import Certificate
from kafka2hive.model.errors import ManualActionRequired
from kafka2hive.model.files import HivePartition
from kafka2hive.model.paths.table_directory import certificate_path
from kafka2hive.storage.local import LocalFileSystem
from kafka2hive.storage.port import AlreadyExists
from tests.harness.cli_ledger import TABLE, Service, local, pending_service
from tests.unit.service.later_epochs import take


class Raced(LocalFileSystem):
    """Another process is faster with a certificate: with our text, or with `other`."""

    def __init__(self, other: bytes | None = None) -> None:
        super().__init__()
        self._other = other

    def rename(self, source: str, target: str) -> None:
        text = local(source).read_bytes() if self._other is None else self._other
        local(target).parent.mkdir(parents=True, exist_ok=True)
        local(target).write_bytes(text)
        raise AlreadyExists(target)


@pytest.fixture
def service(tmp_path: Path) -> Service:
    return pending_service(tmp_path)


@pytest.fixture
def owned(service: Service) -> OwnedLedger:
    """With one partition that is complete."""
    held = take(service.wiring)
    partition = HivePartition(TABLE, "dt=2013-01-01", f"{held.state.location}/dt=2013-01-01")
    complete = Certificate(
        partition=partition,
        since=1,
        files=1,
        rows=1,
        through="2013-01-03T00:00:00Z",
        policy="delay",
        success_file="",
    )
    return replace(held, state=replace(held.state, certificates=(complete,)))


def test_the_same_text_of_another_process_is_no_fault(
    service: Service, owned: OwnedLedger, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        certify(replace(service.wiring.ports, files=Raced()), owned)
    assert caplog.text == ""


def test_another_text_stops_the_table_and_stays(service: Service, owned: OwnedLedger) -> None:
    with pytest.raises(ManualActionRequired) as stopped:
        certify(replace(service.wiring.ports, files=Raced(b"another text")), owned)
    assert stopped.value.code == "ledger.conflict"
    (complete,) = owned.state.certificates
    state = owned.state
    path = certificate_path(complete.partition.location, state.ledger_id, state.generation, state.epoch)
    assert local(path).read_bytes() == b"another text"
