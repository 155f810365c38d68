"""`recover --rebuild-ledger TABLE`: reads the footers of a table's files and writes the ledger that they prove."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from kafka2hive.config.dead_letters import dead_letter_directory
from kafka2hive.kafka.port import Kafka
from kafka2hive.kafka.positions import GapAcceptance, accepted
from kafka2hive.ledger.condition_files import read_conditions
from kafka2hive.ledger.heartbeat import live_owners
from kafka2hive.ledger.history import archived_epochs
from kafka2hive.ledger.marker import read_marker
from kafka2hive.ledger.repair.installation import put_in_place, refuse_present_ledger
from kafka2hive.ledger.repair.rebuild import LedgerFile, LostLedger, RebuiltSnapshots, rebuild
from kafka2hive.model.errors import AmbiguousOutcome, ManualActionRequired, OwnedByLiveRun
from kafka2hive.model.footer import Footer
from kafka2hive.model.paths.data_file import DataFileName, ledger_tag
from kafka2hive.model.paths.table_directory import CertificateName, staging_directory
from kafka2hive.model.text import counted
from kafka2hive.service.process import shown_process
from kafka2hive.service.tables.condition import Stopped, decode
from kafka2hive.service.tables.ledgers import literal_rules, no_such_table
from kafka2hive.service.tables.routes import topic_routes
from kafka2hive.service.wiring import Wiring
from kafka2hive.storage.port import FileStatus, FileSystem, NotFound, children, files_below


@dataclass(frozen=True, slots=True)
class RebuiltLedger:
    """What was rebuilt, or would be: the ledger, how many files prove it, and files of other ledgers left alone."""

    ledger: RebuiltSnapshots
    files: int
    foreign: int


def rebuild_ledger(
    wiring: Wiring,
    table: str,
    acceptances: tuple[GapAcceptance, ...],
    plan_only: bool,
    take_over: bool,
    kafka: Callable[[], Kafka],
    *,
    announce: Callable[[], None] = lambda: None,
) -> RebuiltLedger:
    """Read all footers, decide, and unless `plan_only` put the ledger into place, after `announce`.

    Raises ManualActionRequired (a ledger is there, nothing to rebuild from, unproven offsets), OwnedByLiveRun,
    ConfigError, ServiceUnavailable, StorageError. Kafka is asked for topics when the map makes the table by a pattern.
    """
    paths = wiring.paths(table)
    files = wiring.ports.files
    refuse_present_ledger(files, paths)
    if not take_over:
        _refuse_live_run(wiring, table)
    location = _location(wiring, table, kafka)
    letters = dead_letter_directory(wiring.map.dead_letters.location, table)
    # staged files are listed and read before the visible ones are listed: a delayed promote in between is seen twice, not never
    staging = children(files, staging_directory(location))
    pending = [s for s in staging if (name := DataFileName.parse(s.name)) and name[1] == "pending"]
    staged, _ = _read(wiring, table, pending, final=False)
    below = list(files_below(files, wiring.ports.concurrency, (location, letters)))
    there = [file for file in below if file.name[0] not in "_."]
    visible, untracked = _read(wiring, table, there, final=True)
    moved = {f.name for f in visible}
    found = [*visible, *(f for f in staged if f.name not in moved)]
    marked = read_marker(files, location)
    ledger_id = marked or _only_ledger(location, found)
    mine = [f for f in found if f.footer.ledger_id == ledger_id]
    unknown = [path for path in untracked if _may_be_mine(path, ledger_id)]
    if unknown:
        raise ManualActionRequired(
            "rebuild.untracked",
            f"{counted(len(unknown), 'file')} in {location} do not say which offsets they hold, for example {unknown[0]}",
            "move them away while the ledger is rebuilt; rows of theirs that come after the rebuilt positions would be"
            " dumped a second time",
        )
    place = LostLedger(
        ledger_id=ledger_id,
        service=wiring.map.service,
        table=table,
        location=location,
        staging=staging_directory(location),
        now=wiring.ports.clock.now(),
    )
    used = {(0, epoch) for epoch in archived_epochs(files, paths)} | _used([*staging, *below], ledger_id)
    result = rebuild(place, mine, lambda r: accepted(acceptances, r.topic_partition, r.end), used)
    _refuse_unseen_moves(files, location, pending, there)
    if not plan_only:
        announce()
        put_in_place(wiring.ports, paths, result)
    return RebuiltLedger(result, len(mine), len(found) - len(mine))


def _refuse_live_run(wiring: Wiring, table: str) -> None:
    """A live run may hold the lost ledger in its memory, and promote what it believes to be committed."""
    root, service = wiring.map.storage.ledger_root, wiring.map.service
    found = live_owners(wiring.ports, root, wiring.processes, lambda beating, _: beating == service)
    live = sorted(shown_process(owner) for owner in found if not _has_stopped(wiring, owner, table))
    if live:
        raise OwnedByLiveRun(
            "ledger.owned",
            f"a run of service {service} is alive: {', '.join(live)}; the ledger of {table} is not rebuilt beside it",
            "stop that run first, or give --takeover when it is sure to write no more",
        )


def _has_stopped(wiring: Wiring, owner: str, table: str) -> bool:
    """A run moves nothing of a table that it has stopped, until there is a ledger again."""
    said = read_conditions(wiring.ports, wiring.map.storage.ledger_root, wiring.map.service, decode).get(
        owner
    )
    condition = None if said is None else said.of(table)
    return condition is not None and isinstance(condition.state, Stopped)


def _refuse_unseen_moves(
    files: FileSystem, location: str, pending: list[FileStatus], visible: list[FileStatus]
) -> None:
    """A staged file that is gone by now and was not visible: it came into a directory that had been listed before."""
    there = {s.name for s in children(files, staging_directory(location))}
    there |= {name[0].in_state("pending") for s in visible if (name := DataFileName.parse(s.name))}
    gone = [s.path for s in pending if s.name not in there]
    if gone:
        raise AmbiguousOutcome(
            "rebuild.moving",
            f"{len(gone)} staged files moved while the footers were read, for example {gone[0]}",
            "make sure that nothing writes to the table, then rebuild again; nothing was changed",
        )


def _location(wiring: Wiring, table: str, kafka: Callable[[], Kafka]) -> str:
    if (rule := literal_rules(wiring).get(table)) is not None:
        return rule.location
    if any(rule.pattern is not None for rule in wiring.map.tables):
        routes = topic_routes(wiring, kafka().cluster(lambda _topic: False).topics)
        for routed in routes.tables:
            if routed.name == table:
                return routed.location
        for conflict in routes.conflicts:
            if conflict.table == table:
                raise conflict.error
    raise no_such_table(table, literal_rules(wiring))


def _read(
    wiring: Wiring, table: str, there: list[FileStatus], *, final: bool
) -> tuple[list[LedgerFile], list[str]]:
    """The files whose names and footers are this table's, and the paths of visible ones that say nothing of themselves."""
    footers = wiring.ports.concurrency.map(lambda status: _footer(wiring.ports.files, status), there)
    found: list[LedgerFile] = []
    untracked: list[str] = []
    for status, footer in zip(there, footers, strict=True):
        parsed = DataFileName.parse(status.name)
        fits = parsed is not None and parsed[1] == ("final" if final else "pending")
        mine = footer is not None and footer.table == table
        if parsed and footer and fits and mine and parsed[0].ledger == ledger_tag(footer.ledger_id):
            found.append(
                LedgerFile(path=status.path, name=parsed[0], final=final, length=status.length, footer=footer)
            )
        elif final:
            untracked.append(status.path)
    return found, untracked


def _footer(files: FileSystem, status: FileStatus) -> Footer | None:
    """What a file says of itself; None when it is none of ours, damaged, or holds other rows than it says."""
    from kafka2hive.formats.readers import UNREADABLE, end_of

    parsed = DataFileName.parse(status.name)
    if parsed is None:
        return None
    try:
        end = end_of(parsed[0].extension, status.length, lambda count: files.tail(status.path, count))
    except (NotFound, *UNREADABLE):
        return None
    footer = None if end is None else Footer.parse(end.metadata)
    return footer if end is not None and footer is not None and footer.rows == end.rows else None


def _only_ledger(location: str, found: list[LedgerFile]) -> str:
    """Without an owner marker: the one ledger whose files are there."""
    ledgers = sorted({f.footer.ledger_id for f in found})
    if len(ledgers) != 1:
        raise ManualActionRequired(
            "rebuild.nothing" if not ledgers else "rebuild.impossible",
            f"{location} has no owner marker, and files of {len(ledgers)} ledgers",
            "restore the ledger or the owner marker from a backup; nothing was changed",
        )
    return ledgers[0]


def _used(there: Iterable[FileStatus], ledger_id: str) -> set[tuple[int, int]]:
    """Generation and epoch in all names of the ledger, also those of files that nobody finished, and of certificates."""
    used = set()
    for status in there:
        parsed = DataFileName.parse(status.name)
        name = CertificateName.parse(status.name) if parsed is None else parsed[0]
        if name is not None and name.ledger == ledger_tag(ledger_id):
            used.add((name.generation, name.epoch))
    return used


def _may_be_mine(path: str, ledger_id: str) -> bool:
    """A file that carries another ledger's name never belonged to this ledger."""
    parsed = DataFileName.parse(path.rpartition("/")[2])
    return parsed is None or parsed[0].ledger == ledger_tag(ledger_id)
