"""A file on HDFS is synced before it is closed, and a lost response to the close is settled by the lease and the length.

The lease closes the file as soon as its last block was reported, while hdfs-native still sleeps before it asks again.
"""

import threading
from dataclasses import dataclass, field
from typing import Any

import pytest

from kafka2hive.storage.hdfs import HdfsFileSystem
from kafka2hive.storage.hdfs_writer import Closings
from kafka2hive.storage.port import NotFound, OutcomeUnknown, StorageError, StorageWriter, Unavailable

ROOT = "hdfs://nn:1"


@dataclass
class Status:
    length: int
    path: str = "/f"
    isdir: bool = False
    modification_time: int = 1


@dataclass
class Client:
    """Calls named in `lost` get no response, once for each mention; `leases` are the results of lease recoveries."""

    lost: list[str] = field(default_factory=list)
    leases: list[bool] = field(default_factory=lambda: [True])
    length: int = 3
    log: list[str] = field(default_factory=list)
    reported: list[int] = field(default_factory=list)
    """The bytes of complete blocks that the next looks find; later looks find none."""
    asleep: threading.Event | None = None
    """The close of hdfs-native sleeps until it is set."""
    refusal: str = ""
    """The error of closing, after its sleep."""
    closing: threading.Event = field(default_factory=threading.Event)
    closers: list[threading.Thread] = field(default_factory=list)
    """The threads that sleep or have slept."""

    def create(self, _path: str, _options: Any) -> "RawWriter":
        return RawWriter(self)

    def recover_lease(self, _path: str) -> bool:
        self.step("recover")
        return self.leases.pop(0)

    def get_file_info(self, _path: str) -> Status:
        self.step("stat")
        return Status(self.length)

    def read(self, _path: str) -> bytes:
        if not self.reported:
            return b""
        assert self.closing.wait(60)
        self.step("look")
        return b"x" * self.reported.pop(0)

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
        if self.client.asleep is not None:
            self.client.closers.append(threading.current_thread())
            self.client.closing.set()
            assert self.client.asleep.wait(60)
            self.client.log.append("awake")
        if self.client.refusal:
            raise RuntimeError(self.client.refusal)


def file_system(client: Client) -> HdfsFileSystem:
    class Files(HdfsFileSystem):
        def _connect(self, more: dict[str, str] | None = None) -> Client:
            return client

    return Files(ROOT)


def writer(client: Client, data: bytes = b"abc") -> StorageWriter:
    made = file_system(client).create(f"{ROOT}/f")
    made.write(data)
    return made


def calls_of(client: Client) -> list[str]:
    """Return the calls without the proofs that reads need after a lost response."""
    return [name for name in client.log if name not in ("write", "stat", "proof")]


def test_every_byte_is_synced_before_the_file_is_closed() -> None:
    client = Client()
    writer(client).close()
    assert client.log == ["write", "hsync", "close"]


def test_a_sync_without_a_response_is_repeated_before_the_file_is_closed() -> None:
    client = Client(["hsync"])
    file = writer(client)
    with pytest.raises(OutcomeUnknown):
        file.close()
    file.close()
    assert calls_of(client) == ["hsync", "hsync", "close"]


def test_a_close_without_a_response_is_settled_by_the_lease_and_the_length() -> None:
    client = Client(["close"])
    file = writer(client)
    with pytest.raises(OutcomeUnknown):
        file.close()
    file.close()
    assert calls_of(client) == ["hsync", "close", "recover"], "hdfs-native cannot close twice"
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
    assert calls_of(client) == ["hsync", "close", "recover", "recover", "recover"]


def test_a_recovered_file_that_is_too_short_is_an_error_for_good() -> None:
    client = Client(["close"], length=2)
    file = writer(client)
    with pytest.raises(OutcomeUnknown):
        file.close()
    with pytest.raises(StorageError, match="2 bytes, 3 were written") as caught:
        file.close()
    assert not isinstance(caught.value, Unavailable | OutcomeUnknown), "nobody may close it once more"


@pytest.mark.parametrize("lost", ["recover", "stat"])
def test_a_look_after_a_close_without_a_response_is_repeated(lost: str) -> None:
    client = Client(["close", lost], leases=[True, True, True])
    file = writer(client)
    with pytest.raises(OutcomeUnknown):
        file.close()
    with pytest.raises(Unavailable):
        file.close()
    file.close()


def test_the_lease_is_recovered_by_a_namenode_that_acknowledged_a_change() -> None:
    client = Client(["close"])
    file = writer(client)
    with pytest.raises(OutcomeUnknown):
        file.close()
    file.close()
    after = client.log[client.log.index("close") + 1 :]
    assert after.index("proof") < after.index("recover")


class SleepyClient(Client):
    """Let hdfs-native's close sleep until `until` was called (the last look), or until `wake` if it is None."""

    def __init__(self, until: str | None, **fields: Any) -> None:
        super().__init__(asleep=threading.Event(), **fields)
        self._until = until

    def step(self, name: str) -> None:
        try:
            super().step(name)
        finally:
            if name == self._until and not (name == "look" and len(self.reported) > 1):
                self.wake()

    def wake(self) -> None:
        """hdfs-native asks again, and its thread ends."""
        assert self.asleep is not None
        self.asleep.set()
        for closer in self.closers:
            closer.join(60)


def test_a_file_is_closed_by_its_lease_as_soon_as_its_last_block_was_reported() -> None:
    client = SleepyClient(None, reported=[0, 0, 3], leases=[True, True])
    writer(client).close()
    assert client.log == ["write", "hsync", "close", *["look"] * 3, "recover", "proof", "recover"]
    client.wake()


@pytest.mark.parametrize("reported", [0, 2])
def test_the_lease_is_not_recovered_before_the_last_block_was_reported(reported: int) -> None:
    client = SleepyClient("look", reported=[reported, reported])
    writer(client).close()
    assert client.log == ["write", "hsync", "close", "look", "look", "awake"]


def test_a_look_without_a_response_leaves_the_close_to_hdfs_native() -> None:
    client = SleepyClient("look", lost=["look"], reported=[3])
    writer(client).close()
    assert client.log[-2:] == ["look", "awake"]


@pytest.mark.parametrize("lost", ["recover", "proof"])
def test_after_a_lease_recovery_the_response_to_hdfs_native_does_not_count(lost: str) -> None:
    """The request may have closed the file in the memory of a NameNode whose journal refuses it later."""
    client = SleepyClient(lost, lost=[lost], reported=[3], leases=[True] * 3)
    file = writer(client)
    with pytest.raises(OutcomeUnknown, match="lease"):
        file.close()
    assert client.log[-2:] == [lost, "awake"]
    file.close()
    assert client.log[-3:] == ["proof", "recover", "stat"]


def test_a_file_that_is_closed_in_the_journal_is_closed_whatever_hdfs_native_gets() -> None:
    client = SleepyClient("proof", reported=[3], leases=[True, True], refusal="connection reset")
    writer(client).close()
    assert client.log[-2:] == ["awake", "recover"]


@pytest.mark.parametrize("leases", [[False], [True, False]])
def test_a_lease_that_is_not_recovered_at_once_leaves_the_close_in_doubt(leases: list[bool]) -> None:
    """A new NameNode may not know the block yet; it closes the file by itself a little later."""
    refusal = 'RPCError("org.apache.hadoop.hdfs.server.namenode.LeaseExpiredException", "no lease")'
    until = "proof" if leases[0] else "recover"
    client = SleepyClient(until, reported=[3], leases=[*leases, True], refusal=refusal)
    file = writer(client)
    with pytest.raises(OutcomeUnknown, match="no lease"):
        file.close()
    file.close()
    assert client.log[-2:] == ["recover", "stat"]


def test_a_refused_close_raises_the_refusal() -> None:
    refusal = 'RPCError("org.apache.hadoop.hdfs.server.namenode.LeaseExpiredException", "no lease")'
    with pytest.raises(NotFound, match="no lease"):
        writer(Client(refusal=refusal)).close()


def test_an_empty_file_needs_no_look() -> None:
    client = Client(reported=[0])
    writer(client, b"").close()
    assert client.log == ["write", "hsync", "close"]


def test_if_many_closes_still_sleep_the_next_one_is_awaited() -> None:
    sleeping = SleepyClient(None, reported=[3] * 32, leases=[True] * 64)
    files = file_system(sleeping)
    for number in range(32):
        file = files.create(f"{ROOT}/{number}")
        file.write(b"abc")
        file.close()
    assert sleeping.log.count("recover") == 64
    last = files.create(f"{ROOT}/last")
    last.write(b"abc")
    before, sleeping.asleep, sleeping.reported = sleeping.asleep, None, [3]
    last.close()
    assert sleeping.log[-2:] == ["hsync", "close"], "it was looked for"
    sleeping.asleep = before
    sleeping.wake()


def test_the_process_ends_after_the_closes_that_still_sleep() -> None:
    """A thread that returns from hdfs-native during the interpreter's exit would abort the process."""
    client, closings = Client(reported=[3], leases=[True, True], asleep=threading.Event()), Closings()
    closings.close(client, "/f", 3, RawWriter(client).close)
    assert client.asleep is not None
    threading.Timer(0.1, client.asleep.set).start()
    closings.wait(60)
    assert client.log[-1] == "awake"
