"""The oracle of whole services: clean runs of `--once` must end with 0, then every table is judged by the bare tree."""

from collections.abc import Collection
from datetime import datetime
from itertools import pairwise
from typing import Any

from kafka2hive.model.errors import ExitCode
from kafka2hive.model.paths.ledger import LedgerPaths, parse_snapshot_name
from kafka2hive.model.paths.path import base_name, join
from kafka2hive.model.paths.table_directory import owner_marker, staging_directory
from kafka2hive.model.snapshot import UNKNOWN_TIME
from tests.simulation.code import Production
from tests.simulation.namenode import FileNode
from tests.simulation.oracle import (
    FOREIGN,
    check_accounts,
    check_certificates,
    check_chain,
    check_files,
    check_hive,
    check_offsets,
    check_records,
    check_tidiness,
    check_windows,
    history,
    without_replayed,
)
from tests.simulation.places import LEDGER, location_of
from tests.simulation.service.maps import (
    BY_PATTERN,
    COLUMNS,
    COMPLETED,
    COUNTED,
    DELAYS,
    RIVAL,
    RIVALS,
    TABLES,
    columns_text,
)
from tests.simulation.snapshot_text import SnapshotText, ToldFile, read_snapshot
from tests.simulation.topic import BEGAN_MS, is_late
from tests.simulation.watch import Violation
from tests.simulation.world import World


def prepare(world: World) -> None:
    """Prepare the directory of each table, with a staged file of another ledger."""
    for tables in TABLES.values():
        for table in tables:
            staging = staging_directory(location_of(table))
            world.namenode.mkdirs(staging)
            world.namenode.create(join(staging, FOREIGN)).content = b"foreign"


def source_of(world: World) -> frozenset[str]:
    """Return the topic that the table by a pattern reads, None before a position is committed."""
    top = LedgerPaths(LEDGER.root, BY_PATTERN).table_directory
    texts = {
        parsed: text
        for path in world.namenode.files_below(top)
        if (parsed := parse_snapshot_name(base_name(path))) and parsed[1] in ("final", "pending")
        if (text := world.namenode.read(path))
    }
    if not texts:
        return frozenset()
    return frozenset(p.topic_partition.topic for p in read_snapshot(texts[max(texts)]).positions)


def refused_topics(around: Any) -> frozenset[str]:
    """Return the topics that no table may read: their table reads another one, or two topics claim it."""
    there = frozenset(filter(around.cluster.has, RIVALS))
    source = source_of(around.world)
    return there - source if source or len(there) > 1 else frozenset()


def decide_topics(around: Any) -> None:
    """Decide between the rivals at the end: the older topic exists, and if no ledger has decided, the other one is deleted."""
    cluster = around.cluster
    _bring_all(around)
    if refused_topics(around) == RIVALS:
        cluster.take_away(RIVAL)


def _bring_all(around: Any) -> None:
    if not around.cluster.has("tb"):
        around.cluster.come("tb")


def run_once(around: Any, code: Production, service: str, name: str) -> None:
    """Run `--once` of one service without faults. Raises Violation unless it ends with 0, or with 75 for each refused topic."""
    refused = refused_topics(around) if BY_PATTERN in TABLES[service] else ()
    process = code.service.Process(around, name, code.service.Order(service, once=True))
    ended: ExitCode = process.run()
    if ended is not (ExitCode.SET_ASIDE if refused else ExitCode.DONE):
        raise Violation(f"a clean run of {service} ends with {int(ended)}, refused are {sorted(refused)}")
    told = {(table, error.code) for table, error in process.troubles}
    if told != ({(BY_PATTERN, "route.conflict")} if refused else set()):
        raise Violation(f"a clean run of {service} says {told}, refused are {sorted(refused)}")
    if any(not any(topic in error.message for _, error in process.troubles) for topic in refused):
        raise Violation(f"a clean run of {service} does not name {sorted(refused)}: {process.troubles}")
    around.world.count["topics refused"] += len(refused)
    if BY_PATTERN in TABLES[service]:
        _check_status(process, refused)


def _check_status(process: Any, refused: Collection[str]) -> None:
    """Check that `status` agrees with the run. Raises Violation."""
    shown = process.status()
    told = {(table, error.code) for table, error in shown.errors}
    wanted = {(BY_PATTERN, "route.conflict")} if refused else set()
    if told != wanted or shown.exit_code is not (ExitCode.SET_ASIDE if refused else ExitCode.DONE):
        raise Violation(f"status says {told} and ends with {shown.exit_code}, refused are {sorted(refused)}")


def judge(around: Any, code: Production) -> None:
    """Run without faults, let every late RPC arrive, run again. Raises Violation."""
    world: World = around.world
    _bring_all(around)
    if world.late and world.below(2):
        for service in TABLES:
            run_once(around, code, service, f"{service}1")
    while world.late:
        world.execute_late()
    arrive_in_hive(around)
    decide_topics(around)
    for service in TABLES:
        run_once(around, code, service, f"{service}2")
    judge_tables(around)


def arrive_in_hive(around: Any) -> None:
    """Let every late statement reach Hive."""
    world, hive = around.world, around.hive.ddl
    while hive.late:
        world.count[
            "late statement that hit" if hive.execute_late(world.below) else "late statement refused"
        ] += 1


def _check_tables_in_hive(around: Any) -> None:
    """Check that Hive has each table as in the newest map, at its location."""
    for tables in TABLES.values():
        for table in tables:
            found = around.hive.ddl.tables.get(table)
            if found is None or not found.fits(COLUMNS[around.version], location_of(table)):
                raise Violation(f"{table} is in Hive as {found}")


def _check_all_certified(newest: SnapshotText) -> None:
    """Check that no partition stays open when no data comes any more and the policy accepts all."""
    if newest.tracking is None or newest.open:
        raise Violation(f"{newest.table}: these are complete and have no certificate: {newest.open}")


def _source(snapshots: list[SnapshotText]) -> tuple[str, ...]:
    """Return the only topic that a table by a pattern has ever read."""
    topics = {p.topic_partition.topic for snapshot in snapshots for p in snapshot.positions}
    if len(topics) != 1:
        raise Violation(f"{snapshots[-1].table} has read {sorted(topics)}")
    return tuple(topics)


def _content(world: World, path: str) -> bytes:
    node = world.namenode.node(path)
    return node.content if isinstance(node, FileNode) else b""


def check_late(around: Any, snapshots: list[SnapshotText]) -> None:
    """Check that each epoch closes the periods that its ledger explains, and no others.

    The bound is the time up to which the epoch before it was read, minus the map's delay, and never goes back. No late record was
    in Kafka at that time. Raises Violation.
    """
    world: World = around.world
    table = snapshots[0].table
    for before, snapshot in pairwise(snapshots):
        known, now = before.late_before_ms, snapshot.late_before_ms
        if not snapshot.accounts or not around.refuses_late or table != COMPLETED:
            if now != known:
                raise Violation(f"epoch {snapshot.epoch} of {table} closes {now}, before it {known}")
            continue
        if before.through == UNKNOWN_TIME:
            if now is not None:
                raise Violation(f"epoch {snapshot.epoch} closes {now}, and nothing was read through")
            continue
        through_ms = int(datetime.fromisoformat(before.through).timestamp()) * 1000
        delay_ms = int(_delay_of(snapshot) * 1000)
        if now != max(through_ms - delay_ms, known or 0):
            raise Violation(f"epoch {snapshot.epoch} closes {now} of {before.through}, {delay_ms}, {known}")
        world.count["a bound kept through a longer delay"] += now == known and through_ms - delay_ms < now
        for each in snapshot.accounts:
            tp = each.range.topic_partition
            first = around.cluster.end_at(tp, through_ms - BEGAN_MS)
            for offset in range(each.range.start, each.range.end):
                if is_late(tp.number, offset, table, now):
                    world.count["late records"] += 1
                    if offset < first:
                        raise Violation(f"{tp}@{offset} is late, and Kafka held it at {before.through}")


def _delay_of(snapshot: SnapshotText) -> float:
    """Return the delay in the map with whose columns Hive's table was compared last."""
    columns = {each.columns for each in snapshot.compared if each.table == snapshot.table}
    (version,) = (n for n in range(len(DELAYS)) if {columns_text(n)} == columns)
    return DELAYS[version]


def _was_lost_with_its_table(around: Any, file: ToldFile) -> bool:
    """Return whether Hive need not have the file's partition: somebody dropped its table, and it has no rows any more."""
    place = file.hive_partition
    names = around.world.namenode.directory(place.location) or ()
    return place.table in around.hive.ddl.vanished and not any(not name.startswith("_") for name in names)


def judge_tables(around: Any) -> None:
    """Check every promise about the files, table by table. Raises Violation."""
    world: World = around.world
    everything = []
    withheld: set[tuple[str, str]] = set()
    for tables in TABLES.values():
        for table, topics in tables.items():
            ledger, location = LedgerPaths(LEDGER.root, table), location_of(table)
            check_tidiness(world, ledger, location, more=True)
            snapshots = history(world, ledger)
            check_chain(snapshots)
            check_offsets(snapshots)
            check_accounts(snapshots)
            check_windows([each for each in snapshots if table in COUNTED])
            check_certificates(world, snapshots, world.uncertifiable == location)
            if table == COMPLETED and world.uncertifiable != location:
                _check_all_certified(snapshots[-1])
            files, filtered = without_replayed(world, snapshots)
            newest = snapshots[-1]
            if table == BY_PATTERN:
                topics = _source(snapshots)
            check_records(world, files, snapshots, filtered)
            check_late(around, snapshots)
            ends = {p.topic_partition: p.end for p in newest.positions}
            for tp in around.cluster.topic_partitions(tuple(filter(around.cluster.has, topics))):
                if ends.get(tp, 0) != around.cluster.ends[tp]:
                    raise Violation(
                        f"{table} ends at {ends}, Kafka holds {tp} up to {around.cluster.ends[tp]}"
                    )
            if (table, location, columns_text(around.version)) not in newest.compared:
                raise Violation(f"{table} was compared with Hive, its ledger says {newest.compared}")
            for p in newest.positions:
                if p.topic_id != around.cluster.ids[p.topic_partition.topic]:
                    raise Violation(f"{table} says that {p.topic_partition} is of topic {p.topic_id}")
            if newest.unregistered:
                raise Violation(
                    f"{table}: Hive is up, yet these stay to be registered: {newest.unregistered}"
                )
            if newest.withheld and world.uncertifiable != location:
                raise Violation(
                    f"{table}: these are complete, and Hive does not have them: {newest.withheld}"
                )
            withheld |= {each.name for each in newest.withheld}
            if newest.ledger_id.encode() not in _content(world, owner_marker(location)):
                raise Violation(f"{table}: its owner marker does not name its ledger")
            everything += files
    check_files(world, everything)
    shown = [file for file in everything if file.hive_partition.name not in withheld]
    check_hive(around.hive, [file for file in shown if not _was_lost_with_its_table(around, file)])
    if early := withheld & around.hive.registered.keys():
        raise Violation(f"these can never be complete, and Hive has them: {sorted(early)}")
    _check_tables_in_hive(around)
