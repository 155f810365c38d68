"""One schedule of whole services: processes and faults in an order that is a pure function of the seed, then the oracle.

Half of the schedules end with a calm: after the last fault, within a bounded number of calls, every table must be owned by a
process that has dumped everything.
"""

from collections.abc import Callable
from typing import Any

from kafka2hive.model.paths.table_directory import staging_directory
from tests.simulation.actor import Actor
from tests.simulation.code import REAL, Production
from tests.simulation.faults import NO_FAULTS
from tests.simulation.filesystem import SimulatedFileSystem
from tests.simulation.places import location_of
from tests.simulation.schedule import MOST_DRIVERS, NEVER, Outcome, Schedule, outcome_of
from tests.simulation.service.kafka import Cluster
from tests.simulation.service.maps import COLUMNS, COMPLETED, RIVAL, SERVICES, TABLES, TOPICS
from tests.simulation.service.oracle import arrive_in_hive, decide_topics, judge, prepare, refused_topics
from tests.simulation.tasks import Share
from tests.simulation.watch import Violation

STEPS = 400
"""The average number of calls in a schedule, without the calm and the judging."""
CALM_STEPS = 20_000
"""Within so many calls after the last fault everything must be dumped."""

MOST_PARTITIONS = 6
"""The number of partitions of all topics after some were added."""
OLD_ANSWERS = 3
"""In half of the schedules a process gets up to so many answers in a row from brokers with old metadata."""
COMES, GOES = 0.3, 0.1
"""The rate of topics that are created or deleted when a run starts."""


def run_schedule(seed: int, code: Production = REAL, trace: Callable[[str], None] | None = None) -> Outcome:
    """Play and judge one schedule. Failures are in the outcome."""
    return outcome_of(seed, ServiceSchedule(seed, code, trace))


class ServiceSchedule(Schedule):
    """Processes of two services, each in a greenlet."""

    average = STEPS
    stagings = tuple(staging_directory(location_of(table)) for tables in TABLES.values() for table in tables)

    def __init__(self, seed: int, code: Production, trace: Callable[[str], None] | None) -> None:
        super().__init__(seed, code, trace)
        self.around = code.service.Surroundings(self.world, self.hive, Cluster(self.world.seed))
        self.around.cluster.most_partitions = MOST_PARTITIONS
        self.around.refuses_late = seed % 9 == 4
        self._draw_topics()
        self.refused_for_ever = seed % 8 == 5
        if self.refused_for_ever or seed % 8 == 1:  # in the latter until all tables rest
            self.world.uncertifiable = location_of(COMPLETED)
        self.processes: dict[Actor, Any] = {}

    def _draw_topics(self) -> None:
        """In half of the schedules let two topics give the same table name: either exists first, or both do."""
        cluster = self.around.cluster
        cluster.old_answers = OLD_ANSWERS * cluster.below(2)
        drawn = cluster.below(8)
        if drawn == 0:
            cluster.take_away("tb")
        if drawn < 2:
            self._comes(RIVAL, "first" if drawn == 0 else "with it")
        cluster.rival_may_come = drawn in (0, 2, 3)

    def _comes(self, topic: str, when: str) -> None:
        self.around.cluster.come(topic)
        self.world.count[f"a topic that makes another's table comes {when}"] += 1
        self.world.tell("(event)", f"topic {topic} comes")

    def _topics_change(self) -> None:
        """Change topics between two starts of runs: create one, or delete one that no table reads."""
        cluster = self.around.cluster
        if cluster.rival_may_come and cluster.happens(COMES):
            self._comes(cluster.missing_rival, "between the starts of runs")
        elif refused_topics(self.around) == {RIVAL} and cluster.happens(GOES):
            cluster.take_away(RIVAL)
            self.world.tell("(event)", f"somebody deletes topic {RIVAL}")

    def prepare(self) -> None:
        prepare(self.world)

    def run(self) -> None:
        if self.around.refuses_late:
            self._read_through()
        self.chaos()
        if self.world.below(2):
            self.calm()
        self.end()
        self.around.cluster.rest()

    def _read_through(self) -> None:
        """Produce records and dump them without faults, so that the periods that are over close before the faults begin."""
        cluster = self.around.cluster
        for tp in cluster.topic_partitions(tuple(filter(cluster.has, TOPICS))):
            cluster.grow(tp, 1 + cluster.below(4))
        self.code.service.Process(self.around, "sim0", self.code.service.Order("sim", once=True)).run()

    def judge(self) -> None:
        judge(self.around, self.code)

    def calm(self) -> None:
        """Stop all faults. Raises Violation if not everything is dumped then."""
        world = self.world
        world.tell("(event)", "calm begins")
        world.use(NO_FAULTS)
        world.trouble = None
        self.hive.down = False
        self.around.cluster.rest()
        decide_topics(self.around)
        self.running += self.paused
        self.paused.clear()
        self.events, self.chosen, self.eventful, self.changes_at = 0.0, None, False, NEVER
        while world.late:
            world.execute_late()
        arrive_in_hive(self.around)
        for actor, process in self.processes.items():
            process.settled = False
            if actor in self.running and process.version < self.around.version:
                self.running.remove(actor)  # after a change of the map its runs are restarted
                actor.crash()
        self.steps = world.step + CALM_STEPS
        while not self._settled() or self._is_allowed_now():
            if world.step >= self.steps:
                raise Violation(
                    f"after the last fault {CALM_STEPS} calls did not bring every table to an end"
                )
            actor, self.chosen = self.chosen or self.running[world.below(len(self.running))], None
            world.step += 1
            actor.greenlet.switch()
            if actor.greenlet.dead:
                self.running.remove(actor)
        world.count["calm"] += 1

    def _is_allowed_now(self) -> bool:
        """Allow certificates that were refused until now, and stop new data."""
        if self.refused_for_ever or not self.world.uncertifiable:
            return False
        self.world.uncertifiable = ""
        self.world.count["certificates allowed again"] += 1
        for process in self.processes.values():
            process.settled = False
        return True

    def _settled(self) -> bool:
        """Return whether each service has a process with nothing left to do, and fenced processes have noticed it.

        Start a process for a service without one.
        """
        done = True
        for service in SERVICES:
            mine = [
                process
                for actor, process in self.processes.items()
                if actor in self.running and process.order.service == service
            ]
            if not mine:
                self._start(service, once=False)
            done = done and any(process.settled for process in mine)
            done = done and not any(process.is_fenced for process in mine)
        return done

    def _start_driver(self) -> None:
        if len(self.running) < MOST_DRIVERS:
            self._start(SERVICES[int(self.world.below(4) == 0)], once=self.world.below(4) == 0)

    def _start(self, service: str, *, once: bool) -> None:
        world = self.world
        self.drivers += 1
        self._topics_change()
        if world.below(8) == 0 and self.around.version + 1 < len(COLUMNS):
            self.around.version += 1
            world.tell("(event)", f"the maps have version {self.around.version}")
        if world.below(8) == 0 and sum(map(len, self.around.cluster.numbers.values())) < MOST_PARTITIONS:
            topic = ("ta", "tb")[world.below(2)]
            if self.around.cluster.has(topic):
                self.around.cluster.add_partition(topic)
                world.count["partition born"] += 1
        if self.hive.ddl.late and world.below(4) == 0:
            self.hive.ddl.execute_late(world.below)
        name = f"{service}{self.drivers}"
        order = self.code.service.Order(
            service, once, take_over=world.below(4) == 0, beats=world.below(4) == 0
        )

        def run(actor: Actor) -> None:
            self.processes[actor].run()

        actor = Actor(name, run, self._stays, self.hub)
        process = self.code.service.Process(self.around, name, order, actor.hand_over, self._spawn_twin)
        self.processes[actor] = process
        self.running.append(actor)

    def _spawn_twin(self, share: Share) -> None:
        name = f"twin{share.table}{share.epoch}.{share.index}"

        def run(actor: Actor) -> None:
            files = SimulatedFileSystem(self.world, name, actor.hand_over)
            self.code.tasks.run_attempt(self.world, files, share)

        self.running.append(Actor(name, run, self._stays, self.hub))
