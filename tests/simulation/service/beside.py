"""A repair while a run serves the other tables: the run must take the repaired table up without ending.

Two greenlets share one clock: each live process beats every two seconds of it, as a thread would, whatever else it does.
"""

from collections.abc import Callable
from typing import Any

from kafka2hive.ledger.heartbeat import HEARTBEAT_SECONDS
from kafka2hive.model.errors import ExitCode, Kafka2HiveError
from tests.simulation.actor import Actor
from tests.simulation.code import Production
from tests.simulation.watch import Violation

CALLS = 4_000
"""Within so many calls the run must have stopped a damaged table, or dumped a repaired one."""
KILLED_BEFORE = 60
"""A repair is killed before its n-th turn; n is below this."""
TRIES = 5


Command = Callable[[Any, Callable[[], None]], list[Kafka2HiveError]]
"""An operator's command, run as a process. It calls its second argument before each take-over, to begin its heartbeat."""


class BesideRun:
    """One run of the service `sim`, and commands during it, one after another."""

    def __init__(self, around: Any, code: Production, table: str) -> None:
        self.world = around.world
        self.around = around
        self.code = code
        self.table = table
        self.actors: list[Actor] = []
        self.present: dict[Actor, Any] = {}
        self._beat_at = 0
        around.shares_time = True
        self.run = self._start("beside", once=False, work=self._serve)

    def _start(self, name: str, *, once: bool, work: Callable[[Any], object]) -> Any:
        def begin(actor: Actor) -> None:
            work(processes[actor])

        actor = Actor(name, begin)
        order = self.code.service.Order("sim", once=once)
        process = self.code.service.Process(self.around, name, order, actor.hand_over)
        processes = {actor: process}
        self.actors.append(actor)
        return process

    def _serve(self, process: Any) -> None:
        self.present[self.actors[0]] = self.code.service.Presence(process)
        code = process.run()
        raise Violation(f"the run beside ends with {int(code)}")

    def _turn(self) -> None:
        """Let one process make a call; then let all live processes beat if it is time."""
        self.world.step += 1
        actor = self.actors[self.world.below(len(self.actors))]
        actor.greenlet.switch()
        if actor.greenlet.dead:
            self.actors.remove(actor)
            if (presence := self.present.pop(actor, None)) is not None:
                presence.end()
        if self.around.cluster.now_ms - self._beat_at >= HEARTBEAT_SECONDS * 1000:
            self._beat_at = self.around.cluster.now_ms
            for presence in self.present.values():
                presence.show()

    def _until(self, done: Callable[[], bool], what: str) -> None:
        for _ in range(CALLS):
            if done():
                return
            self._turn()
        raise Violation(f"{CALLS} calls and {self.table} {what}")

    @property
    def is_stopped(self) -> bool:
        """Return whether the run has stopped the table."""
        tables = self.run.tables.tables
        return self.table in tables and tables[self.table].needs_manual_action

    def stop(self) -> None:
        """Begin the run, and wait until it has stopped the damaged table."""
        self._until(lambda: self.is_stopped, "is harmed, yet the run beside does not stop it")
        for _ in range(self.world.below(400)):
            self._turn()

    def repair(self, command: Command, kills: int, *, by_hand: bool) -> None:
        """Run the command, kill it `kills` times, then let it end.

        After a kill, and if another generation was put back `by_hand`, the run may be faster than the command: then it continues
        with the table, or stops it again, and the command runs once more.
        """
        for _ in range(kills):
            if self.is_stopped:
                self._type(command, self.world.below(KILLED_BEFORE))
                self.world.count["a repair killed beside a run"] += 1
                for _ in range(self.world.below(4) * 100):
                    self._turn()
        for _ in range(TRIES):
            errors = self._type(command)
            if not errors:
                return
            lost = errors[0].exit_code in (ExitCode.OWNED, ExitCode.FENCED)
            if not (lost and (kills or by_hand)):
                raise Violation(f"{self.table} cannot be repaired beside the run: {errors[0]}")
            for _ in range(500):
                self._turn()
            if not self.is_stopped:
                self.world.count["the run was faster than the command"] += 1
                return
        raise Violation(f"{self.table} is not repaired beside the run after {TRIES} tries")

    def _type(
        self,
        command: Command,
        killed_before: int | None = None,
    ) -> list[Kafka2HiveError]:
        said: list[list[Kafka2HiveError]] = []
        self.world.count["repairs beside a run"] += 1
        process = self._start(
            f"repair{self.world.count['repairs beside a run']}",
            once=True,
            work=lambda process: said.append(command(process, announce)),
        )
        actor = self.actors[-1]

        def announce() -> None:
            if actor not in self.present:
                presence = self.present[actor] = self.code.repair.RepairPresence(process)
                presence.show()

        turns = 0
        while actor in self.actors:
            if turns == killed_before:
                actor.crash()
                self.actors.remove(actor)
                self.present.pop(actor, None)
                break
            self._turn()
            turns += 1
            if turns > CALLS:
                raise Violation(f"the repair of {self.table} does not end")
        return said[0] if said else []

    def take_up(self) -> None:
        """Wait until the run dumps the table again, without a restart. Then kill the run."""
        tables = self.run.tables.tables
        self.run.settled = False
        self._until(
            lambda: self.run.settled and not tables[self.table].needs_manual_action,
            "is repaired, yet the run beside does not dump it",
        )
        self.world.count["taken up without a restart"] += 1
        self.end()

    def end(self) -> None:
        """End all actors."""
        for actor in self.actors:
            actor.crash()
        self.actors.clear()
        self.present.clear()
        self.around.shares_time = False
