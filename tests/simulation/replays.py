"""Schedules of a table whose dead letters come back: by order in its runs, and by `dead-letters replay`."""

from collections.abc import Callable

from kafka2hive.model.errors import Kafka2HiveError
from tests.simulation.actor import Actor
from tests.simulation.code import REAL, Production
from tests.simulation.ledger_caller import LedgerCaller
from tests.simulation.metastore import Hive
from tests.simulation.oracle import check_ledger, check_tidiness, history
from tests.simulation.order_caller import finish_orders
from tests.simulation.places import LEDGER, LOCATION
from tests.simulation.replay_oracle import check_orders, check_replays
from tests.simulation.replaying_caller import ReplayingCaller
from tests.simulation.schedule import STEPS, Outcome, Schedule, outcome_of
from tests.simulation.watch import Violation
from tests.simulation.world import World

STEP_SECONDS = 0.2
"""So that a run looks into its inbox about every second epoch, and its search for letters is interrupted."""
COMMANDS = 5
"""One of so many processes is `dead-letters replay`."""
EPOCHS_BEFORE = 16
"""At most so many epochs, with few records each, come before the first fault."""


def run_schedule(seed: int, code: Production = REAL, trace: Callable[[str], None] | None = None) -> Outcome:
    """Play and judge one schedule. Failures are in the outcome."""
    return outcome_of(seed, ReplaySchedule(seed, code, trace))


class ReplaySchedule(Schedule):
    """A schedule of the ledger with operators who order replays."""

    average = 2 * STEPS

    def __init__(self, seed: int, code: Production, trace: Callable[[str], None] | None) -> None:
        super().__init__(seed, code, trace)
        self.world.step_seconds = STEP_SECONDS
        self.world.replays = True

    def prepare(self) -> None:
        """Let a process without faults read records, so that there are letters in the beginning."""
        super().prepare()
        self.world.orders.rest = True
        driver = self.code.replaying_caller.ReplayingCaller(self.world, self.hive, self.code, "before")
        driver.start()
        for _ in range(self.world.below(EPOCHS_BEFORE)):
            driver.epoch()
        self.world.orders.rest = False

    def judge(self) -> None:
        """Let the oracle judge. Raises Violation."""
        judge(self.world, self.hive, self.code)

    def _caller(self, name: str, actor: Actor) -> LedgerCaller:
        callers = self.code.replaying_caller
        kind = callers.ReplayingCaller if self.world.below(COMMANDS) else callers.ReplayingCommand
        caller: LedgerCaller = kind(self.world, self.hive, self.code, name, actor.hand_over, self._spawn_twin)
        return caller


def judge(world: World, hive: Hive, code: Production) -> None:
    """Recover cleanly, go on until every order is done, then check every promise. Raises Violation."""
    world.orders.rest = True
    if world.late and world.below(2):
        _recover(world, hive, code, "recover1")
    while world.late:
        world.execute_late()
    driver = _recover(world, hive, code, "recover2")
    check_tidiness(world, LEDGER, LOCATION)
    try:
        finish_orders(world, driver)
        driver.rest()
        driver.record()
    except Kafka2HiveError as error:
        raise Violation(f"the service cannot go on: {error}") from error
    if pending := driver.owned.state.unregistered:
        raise Violation(f"Hive is up, yet pending registrations stay: {pending}")
    check_ledger(world, hive)
    snapshots = history(world, LEDGER)
    check_replays(world, snapshots)
    check_orders(world, snapshots)


def _recover(world: World, hive: Hive, code: Production, name: str) -> ReplayingCaller:
    driver: ReplayingCaller = code.replaying_caller.ReplayingCaller(world, hive, code, name)
    try:
        driver.start()
    except Kafka2HiveError as error:
        raise Violation(f"a clean recover fails: {error}") from error
    return driver
