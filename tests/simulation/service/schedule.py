"""One schedule of whole services: processes and faults in an order that is a pure function of the seed, then the oracle.

Half of the schedules end with a calm: after the last fault, within a bounded number of calls, every table must be owned by a
process that has dumped everything.
"""

import random
from collections.abc import Callable
from dataclasses import replace
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
BUGS_EVERY, BUGS_AT = 11, 7
"""Of so many schedules one has unexpected errors in the work on tables."""
COMES, GOES = 0.3, 0.1
"""The rate of topics that are created or deleted when a run starts."""


def run_schedule(seed: int, code: Production = REAL, trace: Callable[[str], None] | None = None) -> Outcome:
    """Play and judge one schedule. Failures are in the outcome."""
    return outcome_of(seed, ServiceSchedule(seed, code, trace))


VANISHES = 0.4
"""The rate of tables that somebody drops in Hive when a run starts, in the schedules where that happens."""
DELAY_CHANGES = 0.4
"""The rate of starts with a newer map, which has another delay, in half of the schedules where late rows are dead letters."""
SILENT_EVERY, SILENT_AT = 11, 8
"""In one of so many schedules a NameNode that did not answer a change often does not answer the read after it either."""
FENCED_AT_REST_EVERY, FENCED_AT_REST_AT = 5, 2
"""Of so many schedules with a calm, one fences its processes once more when they have nothing left to do."""


class ServiceSchedule(Schedule):
    """Processes of two services, each in a greenlet."""

    average = STEPS
    stagings = tuple(staging_directory(location_of(table)) for tables in TABLES.values() for table in tables)

    def __init__(self, seed: int, code: Production, trace: Callable[[str], None] | None) -> None:
        super().__init__(seed, code, trace)
        self.around = code.service.Surroundings(self.world, self.hive, Cluster(self.world.seed))
        self.around.cluster.most_partitions = MOST_PARTITIONS
        self.around.refuses_late = seed % 9 == 4
        self.around.has_bugs = seed % BUGS_EVERY == BUGS_AT
        self.around.tables_vanish = seed % 7 == 3
        if seed % SILENT_EVERY == SILENT_AT:
            self.world.silences = random.Random(f"silences {seed}")
        self.delays_change = seed % 18 == 13 and not self.around.tables_vanish
        self._others = random.Random(seed)
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

    def _tables_vanish(self) -> None:
        """Let somebody drop a table in Hive, perhaps while runs are alive. Its dice leave other schedules as they were."""
        tables = sorted(self.hive.ddl.tables)
        if self.around.tables_vanish and tables and self._others.random() < VANISHES:
            self.hive.drop_table(self.world, self._others.choice(tables))

    def prepare(self) -> None:
        prepare(self.world)

    def run(self) -> None:
        if self.around.refuses_late:
            self._read_through()
        self.chaos()
        if self.world.below(2):
            self.calm()
        self.end()
        self.around.has_bugs = False
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
        self.around.has_bugs = False
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
            if actor in self.running and process.version < self.around.version and not self.around.reloads:
                self.running.remove(actor)  # after a change of the map its runs are restarted
                actor.crash()
        self._settle()
        if world.seed % FENCED_AT_REST_EVERY == FENCED_AT_REST_AT:
            self._fence_at_rest()
        world.count["calm"] += 1

    def _settle(self) -> None:
        """Let the processes act until every table is at its end. Raises Violation if that takes more than CALM_STEPS calls."""
        world = self.world
        self.steps = world.step + CALM_STEPS
        while not self._settled() or self._is_allowed_now():
            if world.step >= self.steps:
                raise Violation(
                    f"after the last fault {CALM_STEPS} calls did not bring every table to an end"
                )
            self._let_one_act()

    def _let_one_act(self) -> None:
        actor, self.chosen = self.chosen or self.running[self.world.below(len(self.running))], None
        self.world.step += 1
        actor.greenlet.switch()
        if actor.greenlet.dead:
            self.running.remove(actor)

    def _fence_at_rest(self) -> None:
        """Let another run take over the tables of processes that have nothing to commit: they must notice by themselves."""
        self._start(SERVICES[0], once=False, take_over=True)
        for process in self.processes.values():
            process.settled = False
        self._settle()
        self.world.count["fenced at rest"] += 1

    def _is_allowed_now(self) -> bool:
        """Allow certificates that were refused until now, and stop new data."""
        if self.refused_for_ever or not self.world.uncertifiable:
            return False
        for process in self.processes.values():
            process.settled = False
        alive = [process for actor, process in self.processes.items() if actor in self.running]
        if not any(process.has_snapshots_left for process in alive):
            self.world.uncertifiable = ""
            self.world.count["certificates allowed again"] += 1
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

    def _start(self, service: str, *, once: bool, take_over: bool | None = None) -> None:
        """Start a process; whether it fences live owners is drawn unless `take_over` says it."""
        world = self.world
        self.drivers += 1
        self._topics_change()
        self._tables_vanish()
        changes = world.below(8) == 0 or (self.delays_change and self._others.random() < DELAY_CHANGES)
        if changes and self.around.version + 1 < len(COLUMNS):
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
        if take_over is not None:
            order = replace(order, take_over=take_over)

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
