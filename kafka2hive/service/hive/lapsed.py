"""The partitions of a Hive table that was dropped and created again: rule R12 of docs/protocol.md.

Hive has forgotten them with the table, and the files are still there. So the files say which partitions to register again.
"""

from collections.abc import Collection, Iterator, Sequence
from functools import partial

from kafka2hive.config.dead_letters import DEAD_LETTER_PARTITIONS, dead_letters_of
from kafka2hive.config.keys import ServiceMap, TableRule
from kafka2hive.config.keys.bucket_path import read_bucket_path
from kafka2hive.hive.description import is_same_creation
from kafka2hive.ledger.ports import Ports
from kafka2hive.ledger.retention import is_own
from kafka2hive.model.files import HivePartition
from kafka2hive.model.snapshot import ComparedTable, Snapshot
from kafka2hive.service.tables.ledgers import no_answer_about
from kafka2hive.storage.port import StorageError, children


def created_again(state: Snapshot, compared: Collection[ComparedTable]) -> tuple[str, ...]:
    """Return the Hive tables in `compared` that were created after the ledger recorded them.

    A ledger that has recorded no time of creation says nothing.
    """
    recorded = {each.table: each.created for each in state.compared}
    return tuple(
        sorted(
            each.table
            for each in compared
            if not is_same_creation(recorded.get(each.table, ""), each.created)
        )
    )


def lapsed_partitions(
    ports: Ports, service_map: ServiceMap, rule: TableRule, state: Snapshot, tables: Collection[str]
) -> frozenset[HivePartition]:
    """Return the partitions of these Hive tables with files of the table's ledger, each at the place that the ledger gives it.

    `tables` may hold the table itself and the dead-letter table. Partitions whose registration was given up, those that
    `retain` has dropped, and those that wait for their certificate stay unregistered. Every directory of a partition is listed
    once. Raises ServiceUnavailable.
    """
    letters = service_map.dead_letters
    found: set[HivePartition] = set()
    try:
        if state.table in tables:
            levels = read_bucket_path(rule.bucketing.path).names
            found.update(
                _with_own_files(
                    ports=ports, state=state, table=state.table, location=state.location, levels=levels
                )
            )
        if letters.table in tables:
            levels = tuple(column.name for column in DEAD_LETTER_PARTITIONS[1:])
            root = dead_letters_of(state.table)
            found.update(
                _with_own_files(
                    ports=ports,
                    state=state,
                    table=letters.table,
                    location=letters.location,
                    levels=levels,
                    root=root,
                )
            )
    except StorageError as error:
        raise no_answer_about(state.location, error) from error
    places = {each.name: each for each in found}
    places |= {each.partition.name: each.partition for each in state.early if each.partition.table in tables}
    left = {each.partition.name for each in state.dropped} | {each.partition.name for each in state.forgotten}
    # a withheld partition with a certificate is a pending registration anyway
    left |= {each.name for each in state.withheld}
    return frozenset(each for name, each in places.items() if name not in left)


def _with_own_files(
    ports: Ports, state: Snapshot, table: str, location: str, levels: Sequence[str], root: str = ""
) -> Iterator[HivePartition]:
    """Yield the partitions with files of this ledger at their homes. `root` is the path above the levels, "" for none."""
    paths = [root] if levels else []
    for level in levels:
        directories = [f"{location}/{path}" if path else location for path in paths]
        paths = [
            child.path.removeprefix(f"{location}/")
            for listing in ports.concurrency.map(partial(children, ports.files), directories)
            for child in listing
            if child.is_directory and child.name.lower().startswith(f"{level.lower()}=")
        ]
    listings = ports.concurrency.map(partial(children, ports.files), [f"{location}/{path}" for path in paths])
    for path, listing in zip(paths, listings, strict=True):
        if any(is_own(child, state, state.epoch) for child in listing):
            yield HivePartition(table, path, f"{location}/{path}")
