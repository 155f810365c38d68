"""After a lost response, a read goes only to a NameNode that has acknowledged a change since."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from kafka2hive.storage.hdfs import HdfsFileSystem
from kafka2hive.storage.port import OutcomeUnknown, write_file

ROOT = "hdfs://nn:1"


@dataclass
class Status:
    path: str = "/x"
    isdir: bool = False
    length: int = 1
    modification_time: int = 1


@dataclass
class Client:
    """A connection: renames of `/lost*` get no response, after what `before` holds for them; all other calls succeed."""

    number: int
    before: dict[str, Callable[[], object]]
    log: list[tuple[int, str]]

    def rename(self, source: str, _target: str, overwrite: bool) -> None:
        assert not overwrite
        self.before.get(source, lambda: None)()
        if source.startswith("/lost"):
            raise OSError("connection reset")
        self.log.append((self.number, "change"))

    def get_file_info(self, _path: str) -> Status:
        self.log.append((self.number, "question"))
        return Status()

    def set_times(self, *_: Any) -> None:
        self.before.get("proof", lambda: None)()
        self.log.append((self.number, "proof"))


@dataclass
class Connections:
    """Records the calls of all connections, in order; `before` is that of Client."""

    before: dict[str, Callable[[], object]] = field(default_factory=dict)
    log: list[tuple[int, str]] = field(default_factory=list)
    count: int = 0

    def files(self, call_seconds: float = 60.0) -> HdfsFileSystem:
        made = self

        class Files(HdfsFileSystem):
            def _connect(self, more: dict[str, str] | None = None) -> Client:
                made.count += 1
                return Client(made.count, made.before, made.log)

        return Files(ROOT, call_seconds=call_seconds)

    def calls(self, ask: Callable[[], object]) -> list[tuple[int, str]]:
        """What asking brings about, without the look at what is there that belongs to a proof."""
        before = len(self.log)
        ask()
        calls = self.log[before:]
        return calls[1:] if (calls[0][0], "proof") in calls else calls


def lose(files: HdfsFileSystem, name: str = "/lost") -> None:
    with pytest.raises(OutcomeUnknown):
        files.rename(f"{ROOT}{name}", f"{ROOT}/target")


def look(files: HdfsFileSystem) -> Callable[[], object]:
    return lambda: files.stat(f"{ROOT}/x")


def beside(work: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=work)
    thread.start()
    return thread


def test_a_proof_or_a_change_settles_the_doubts_before_it() -> None:
    made = Connections()
    files = made.files()
    lose(files)
    assert made.calls(look(files)) == [(1, "proof"), (1, "question")]
    assert made.calls(look(files)) == [(1, "question")]
    lose(files)
    files.rename(f"{ROOT}/a", f"{ROOT}/b")
    assert made.calls(look(files)) == [(1, "question")]


def test_a_late_lost_response_is_a_new_doubt() -> None:
    made, late = Connections(), threading.Event()
    made.before["/lost-late"] = late.wait
    files = made.files()
    slow = beside(lambda: lose(files, "/lost-late"))
    time.sleep(0.05)
    for _ in range(3):
        lose(files)
        look(files)()
    late.set()
    slow.join()
    for _ in range(3):
        assert made.calls(look(files)) == [(1, "proof"), (1, "question")], "believed without proof"
        lose(files)


def test_a_lost_response_of_an_abandoned_connection_is_a_doubt_of_the_next_one() -> None:
    made, late, never = Connections(), threading.Event(), threading.Event()
    made.before |= {"/lost-late": late.wait, "/lost-hung": never.wait}
    files = made.files(call_seconds=4.0)
    hung = beside(lambda: lose(files, "/lost-hung"))
    time.sleep(2.0)  # the slow one has these two seconds for the look that follows
    slow = beside(lambda: lose(files, "/lost-late"))
    hung.join()
    assert made.calls(look(files)) == [(2, "proof"), (2, "question")]
    late.set()
    slow.join()
    assert made.calls(look(files)) == [(2, "proof"), (2, "question")]
    never.set()


def test_a_read_uses_the_connection_that_was_proved_even_if_a_new_one_exists() -> None:
    made, never = Connections(), threading.Event()
    files = made.files(call_seconds=4.0)
    made.before |= {"/lost-hung": never.wait}
    lose(files)
    hung = beside(lambda: lose(files, "/lost-hung"))
    time.sleep(2.0)  # so long before the proof is the hung one given up
    made.before["proof"] = hung.join
    assert made.calls(look(files)) == [(1, "proof"), (1, "question")]
    made.before["proof"] = lambda: None
    assert made.calls(look(files)) == [(2, "proof"), (2, "question")]
    never.set()


def test_a_file_is_on_the_disks_of_its_datanodes_before_it_is_closed() -> None:
    calls: list[str] = []

    class Raw:
        def write(self, data: bytes) -> int:
            calls.append("write")
            return len(data)

        def hsync(self) -> None:
            calls.append("hsync")

        def close(self) -> None:
            calls.append("close")

    class Creating:
        def create(self, _path: str, _options: object) -> Raw:
            return Raw()

        def get_file_info(self, _path: str) -> Status:
            return Status(isdir=True)

    class Files(HdfsFileSystem):
        def _connect(self, more: dict[str, str] | None = None) -> Creating:
            return Creating()

    write_file(Files(ROOT), f"{ROOT}/a", b"data")
    assert calls == ["write", "hsync", "close"]
