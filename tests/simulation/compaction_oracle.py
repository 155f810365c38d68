"""The oracle of compaction: recounts early partitions, units and moves from the snapshots' text and the bare tree."""

from collections import Counter
from dataclasses import dataclass, field, replace
from itertools import pairwise

from kafka2hive.model.errors import Kafka2HiveError, ManualActionRequired
from kafka2hive.model.files import HivePartition
from kafka2hive.model.offsets import OffsetRange
from kafka2hive.model.paths.path import base_name
from kafka2hive.model.paths.table_directory import DataFileName, RetirementName, other_place
from kafka2hive.model.snapshot import REBUILT
from tests.simulation import oracle
from tests.simulation.code import Production
from tests.simulation.compact_order_oracle import check_compactions, is_over
from tests.simulation.compacting_caller import KEEP_SECONDS, ZONES, CompactingCaller
from tests.simulation.metastore import Hive
from tests.simulation.news_oracle import check_news, finish_news
from tests.simulation.oracle import (
    check_accounts,
    check_certificates,
    check_offsets,
    check_tidiness,
    history,
    without_replayed,
)
from tests.simulation.order_caller import finish_orders
from tests.simulation.places import DEAD_LETTER_TABLE, LEDGER, LOCATION, WAREHOUSE
from tests.simulation.rebuilt_ledger import lose_ledger
from tests.simulation.replay_oracle import check_orders, check_replays
from tests.simulation.retention import check_all_dropped, check_dropped, let_days_pass
from tests.simulation.snapshot_text import SnapshotText, ToldEarly, ToldFile, read_snapshot
from tests.simulation.tasks import records_in
from tests.simulation.topic import closes_of, records_by_place
from tests.simulation.waiting import check_withheld, finish_waiting
from tests.simulation.watch import VISIBLE, Violation, visible_records
from tests.simulation.world import World

MOST_UNITS = 60
"""How many units may be left after the last fault."""
MOST_RETIRED = 20
"""How many partitions one snapshot retires (K8)."""
OPEN = f"{LOCATION}/_open/"


def judge(world: World, hive: Hive, code: Production) -> None:
    """Recover cleanly, let late RPCs and statements arrive, look at the locations, then check every promise."""
    if world.late and world.below(2):
        _recover(world, hive, code, "recover1")
    while world.late:
        world.execute_late()
    while hive.stale:
        hive.end_analyze(world)
    hive.repair(world, LOCATION)
    driver = _recover(world, hive, code, "recover2")
    check_tidiness(world, LEDGER, LOCATION, since=world.rebuilt)
    if world.withholds:
        finish_waiting(world, hive, driver)
    if world.replays or world.compacts_by_order:
        _finish(world, driver)
    draws = world.random, world.bits
    if not world.retains and code.lost_compacted.lose_and_repair(world, hive, code):
        driver = _recover(world, hive, code, "recover3")
    world.random, world.bits = draws  # what follows is the same with and without a loss
    try:
        driver.look()
        driver.epoch()
        _check_registered(hive, driver)
        hive.repair(world, LOCATION)
        _put_back(hive, driver)
        driver.look()
        _check_set_again(hive, history(world, LEDGER, world.rebuilt)[-1])
        _retire(world, hive, driver)
        if world.retains:
            let_days_pass(world, driver)
    except Kafka2HiveError as error:
        raise Violation(f"the service cannot go on: {error}") from error
    finish_news(world, driver)
    if driver.unregistered:
        raise Violation(f"Hive is up, yet pending registrations stay: {sorted(driver.unregistered)}")
    snapshots = history(world, LEDGER, world.rebuilt)
    check_pending(snapshots)
    check_withheld(world, snapshots)
    check_news(world, snapshots)
    check_offsets(snapshots)
    check_accounts([each for each in snapshots if each.owner != REBUILT])
    check_places(world, snapshots)
    if not world.rebuilt:
        check_replays(world, snapshots)
    if world.compacts_by_order:
        check_compactions(world, snapshots)
    dropped = check_dropped(world, snapshots) if world.retains else set()
    early = {place.replace(f"{LOCATION}/", OPEN) for place in dropped}
    check_certificates(world, snapshots, dropped=frozenset(dropped | early))
    files, filtered = without_replayed(world, snapshots)
    if world.retains:
        check_all_dropped(files, snapshots[-1], dropped)
    check_files(world, files)
    files = [file for file in files if file.kind != "compacted"]
    check_rows(world, files, snapshots, filtered)
    check_readers(world, hive, files, snapshots, dropped)
    if not world.retains:
        check_restored(world, driver, code, snapshots)


def _finish(world: World, driver: CompactingCaller) -> None:
    """Let all orders be done, and check that (O3)."""
    try:
        finish_orders(world, driver)
    except Kafka2HiveError as error:
        raise Violation(f"the service cannot go on: {error}") from error
    check_orders(world, history(world, LEDGER, world.rebuilt))


def _check_registered(hive: Hive, driver: CompactingCaller) -> None:
    """Check that Hive has what was registered where the ledger has it, also what has just moved (K6)."""
    for each in set(driver.owned.state.unregistered) - driver.unregistered:
        where = hive.registered.get((each.table, each.path))
        if where != each.location:
            raise Violation(f"{each} was registered, and Hive has it at {where}")


def _retire(world: World, hive: Hive, driver: CompactingCaller) -> None:
    """Let time pass: whatever has moved must be retired after three looks, and its early files be gone (K8)."""
    driver.use_map(has_compact=True, zone=ZONES[0])
    for _ in range(MOST_UNITS):
        driver.rest()
    _check_moved(history(world, LEDGER, world.rebuilt)[-1])
    driver.record()
    for _ in range(4 + len(driver.owned.state.moved) // MOST_RETIRED):
        driver.look()
        world.later += int(KEEP_SECONDS) + 1
    state = driver.owned.state
    if state.moved or state.retired:
        raise Violation(f"after {KEEP_SECONDS} s without faults there are {state.moved} and {state.retired}")
    units = (unit for snapshot in history(world, LEDGER, world.rebuilt) for unit in snapshot.units)
    for partition in sorted({unit.partition for unit in units}):
        place = other_place(partition.location, partition.path)
        files = {f"{place}/{name}" for name in world.namenode.directory(place) or ()}
        # what late calls make again of a name that was deleted is empty
        left = [path for path in files if path.endswith(VISIBLE) and world.namenode.read(path)]
        if left:
            raise Violation(f"{place} is retired, and {left} are there")
        if world.below(2) and (partition.table, partition.path) in hive.registered:
            hive.registered[partition.table, partition.path] = (
                place  # by a statement that took longer than that
            )


def _check_moved(newest: SnapshotText) -> None:
    """Check that no partition is early that could have moved (K3)."""
    is_open = {each.partition.path for each in newest.open}
    given_up = {each.partition for each in newest.forgotten}
    for each in newest.early if newest.tracking is not None else ():
        waits = each.partition.path in is_open or each.partition in given_up
        if not waits and is_over(each.closes, newest, is_certified=each.certified > 0):
            raise Violation(f"{each} is complete, and is not compacted")


def _check_set_again(hive: Hive, newest: SnapshotText) -> None:
    """Check that looks have set right whatever was put back (K7)."""
    waiting = {each.name for each in newest.withheld}
    for partition in (*(each.partition for each in newest.early), *(each.partition for each in newest.moved)):
        if partition.name in waiting:
            continue  # if somebody has added it at its empty home, readers see nothing of it
        where = hive.registered.get((partition.table, partition.path))
        if where not in (None, partition.location):
            raise Violation(
                f"a look leaves {partition.path} at {where}, the ledger has it at {partition.location}"
            )


def _put_back(hive: Hive, driver: CompactingCaller) -> None:
    """Put the locations of all partitions that have two places back, right after an epoch has been registered."""
    state = driver.owned.state
    for partition in (*(each.partition for each in state.early), *(each.partition for each in state.moved)):
        key = (partition.table, partition.path)
        if key in hive.registered:
            hive.registered[key] = other_place(partition.location, partition.path)


def _recover(world: World, hive: Hive, code: Production, name: str) -> CompactingCaller:
    driver: CompactingCaller = code.compacting_caller.CompactingCaller(world, hive, code, name)
    try:
        driver.start()
    except Kafka2HiveError as error:
        raise Violation(f"a clean recover fails: {error}") from error
    return driver


def check_pending(snapshots: list[SnapshotText]) -> None:
    """Check the chain as the ledger's oracle does. A partition that moves is pending at its home, and not at its early place."""
    for before, snapshot in pairwise(snapshots):
        if snapshot.previous != before.checksum:
            raise Violation(f"epoch {snapshot.epoch} was written after {snapshot.previous}")
        oracle._check_decisions(before, snapshot)
        left = {each.partition for each in before.early} - {each.partition for each in snapshot.early}
        touched = {file.hive_partition for file in snapshot.files}
        left |= {line.partition for line in snapshot.dropped if line.epoch == snapshot.epoch}
        waiting = {each.name for each in snapshot.withheld}
        ended = {each for each in before.withheld if each.name not in waiting}
        owed = (set(before.unregistered) | ended) - set(snapshot.registered) - left | touched
        owed -= set(snapshot.withheld)
        if set(snapshot.unregistered) != owed:
            raise Violation(f"epoch {snapshot.epoch} has pending {snapshot.unregistered}, not {owed}")


@dataclass(slots=True)
class _Early:
    """The files of a partition at its early place, by (epoch, task, uuid), and whether a certificate counts them."""

    since: int
    closes: str
    files: dict[str, ToldFile] = field(default_factory=dict)
    certified: int = 0


@dataclass(slots=True)
class _Places:
    """What the snapshots up to one say: early partitions, those at home, and what moved when, with its newest late epoch."""

    early: dict[str, _Early] = field(default_factory=dict)
    homes: set[str] = field(default_factory=set)
    moved: dict[str, int] = field(default_factory=dict)
    watched: dict[str, tuple[int, int]] = field(default_factory=dict)
    retired: dict[str, int] = field(default_factory=dict)
    lines: set[HivePartition] = field(default_factory=set)
    ready: set[str] = field(default_factory=set)
    closed: str = ""


def check_places(world: World, snapshots: list[SnapshotText]) -> None:
    """Check K1, K4 and K5: where data goes, that units read all early files once, and that a partition moves once.

    A partition with anything at home stays there, whatever the map says; one with early files is early until it moves.
    """
    now = _Places()
    for snapshot in snapshots:
        for place in snapshot.reopened:
            if place.path in now.early and place.location.startswith(OPEN):
                now.early[place.path].certified = 0
        told_early = {each.partition.path: each for each in snapshot.early}
        moves = {unit.partition.path for unit in snapshot.units}
        closed = now.closed
        for file in snapshot.files:
            if file.kind == "data":
                _check_place(world, snapshot, file, now, closed, told_early)
        for certificate in snapshot.certificates:
            if certificate.partition.location.startswith(OPEN):
                now.early[certificate.partition.path].certified = snapshot.epoch
        if snapshot.owner == REBUILT:
            for path, at in now.early.items():
                at.certified = told_early[path].certified if path in told_early else 0
            now.closed = max(now.closed, snapshot.closed_through)
        _check_units(world, snapshot, now)
        now.homes |= moves
        if now.closed != snapshot.closed_through:
            raise Violation(
                f"epoch {snapshot.epoch} is closed through {snapshot.closed_through}, not {now.closed}"
            )
        told = {p: (e.since, e.files, e.rows, e.certified, e.closes) for p, e in told_early.items()}
        is_so = {
            p: (e.since, len(e.files), sum(f.rows for f in e.files.values()), e.certified, e.closes)
            for p, e in now.early.items()
        }
        if told != is_so:
            raise Violation(f"epoch {snapshot.epoch} has the early partitions {told}, not {is_so}")
        _check_retired(snapshot, now, world.count)
        world.count["retired partitions cleared"] += len(
            now.lines - {each.partition for each in snapshot.retired}
        )
        world.count["compacted partitions dropped"] += sum(
            line.epoch == snapshot.epoch and line.partition.path in now.retired for line in snapshot.dropped
        )
        now.lines = {each.partition for each in snapshot.retired}
        if {m.partition.path: (m.epoch, m.late) for m in snapshot.moved} != now.watched:
            raise Violation(f"epoch {snapshot.epoch} has moved {snapshot.moved}, not {now.watched}")


def _check_retired(snapshot: SnapshotText, now: _Places, count: Counter[str]) -> None:
    """Check that only moved partitions are retired, each once, and count them no longer as watched."""
    new = [each for each in snapshot.retired if each.partition.path not in now.retired]
    for each in new:
        path = each.partition.path
        moved = now.watched.pop(path, None)
        if moved is None or (snapshot.owner != REBUILT and each.epoch != snapshot.epoch):
            raise Violation(f"epoch {snapshot.epoch} retires {each}, which has moved: {moved}")
        if path not in now.ready and snapshot.owner != REBUILT:
            raise Violation(f"epoch {snapshot.epoch} retires {each}, whose time has not run")
        now.retired[path] = each.epoch
        count["partitions retired"] += 1
    if pending := {m.partition for m in snapshot.moved if m.right_since} & set(snapshot.unregistered):
        raise Violation(
            f"epoch {snapshot.epoch} counts the time of {pending}, which are pending registrations"
        )
    now.ready = {m.partition.path for m in snapshot.moved if m.right_since}


def _check_place(
    world: World,
    snapshot: SnapshotText,
    file: ToldFile,
    now: _Places,
    closed: str,
    told_early: dict[str, ToldEarly],
) -> None:
    """Check where a data file is, and count it there."""
    path, epoch = file.hive_partition.path, snapshot.epoch
    is_early = file.final.startswith(OPEN)
    if snapshot.owner == REBUILT:
        has_moved = any(unit.partition.path == path for unit in snapshot.units)
        ok = has_moved or not (path in now.homes if is_early else path in now.early)
    else:
        has_compact, zone = world.maps[snapshot.generation, epoch]
        begins_early = has_compact and path not in now.homes and closes_of(path, zone) > closed
        ok = is_early == (path in now.early or begins_early)
    if not ok:
        raise Violation(f"epoch {epoch} puts {file.final}, closed through {closed}")
    if is_early:
        known = told_early.get(path)
        at = now.early.setdefault(path, _Early(epoch, known.closes if known else ""))
        at.files[_key(file.final)] = file
        at.certified = 0
        return
    now.homes.add(path)
    if path in now.moved and path not in now.retired:
        now.watched[path] = (now.watched.get(path, (epoch, 0))[0], epoch)


def _check_units(world: World, snapshot: SnapshotText, now: _Places) -> None:
    outputs = [file for file in snapshot.files if file.kind == "compacted"]
    for path in sorted({unit.partition.path for unit in snapshot.units}):
        if path in now.moved:
            raise Violation(f"epoch {snapshot.epoch} moves {path} again")
        at = now.early.pop(path)
        is_open = path in {each.partition.path for each in snapshot.open}
        over = snapshot.owner == REBUILT or is_over(at.closes, snapshot, is_certified=at.certified > 0)
        if is_open or not over:
            raise Violation(f"epoch {snapshot.epoch} moves {path}, which is not complete")
        left = sorted(at.files)
        of = (snapshot.generation, snapshot.epoch)
        for file in (f for f in outputs if snapshot.owner != REBUILT):
            parsed = DataFileName.parse(base_name(file.final))
            if parsed is None or (parsed[0].generation, parsed[0].epoch) != of:
                raise Violation(f"epoch {snapshot.epoch} has {file.final}, whose name is of another epoch")
        for unit in (u for u in snapshot.units if u.partition.path == path):
            interval = [key for key in left if _order(unit.first) <= _order(key) <= _order(unit.last)]
            left = [key for key in left if key not in interval]
            mine = [file for file in outputs if (file.hive_partition.path, file.task) == (path, unit.task)]
            read = _records(world, [at.files[key] for key in interval])
            if (
                len(interval) != unit.sources
                or read != _records(world, mine)
                or unit.rows != sum(read.values())
            ):
                raise Violation(f"epoch {snapshot.epoch}: {unit} does not give back its sources")
            outputs = [file for file in outputs if file not in mine]
        if left:
            raise Violation(f"epoch {snapshot.epoch} moves {path} without {left}")
        now.moved[path] = snapshot.epoch
        now.watched[path] = (snapshot.epoch, snapshot.epoch if path in now.homes else 0)
        now.closed = max(now.closed, at.closes)
    new = [loss.path for loss in snapshot.losses if loss.epoch == snapshot.epoch]
    lost = [path for path in new if not path.startswith(OPEN)]  # rows of early files are at home, too
    gone: Counter[str] = Counter()
    for path in lost:
        gone.update(records_in(_content(world, path)))
    if _records(world, outputs) != gone:  # a repair writes exactly the rows that were lost
        raise Violation(f"epoch {snapshot.epoch} has compacted files of no unit: {outputs}, lost were {lost}")


def _records(world: World, files: list[ToldFile]) -> Counter[str]:
    rows: Counter[str] = Counter()
    for file in files:
        rows.update(records_in(_content(world, file.final)))
    return rows


def _content(world: World, path: str) -> bytes:
    """Return the bytes of a committed file, also of one that is retired."""
    retired = world.namenode.retired.get(path)
    return world.namenode.read(path) if retired is None else retired


def _key(path: str) -> str:
    parsed = DataFileName.parse(base_name(path))
    assert parsed is not None
    return f"e{parsed[0].epoch:06d}-{parsed[0].task}-{parsed[0].uuid}"


def _order(key: str) -> tuple[int, int, str]:
    epoch, task, uuid = key.split("-")
    return int(epoch[1:]), int(task), uuid


def check_files(world: World, files: list[ToldFile]) -> None:
    """Check that exactly the committed files are at their places, early places included."""
    visible: set[str] = set()
    for table in world.namenode.directory(WAREHOUSE) or ():
        below = world.namenode.files_below(f"{WAREHOUSE}/{table}")
        visible |= {path for path in below if oracle._is_visible(path.replace("/_open/", "/"))}
    visible -= {path for path in visible if base_name(path).startswith("moved-")}
    visible -= world.namenode.retired.keys()  # junk of late calls, at places that nobody reads
    committed = {file.final for file in files} - world.namenode.retired.keys()
    if visible != committed:
        raise Violation(
            f"missing: {sorted(committed - visible)}, belonging to no epoch: {sorted(visible - committed)}"
        )


def check_rows(
    world: World,
    files: list[ToldFile],
    snapshots: list[SnapshotText],
    filtered: Counter[tuple[HivePartition, str]],
) -> None:
    """Check that the files, without compacted ones, have every record below the positions exactly once."""
    seen: Counter[tuple[HivePartition, str]] = Counter()
    for file in files:
        home = replace(file.hive_partition, location=file.hive_partition.location.replace("/_open/", "/"))
        seen.update(
            (oracle._origin(world, home, record), record)
            for record in records_in(_content(world, file.final))
        )
    closed = {each.range: s.late_before_ms for s in snapshots for each in s.accounts}
    if not world.retains:
        closed = {OffsetRange(p.topic_partition, 0, p.end): None for p in snapshots[-1].positions}
    wanted = Counter(
        (place, record)
        for r, bound in closed.items()
        for place, records in records_by_place((r,), late_before_ms=bound).items()
        for record in records
    )
    wanted -= filtered
    if seen != wanted:
        raise Violation(f"lost: {sorted(wanted - seen)}, duplicated: {sorted(seen - wanted)}")


def check_readers(
    world: World, hive: Hive, files: list[ToldFile], snapshots: list[SnapshotText], dropped: set[str]
) -> None:
    """Check that readers through Hive see every row exactly once, and where each partition is.

    Homes of `dropped` partitions are left out. A query at a place that was retired fails, so nobody trusts its answer.
    """
    newest = snapshots[-1]
    early = {each.partition.path: each.partition.location for each in newest.early}
    rows: dict[tuple[str, str], Counter[str]] = {}
    for file in (f for f in files if f.hive_partition.location.replace("/_open/", "/") not in dropped):
        key = (file.hive_partition.table, file.hive_partition.path)
        rows.setdefault(key, Counter()).update(records_in(_content(world, file.final)))
    for (table, path), wanted in rows.items():
        if path in {each.path for each in newest.withheld}:
            continue  # nobody may see it yet (complete.py)
        where = hive.registered.get((table, path))
        marks = [name for name in world.namenode.directory(where or "") or () if name.startswith("moved-")]
        if marks and where == f"{OPEN}{path}":
            world.count["queries at a retired place"] += 1
            continue
        if table != DEAD_LETTER_TABLE:
            places = [early.get(path, f"{LOCATION}/{path}")]
            if where not in places:
                raise Violation(f"Hive has {path} at {where}, the ledger at {places}")
        if where is None or visible_records(world.namenode, where) != wanted:
            raise Violation(f"readers of {table} {path} at {where} do not see {sorted(wanted)[:4]}..")


def check_restored(
    world: World, driver: CompactingCaller, code: Production, snapshots: list[SnapshotText]
) -> None:
    """Restore an older ledger, and check that the look before a start sees newer files.

    It sees them at the newest early place, and at the homes of partitions that are early again.
    """
    place = OPEN.rstrip("/")
    for _ in range(2):
        names = world.namenode.directory(place)
        if not names:
            return
        place += "/" + max(names, key=lambda name: (len(name), name))
    older = snapshots[world.below(len(snapshots))]
    homes = [f"{LOCATION}/{each.partition.path}" for each in older.early]
    parsed = [
        DataFileName.parse(name) for at in (place, *homes) for name in world.namenode.directory(at) or ()
    ]
    marks = [RetirementName.parse(n) for m in older.moved for n in world.namenode.directory(m.early) or ()]
    world.count["older ledgers restored after a retirement"] += any(marks)
    epochs = [each[0].epoch for each in parsed if each is not None]
    newest = max([0, *epochs, *(mark.epoch for mark in marks if mark is not None)])
    if newest <= older.epoch:
        return
    text = next(
        world.namenode.read(path)
        for path in sorted(world.namenode.files_below(LEDGER.root))
        if path.endswith(f"/e{older.epoch:06d}.final") and read_snapshot(world.namenode.read(path)) == older
    )
    lose_ledger(world)
    name = replace(driver.owned.generation, number=older.generation).name
    directory = f"{LEDGER.table_directory}/{name}"
    world.namenode.mkdirs(directory)
    world.namenode.create(f"{directory}/e{older.epoch:06d}.final").content = text
    world.count["older ledgers restored"] += 1
    try:
        code.older_ledger.refuse_older_ledger(driver.ports, code.look.look(driver.files, LEDGER), LOCATION)
    except ManualActionRequired as stop:
        if stop.code == "ledger.restored":
            return
        raise
    raise Violation(f"epoch {older.epoch} was put back, and nobody notices the files of epoch {newest}")
