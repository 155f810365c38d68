"""A ledger of a compacted table that is lost, and rebuilt by the production code from the footers of the files."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from kafka2hive.formats.files import end_of
from kafka2hive.ledger.history import archived_epochs
from kafka2hive.ledger.ports import Ports, RetryPolicy
from kafka2hive.ledger.repair.rebuild import LedgerFile, RebuiltSnapshots
from kafka2hive.model.errors import ManualActionRequired
from kafka2hive.model.files import FileKind
from kafka2hive.model.footer import Footer
from kafka2hive.model.paths.path import base_name, parent
from kafka2hive.model.paths.table_directory import DataFileName, RetirementName, other_place
from tests.simulation.clock import AnyOrder, SimulatedClock
from tests.simulation.code import Production
from tests.simulation.compacting_caller import ZONES
from tests.simulation.filesystem import SimulatedFileSystem
from tests.simulation.places import LEDGER, LOCATION, SERVICE, STAGING, TABLE, WAREHOUSE
from tests.simulation.tasks import SEAL
from tests.simulation.topic import closes_of
from tests.simulation.waiting import certificates_of
from tests.simulation.watch import Violation
from tests.simulation.world import World


def _tail(content: bytes, count: int) -> bytes:
    return content[-count:]


def _files(world: World) -> Iterator[LedgerFile]:
    """Yield the staged and the visible files of the table, with their footers."""
    for path in sorted(world.namenode.files_below(WAREHOUSE)):
        name, state = DataFileName.parse(base_name(path)) or (None, "")
        content = world.namenode.read(path)
        if name is None or state not in ("pending", "final") or SEAL not in content:
            continue
        end = end_of(name.extension, len(content), partial(_tail, content))
        footer = None if end is None else Footer.parse(end.metadata)
        if footer is not None:
            yield LedgerFile(path=path, name=name, final=state == "final", length=len(content), footer=footer)


def _retired(world: World, code: Production, found: list[LedgerFile]) -> dict[str, int]:
    """Add the files that are retired and gone to those found, and return the epochs of the retired places."""
    places = {}
    known = {file.path for file in found}
    for path in sorted(world.namenode.files_below(WAREHOUSE)):
        name = RetirementName.parse(base_name(path))
        if name is not None:
            places[parent(path)] = name.epoch
            found += [
                LedgerFile(path=f.path, name=f.name, final=True, length=f.length, footer=f.footer)
                for f in code.retire.retired_files(path, world.namenode.read(path))
                if f.path not in known
            ]
    world.count["retired places of a rebuilt ledger"] += len(places)
    return places


def rebuild_ledger(world: World, code: Production) -> bool:
    """Lose the ledger once no RPC is under way, and rebuild it with any map. Return whether there was one to rebuild."""
    while world.late:
        world.execute_late()
    files = SimulatedFileSystem(world, "rebuild", lambda: None)
    result = _result(world, code, files)
    if result is None:
        return False
    lose_ledger(world)
    ports = Ports(files, AnyOrder(world.below), SimulatedClock(lambda: None), world.uuid, RetryPolicy())
    code.init.put_in_place(ports, LEDGER, result.final, result.pending)
    if result.pending is not None:  # perhaps another whole attempt of a task, or another place
        world.namenode.committed |= {file.final for file in result.pending.files}
    for snapshot in filter(None, (result.final, result.pending)):
        retired = {each.early for each in result.newest.retired}
        for file in snapshot.files:
            is_there = any(world.namenode.node(path) for path in (file.staged, file.final))
            if not is_there and parent(file.final) not in retired:
                raise Violation(f"the rebuilt ledger names {file.final}, which is not there and not retired")
    world.rebuilt = result.final.epoch
    world.count["ledgers rebuilt"] += 1
    world.count["ledgers rebuilt with a pending epoch"] += result.pending is not None
    return True


def _result(world: World, code: Production, files: SimulatedFileSystem) -> RebuiltSnapshots | None:
    """Rebuild from the files; a move that was only half promoted is taken back, as the error says."""
    used = {(len(world.namenode.generations), epoch) for epoch in {0, *archived_epochs(files, LEDGER)}}
    compacts, zone = world.below(4) > 0, ZONES[world.below(len(ZONES))]
    while True:
        found = list(_files(world))
        retired = _retired(world, code, found)
        paths = {f.footer.partition.path for f in found if f.footer.partition.table == TABLE}
        lost = code.rebuild.LostLedger(
            ledger_id=found[0].footer.ledger_id if found else "",
            service=SERVICE,
            table=TABLE,
            location=LOCATION,
            staging=STAGING,
            now="now",
            closes={path: closes_of(path, zone) for path in paths},
            compacts=compacts,
            retired=retired,
            withheld=_uncertified(world, found),
            receivers=_receivers(world),
        )
        try:
            result: RebuiltSnapshots = code.rebuild.rebuild(lost, found, lambda unproven: True, used)
        except ManualActionRequired as stop:
            if stop.code == "rebuild.nothing":
                return None
            if stop.code != "rebuild.compacted":
                raise
            world.count["half moves taken back"] += 1
            place = parent(stop.message.partition(".final")[0])
            for file in found:
                if file.footer.kind is FileKind.COMPACTED and parent(file.path) == place:
                    _take_away(world, file.path)
        else:
            return result


def _receivers(world: World) -> tuple[str, ...]:
    """Return the receivers of news in the map."""
    if world.mailboxes is None:
        return ()
    world.mailboxes.had = frozenset(world.mailboxes.in_map)
    return tuple(sorted(world.mailboxes.had))


def _uncertified(world: World, found: list[LedgerFile]) -> frozenset[str]:
    """Return the paths of the partitions without a certificate, if the map has `register: complete`."""
    homes = {f.footer.partition for f in found if f.footer.partition.table == TABLE}
    if not world.withholds or not homes:
        return frozenset()
    ledger_id = found[0].footer.ledger_id
    places = {home: (home.location, other_place(home.location, home.path)) for home in homes}
    return frozenset(
        home.path
        for home, at in places.items()
        if not any(certificates_of(world, ledger_id, replace(home, location=place)) for place in at)
    )


def _take_away(world: World, path: str) -> None:
    directory = world.namenode.directory(parent(path))
    assert directory is not None
    del directory[base_name(path)]


def lose_ledger(world: World) -> None:
    """Remove the directory of the ledger; its archive stays."""
    namenode, top = world.namenode, LEDGER.table_directory
    for path in [p for p in namenode.directories if p == top or p.startswith(top + "/")]:
        del namenode.directories[path]
    del namenode.directories[parent(top)][base_name(top)]
    namenode.ledger_was_lost = True
