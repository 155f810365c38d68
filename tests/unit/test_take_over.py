"""What a take-over says of a state it cannot believe: the look before it and the take-over itself judge alike."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from kafka2hive.ledger.codec import decode, encode
from kafka2hive.ledger.look import look
from kafka2hive.ledger.take_over import take_over
from kafka2hive.model.errors import Stop
from kafka2hive.service.identity import new_owner
from tests.unit.cli_ledger import TABLE, Service, local, pending_service


def of_another_table(text: bytes) -> bytes:
    return encode(replace(decode(text), table="air.departures"))


def of_another_epoch(text: bytes) -> bytes:
    return encode(replace(decode(text), epoch=7))


def cut_off(text: bytes) -> bytes:
    return text[:-10]


@pytest.mark.parametrize(
    ("damage", "code"),
    [
        (of_another_table, "ledger.impossible"),
        (of_another_epoch, "ledger.impossible"),
        (cut_off, "ledger.damaged"),
    ],
)
def test_look_and_take_over_say_the_same_and_nothing_that_the_rename_made_wrong(
    tmp_path: Path, damage: Callable[[bytes], bytes], code: str
) -> None:
    service = pending_service(tmp_path)
    state = _state(service)
    state.write_bytes(damage(state.read_bytes()))
    ports, paths = service.wiring.ports, service.wiring.paths(TABLE)

    with pytest.raises(Stop) as looked:
        look(ports.files, paths)
    with pytest.raises(Stop) as taken:
        take_over(ports, paths, new_owner())

    assert not state.exists()  # the directory has its new name
    assert looked.value.code == taken.value.code == code
    assert looked.value.remedy == taken.value.remedy
    assert "nothing was changed" not in taken.value.remedy


def _state(service: Service) -> Path:
    (path,) = local(service.wiring.paths(TABLE).table_directory).glob("g*/e000002.pending")
    return path
