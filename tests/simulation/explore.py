"""Every interleaving, not a random one: depth-first over all choices of a small world, with state hashing.

Two drivers on a table whose ledger exists: each takes it over, commits and promotes some epochs of two files. At every
step any driver may go on, any late RPC may arrive, and, as long as the budget lasts, any fault may strike: one of the five
of a mutation, or a crash. A driver's memory is a function of the answers it got, so (tree, late RPCs, answers so far,
budget) is the whole state; a state that was seen is not entered again. At the end of every path the oracle judges.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from kafka2hive.ledger.ports import Patience, Ports
from kafka2hive.model.account import RangeAccount
from kafka2hive.model.errors import Fenced, Stop, Surprise, TableError, TakeOverLost
from kafka2hive.model.files import DataFile
from kafka2hive.model.offsets import OffsetRange, Position
from kafka2hive.storage.port import FileStatus, OutcomeUnknown, StorageError, Unavailable
from tests.simulation.actor import Actor
from tests.simulation.clock import AnyOrder, SimulatedClock
from tests.simulation.code import REAL, Production
from tests.simulation.driver import KEEP
from tests.simulation.filesystem import SimulatedFileSystem
from tests.simulation.metastore import Hive
from tests.simulation.namenode import Directory, FileNode
from tests.simulation.oracle import judge, prepare
from tests.simulation.places import LEDGER, LOCATION, SERVICE
from tests.simulation.schedule import without_logs
from tests.simulation.tasks import Share, describe
from tests.simulation.topic import TOPIC_PARTITIONS, account_of, records_by_place
from tests.simulation.watch import Violation
from tests.simulation.world import Request, World

FAULTS = ("unavailable", "lost request", "lost reply", "delayed", "duplicated")
CRASH = "crash"
OFFSETS_PER_EPOCH = 2


@dataclass(frozen=True, slots=True)
class Explored:
    """`states` are different ones; `paths` were judged by the oracle at their end."""

    states: int
    paths: int
    complete: bool
    violation: str | None = None
    choices: tuple[str, ...] = ()


class DecidedWorld(World):
    """Nothing is left to chance: what goes wrong is a choice of the explorer."""

    def __init__(self) -> None:
        super().__init__(0)
        self.random = lambda: 1.0
        self.made = 0

    def below(self, limit: int) -> int:
        return 0

    def uuid(self) -> str:
        self.made += 1
        return f"{self.made:032x}"


class DecidedFileSystem(SimulatedFileSystem):
    """Says what it is about to do before it hands over, and remembers every answer."""

    asks: Request | None = None
    fault: str = ""
    memory: int = 0

    def read(self, path: str) -> bytes:
        return self._remember(super().read, path)  # type: ignore[no-any-return]

    def stat(self, path: str) -> FileStatus:
        return self._remember(super().stat, path)  # type: ignore[no-any-return]

    def list(self, path: str) -> tuple[FileStatus, ...]:
        return self._remember(super().list, path)  # type: ignore[no-any-return]

    def _remember(self, call: Callable[[Any], Any], argument: Any) -> Any:
        try:
            answer = call(argument)
        except StorageError as refused:
            self.memory = hash((self.memory, argument, type(refused)))
            raise
        known = None if isinstance(answer, FileNode) else answer
        self.memory = hash((self.memory, argument, known))
        return answer

    def _mutate(self, request: Request) -> Any:
        return self._remember(self._decided, request)

    def _decided(self, request: Request) -> Any:
        self.asks = request
        self.hand_over()
        self.asks = None
        fault, self.fault = self.fault, ""
        if fault == "unavailable":
            raise Unavailable(request.path)
        if fault in ("delayed", "duplicated"):
            self.world.late.append(request)
        if fault not in ("delayed", "lost request"):
            answer = self.world.execute(request)
            if fault != "lost reply":
                return answer
        raise OutcomeUnknown(request.path)


class SmallDriver:
    """Take-over, then epochs of two records in two files each; staging is instant and always works."""

    def __init__(self, world: DecidedWorld, code: Production, number: int, epochs: int) -> None:
        self.code = code
        self.world = world
        self.number = number
        self.epochs = epochs
        self.uuids = 0
        self.actor = Actor(f"driver{number}", self._run)
        self.files = DecidedFileSystem(world, self.actor.name, self.actor.hand_over)
        clock = SimulatedClock()
        self.ports = Ports(self.files, AnyOrder(world.below), clock, self._uuid, Patience(attempts=2))
        self.actor.greenlet.switch()

    @property
    def over(self) -> bool:
        return bool(self.actor.greenlet.dead)

    def _uuid(self) -> str:
        self.uuids += 1
        return f"{self.number:02x}{self.uuids:030x}"

    def _run(self, actor: Actor) -> None:
        code = self.code
        order = code.start.StartOrder(
            LEDGER, lambda: None, lambda: f"sim-{self.number}-{self._uuid()}", LOCATION, KEEP
        )
        try:
            tenure = code.start.start(self.ports, order).tenure
            for _ in range(self.epochs):
                snapshot = code.draft.draft(tenure, SERVICE, self.ports.clock.now(), self._change(tenure))
                tenure = code.epoch.publish_epoch(self.ports, tenure, snapshot).tenure
        except (Fenced, TakeOverLost, Surprise, TableError):
            return
        except Stop as stop:
            raise Violation(f"a person would be needed: {stop}") from stop

    def _change(self, tenure: Any) -> Any:
        first: tuple[Position, ...] = ()
        at = 0
        if not tenure.state.positions:
            first = tuple(Position(tp, 0, 0) for tp in TOPIC_PARTITIONS[:1])
        else:
            at = tenure.state.positions[0].end
        ranges = (OffsetRange(TOPIC_PARTITIONS[0], at, at + OFFSETS_PER_EPOCH),)
        share = Share(0, tenure.state.ledger_id, tenure.generation.number, tenure.next_epoch, ranges)
        return self.code.draft.Change(
            files=tuple(self._staged(share)),
            accounts=(RangeAccount(0, ranges[0], account_of(ranges[0])),),
            first=first,
            open_debts=frozenset(tenure.state.debts),
        )

    def _staged(self, share: Share) -> Iterator[DataFile]:
        for place, records in records_by_place(share.ranges).items():
            data = "\n".join(records).encode()
            file = describe(self._uuid(), share, place, data, len(records))
            self.world.namenode.create(file.staged).content = data
            yield file


class Path:
    """One run of the small world along given choices."""

    def __init__(self, code: Production, drivers: int, epochs: int, faults: int) -> None:
        self.code = code
        self.world = DecidedWorld()
        prepare(self.world)
        quiet = SimulatedFileSystem(self.world)
        code.init.init(
            Ports(quiet, AnyOrder(self.world.below), SimulatedClock(), self.world.uuid),
            LEDGER,
            SERVICE,
            LOCATION,
        )
        self.budget = faults
        self.drivers = [SmallDriver(self.world, code, number, epochs) for number in range(drivers)]

    def options(self) -> list[tuple[str, int]]:
        """What may happen next: (what, to whom)."""
        alive = [d for d in self.drivers if not d.over]
        found = [("go", d.number) for d in alive]
        found += [("late", index) for index in range(len(self.world.late))]
        if self.budget:
            found += [(fault, d.number) for d in alive if d.files.asks for fault in FAULTS]
            found += [(CRASH, d.number) for d in alive]
        return found

    def take(self, option: tuple[str, int]) -> None:
        what, whom = option
        if what == "late":
            late = self.world.late
            late.append(late.pop(whom))
            self.world.below = lambda limit: limit - 1  # type: ignore[method-assign]  # the last one, just put there
            self.world.execute_late()
            del self.world.below
            return
        driver = self.drivers[whom]
        if what == CRASH:
            self.budget -= 1
            driver.actor.crash()
            return
        if what != "go":
            self.budget -= 1
            driver.files.fault = what
        driver.actor.greenlet.switch()

    def state(self) -> int:
        memories = tuple(None if d.over else d.files.memory for d in self.drivers)
        late = frozenset(self.world.late)
        return hash((_frozen(self.world.namenode.root), late, len(self.world.late), memories, self.budget))

    def judge(self) -> None:
        judge(self.world, Hive(), self.code)

    def end(self) -> None:
        for driver in self.drivers:
            driver.actor.crash()


def _frozen(directory: Directory) -> tuple[Any, ...]:
    return tuple(
        (name, child.content if isinstance(child, FileNode) else _frozen(child))
        for name, child in sorted(directory.items())
    )


def explore(
    drivers: int = 2,
    epochs: int = 2,
    faults: int = 1,
    limit: int = 10_000_000,
    code: Production = REAL,
    progress: Callable[[int], None] = lambda states: None,
) -> Explored:
    """All paths. Stops at the first violation, or when `limit` states were seen (`complete` is then False)."""
    seen: set[int] = set()
    paths = 0
    todo: list[tuple[tuple[str, int], ...]] = [()]
    with without_logs():
        while todo:
            if len(seen) >= limit:
                return Explored(len(seen), paths, complete=False)
            taken = list(todo.pop())
            progress(len(seen))
            path = Path(code, drivers, epochs, faults)
            try:
                for option in taken:
                    path.take(option)
                while path.state() not in seen:
                    seen.add(path.state())
                    options = path.options()
                    if not options:
                        paths += 1
                        path.judge()
                        break
                    todo.extend((*taken, other) for other in options[1:])
                    taken.append(options[0])
                    path.take(options[0])
            except Violation as broken:
                choices = tuple(f"{what} {whom}" for what, whom in taken)
                return Explored(len(seen), paths, False, str(broken), choices)
            finally:
                path.end()
    return Explored(len(seen), paths, complete=True)
