"""One schedule: actors and faults in an order that is a pure function of the seed, then the oracle."""

import logging
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random
from typing import Protocol

from greenlet import getcurrent

from kafka2hive.model.paths.path import base_name, join
from kafka2hive.model.paths.table_directory import DataFileName
from kafka2hive.storage.port import Denied, NoRoom
from tests.simulation.actor import Actor
from tests.simulation.code import REAL, Production
from tests.simulation.faults import NO_FAULTS, draw_rates
from tests.simulation.filesystem import SimulatedFileSystem
from tests.simulation.ledger_caller import LedgerCaller
from tests.simulation.metastore import Hive
from tests.simulation.oracle import judge, prepare
from tests.simulation.places import STAGING
from tests.simulation.tasks import Share
from tests.simulation.watch import Violation
from tests.simulation.world import World

STEPS = 200
"""The average number of calls in a schedule, which has half to one and a half times as many."""
MOST_DRIVERS = 3
NEVER = 1 << 60
INTERRUPTED_EVERY, INTERRUPTED_AT, INTERRUPTION = 7, 3, 0.1


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a schedule. `violation` is None if every promise held; `count` has the cases that happened."""

    seed: int
    steps: int
    count: Counter[str]
    violation: str | None = None


class Play(Protocol):
    """A schedule of any kind."""

    world: World

    def prepare(self) -> None: ...

    def run(self) -> None: ...

    def judge(self) -> None: ...

    def end(self) -> None: ...


def run_schedule(seed: int, code: Production = REAL, trace: Callable[[str], None] | None = None) -> Outcome:
    """Play and judge one schedule. Failures are in the outcome."""
    return outcome_of(seed, Schedule(seed, code, trace))


def outcome_of(seed: int, play: Play) -> Outcome:
    """Prepare, play and judge."""
    violation = None
    try:
        play.prepare()
        play.run()
        play.judge()
    except Violation as broken:
        violation = str(broken)
    except Exception as bug:  # noqa: BLE001 - any other error of a driver is a finding, too
        violation = f"{type(bug).__name__}: {bug}"
    finally:
        play.end()
    return Outcome(seed, play.world.step, play.world.count, violation)


@contextmanager
def without_logs() -> Iterator[None]:
    """Suppress the production code's warnings, which are expected here and would cost more than the schedule."""
    log = logging.getLogger("kafka2hive")
    level = log.level
    log.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        log.setLevel(level)


class Schedule:
    """A schedule of the ledger: which actors run or sleep, and what fails next."""

    average = STEPS
    stagings: tuple[str, ...] = (STAGING,)

    def __init__(self, seed: int, code: Production, trace: Callable[[str], None] | None) -> None:
        self.world = World(seed, trace)
        self.hive = Hive()
        self.code = code
        self.hub = getcurrent()
        self.running: list[Actor] = []
        self.paused: list[Actor] = []
        self.drivers = 0
        self.hive_up_at = 0
        self.untroubled_at = 0
        self.changes_at = NEVER
        self.steps = 0
        self.events = 0.0
        self.chosen: Actor | None = None
        self.eventful = False
        self.interrupted: Actor | None = None
        self.dice_of_interruptions = Random(f"interruptions {seed}") if self._interrupts(seed) else None

    def _interrupts(self, seed: int) -> bool:
        """Return whether drivers are often paused between commit and promotion, and others start meanwhile.

        By themselves, schedules reach this moment so seldom that few drivers are fenced in R6. Other dice than the world's
        decide, so that all other schedules stay as they were.
        """
        return type(self) is Schedule and seed % INTERRUPTED_EVERY == INTERRUPTED_AT

    def prepare(self) -> None:
        """Prepare the world for the first driver."""
        prepare(self.world)

    def judge(self) -> None:
        """Let the oracle judge. Raises Violation."""
        judge(self.world, self.hive, self.code)

    def run(self) -> None:
        """Run to the last step, then end all actors."""
        self.chaos()
        self.end()

    def chaos(self) -> None:
        """Run steps and faults, up to the last step."""
        world, running = self.world, self.running
        random = world.random
        world.use(draw_rates(random))
        self.steps = self.average // 2 + world.below(self.average)
        self.events = events = world.rates.events
        while (actor := self.chosen) or self.eventful or world.step < self.steps:
            self.chosen = None
            if self.interrupted is not None:
                self._interrupt(self.interrupted)
                actor = None
            if actor is None:
                if self.eventful or self._step_with_event():
                    self.eventful = False
                    self._event(random() * events)
                if world.step >= self.changes_at:
                    self._time_passes()
                if not running:
                    self._start_driver()
                actor = running[int(random() * len(running))]
            actor.greenlet.switch()
            if actor.greenlet.dead:
                running.remove(actor)

    def _step_with_event(self) -> bool:
        self.world.step += 1
        return self.world.random() < self.events

    def _stays(self, actor: Actor) -> bool:
        """Draw the next step in the greenlet of the last actor, which saves a switch if it continues.

        Events, which may end any actor, and the turns of other actors are left to `run`.
        """
        world = self.world
        if world.step >= self.steps:
            return False
        dice = self.dice_of_interruptions
        if dice is not None and world.namenode.newest and dice.random() < INTERRUPTION:
            self.interrupted = actor
            return False
        if self._step_with_event():
            self.eventful = True
            return False
        if world.step >= self.changes_at:
            self._time_passes()
        chosen = self.running[int(world.random() * len(self.running))]
        if chosen is actor:
            return True
        self.chosen = chosen
        return False

    def end(self) -> None:
        """End all actors."""
        for actor in self.running + self.paused:
            actor.crash()
        self.running.clear()
        self.paused.clear()
        self.world.use(NO_FAULTS)
        self.world.trouble = None
        self.hive.down = False

    def _event(self, dice: float) -> None:
        world, rates = self.world, self.world.rates
        if (dice := dice - rates.late) < 0:
            if world.late:
                world.execute_late()
        elif (dice := dice - rates.crash) < 0:
            self._crash()
        elif (dice := dice - rates.pause) < 0:
            self._pause()
        elif (dice := dice - rates.start) < 0:
            self._start_driver()
        elif (dice := dice - rates.trouble) < 0:
            world.trouble = (Denied, NoRoom)[world.below(2)]
            self.untroubled_at = world.step + world.below(40)
            self.changes_at = min(self.changes_at, self.untroubled_at)
            world.tell("(event)", f"everything is {world.trouble.__name__} for a while")
        elif (dice := dice - rates.hive_outage) < 0:
            self.hive.down = True
            self.hive_up_at = world.step + world.below(120)
            self.changes_at = min(self.changes_at, self.hive_up_at)
            world.tell("(event)", "Hive goes down")
        else:
            self._retire()

    def _retire(self) -> None:
        """Delete a file of a final epoch, as retention does (W3), after all RPCs about it have arrived.

        Files with a staged namesake stay: an owner that slept between R6's listing and its rename could move that junk of late
        RPCs into the free final place.
        """
        finished = self.world.namenode.finished
        if not finished:
            return
        path = finished.pop(self.world.below(len(finished)))
        parsed = DataFileName.parse(base_name(path))
        assert parsed is not None
        name = parsed[0]
        staged = any(
            self.world.namenode.node(join(place, name.in_state("pending"))) for place in self.stagings
        )
        if not staged and not any(name.uuid in request.path for request in self.world.late):
            self.world.tell("(event)", f"retention takes {path} away")
            self.world.namenode.retire(path)

    def _crash(self) -> None:
        everybody = self.running + self.paused
        if not everybody:
            return
        victim = everybody[self.world.below(len(everybody))]
        self.world.tell("(event)", f"{victim.name} crashes")
        self.world.count["crashes"] += 1
        victim.crash()
        (self.running if victim in self.running else self.paused).remove(victim)

    def _pause(self) -> None:
        if not self.running:
            return
        sleeper = self.running.pop(self.world.below(len(self.running)))
        sleeper.wakes_at = self.world.step + self.world.below(10 ** (1 + self.world.below(3)))
        self.world.tell("(event)", f"{sleeper.name} is paused until step {sleeper.wakes_at}")
        self.changes_at = min(self.changes_at, sleeper.wakes_at)
        self.world.count["pauses"] += 1
        self.paused.append(sleeper)
        if self.world.below(2):
            self._start_driver()

    def _interrupt(self, actor: Actor) -> None:
        """Pause this actor for a while, and let another driver start."""
        self.interrupted = None
        if actor not in self.running or self.dice_of_interruptions is None:
            return
        self.running.remove(actor)
        actor.wakes_at = self.world.step + self.dice_of_interruptions.randrange(10, 60)
        self.changes_at = min(self.changes_at, actor.wakes_at)
        self.world.tell("(event)", f"{actor.name} is interrupted until step {actor.wakes_at}")
        self.paused.append(actor)
        self._start_driver()

    def _time_passes(self) -> None:
        now = self.world.step
        for sleeper in [a for a in self.paused if a.wakes_at <= now]:
            self.paused.remove(sleeper)
            self.running.append(sleeper)
            self.world.tell("(event)", f"{sleeper.name} wakes up")
        if self.world.trouble and self.untroubled_at <= now:
            self.world.trouble = None
        if self.hive.down and self.hive_up_at <= now:
            self.hive.down = False
        waits = [sleeper.wakes_at for sleeper in self.paused]
        if self.world.trouble:
            waits.append(self.untroubled_at)
        if self.hive.down:
            waits.append(self.hive_up_at)
        self.changes_at = min(waits, default=NEVER)

    def _start_driver(self) -> None:
        if len(self.running) >= MOST_DRIVERS:
            return
        self.drivers += 1
        name = f"driver{self.drivers}"

        def run(actor: Actor) -> None:
            self._caller(name, actor).serve()

        self.running.append(Actor(name, run, self._stays, self.hub))

    def _caller(self, name: str, actor: Actor) -> LedgerCaller:
        """Return the process that a driver of this name is."""
        caller: LedgerCaller = self.code.ledger_caller.LedgerCaller(
            self.world, self.hive, self.code, name, actor.hand_over, self._spawn_twin
        )
        return caller

    def _spawn_twin(self, share: Share) -> None:
        name = f"twin{share.epoch}.{share.index}"

        def run(actor: Actor) -> None:
            self.code.tasks.run_attempt(
                self.world, SimulatedFileSystem(self.world, name, actor.hand_over), share
            )

        self.running.append(Actor(name, run, self._stays, self.hub))
