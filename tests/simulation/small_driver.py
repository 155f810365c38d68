"""A driver of the exhaustive search: its next call is a pure function of the answers that it has got.

The production code runs from its beginning with the known answers, up to the call that has no answer yet. The result is
remembered, so a driver is a table: (memory, answer) -> next memory and its call. So the search needs neither greenlets nor
replays of whole worlds.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from kafka2hive.ledger.ports import Ports, RetryPolicy
from kafka2hive.ledger.start import Owners
from kafka2hive.model.errors import AmbiguousOutcome, Fenced, ManualActionRequired, TableError, TakeOverLost
from kafka2hive.model.files import DataFile
from kafka2hive.model.offsets import OffsetRange, RangeAccounting
from kafka2hive.storage.port import FileStatus, StorageError
from kafka2hive.storage.stored_file import StoredFile
from tests.harness.stored import stored
from tests.simulation.clock import AnyOrder, SimulatedClock
from tests.simulation.code import Production
from tests.simulation.ledger_caller import KEEP
from tests.simulation.places import LEDGER, LOCATION
from tests.simulation.tasks import Share, describe
from tests.simulation.topic import TOPIC_PARTITIONS, account_of, records_by_place
from tests.simulation.watch import Violation

OFFSETS_PER_EPOCH = 2


class Call(NamedTuple):
    """One call of the FileSystem port; `close` makes `data` the content of the file that was created under `path`."""

    operation: str
    path: str
    target: str = ""
    data: bytes = b""

    def __str__(self) -> str:
        return f"{self.operation} {self.path}" + (f" -> {self.target}" if self.target else "")


class Answer(NamedTuple):
    """The result of a call: a value, or an error of the port."""

    value: Any = None
    error: type[StorageError] | None = None


@dataclass(frozen=True, slots=True)
class Memory:
    """A driver after some answers. `call` is its next call, None if it has ended; `violation` says why it must not have.

    `staged` are the data files (path, content) that its tasks have staged since the answer before, without calls.
    """

    number: int
    answers: tuple[Answer, ...]
    call: Call | None
    staged: tuple[tuple[str, bytes], ...] = ()
    violation: str | None = None


class SmallDriver:
    """A take-over, then epochs of two records in two files each; staging is instant and always succeeds."""

    def __init__(self, code: Production, number: int, epochs: int) -> None:
        self.number = number
        self._code = code
        self._epochs = epochs
        self._known: dict[tuple[int, Answer], Memory] = {}
        self._made = 0
        self.first = self._run(())

    @property
    def memories(self) -> int:
        """Return how many different histories of answers there were."""
        return self._made

    def after(self, memory: Memory, answer: Answer) -> Memory:
        """Return the next memory."""
        key = (memory.number, answer)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._run((*memory.answers, answer))
        return known

    def _run(self, answers: tuple[Answer, ...]) -> Memory:
        self._made += 1
        attempt = _Attempt(self._code, self.number, self._epochs, answers)
        call, violation = None, None
        try:
            attempt.serve()
        except _Asked as asked:
            call = asked.call
        except ManualActionRequired as stop:
            violation = f"manual intervention would be needed: {stop}"
        except Exception as bug:  # noqa: BLE001 - any other error of a driver is a finding, too
            violation = f"{type(bug).__name__}: {bug}"
        return Memory(self._made, answers, call, tuple(attempt.staged), violation)


class _Asked(BaseException):
    """The answers are used up. It is not an Exception, so that no handler of the production code catches it."""

    def __init__(self, call: Call) -> None:
        self.call = call


class _Attempt:
    """One run of the driver with given answers."""

    def __init__(self, code: Production, number: int, epochs: int, answers: tuple[Answer, ...]) -> None:
        self._code = code
        self._number = number
        self._epochs = epochs
        self._uuids = 0
        self.staged: list[tuple[str, bytes]] = []
        files = _Answered(answers, self.staged.clear)
        self._ports = Ports(
            files, AnyOrder(lambda limit: 0), SimulatedClock(), self._uuid, RetryPolicy(attempts=2)
        )

    def _uuid(self) -> str:
        self._uuids += 1
        return f"{self._number + 1:02x}{self._uuids:030x}"

    def serve(self) -> None:
        code = self._code
        owners = Owners(lambda: f"sim-{self._number}-{self._uuid()}")
        order = code.start.StartRequest(LEDGER, lambda: None, owners, LOCATION, KEEP)
        try:
            owned = code.start.start(self._ports, order).owned
            for _ in range(self._epochs):
                owned = code.epoch.publish(self._ports, owned, self._data_epoch(owned)).owned
        except TakeOverLost as lost:
            if any(name in lost.message for name in owners.made):
                raise Violation(f"driver {self._number} lost against itself: {lost}") from lost
        except (Fenced, AmbiguousOutcome, TableError):
            return

    def _data_epoch(self, owned: Any) -> Any:
        at = owned.state.positions[0].end
        ranges = (OffsetRange(TOPIC_PARTITIONS[0], at, at + OFFSETS_PER_EPOCH),)
        share = Share(0, owned.state.ledger_id, owned.generation.number, owned.next_epoch, ranges)
        return self._code.draft.DataEpoch(
            files=tuple(self._stage(share)),
            accounts=(RangeAccounting(0, ranges[0], account_of(ranges[0])),),
        )

    def _stage(self, share: Share) -> Iterator[DataFile]:
        for place, records in records_by_place(share.ranges).items():
            data = "\n".join(records).encode()
            file = describe(self._uuid(), share, place, data, len(records))
            self.staged.append((file.staged, data))
            yield file


class _Answered:
    """The FileSystem port that returns given answers, then raises _Asked with the next call."""

    def __init__(self, answers: tuple[Answer, ...], answered: Callable[[], None]) -> None:
        self._answers = iter(answers)
        self._answered = answered

    def create(self, path: str) -> "_Writer":
        self._ask(Call("create", path))
        return _Writer(self, path)

    def rename(self, source: str, target: str) -> None:
        self._ask(Call("rename", source, target))

    def delete(self, path: str) -> bool:
        return bool(self._ask(Call("delete", path)))

    def mkdirs(self, path: str) -> None:
        self._ask(Call("mkdirs", path))

    def read(self, path: str) -> bytes:
        return self._ask(Call("read", path))  # type: ignore[no-any-return]

    def open(self, path: str) -> StoredFile:
        return stored(self.read(path))

    def tail(self, path: str, most: int) -> bytes:
        data = self.read(path)
        return data[max(0, len(data) - most) :]

    def stat(self, path: str) -> FileStatus:
        return self._ask(Call("stat", path))  # type: ignore[no-any-return]

    def list(self, path: str) -> tuple[FileStatus, ...]:
        return self._ask(Call("list", path))  # type: ignore[no-any-return]

    def close(self, path: str, data: bytes) -> None:
        self._ask(Call("close", path, data=data))

    def _ask(self, call: Call) -> Any:
        answer = next(self._answers, None)
        if answer is None:
            raise _Asked(call)
        self._answered()
        if answer.error is not None:
            raise answer.error(call.path)
        return answer.value


class _Writer:
    """A file that readers do not see before it is closed."""

    def __init__(self, files: _Answered, path: str) -> None:
        self._files = files
        self._path = path
        self._data = b""

    def write(self, data: bytes | memoryview) -> None:
        self._data += bytes(data)

    def close(self) -> None:
        self._files.close(self._path, self._data)

    def abandon(self) -> None:
        """Do nothing: the file stays as it is."""
