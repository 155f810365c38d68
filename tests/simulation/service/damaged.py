"""Schedules with damage: a service at rest, perhaps killed in the middle of an epoch, is damaged, started, repaired, judged.

The start must set the damaged table aside with the right code, change nothing of it, and dump the others. The repair is killed
at any call, up to three times, and run again. Then all tables must continue, exactly once.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from kafka2hive.kafka.positions import GapAcceptance
from kafka2hive.model.errors import ExitCode, Kafka2HiveError
from kafka2hive.model.files import HivePartition
from kafka2hive.model.offsets import OffsetRange, cluster_of, name_in_kafka
from kafka2hive.model.paths.ledger import LedgerPaths, parse_snapshot_name
from kafka2hive.model.paths.path import base_name, join
from kafka2hive.model.paths.table_directory import CertificateName, DataFileName, staging_directory
from kafka2hive.model.snapshot import REBUILT
from tests.simulation.code import REAL, Production
from tests.simulation.metastore import Hive
from tests.simulation.oracle import (
    FOREIGN,
    check_accounts,
    check_certificates,
    check_chain,
    check_exactly,
    check_files,
    check_hive,
    check_offsets,
    check_tidiness,
    check_windows,
    history,
)
from tests.simulation.places import DEAD_LETTER_LOCATION, LEDGER, location_of
from tests.simulation.schedule import Outcome, outcome_of
from tests.simulation.service.beside import BesideRun
from tests.simulation.service.damage import DAMAGES, DemoContext, Harm, cluster_renamed, location_changed
from tests.simulation.service.footers import seal
from tests.simulation.service.kafka import Cluster
from tests.simulation.service.maps import COUNTED, TABLES, TOPICS
from tests.simulation.service.oracle import prepare
from tests.simulation.snapshot_text import SnapshotText, ToldFile, read_snapshot
from tests.simulation.tasks import records_in
from tests.simulation.topic import records_by_place
from tests.simulation.watch import Violation
from tests.simulation.world import World

KILLS = 3
CALLS = 60
"""A repair is killed before its n-th call; n is below this."""
OF_ONE_TOPIC = ("records_aged_out", "log_cut_off", "topic_recreated", "topic_gone")
"""Damage to a topic that only one table of the damaged service reads."""
STAGED_EVERY, STAGED_AT = 14, 6
"""In one of so many schedules the run is killed before its commit, so that orphans are in the staging directory."""
RENAMED_EVERY, RENAMED_AT = 19, 9
"""In one of so many schedules the damage is another name of the table's Kafka cluster."""
BESIDE = 4
"""In one of so many schedules the repair runs while a run is alive, if the damage stops the table."""
LEDGER_THERE = "rebuild.ledger_there"


class Killed(BaseException):
    """The process was killed. It is not an Exception, so that no handler of the production code catches it."""


def run_schedule(seed: int, code: Production = REAL, trace: Callable[[str], None] | None = None) -> Outcome:
    """Play and judge one schedule. Failures are in the outcome."""
    return outcome_of(seed, DamageSchedule(seed, code, trace))


class DamageSchedule:
    """Some damage to one table of the service `sim`."""

    def __init__(self, seed: int, code: Production, trace: Callable[[str], None] | None) -> None:
        self.world = World(seed, trace)
        self.world.seal = seal
        self.code = code
        self.hive = Hive()
        self.cluster = Cluster(seed)
        self.cluster.growing = False
        self.cluster.hesitant = seed % 2 == 0
        self.around = code.service.Surroundings(self.world, self.hive, self.cluster)
        self.table = tuple(TABLES["sim"])[self.world.below(2)]
        self.ledger, self.location = LedgerPaths(LEDGER.root, self.table), location_of(self.table)
        self.processes = 0
        self.harm = Harm(frozenset())
        self.stood: dict[Any, int] = {}
        self.staged: frozenset[str] = frozenset()
        self.refetched = False
        self.forgets = False
        self.was_reset = False
        self.beside: BesideRun | None = None
        self.older: dict[str, bytes] = {}
        self.copies: set[str] = set()

    def prepare(self) -> None:
        prepare(self.world)

    def end(self) -> None:
        """Do nothing: no actor is left if `run` returned."""
        if self.beside is not None:
            self.beside.end()

    def run(self) -> None:
        for _ in range(1 + self.world.below(3)):
            self._grow(TOPICS)
            self._clean("sim")
            if self.world.below(2):
                self._clean("other")
        if self.world.below(4) == 0:
            self.cluster.add_partition("ta")
            self.world.count["partition born"] += 1
        self._killed_run()
        self._harm()
        self._must_stop()
        if self.world.below(4) == 0:
            self._must_stop()
        if self.world.seed % BESIDE == 1 and not self._is_set_aside:
            self._repair_beside_a_run()
        else:
            self._repair()
        if self.harm.gap is None and not self.around.moved and self.world.below(8) == 0:
            self._reset()
        self.cluster.hesitant, self.cluster.old_answers = False, int(self.harm.recreated)
        self.around.damaged = frozenset()
        for _ in range(2):
            self._grow(TOPICS)
            self._clean("sim")

    def _grow(self, topics: Any) -> None:
        for tp in self.cluster.topic_partitions(topics):
            if tp.topic not in self.cluster.gone:
                self.cluster.grow(tp, 1 + self.world.below(6))

    def _process(self, service: str, kill: Callable[[], bool] = lambda: False) -> Any:
        self.processes += 1
        dead = False

        def hand_over() -> None:
            nonlocal dead
            self.world.step += 1
            dead = dead or kill()
            if dead:
                raise Killed

        order = self.code.service.Order(service, once=True)
        return self.code.service.Process(self.around, f"{service}{self.processes}", order, hand_over)

    def _clean(self, service: str) -> None:
        code = self._process(service).run()
        if code is not ExitCode.DONE:
            raise Violation(f"a clean run of {service} ends with {int(code)}: {self.around.stops}")

    def _killed_run(self) -> None:
        """Run until some files of a pending epoch of the table are moved, then kill; in one of four schedules do not kill."""
        self._grow(TOPICS)
        top = self.ledger.table_directory
        self.older = {path: self.world.namenode.read(path) for path in self.world.namenode.files_below(top)}
        self.hive.down = self.world.below(2) == 0
        moved, committed = self.world.below(4), len(self.world.namenode.committed)
        lucky = self.world.below(4) == 0

        def reached() -> bool:
            if self.world.seed % STAGED_EVERY == STAGED_AT and self._has_orphans():
                return True
            if lucky or len(self.world.namenode.committed) == committed:
                return False
            scene = self._scene()
            return scene.pending and len(scene.moved) >= min(moved, len(scene.newest.files))

        try:
            self._process("sim", reached).run()
        except Killed:
            self.world.count["killed in the middle of an epoch"] += 1
        self.hive.down = False

    def _has_orphans(self) -> bool:
        """Return whether tasks have staged files of the table that no snapshot names yet."""
        committed = {file.staged for file in self._scene().newest.files}
        staging = staging_directory(self.location)
        names = self.world.namenode.directory(staging) or ()
        paths = {join(staging, name) for name in names if DataFileName.parse(name) and name != FOREIGN}
        self.world.count["killed before a commit"] += bool(paths - committed)
        return bool(paths - committed)

    def _scene(self) -> DemoContext:
        namenode = self.world.namenode
        (name,) = namenode.directories[self.ledger.table_directory]
        directory = join(self.ledger.table_directory, name)
        parsed = [p for child in namenode.directories[directory] if (p := parse_snapshot_name(child))]
        epoch, state = max(p for p in parsed if p[1] in ("final", "pending"))
        newest = read_snapshot(namenode.read(join(directory, f"e{epoch:06d}.{state}")))
        files = newest.files if state == "pending" else ()
        staged = tuple(f for f in files if namenode.node(f.staged) is not None)
        moved = tuple(f for f in files if namenode.node(f.final) is not None)
        return DemoContext(
            self.world,
            self.hive,
            self.cluster,
            self.ledger,
            self.location,
            directory,
            newest,
            self.around.moved,
            state == "pending",
            staged,
            moved,
            self.older,
            self.around.clusters,
        )

    def _harm(self) -> None:
        scene = self._scene()
        self.staged = frozenset(file.staged for file in scene.newest.files)
        self.stood = {p.topic_partition: p.end for p in scene.newest.positions}
        todo = [d for d in DAMAGES if self.table == "db.b" or d.__name__ not in OF_ONE_TOPIC]
        if self.world.seed % STAGED_EVERY == STAGED_AT:
            todo += 10 * [location_changed]  # what is staged at the old location must be deleted there
        if self.world.seed % RENAMED_EVERY == RENAMED_AT:
            todo = [cluster_renamed]
        while True:
            damage = todo.pop(self.world.below(len(todo)))
            harm = damage(scene)
            if harm is not None:
                break
        self.harm = harm
        # a rebuilt ledger does not know what was committed but not visible: it is deleted, and read again
        self.world.namenode.ledger_was_lost = harm is not None and harm.rebuild
        self.world.count[damage.__name__.replace("_", " ")] += 1
        self.world.tell("(somebody)", f"{damage.__name__} of {self.table}")
        self.around.damaged = frozenset({self.table})

    def _must_stop(self) -> None:
        """Check that a run sets the damaged table aside unchanged, and dumps the other one."""
        self._grow(("ta",))
        self.around.stops.clear()
        before = self._contents()
        hive = self._is_set_aside
        epoch = self._scene().newest.epoch if hive else -1
        code = self._process("sim").run()
        said = self.around.stops.get(self.table, set())
        wanted = ExitCode.SET_ASIDE if hive else ExitCode.STOP
        if code is not wanted or not said & self.harm.codes:
            raise Violation(
                f"{self.table} is harmed ({sorted(self.harm.codes)}), yet the run ends with {code}: {said}"
            )
        after = self._contents()
        if not hive and (before - after or any(not is_mark for is_mark, _ in after - before)):
            raise Violation(f"{self.table} was set aside, yet something of it was changed")
        if hive and not self.harm.commits and self._scene().newest.epoch != epoch:
            raise Violation(f"Hive has another table than {self.table}, yet something was committed to it")
        (other,) = set(TABLES["sim"]) - {self.table}
        self._check_dumped(other)

    @property
    def _is_set_aside(self) -> bool:
        """Return whether the damage is not a STOP: a run retries the table by itself."""
        return all(code.startswith(("hive.", "storage.", "kafka.unknown")) for code in self.harm.codes)

    def _contents(self) -> Counter[tuple[bool, bytes]]:
        """Return the content of all files of the table, at any place, and whether each marks a complete partition.

        A take-over that rolls an epoch forward may move undamaged files, add marks, and delete files of failed tasks.
        """
        namenode = self.world.namenode
        found: Counter[tuple[bool, bytes]] = Counter()
        letters = join(DEAD_LETTER_LOCATION, f"source_table={self.table}")
        orphans = staging_directory(self.location) + "/"
        for top in (self.location, letters, self.ledger.table_directory, self.ledger.archives):
            found.update(
                (_is_mark(path), namenode.read(path))
                for path in namenode.files_below(top)
                if not path.startswith(orphans) or path in self.staged
            )
        return found

    def _check_dumped(self, table: str) -> None:
        newest = self._snapshots(table)[-1]
        for tp in self.cluster.topic_partitions(TABLES["sim"][table]):
            position = newest.position(tp)
            if position is None or position.end != self.cluster.ends[tp]:
                raise Violation(
                    f"{table} is not harmed, yet {tp} is not dumped up to {self.cluster.ends[tp]}"
                )

    def _snapshots(self, table: str) -> list[SnapshotText]:
        ledger = LedgerPaths(LEDGER.root, table)
        since = 0
        if self.harm.rebuild and table == self.table and not self.was_reset:
            since = self.rebuilt_at
        return history(self.world, ledger, since)

    def _repair(self) -> None:
        harm, world = self.harm, self.world
        self.forgets = harm.unregistered is not None and world.below(2) == 0
        if harm.undo is not None and not self.forgets:
            harm.undo()
            return
        if harm.moved_to and world.below(4) == 0:
            self.around.moved.clear()
            return
        if harm.cluster and world.below(4) == 0:
            self.around.clusters.clear()
            return
        order = self._order()
        self._killed_at_times(lambda process: self.code.repair.run_recover(process, order))
        errors = self.code.repair.run_recover(self._process("sim"), order)
        if [error.code for error in errors] == [LEDGER_THERE]:
            rest = self.code.repair.RecoverRequest(tables=(self.table,))
            errors = self.code.repair.run_recover(self._process("sim"), rest)
        if errors:
            raise Violation(f"{self.table} cannot be repaired by {order}: {errors[0]}")
        world.count["repaired"] += 1
        self._note_rebuilt()
        self._check_hive([file for snapshot in self._snapshots(self.table) for file in snapshot.files])
        if harm.moved_to:
            self._move(hides=world.below(2) == 0)
        if harm.cluster and world.below(2) == 0:
            self._rename_back()

    def _rename_back(self) -> None:
        """Let a run dump the table, and give its Kafka cluster the former name again: the table must stop again."""
        self.around.damaged = frozenset()
        self._grow(TOPICS)
        self._clean("sim")
        self.around.damaged = frozenset({self.table})
        self.around.clusters.clear()
        self._must_stop()
        self._killed_at_times(lambda process: self.code.repair.run_recover(process, self._order()))
        if errors := self.code.repair.run_recover(self._process("sim"), self._order()):
            raise Violation(f"{self.table} cannot get its former cluster: {errors[0]}")
        self.world.count["renamed cluster renamed back"] += 1

    def _move(self, *, hides: bool) -> None:
        """Tell Hive the table's new location, and copy its partitions: docs/operations.md, Another location for a table.

        With `hides`, this comes only after a run, which commits to a partition that Hive has at the old location.
        """
        newest = self._snapshots(self.table)[-1]
        if newest.location != self.harm.moved_to:
            raise Violation(f"{self.table} is at {newest.location}, accepted was {self.harm.moved_to}")
        self.world.count["location accepted with open partitions"] += bool(newest.open)
        self.hive.ddl.tables[self.table].location = self.harm.moved_to
        if hides:
            self._grow(TOPICS)
            self.around.stops.clear()
            code, said = self._process("sim").run(), self.around.stops.get(self.table, set())
            if code not in (ExitCode.DONE, ExitCode.SET_ASIDE) or said - {"hive.misplaced"}:
                raise Violation(
                    f"{self.table} has partitions at its old location, the run says {code}: {said}"
                )
            self.world.count["rows hidden at a new location"] += bool(said)
        for (table, path), before in self.hive.registered.items():
            if table == self.table and before == join(self.location, path):
                self._move_partition(path, before)

    def _move_partition(self, path: str, before: str) -> None:
        namenode, after = self.world.namenode, join(self.harm.moved_to, path)
        namenode.mkdirs(after)
        for child in list(namenode.directory(before) or ()):
            if namenode.node(join(after, child)) is None:
                namenode.create(join(after, child)).content = namenode.read(join(before, child))
                self.copies.add(join(after, child))
        self.hive.registered[self.table, path] = after
        self.around.moved_partitions[before] = after

    def _note_rebuilt(self) -> None:
        if self.harm.rebuild:
            names = self.world.namenode.directories[self._scene().directory]
            parsed = [p for p in map(parse_snapshot_name, names) if p]
            self.rebuilt_at = min(epoch for epoch, _ in parsed if self._owner(epoch) == REBUILT)

    def _repair_beside_a_run(self) -> None:
        """Repair by hand or by a command while a run serves the other table; then the run must dump this one again."""
        beside = self.beside = BesideRun(self.around, self.code, self.table)
        beside.stop()
        if self.harm.undo is not None:
            self.harm.undo()
            order = self.code.repair.RecoverRequest(tables=(self.table,))
        else:
            order = replace(self._order(), tables=(self.table,))
        run_recover, kills = self.code.repair.run_recover, self.world.below(KILLS + 1)

        def command(process: Any, announce: Callable[[], None]) -> list[Kafka2HiveError]:
            errors: list[Kafka2HiveError] = run_recover(process, order, announce)
            if [error.code for error in errors] == [LEDGER_THERE]:
                rest = self.code.repair.RecoverRequest(tables=(self.table,))
                errors = run_recover(process, rest, announce)
            return errors

        beside.repair(command, kills, by_hand=self.harm.undo is not None)
        self._note_rebuilt()
        if self.harm.moved_to:
            self._move(hides=False)
        self._grow(TOPICS)
        beside.take_up()

    def _killed_at_times(self, command: Callable[[Any], object]) -> None:
        """Run the command and kill it up to three times, at any call; then let it end."""
        world = self.world
        for _ in range(world.below(KILLS + 1)):
            left = [world.below(CALLS)]

            def kill(left: list[int] = left) -> bool:
                left[0] -= 1
                return left[0] < 0

            try:
                command(self._process("sim", kill))
            except Killed:
                world.count["a repair killed"] += 1

    def _reset(self) -> None:
        """Start the table over, with its data moved aside."""
        self._killed_at_times(lambda process: self.code.repair.run_reset(process, self.table))
        errors = self.code.repair.run_reset(self._process("sim"), self.table)
        if errors:
            raise Violation(f"{self.table} cannot be started over: {errors[0]}")
        self.world.count["table started over"] += 1
        if self.forgets and self.harm.undo is not None:
            self.harm.undo()  # otherwise Hive would refuse the same partition of the new ledger
        self.was_reset = True

    def _owner(self, epoch: int) -> str:
        scene = self._scene()
        path = join(scene.directory, f"e{epoch:06d}.final")
        return read_snapshot(self.world.namenode.read(path)).owner

    def _order(self) -> Any:
        order = self.code.repair.RecoverRequest
        if self.forgets:
            self.world.count["registration given up"] += 1
            partition = self.harm.unregistered
            assert partition is not None
            return order(forget=(self.code.repair.Registration(partition.table, partition.path),))
        if self.harm.lost is not None:
            self.refetched = self.world.below(2) == 0
            path = (self.harm.lost.final,)
            return order(refetch=path) if self.refetched else order(accept_loss=path)
        if self.harm.gap is not None:
            return order(accept_gap=(GapAcceptance(self.harm.gap.topic, self.harm.gap.number),))
        if self.harm.moved_to:
            return order(accept_location=(self.table,))
        if self.harm.cluster:
            return order(accept_cluster=(self.table,))
        gaps = tuple(GapAcceptance(topic) for topic in TABLES["sim"][self.table])
        return order(rebuild=self.table, accept_gap=gaps)

    def judge(self) -> None:
        """Check every promise, as far as the repaired damage allows. Raises Violation."""
        everything: list[ToldFile] = []
        given_up: frozenset[str] = frozenset()
        if self.harm.gap is None:  # the other service reads that log, too
            self._clean("other")
        for table in (*TABLES["sim"], *TABLES["other"]):
            if self.world.namenode.directory(LedgerPaths(LEDGER.root, table).table_directory) is None:
                continue
            snapshots = self._snapshots(table)
            since = snapshots[0].epoch
            begun_anew = self.was_reset and table == self.table  # its whole staging directory was moved away
            ledger = LedgerPaths(LEDGER.root, table)
            check_tidiness(self.world, ledger, location_of(table), True, since, not begun_anew)
            if self.around.moved and table == self.table:
                check_tidiness(self.world, ledger, self.harm.moved_to, True, since, False)
            check_chain(snapshots)
            check_offsets(snapshots)
            check_accounts(snapshots if snapshots[0].owner != REBUILT else snapshots[1:])
            check_windows([each for each in snapshots if table in COUNTED])
            check_certificates(self.world, snapshots)
            newest = snapshots[-1]
            late = {each.partition for each in newest.open} - {each.partition for each in newest.forgotten}
            if late and table in TABLES["sim"]:
                raise Violation(f"{table}: these are complete and have no certificate: {late}")
            for p in newest.positions if table in TABLES["sim"] else ():
                if p.topic_id != self.cluster.ids[name_in_kafka(p.topic_partition.topic)]:
                    raise Violation(f"{table} says that {p.topic_partition} is of topic {p.topic_id}")
            files = [file for snapshot in snapshots for file in snapshot.files]
            ranges = [OffsetRange(p.topic_partition, 0, p.end) for p in newest.positions]
            lost: Counter[tuple[HivePartition, str]] = Counter()
            if table == self.table and not self.was_reset:
                ranges = self._ranges(newest)
                self._check_records_of_the_repair(newest)
                if self.harm.lost is not None:
                    given_up = frozenset({self.harm.lost.final})
                    lost = Counter() if self.refetched else self._records_of(self.harm.lost)
            if newest.unregistered:
                raise Violation(
                    f"{table}: Hive is up, yet these stay to be registered: {newest.unregistered}"
                )
            kept = [f for f in files if f.final not in given_up]
            moved_to = self.harm.moved_to if self.around.moved and table == self.table else ""
            check_exactly(self.world, kept, ranges, table, lost, moved_to)
            everything += files
        check_files(self.world, everything, given_up | self.copies)
        self._check_seen_by_hive(everything)
        self._check_hive(everything)

    def _check_hive(self, files: list[ToldFile]) -> None:
        """Check Hive, except the registration that was given up, which only the newest snapshot's `forgotten` line may have."""
        forgotten = {each.partition for each in self._snapshots(self.table)[-1].forgotten}
        if forgotten != ({self.harm.unregistered} if self.forgets and not self.was_reset else set()):
            raise Violation(f"{self.table}: given up are {forgotten}")
        check_hive(
            self.hive,
            [file for file in files if file.hive_partition not in forgotten],
            self.around.moved_partitions,
        )

    def _check_seen_by_hive(self, files: list[ToldFile]) -> None:
        """Check that each partition of a table that has moved has all its rows at the location that Hive has."""
        wanted: dict[str, Counter[str]] = {}
        for file in files if self.around.moved else ():
            if file.hive_partition.table == self.table:
                ids = records_in(self.world.namenode.read(file.final))
                wanted.setdefault(file.hive_partition.path, Counter()).update(ids)
        for path, records in wanted.items():
            directory, seen = self.hive.registered[self.table, path], Counter[str]()
            for name in self.world.namenode.directory(directory) or ():
                if not name.startswith("_"):
                    seen.update(records_in(self.world.namenode.read(join(directory, name))))
            if seen != records:
                raise Violation(f"{directory} hides {records - seen} and shows twice {seen - records}")

    def _records_of(self, file: ToldFile) -> Counter[tuple[HivePartition, str]]:
        records = records_by_place(file.ranges, self.table)[file.hive_partition]
        return Counter((file.hive_partition, record) for record in records)

    def _ranges(self, newest: SnapshotText) -> list[OffsetRange]:
        """Return the ranges that must be visible: with a gap, those before and after it."""
        ranges = []
        for p in newest.positions:
            tp = p.topic_partition
            if tp == self.harm.gap:
                stood = self.stood[tp]
                resumed = self.cluster.begins[tp] or (0 if self.harm.recreated else stood - 1)
                ranges += [OffsetRange(tp, 0, stood), OffsetRange(tp, resumed, p.end)]
            else:
                ranges.append(OffsetRange(tp, 0, p.end))
        return ranges

    def _check_records_of_the_repair(self, newest: SnapshotText) -> None:
        """Check that the newest snapshot has the operator's decision exactly once."""
        losses = [loss.path for loss in newest.losses]
        if losses != ([self.harm.lost.final] if self.harm.lost else []):
            raise Violation(f"{self.table}: the losses are {losses}, repaired was {self.harm.lost}")
        moves = Counter(gap.range.topic_partition for gap in newest.gaps if gap.moved_to)
        if self.harm.cluster and max(moves.values(), default=1) > 1:
            raise Violation(f"{self.table}: a topic partition moves twice: {moves}")
        clusters = {cluster_of(p.topic_partition.topic) for p in newest.positions}
        if self.harm.cluster and clusters != {self.around.clusters.get(self.table, "")}:
            raise Violation(f"{self.table} has positions in the clusters {clusters}")
        if self.harm.gap is not None and [g.range.topic_partition for g in newest.gaps] != [self.harm.gap]:
            raise Violation(f"{self.table}: the gaps are {newest.gaps}, accepted was one of {self.harm.gap}")


def _is_mark(path: str) -> bool:
    """Return whether the path is a certificate or a success file."""
    name = base_name(path)
    return name == "_SUCCESS" or CertificateName.parse(name) is not None
