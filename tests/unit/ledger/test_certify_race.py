"""A certificate that appears between the look and the rename: this one by another process, or another text."""

import json
import logging
from dataclasses import replace
from pathlib import Path

import pytest

from kafka2hive.ledger.certify import certify
from kafka2hive.ledger.owned_ledger import OwnedLedger
from kafka2hive.model.files import HivePartition
from kafka2hive.model.paths.table_directory import certificate_draft_name, certificate_path
from kafka2hive.model.snapshot import Certificate
from kafka2hive.storage.local import LocalFileSystem
from kafka2hive.storage.port import AlreadyExists
from tests.harness.cli_ledger import TABLE, Service, local, pending_service
from tests.unit.service.later_epochs import take


class Raced(LocalFileSystem):
    """A file system in which another process is faster with a certificate: with our text, or with `other`."""

    def __init__(self, other: bytes | None = None) -> None:
        super().__init__()
        self._other = other

    def rename(self, source: str, target: str) -> None:
        text = local(source).read_bytes() if self._other is None else self._other
        local(target).parent.mkdir(parents=True, exist_ok=True)
        local(target).write_bytes(text)
        raise AlreadyExists(target)


class DraftsAtRename(LocalFileSystem):
    """A file system that notes which drafts are there when a certificate is renamed."""

    def __init__(self) -> None:
        super().__init__()
        self.drafts: set[str] = set()

    def rename(self, source: str, target: str) -> None:
        self.drafts = {path.name for path in local(target).parent.glob("*.in-progress")}
        super().rename(source, target)


@pytest.fixture
def service(tmp_path: Path) -> Service:
    return pending_service(tmp_path)


@pytest.fixture
def owned(service: Service) -> OwnedLedger:
    """Return a ledger with one complete partition."""
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


def test_the_same_certificate_of_another_process_is_no_fault(
    service: Service, owned: OwnedLedger, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        done = certify(replace(service.wiring.ports, files=Raced()), owned)
    assert caplog.text == "" and len(done.certified) == 1


def test_a_text_that_a_newer_version_would_write_differently_is_the_same_certificate(
    service: Service, owned: OwnedLedger
) -> None:
    (complete,) = owned.state.certificates
    state = owned.state
    path = certificate_path(complete.partition.location, state.ledger_id, state.generation, state.epoch)
    newer = {
        "ledger": state.ledger_id,
        "generation": state.generation,
        "partition": complete.partition.path,
        "epochs": [1, state.epoch],
        "news": 1,
    }
    local(path).write_text(json.dumps(newer))
    assert certify(service.wiring.ports, owned).certified == {complete.partition}


def test_another_text_stays_and_stops_nothing(
    service: Service, owned: OwnedLedger, caplog: pytest.LogCaptureFixture
) -> None:
    done = certify(replace(service.wiring.ports, files=Raced(b"another text")), owned)
    assert done.certified == frozenset() and "another file is in its place" in caplog.text
    (complete,) = owned.state.certificates
    state = owned.state
    path = certificate_path(complete.partition.location, state.ledger_id, state.generation, state.epoch)
    assert local(path).read_bytes() == b"another text"


def test_drafts_of_others_are_deleted_only_once_the_certificate_is_in_place(
    service: Service, owned: OwnedLedger
) -> None:
    """Another process may be about to rename one: made once more by a delayed create, it would be empty."""
    (complete,) = owned.state.certificates
    state = owned.state
    path = certificate_path(complete.partition.location, state.ledger_id, state.generation, state.epoch)
    local(path).parent.mkdir(parents=True, exist_ok=True)
    other = certificate_draft_name(local(path).name, "0" * 32)
    (local(path).parent / other).write_text("{}")
    files = DraftsAtRename()
    certify(replace(service.wiring.ports, files=files), owned)
    assert other in files.drafts and len(files.drafts) == 2
    assert not list(local(path).parent.glob("*.in-progress"))


def test_a_directory_that_is_gone_is_not_made_again(service: Service, owned: OwnedLedger) -> None:
    (complete,) = owned.state.certificates
    gone = replace(complete, partition=replace(complete.partition, location=f"{owned.state.location}/old"))
    done = certify(service.wiring.ports, replace(owned, state=replace(owned.state, certificates=(gone,))))
    assert done.certified == frozenset() and not local(gone.partition.location).exists()
