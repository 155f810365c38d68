"""Which files a path or a pattern names: those of replayed letters are hidden on purpose, so they are neither lost nor named."""

from dataclasses import replace
from pathlib import Path

import pytest

from kafka2hive.kafka.client import KafkaAdmin
from kafka2hive.ledger.look import look
from kafka2hive.ledger.owned_ledger import OwnedLedger
from kafka2hive.ledger.snapshot.codec import checksum_of, encode
from kafka2hive.model.files import DataFile
from kafka2hive.model.offsets import OffsetAccounting
from kafka2hive.model.snapshot import ACCEPT_LOSS, ReplayedFile
from kafka2hive.service.recover.repair import Repairs
from tests.harness.cli_ledger import TABLE, invoke, local, pending_service
from tests.harness.repairs import no_rewrite


def no_kafka() -> KafkaAdmin:
    raise AssertionError("nobody asked for Kafka")


def no_refetch(owned: OwnedLedger, lost: DataFile) -> tuple[DataFile, ...]:
    raise AssertionError(f"{lost.final} is fetched again")


@pytest.mark.parametrize("state", ["pending", "final", "older"])
def test_a_pattern_does_not_name_a_file_whose_letters_were_replayed(tmp_path: Path, state: str) -> None:
    """The snapshot that replays them may still be pending: its files are hidden (R11) before it is final."""
    service = pending_service(tmp_path)
    assert invoke("recover", "-c", str(service.map)).exit_code == 0
    first, second = (file.final for file in service.files)
    for number in range(2):
        service.final(number).unlink()
    files, paths = service.wiring.ports.files, service.wiring.paths(TABLE)
    view = look(files, paths)
    line = ReplayedFile(path=first, task=0, account=OffsetAccounting(read=5, written=5))
    newer = replace(
        view.state,
        epoch=view.state.epoch + 1,
        files=(),
        replayed=(line,),
        previous=checksum_of(view.state),
    )
    path = f"{view.directory}/e{newer.epoch:06d}.{'pending' if state == 'pending' else 'final'}"
    local(path).write_bytes(encode(newer))
    if state == "older":
        newest = replace(newer, epoch=newer.epoch + 1, replayed=(), previous=checksum_of(newer))
        local(f"{view.directory}/e{newest.epoch:06d}.final").write_bytes(encode(newest))
    repairs = Repairs(service.wiring, no_kafka, no_refetch, no_rewrite)
    pattern = first.rpartition("/")[0] + "/*"
    named = repairs.lost_files(look(files, paths), {pattern: ACCEPT_LOSS})
    assert [file.final for file, _ in named] == [second]
    assert repairs.lost_files(look(files, paths), {first: ACCEPT_LOSS}) == []
