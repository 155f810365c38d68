"""The state that all actors of one schedule share: the seeded random source, the tree, late RPCs, counters, the trace."""

from collections import Counter
from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING, NamedTuple

from kafka2hive.model.files import HivePartition
from kafka2hive.storage.port import StorageError
from tests.simulation.faults import NO_FAULTS, Rates
from tests.simulation.namenode import FileNode
from tests.simulation.operators import Orders
from tests.simulation.watch import WatchedNameNode

if TYPE_CHECKING:
    from tests.simulation.receivers import Mailboxes

BEGAN, STEP_SECONDS = 1_763_711_324.0, 10.0
"""The wall clock when a schedule begins, in Unix seconds, and how long a step takes."""
SILENT = 0.5


class Request(NamedTuple):
    """A mutation: `create`, `rename` (with `target`), `delete` or `mkdirs`."""

    operation: str
    path: str
    target: str = ""

    def __str__(self) -> str:
        return f"{self.operation} {self.path}" + (f" -> {self.target}" if self.target else "")


class World:
    """A world whose schedule is a pure function of its seed: it uses no clock, environment or order of a set."""

    def __init__(self, seed: int, trace: Callable[[str], None] | None = None) -> None:
        source = Random(seed)
        self.seed = seed
        self.random = source.random
        self.bits = source.getrandbits
        self.trace = trace
        self.count: Counter[str] = Counter()
        self.namenode = WatchedNameNode(self.count)
        self.late: list[Request] = []
        self.use(NO_FAULTS)
        self.trouble: type[StorageError] | None = None
        self.forbidden = ""
        self.silences: Random | None = None
        """Decides whether a NameNode that did not answer a change does not answer the next read either; None: it does."""
        self.zones: tuple[str, ...] = ()
        self.uncertifiable = ""
        self.orders = Orders()
        self.replays = False
        """Whether operators order replays of letters."""
        self.compacts_by_order = False
        """Whether operators order compactions."""
        self.replays_late = False
        """Whether letters are replayed only while some of them are being dropped."""
        self.without_hive = 0
        """Of a table that retains: this percentage of its processes has a map without a `hive` section."""
        self.retains = False
        """Whether partitions expire; then hours pass now and then."""
        self.drops: dict[HivePartition, float] = {}
        """When the step began in which a process first tried to drop a partition without Hive (the world's clock)."""
        self.step = 0
        self.step_seconds = STEP_SECONDS
        self.keep_seconds = 0.0
        """How long locations of moved partitions must be right until their early files are deleted."""
        self.later = 0
        """So many steps later it is by the wall clock."""
        self.arrived = 0
        self.seal: Callable[..., bytes] | None = None
        self.rebuilt = 0
        """The epoch with which a rebuilt ledger begins, 0 if none was."""
        self.maps: dict[tuple[int, int], tuple[bool, str]] = {}
        """Of tables that are compacted: whether the map of an epoch's data had `compact`, and its zone."""
        self.withholds = False
        """Whether most maps have `register: complete`."""
        self.registers: dict[tuple[int, int], bool] = {}
        """Whether the map of an epoch's data had `register: complete`, by generation and epoch."""
        self.told_first: set[tuple[int, int]] = set()
        """The epochs, by generation, whose completeness was asked with a map without `register: complete`."""
        self.mailboxes: Mailboxes | None = None
        """What the receivers of news got; None: the maps have none."""
        self.shows: Callable[[HivePartition], None] = lambda partition: None
        """Called before a process of ours adds a partition to Hive, or sets its location."""

    def use(self, rates: Rates) -> None:
        self.rates = rates
        self.mutation_faults = rates.mutation

    @property
    def now(self) -> float:
        """The wall clock of all processes, in Unix seconds."""
        return BEGAN + self.step_seconds * (self.step + self.later)

    def below(self, limit: int) -> int:
        """Return a random integer in `[0, limit)`."""
        return int(self.random() * limit)

    def stays_silent(self) -> bool:
        """Return whether the NameNode, which has just not answered, does not answer a read either."""
        return self.silences is not None and self.mutation_faults > 0 and self.silences.random() < SILENT

    def uuid(self) -> str:
        return f"{self.bits(128):032x}"

    def tell(self, who: str, text: str) -> None:
        """Write one line of the trace. Callers check `world.trace` first if making the line costs time."""
        if self.trace:
            self.trace(f"{self.step:5d} {who:<10} {text}")

    def execute(self, request: Request) -> FileNode | bool | None:
        """Carry out a mutation. Raises the port's errors."""
        if request.operation == "create":
            return self.namenode.create(request.path)
        if request.operation == "rename":
            self.namenode.rename(request.path, request.target)
            return None
        if request.operation == "delete":
            return self.namenode.delete(request.path)
        self.namenode.mkdirs(request.path)
        return None

    def execute_late(self) -> None:
        """Let a random late RPC reach the NameNode; its answer is lost."""
        request = self.late.pop(self.below(len(self.late)))
        self.arrived += 1
        try:
            done = self.execute(request) is not False
            outcome = "done" if done else "nothing there"
        except StorageError as refused:
            done, outcome = False, type(refused).__name__
        self.namenode.was_late(request.operation, request.path, request.target, done)
        if self.trace:
            self.tell("(late)", f"{request} = {outcome}")
