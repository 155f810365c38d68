"""Explore every interleaving of a small world, depth-first over all choices, with state hashing.

A few drivers share a table whose ledger exists: each takes it over, then commits and promotes epochs of two files. At each
step any driver may continue, any late RPC may arrive, and, within the budget, any fault may occur: one of the five faults of a
mutation, or a crash; each kind at most once per path. A state is (tree, memory of the watch, late RPCs, memory of each driver,
budget); a state that was seen is not entered again. The oracle judges the end of each path.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from kafka2hive.ledger.ports import Ports
from kafka2hive.ledger.snapshot.codec import decode, encode
from kafka2hive.model.offsets import Position
from kafka2hive.model.paths.ledger import FIRST_GENERATION, SnapshotState, snapshot_name
from kafka2hive.model.paths.path import join
from kafka2hive.storage.port import OutcomeUnknown, StorageError, Unavailable
from tests.simulation.clock import AnyOrder, SimulatedClock
from tests.simulation.code import REAL, Production
from tests.simulation.filesystem import SimulatedFileSystem
from tests.simulation.metastore import Hive
from tests.simulation.namenode import Directory, FileNode
from tests.simulation.oracle import judge, prepare
from tests.simulation.places import LEDGER, LOCATION, SERVICE
from tests.simulation.schedule import without_logs
from tests.simulation.small_driver import Answer, Call, Memory, SmallDriver
from tests.simulation.topic import TOPIC_PARTITIONS
from tests.simulation.watch import Violation, WatchedNameNode
from tests.simulation.world import Request, World

FAULTS = ("unavailable", "lost request", "lost reply", "delayed", "duplicated")
CRASH = "crash"
TELL_EVERY = 5_000
MUTATIONS = ("create", "rename", "delete", "mkdirs")


@dataclass(frozen=True, slots=True)
class Explored:
    """The result: the number of different `states`, of `steps` between them, of judged `ends`, and of drivers' `histories`."""

    states: int
    steps: int
    ends: int
    histories: int
    complete: bool
    violation: str | None = None
    choices: tuple[str, ...] = ()


class DecidedWorld(World):
    """A world without chance: the explorer chooses what fails."""

    def __init__(self) -> None:
        super().__init__(0)
        self.random = lambda: 1.0
        self.made = 0

    def below(self, limit: int) -> int:
        return 0

    def uuid(self) -> str:
        self.made += 1
        return f"ff{self.made:030x}"


class Budget(NamedTuple):
    """How many faults may still occur, and which kinds: each at most once."""

    faults: int
    kinds: tuple[str, ...] = (*FAULTS, CRASH)

    def less(self, kind: str) -> "Budget":
        if self.faults == 1:
            return Budget(0, ())
        return Budget(self.faults - 1, tuple(k for k in self.kinds if k != kind))


class Choice(NamedTuple):
    """`what` happens (`go`, `late`, or a kind of fault) to `whom`: a driver's number, or the index of a late RPC."""

    what: str
    whom: int


class Tree(WatchedNameNode):
    """A NameNode that can be copied. Copies share their files, because closing a file replaces it."""

    def __init__(self, count: Counter[str]) -> None:
        super().__init__(count)
        self.open: dict[str, FileNode] = {}

    def copy(self) -> "Tree":
        new = Tree(self.count)
        new.directories = index = {path: dict(children) for path, children in self.directories.items()}
        for path, children in index.items():
            for name, child in children.items():
                if type(child) is dict:
                    children[name] = index[f"{path}/{name}"]
        new.root = next(iter(index.values()))
        new.generations = list(self.generations)
        new.committed = set(self.committed)
        new.promoted = set(self.promoted)
        new.open = dict(self.open)
        return new

    def close(self, path: str, data: bytes) -> None:
        """Close the file that was opened under `path`. It is found by its inode, even if its directory has moved."""
        written = FileNode()
        written.content = data
        node = self.open.pop(path)
        for children in self.directories.values():
            for name, child in children.items():
                if child is node:
                    children[name] = written
                    return

    def key(self) -> int:
        """Return a hash of the tree and of the memory of the watch."""
        return hash(
            (_frozen(self.root), tuple(self.generations), frozenset(self.promoted), frozenset(self.open))
        )


def _frozen(directory: Directory) -> frozenset[tuple[str, Any]]:
    return frozenset(
        [
            (name, _frozen(child) if type(child) is dict else child.content)  # type: ignore[union-attr]
            for name, child in directory.items()
        ]
    )


@dataclass(slots=True)
class State:
    """A moment of the small world, and the choices that led to it (a linked list, for the message)."""

    tree: Tree
    late: tuple[Request, ...]
    memories: tuple[Memory | None, ...]
    budget: Budget
    trail: tuple[Any, ...] = field(default=())

    def key(self) -> int:
        numbers = tuple([-1 if m is None or m.call is None else m.number for m in self.memories])
        return hash((self.tree.key(), self.late, numbers, self.budget))

    def choices(self) -> Iterator[Choice]:
        for number, memory in enumerate(self.memories):
            if memory is None or memory.call is None:
                continue
            yield Choice("go", number)
            mutates = memory.call.operation in MUTATIONS
            for kind in self.budget.kinds if self.budget.faults else ():
                if mutates or kind == CRASH:
                    yield Choice(kind, number)
        for index in range(len(self.late)):
            yield Choice("late", index)


class Explorer:
    """The search through all states of one small world."""

    def __init__(self, code: Production, drivers: int, epochs: int) -> None:
        self.code = code
        self.count: Counter[str] = Counter()
        self.drivers = [SmallDriver(code, number, epochs) for number in range(drivers)]

    def first(self, faults: int) -> State:
        world = DecidedWorld()
        world.namenode = tree = Tree(self.count)
        prepare(world)
        quiet = Ports(SimulatedFileSystem(world), AnyOrder(world.below), SimulatedClock(), world.uuid)
        self.code.init.init(quiet, LEDGER, SERVICE, LOCATION)
        _begin(tree)
        return State(tree, (), tuple(driver.first for driver in self.drivers), Budget(faults))

    def take(self, state: State, choice: Choice) -> State:
        """Return the state after a choice. Raises Violation."""
        what, whom = choice
        trail = (state.trail, choice)
        if what == CRASH:
            memories = _with(state.memories, whom, None)
            return State(state.tree, state.late, memories, state.budget.less(what), trail)
        tree = state.tree.copy()
        if what == "late":
            late = state.late[:whom] + state.late[whom + 1 :]
            _arrive(tree, state.late[whom])
            return State(tree, late, state.memories, state.budget, trail)
        memory = state.memories[whom]
        assert memory is not None and memory.call is not None
        call = memory.call
        answer, late, budget = Answer(error=Unavailable), state.late, state.budget
        if what != "go":
            budget = budget.less(what)
        if what in ("delayed", "duplicated"):
            late = tuple(sorted((*late, Request(call.operation, call.path, call.target))))
        if what in ("go", "lost reply", "duplicated"):
            answer = execute(tree, call)
        if what in ("lost request", "lost reply", "delayed"):
            answer = Answer(error=OutcomeUnknown)
        after = self.drivers[whom].after(memory, answer)
        for path, content in after.staged:
            tree.create(path).content = content
        if after.violation is not None:
            raise Violation(after.violation)
        return State(tree, late, _with(state.memories, whom, after), budget, trail)

    def judge(self, state: State) -> None:
        """Let the oracle judge the end of a path. Raises Violation."""
        world = DecidedWorld()
        world.namenode = state.tree.copy()
        world.late = list(state.late)
        judge(world, Hive(), self.code)


def execute(tree: Tree, call: Call) -> Answer:
    """Carry out a call and return its answer. Raises Violation."""
    try:
        match call.operation:
            case "create":
                tree.open[call.path] = tree.create(call.path)
                return Answer()
            case "close":
                tree.close(call.path, call.data)
                return Answer()
            case "rename":
                tree.rename(call.path, call.target)
                return Answer()
            case _:
                return Answer(getattr(tree, call.operation)(call.path))
    except StorageError as refused:
        return Answer(error=type(refused))


def _begin(tree: Tree) -> None:
    """Create a ledger that has the first position, so that each epoch of a driver is a data epoch."""
    path = join(LEDGER.table_directory, FIRST_GENERATION, snapshot_name(0, SnapshotState.FINAL))
    positions = tuple(Position(tp, 0, 0) for tp in TOPIC_PARTITIONS[:1])
    node = tree.node(path)
    assert isinstance(node, FileNode)
    node.content = encode(replace(decode(node.content), positions=positions))


def _arrive(tree: Tree, request: Request) -> None:
    try:
        if request.operation == "rename":
            tree.rename(request.path, request.target)
        else:
            getattr(tree, request.operation)(request.path)
    except StorageError:
        return  # nobody waits for the answer


def _with(memories: tuple[Memory | None, ...], whom: int, memory: Memory | None) -> tuple[Memory | None, ...]:
    return (*memories[:whom], memory, *memories[whom + 1 :])


def explore(
    drivers: int = 2,
    epochs: int = 2,
    faults: int = 1,
    limit: int = 30_000_000,
    code: Production = REAL,
    progress: Callable[[int], None] = lambda states: None,
) -> Explored:
    """Explore all paths. Stop at the first violation, or after `limit` states (then `complete` is False)."""
    steps = ends = told = 0
    explorer = Explorer(code, drivers, epochs)

    def found(complete: bool, violation: str | None = None, trail: tuple[Any, ...] = ()) -> Explored:
        histories = sum(driver.memories for driver in explorer.drivers)
        return Explored(len(seen), steps, ends, histories, complete, violation, _texts(trail))

    with without_logs():
        todo = [explorer.first(faults)]
        seen = {todo[0].key()}
        while todo:
            state = todo.pop()
            choice = None
            try:
                for choice in state.choices():
                    steps += 1
                    after = explorer.take(state, choice)
                    if (key := after.key()) not in seen:
                        seen.add(key)
                        todo.append(after)
                if choice is None:
                    ends += 1
                    explorer.judge(state)
            except Violation as broken:
                return found(False, str(broken), (state.trail, choice) if choice else state.trail)
            if len(seen) >= limit:
                return found(False)
            if steps - told >= TELL_EVERY:
                told = steps
                progress(len(seen))
    return found(True)


def _texts(trail: tuple[Any, ...]) -> tuple[str, ...]:
    texts: list[str] = []
    while trail:
        trail, choice = trail
        texts.append(f"{choice.what} {choice.whom}")
    return tuple(reversed(texts))
