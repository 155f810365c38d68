"""A take-over and the look before it report an impossible state in the same way."""

import hashlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from kafka2hive.ledger.look import look
from kafka2hive.ledger.snapshot.codec import decode, encode
from kafka2hive.ledger.start import Owners, StartRequest, start, take_over
from kafka2hive.model.errors import ManualActionRequired, TakeOverLost
from kafka2hive.model.paths.ledger import Generation, LedgerPaths
from kafka2hive.storage.local import LocalFileSystem
from kafka2hive.storage.port import FileStatus, OutcomeUnknown
from tests.harness.cli_ledger import TABLE, Service, local, pending_service
from tests.harness.owner import new_owner


def of_another_table(text: bytes) -> bytes:
    return encode(replace(decode(text), table="air.departures"))


def of_another_epoch(text: bytes) -> bytes:
    return encode(replace(decode(text), epoch=7))


def cut_off(text: bytes) -> bytes:
    return text[:-10]


def in_a_newer_format(text: bytes) -> bytes:
    body = text.rpartition(b"checksum ")[0].replace(b'{"format":', b'{"format":9', 1)
    return body + b"checksum sha256:" + hashlib.sha256(body).hexdigest().encode() + b"\n"


@pytest.mark.parametrize(
    ("damage", "code"),
    [
        (of_another_table, "ledger.impossible"),
        (of_another_epoch, "ledger.impossible"),
        (cut_off, "ledger.damaged"),
        (in_a_newer_format, "ledger.newer"),
    ],
)
def test_look_and_take_over_say_the_same_and_nothing_that_the_rename_made_wrong(
    tmp_path: Path, damage: Callable[[bytes], bytes], code: str
) -> None:
    service = pending_service(tmp_path)
    state = _state(service)
    state.write_bytes(damage(state.read_bytes()))
    ports, paths = service.wiring.ports, service.wiring.paths(TABLE)

    with pytest.raises(ManualActionRequired) as looked:
        look(ports.files, paths)
    with pytest.raises(ManualActionRequired) as taken:
        take_over(ports, paths, new_owner())

    assert not state.exists()  # the directory has its new name
    assert looked.value.code == taken.value.code == code
    assert looked.value.remedy == taken.value.remedy
    assert "nothing was changed" not in taken.value.remedy


def _state(service: Service) -> Path:
    (path,) = local(service.wiring.paths(TABLE).table_directory).glob("g*/e000002.pending")
    return path


class LateTakeOver(LocalFileSystem):
    """The first rename of a generation directory has no answer, and is done when `arrive` is called."""

    def __init__(self, paths: LedgerPaths, listings: int | None) -> None:
        super().__init__()
        self._table = paths.table_directory
        self._listings = listings
        self._sent: tuple[str, str] | None = None

    def rename(self, source: str, target: str) -> None:
        if self._sent is None and source.startswith(f"{self._table}/g"):
            self._sent = (source, target)
            raise OutcomeUnknown(source)
        super().rename(source, target)

    def list(self, path: str) -> tuple[FileStatus, ...]:
        """List; the lost rename arrives after `listings` listings of the table's directory."""
        children = super().list(path)
        if self._sent is not None and self._listings is not None and path == self._table:
            self._listings -= 1
            if self._listings == 0:
                self.arrive()
        return children

    def arrive(self) -> None:
        if self._sent is not None:
            super().rename(*self._sent)


@pytest.mark.parametrize("listings", [1, 2])
def test_a_starter_does_not_lose_against_its_own_late_take_over(tmp_path: Path, listings: int) -> None:
    """The rename arrives between two listings of the same starter, which takes the table over nevertheless."""
    service = pending_service(tmp_path)
    paths = service.wiring.paths(TABLE)
    files = LateTakeOver(paths, listings)
    ports = replace(service.wiring.ports, files=files)
    owners = Owners(new_owner)

    owned = start(ports, StartRequest(paths, lambda: None, owners)).owned

    assert owned.generation.number == 3  # 1 is the service's own, 2 the late one
    assert owned.generation.owner in owners
    assert look(files, paths).generation == owned.generation


def test_a_starter_does_not_lose_when_its_late_take_over_lands_after_its_look(tmp_path: Path) -> None:
    service = pending_service(tmp_path)
    paths = service.wiring.paths(TABLE)
    files = LateTakeOver(paths, None)
    looked: list[Generation] = []

    def judge() -> Generation:
        looked.append(look(files, paths).generation)
        if len(looked) == 2:
            files.arrive()
        return looked[-1]

    ports = replace(service.wiring.ports, files=files)
    owned = start(ports, StartRequest(paths, judge, Owners(new_owner))).owned

    assert [generation.number for generation in looked] == [1, 1, 2]
    assert owned.generation.number == 3


def test_another_process_with_the_same_host_and_process_id_is_another_owner(tmp_path: Path) -> None:
    service = pending_service(tmp_path)
    ports, paths = service.wiring.ports, service.wiring.paths(TABLE)
    owners = Owners(new_owner)
    owners.new_name()
    judged = look(ports.files, paths).generation
    take_over(ports, paths, new_owner())  # same host, same process id: as after a restart in a container

    with pytest.raises(TakeOverLost):
        take_over(ports, paths, owners.new_name(), judged, owners)


def test_a_run_knows_the_names_of_all_its_starts(tmp_path: Path) -> None:
    wiring = pending_service(tmp_path).wiring
    name = wiring.owners.new_name()
    assert name in wiring.owners and name in replace(wiring, ports=wiring.ports).owners
    assert wiring.new_owner() not in wiring.owners


def test_a_ledger_without_generation_names_the_reset_that_may_not_have_ended(tmp_path: Path) -> None:
    service = pending_service(tmp_path)
    paths = service.wiring.paths(TABLE)
    (generation,) = local(paths.table_directory).iterdir()
    generation.rename(tmp_path / "away")
    with pytest.raises(ManualActionRequired) as stop:
        look(service.wiring.ports.files, paths)
    assert stop.value.code == "ledger.generations"
    assert (
        f"`kafka2hive reset --table {TABLE} --move-data -c MAP`, or with `--keep-data`" in stop.value.remedy
    )
