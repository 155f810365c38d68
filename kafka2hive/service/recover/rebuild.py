"""`recover --rebuild-ledger TABLE`: reads the footers of a table's files and writes the ledger that they prove."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from kafka2hive.config.dead_letters import dead_letter_directory
from kafka2hive.config.keys import TableRule
from kafka2hive.kafka.port import Kafka
from kafka2hive.kafka.positions import GapAcceptance, is_accepted
from kafka2hive.ledger.condition_files import read_conditions
from kafka2hive.ledger.heartbeat import live_owners
from kafka2hive.ledger.history import archived_epochs
from kafka2hive.ledger.init import put_in_place, refuse_present_ledger
from kafka2hive.ledger.location import read_marker
from kafka2hive.ledger.repair.rebuild import LedgerFile, LostLedger, RebuiltSnapshots, rebuild
from kafka2hive.ledger.retire import retired_files
from kafka2hive.model.errors import AmbiguousOutcome, ManualActionRequired, OwnedByLiveRun
from kafka2hive.model.files import FileKind
from kafka2hive.model.footer import Footer
from kafka2hive.model.paths.path import join, parent
from kafka2hive.model.paths.table_directory import (
    EARLY_PLACES,
    CertificateName,
    DataFileName,
    RetirementName,
    ledger_tag,
    other_place,
    staging_directory,
)
from kafka2hive.model.text import counted
from kafka2hive.service.hive.places import footer_at, may_be_complete, period_ends
from kafka2hive.service.process import shown_process
from kafka2hive.service.tables.condition import Stopped, decode
from kafka2hive.service.tables.ledgers import literal_rules, no_such_table
from kafka2hive.service.topics.routes import topic_routes
from kafka2hive.service.wiring import Wiring
from kafka2hive.storage.port import FileStatus, FileSystem, children, files_below


@dataclass(frozen=True, slots=True)
class RebuiltLedger:
    """The ledger that was rebuilt, or would be. `files` is the number of files that prove it.

    `foreign` is the number of the table's files that belong to other ledgers.
    """

    ledger: RebuiltSnapshots
    files: int
    foreign: int


@dataclass(frozen=True, slots=True)
class _TableFiles:
    """The files in a table's directories. `pending` holds the files in `staging` that were committed or may have been.

    `shown` holds the files in `below` that readers see. `ledger_files` have this table's footers, each file once; `untracked`
    are the paths of shown files that have no valid footer of this table. `retired` has the names of the text files at
    retired places, by place; the files that they name count among `ledger_files`.
    """

    staging: Sequence[FileStatus]
    pending: list[FileStatus]
    below: list[FileStatus]
    shown: list[FileStatus]
    ledger_files: list[LedgerFile]
    untracked: list[str]
    retired: Mapping[str, RetirementName]


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
    """Read all footers, rebuild the ledger, and unless `plan_only` call `announce` and put the ledger into place.

    A crash leaves the table without a ledger, or with the whole one. Kafka is asked for topics if the map makes the table
    by a pattern. Raises ManualActionRequired (the ledger exists, no file proves one, unproven offsets), OwnedByLiveRun,
    ConfigError, ServiceUnavailable, StorageError.
    """
    paths = wiring.paths(table)
    files = wiring.ports.files
    refuse_present_ledger(files, paths)
    if not take_over:
        _refuse_live_run(wiring, table)
    rule = _rule(wiring, table, kafka)
    location = rule.location
    table_files = _find(wiring, table, location)
    ledger_id = read_marker(files, location) or _only_ledger(location, table_files.ledger_files)
    ledger_files = [f for f in table_files.ledger_files if f.footer.ledger_id == ledger_id]
    unknown = [path for path in table_files.untracked if _may_be_of_ledger(path, ledger_id)]
    if unknown:
        raise ManualActionRequired(
            "rebuild.untracked",
            f"{counted(len(unknown), 'file')} in {location} do not say which offsets they hold, for example {unknown[0]}",
            "move these files away, then rebuild the ledger. Do not put them back: records after the rebuilt positions are"
            " read again, so that rows of these files would be in the table twice",
        )
    lost_ledger = LostLedger(
        ledger_id=ledger_id,
        service=wiring.map.service,
        table=table,
        location=location,
        staging=staging_directory(location),
        now=wiring.ports.clock.now(),
        # needed even if the map no longer has `compact`
        closes=period_ends(rule, {file.footer.partition.path for file in ledger_files}),
        compacts=rule.compact is not None,
        retired={
            place: name.epoch
            for place, name in table_files.retired.items()
            if name.ledger == ledger_tag(ledger_id)
        },
        withheld=_uncertified(rule, ledger_files, table_files.below, ledger_id),
        receivers=tuple(receiver.name for receiver in wiring.map.news if receiver.wants(table)),
    )
    used = {(0, epoch) for epoch in archived_epochs(files, paths)} | _used(
        [*table_files.staging, *table_files.below], ledger_id
    )
    result = rebuild(
        lost_ledger, ledger_files, lambda r: is_accepted(acceptances, r.topic_partition, r.end), used
    )
    _refuse_unseen_moves(files, location, table_files)
    if not plan_only:
        announce()
        put_in_place(wiring.ports, paths, result.final, result.pending)
    return RebuiltLedger(result, len(ledger_files), len(table_files.ledger_files) - len(ledger_files))


def _find(wiring: Wiring, table: str, location: str) -> _TableFiles:
    """List the table's files and read their footers.

    Staged files are listed and read before the visible ones are listed, so that a file that a delayed promote moves in
    between is seen twice rather than never.
    """
    files = wiring.ports.files
    staging = children(files, staging_directory(location))
    pending = [s for s in staging if (name := DataFileName.parse(s.name)) and name[1] == "pending"]
    staged, _ = _read(wiring, table, pending, final=False)
    letters = dead_letter_directory(wiring.map.dead_letters.location, table)
    roots = (location, letters, join(location, EARLY_PLACES))
    below = list(files_below(files, wiring.ports.concurrency, roots))
    retired = {parent(f.path): mark for f in below if (mark := RetirementName.parse(f.name))}
    shown = [file for file in below if file.is_visible and RetirementName.parse(file.name) is None]
    visible, untracked = _read(wiring, table, shown, final=True)
    # a delayed RPC may create a deleted file again at a retired place: that file is empty, and no reader looks there
    untracked = [path for path in untracked if parent(path) not in retired]
    visible += _gone(wiring, table, retired, {file.path for file in visible})
    moved = {f.name for f in visible}
    return _TableFiles(
        staging=staging,
        pending=pending,
        below=below,
        shown=shown,
        ledger_files=[*visible, *(f for f in staged if f.name not in moved)],
        untracked=untracked,
        retired=retired,
    )


def _gone(
    wiring: Wiring, table: str, retired: Mapping[str, RetirementName], present: Collection[str]
) -> list[LedgerFile]:
    """Return the files that were retired and deleted. Raises ManualActionRequired, StorageError."""
    gone = []
    for place, name in retired.items():
        path = join(place, name.text)
        try:
            files = retired_files(path, wiring.ports.files.read(path))
        except (ValueError, KeyError) as error:
            raise ManualActionRequired(
                "rebuild.retired",
                f"{path} does not say which files were retired here: {error}",
                "restore it from a backup; or move it away: then the offsets of those files count as not proven;"
                " nothing was changed",
            ) from error
        gone += [
            LedgerFile(path=f.path, name=f.name, final=True, length=f.length, footer=f.footer)
            for f in files
            if f.path not in present and f.footer.table == table
        ]
    return gone


def _refuse_live_run(wiring: Wiring, table: str) -> None:
    """Raise OwnedByLiveRun if a live run may still have the lost ledger in memory, and so go on promoting its files."""
    root, service = wiring.map.storage.ledger_root, wiring.map.service
    owners = live_owners(wiring.ports, root, wiring.processes, lambda beating, _: beating == service)
    live = sorted(shown_process(owner) for owner in owners if not _has_stopped(wiring, owner, table))
    if live:
        raise OwnedByLiveRun(
            "ledger.owned",
            f"a run of service {service} is alive: {', '.join(live)}; the ledger of {table} is not rebuilt while it runs",
            "stop that run first; give --takeover only if it is certain that the run writes nothing more",
        )


def _has_stopped(wiring: Wiring, owner: str, table: str) -> bool:
    """Return whether the run `owner` has stopped the table; it then moves no file of the table until a ledger exists."""
    service_map = wiring.map
    runs = read_conditions(wiring.ports, service_map.storage.ledger_root, service_map.service, decode)
    condition = runs[owner].of(table) if owner in runs else None
    return condition is not None and isinstance(condition.state, Stopped)


def _refuse_unseen_moves(files: FileSystem, location: str, table_files: _TableFiles) -> None:
    """Raise AmbiguousOutcome if a staged file has moved into a directory that was already listed."""
    names = {s.name for s in children(files, staging_directory(location))}
    names |= {name[0].in_state("pending") for s in table_files.shown if (name := DataFileName.parse(s.name))}
    gone = [s.path for s in table_files.pending if s.name not in names]
    if gone:
        raise AmbiguousOutcome(
            "rebuild.moving",
            f"{counted(len(gone), 'staged file')} moved while the footers were read, for example {gone[0]}",
            "make sure that nothing writes to the table, then type the same `kafka2hive recover` command again;"
            " nothing was changed",
        )


def _rule(wiring: Wiring, table: str, kafka: Callable[[], Kafka]) -> TableRule:
    """Return the table's rule, or the rule of the pattern that creates the table. Raises ConfigError, ServiceUnavailable."""
    if (rule := literal_rules(wiring).get(table)) is not None:
        return rule
    if any(rule.pattern is not None for rule in wiring.map.tables):
        routes = topic_routes(wiring, kafka().cluster(lambda _topic: False).topics)
        for routed in routes.tables:
            if routed.name == table:
                return routed.rule
        for conflict in routes.conflicts:
            if conflict.table == table:
                raise conflict.error
    raise no_such_table(table, literal_rules(wiring))


def _read(
    wiring: Wiring, table: str, statuses: list[FileStatus], *, final: bool
) -> tuple[list[LedgerFile], list[str]]:
    """Return the files whose names and footers are this table's, and the paths of other visible files."""
    with wiring.progress.work(f"read the footers of {table}", files=len(statuses)) as advance:

        def footer_of(status: FileStatus) -> Footer | None:
            footer = footer_at(wiring.ports.files, status)
            advance(files=1)
            return footer

        footers = wiring.ports.concurrency.map(footer_of, statuses)
    ledger_files: list[LedgerFile] = []
    untracked: list[str] = []
    for status, footer in zip(statuses, footers, strict=True):
        parsed = DataFileName.parse(status.name)
        fits = parsed is not None and parsed[1] == ("final" if final else "pending")
        is_of_table = footer is not None and footer.table == table
        if parsed and footer and fits and is_of_table and parsed[0].ledger == ledger_tag(footer.ledger_id):
            ledger_files.append(
                LedgerFile(path=status.path, name=parsed[0], final=final, length=status.length, footer=footer)
            )
        elif final:
            untracked.append(status.path)
    return ledger_files, untracked


def _only_ledger(location: str, ledger_files: list[LedgerFile]) -> str:
    """Return the one ledger that the files belong to, for a location without an owner marker."""
    ledgers = sorted({f.footer.ledger_id for f in ledger_files})
    if len(ledgers) != 1:
        raise ManualActionRequired(
            "rebuild.nothing" if not ledgers else "rebuild.impossible",
            f"{location} has no owner marker, and its files belong to {len(ledgers)} ledgers"
            if ledgers
            else f"{location} has no owner marker, and no file whose footer names a ledger",
            "restore the ledger or the owner marker from a backup; nothing was changed",
        )
    return ledgers[0]


def _used(statuses: Iterable[FileStatus], ledger_id: str) -> set[tuple[int, int]]:
    """Return generation and epoch of all names of the ledger, including unfinished files and certificates."""
    used = set()
    for status in statuses:
        parsed = DataFileName.parse(status.name)
        name = CertificateName.parse(status.name) if parsed is None else parsed[0]
        if name is not None and name.ledger == ledger_tag(ledger_id):
            used.add((name.generation, name.epoch))
        retirement = RetirementName.parse(status.name)
        if retirement is not None and retirement.ledger == ledger_tag(ledger_id):
            used.add((0, retirement.epoch))
    return used


def _uncertified(
    rule: TableRule, ledger_files: Iterable[LedgerFile], below: Iterable[FileStatus], ledger_id: str
) -> frozenset[str]:
    """Return the paths of the partitions without a certificate of the ledger, if Hive must not have them before that (G5)."""
    if not rule.registers_complete:
        return frozenset()
    certified = {
        parent(status.path)
        for status in below
        if (name := CertificateName.parse(status.name)) and name.ledger == ledger_tag(ledger_id)
    }
    data = {f.footer.partition for f in ledger_files if f.footer.kind is not FileKind.DEAD_LETTER}
    return frozenset(
        partition.path
        for partition in data
        if may_be_complete(rule, partition)
        and not certified & {partition.location, other_place(partition.location, partition.path)}
    )


def _may_be_of_ledger(path: str, ledger_id: str) -> bool:
    """Return whether a file may belong to this ledger, because its name carries no other ledger's tag."""
    parsed = DataFileName.parse(path.rpartition("/")[2])
    return parsed is None or parsed[0].ledger == ledger_tag(ledger_id)
