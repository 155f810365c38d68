"""Closing a file on HDFS: synced first; an answer that did not come is settled by the lease and the length."""

from dataclasses import dataclass, field
from typing import Any

import pytest

from kafka2hive.storage.hdfs import HdfsFileSystem
from kafka2hive.storage.port import FileWriter, OutcomeUnknown, StorageError, Unavailable

ROOT = "hdfs://nn:1"


@dataclass
class Status:
    length: int
    path: str = "/f"
    isdir: bool = False
    modification_time: int = 1


@dataclass
class Client:
    """`lost` calls, by name, get no answer, once each time they are named; `leases` is what asking for one gives."""

    lost: list[str] = field(default_factory=list)
    leases: list[bool] = field(default_factory=lambda: [True])
    length: int = 3
    log: list[str] = field(default_factory=list)

    def create(self, _path: str, _options: Any) -> "RawWriter":
        return RawWriter(self)

    def recover_lease(self, _path: str) -> bool:
        self.step("recover")
        return self.leases.pop(0)

    def get_file_info(self, _path: str) -> Status:
        self.step("stat")
        return Status(self.length)

    def set_times(self, *_: Any) -> None:
        self.step("proof")

    def step(self, name: str) -> None:
        self.log.append(name)
        if name in self.lost:
            self.lost.remove(name)
            raise OSError("connection reset")


@dataclass
class RawWriter:
    client: Client

    def write(self, data: bytes) -> None:
        self.client.step("write")

    def hsync(self) -> None:
        self.client.step("hsync")

    def close(self) -> None:
        self.client.step("close")


def writer(client: Client) -> FileWriter:
    class Files(HdfsFileSystem):
        def _connect(self, more: dict[str, str] | None = None) -> Client:
            return client

    made = Files(ROOT).create(f"{ROOT}/f")
    made.write(b"abc")
    return made


def told(client: Client) -> list[str]:
    """The calls, without the proofs that questions after a lost answer need."""
    return [name for name in client.log if name not in ("write", "stat", "proof")]


def test_every_byte_is_synced_before_the_file_is_closed() -> None:
    client = Client()
    writer(client).close()
    assert client.log == ["write", "hsync", "close"]


def test_a_sync_without_an_answer_is_repeated_before_the_file_is_closed() -> None:
    client = Client(["hsync"])
    file = writer(client)
    with pytest.raises(OutcomeUnknown):
        file.close()
    file.close()
    assert told(client) == ["hsync", "hsync", "close"]


def test_a_close_without_an_answer_is_settled_by_the_lease_and_the_length() -> None:
    client = Client(["close"])
    file = writer(client)
    with pytest.raises(OutcomeUnknown):
        file.close()
    file.close()
    assert told(client) == ["hsync", "close", "recover"], "hdfs-native cannot close twice"
    assert client.log[-1] == "stat"
    with pytest.raises(ValueError, match="closed"):
        file.close()


def test_a_file_whose_lease_is_still_being_recovered_is_not_closed_yet() -> None:
    client = Client(["close"], leases=[False, False, True])
    file = writer(client)
    with pytest.raises(OutcomeUnknown):
        file.close()
    for _ in range(2):
        with pytest.raises(Unavailable, match="recovered"):
            file.close()
    file.close()
    assert told(client) == ["hsync", "close", "recover", "recover", "recover"]


def test_a_recovered_file_that_is_too_short_is_an_error_for_good() -> None:
    client = Client(["close"], length=2)
    file = writer(client)
    with pytest.raises(OutcomeUnknown):
        file.close()
    with pytest.raises(StorageError, match="2 bytes, 3 were written") as told:
        file.close()
    assert not isinstance(told.value, Unavailable | OutcomeUnknown), "nobody may close it once more"


@pytest.mark.parametrize("lost", ["recover", "stat"])
def test_a_look_after_a_close_without_an_answer_is_taken_again(lost: str) -> None:
    client = Client(["close", lost], leases=[True, True, True])
    file = writer(client)
    with pytest.raises(OutcomeUnknown):
        file.close()
    with pytest.raises(Unavailable):
        file.close()
    file.close()


def test_whether_the_lease_is_recovered_is_asked_of_a_namenode_that_acknowledged_a_change() -> None:
    client = Client(["close"])
    file = writer(client)
    with pytest.raises(OutcomeUnknown):
        file.close()
    file.close()
    after = client.log[client.log.index("close") + 1 :]
    assert after.index("proof") < after.index("recover")
