"""The receivers of news in a schedule: what arrived at each of them, and the faults on the way."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kafka2hive.ledger.news import News, NewsKind
from kafka2hive.service.news.outbox import NotTaken
from tests.simulation.places import TABLE
from tests.simulation.waiting import newest_snapshot
from tests.simulation.watch import Violation

if TYPE_CHECKING:
    from tests.simulation.world import World

STEADY, SHAKY, LATE = "steady", "shaky", "late"
"""`shaky` is dead for long times; `late` comes into the maps in the middle, and is told everything since epoch 1."""
NAMES = (SHAKY, STEADY, LATE)


@dataclass(slots=True)
class Mailboxes:
    """The ids that arrived at each receiver, in order, with doubles. A receiver that is `dead` takes nothing."""

    arrived: dict[str, list[str]] = field(default_factory=lambda: {name: [] for name in NAMES})
    dead: set[str] = field(default_factory=set)
    in_map: set[str] = field(default_factory=lambda: {STEADY, SHAKY})
    had: frozenset[str] = frozenset()
    """The receivers in the map with which the ledger was rebuilt."""
    shown: set[tuple[str, str]] = field(default_factory=set)
    """The partitions that Hive has had."""


class SimulatedReceiver:
    """A receiver as one process reaches it: requests and answers are lost, and the process may die between any two calls."""

    def __init__(self, world: "World", name: str, hand_over: Callable[[], None]) -> None:
        self.name = name
        self.since = 1 if name == LATE else None
        self._world = world
        self._hand_over = hand_over

    def wants(self, table: str) -> bool:
        assert self._world.mailboxes is not None
        return self.name in self._world.mailboxes.in_map

    def tell(self, news: News) -> None:
        world, boxes = self._world, self._world.mailboxes
        assert boxes is not None
        self._hand_over()
        is_troubled = world.rates.mutation > 0
        if self.name in boxes.dead or (is_troubled and world.below(8) == 0):
            world.count["news not taken"] += 1
            raise NotTaken("sim.no_answer", f"{self.name} is dead", "wait", of_table=world.below(2) == 0)
        self._check(news)
        is_double = news.id in boxes.arrived[self.name]
        world.count["news"] += 1
        world.count["news told twice"] += is_double
        world.count[f"news: {news.kind.value}"] += 1
        boxes.arrived[self.name].append(news.id)
        world.tell(self.name, f"takes {news.id}")
        if is_troubled and world.below(8) == 0:
            world.count["answers of receivers lost"] += 1
            raise NotTaken("sim.lost_answer", "its answer is lost", "wait")
        self._hand_over()

    def close(self) -> None:
        return

    def _check(self, news: News) -> None:
        """Check that a partition is told to be complete only once its certificate is in place, and Hive has it (N3)."""
        world, boxes = self._world, self._world.mailboxes
        if news.kind is not NewsKind.COMPLETE:
            return
        assert news.partition is not None and boxes is not None
        if (news.partition.location, news.epoch) not in world.namenode.certified:
            raise Violation(f"{news.id} is told, and its certificate was never in place")
        newest = newest_snapshot(world, TABLE)
        if newest is None or newest.epoch != news.epoch:
            return
        pending = {each.name for each in (*newest.unregistered, *newest.withheld)}
        if news.partition.name in pending - boxes.shown:
            raise Violation(f"{news.id} is told, and Hive never had the partition")
