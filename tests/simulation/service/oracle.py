"""The oracle of whole services: clean runs of `--once` must end with 0, then every table is judged by the bare tree."""

from typing import Any

from kafka2hive.model.errors import ExitCode
from kafka2hive.model.paths.ledger import LedgerPaths
from kafka2hive.model.paths.path import join
from kafka2hive.model.paths.table_directory import owner_marker, staging_directory
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
    history,
)
from tests.simulation.places import LEDGER, location_of
from tests.simulation.service.maps import COLUMNS, COMPLETED, TABLES, columns_text
from tests.simulation.snapshot_text import SnapshotText
from tests.simulation.watch import Violation
from tests.simulation.world import World


def prepare(world: World) -> None:
    """Each table's directory, with a file another ledger once staged there."""
    for tables in TABLES.values():
        for table in tables:
            staging = staging_directory(location_of(table))
            world.namenode.mkdirs(staging)
            world.namenode.create(join(staging, FOREIGN)).content = b"foreign"


def run_once(around: object, code: Production, service: str, name: str) -> ExitCode:
    """A clean run of `--once` of one service. Raises Violation unless it ends with 0."""
    process = code.service.Process(around, name, code.service.Order(service, once=True))
    ended: ExitCode = process.run()
    if ended is not ExitCode.DONE:
        raise Violation(f"a clean run of {service} ends with {int(ended)}")
    return ended


def judge(around: Any, code: Production) -> None:
    """Run cleanly, let every late RPC arrive, run again. Raises Violation."""
    world: World = around.world
    if world.late and world.below(2):
        for service in TABLES:
            run_once(around, code, service, f"{service}1")
    while world.late:
        world.execute_late()
    arrive_in_hive(around)
    for service in TABLES:
        run_once(around, code, service, f"{service}2")
    judge_tables(around)


def arrive_in_hive(around: Any) -> None:
    """Every late statement reaches Hive, whoever sent it."""
    world, hive = around.world, around.hive.ddl
    while hive.late:
        world.count[
            "late statement that hit" if hive.execute_late(world.below) else "late statement refused"
        ] += 1


def _check_tables_in_hive(around: Any) -> None:
    """Hive has each table as the newest map has it, at its place."""
    for tables in TABLES.values():
        for table in tables:
            found = around.hive.ddl.tables.get(table)
            if found is None or not found.fits(COLUMNS[around.version], location_of(table)):
                raise Violation(f"{table} is in Hive as {found}")


def _check_all_certified(newest: SnapshotText) -> None:
    """Nothing comes any more, and the policy takes all: no partition stays open for ever."""
    if newest.tracking is None or newest.open:
        raise Violation(f"{newest.table}: these are complete and have no certificate: {newest.open}")


def _content(world: World, path: str) -> bytes:
    node = world.namenode.node(path)
    return node.content if isinstance(node, FileNode) else b""


def judge_tables(around: Any) -> None:
    """Every promise about what lies there, table by table. Raises Violation."""
    world: World = around.world
    everything = []
    for tables in TABLES.values():
        for table, topics in tables.items():
            ledger, location = LedgerPaths(LEDGER.root, table), location_of(table)
            check_tidiness(world, ledger, location, more=True)
            snapshots = history(world, ledger)
            check_chain(snapshots)
            check_offsets(snapshots)
            check_accounts(snapshots)
            check_certificates(world, snapshots, world.uncertifiable == location)
            if table == COMPLETED and world.uncertifiable != location:
                _check_all_certified(snapshots[-1])
            files = [file for snapshot in snapshots for file in snapshot.files]
            newest = snapshots[-1]
            check_records(world, files, newest)
            ends = {p.topic_partition: p.end for p in newest.positions}
            for tp in around.cluster.topic_partitions(topics):
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
            if newest.ledger_id.encode() not in _content(world, owner_marker(location)):
                raise Violation(f"{table}: its owner marker does not name its ledger")
            everything += files
    check_files(world, everything)
    check_hive(around.hive, everything)
    _check_tables_in_hive(around)
