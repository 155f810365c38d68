"""`kafka2hive verify`: audits what the dump promises, with an exit code. Only reads; works beside a live run."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from kafka2hive.config.values import BucketTime
from kafka2hive.kafka.port import Kafka
from kafka2hive.ledger.audit.audit import audit_history, lost_paths
from kafka2hive.ledger.audit.finding import Finding
from kafka2hive.ledger.reading.history import final_snapshots
from kafka2hive.ledger.reading.look import View, look
from kafka2hive.ledger.take_over import NoLedger
from kafka2hive.model.errors import ConfigError, ExitCode, Kafka2HiveError, ServiceUnavailable
from kafka2hive.model.metastore import Metastore, MetastoreUnavailable
from kafka2hive.model.snapshot import Snapshot
from kafka2hive.pipeline.values import TaskSettings
from kafka2hive.service.audit.files import audit_contents, audit_pending, audit_presence
from kafka2hive.service.audit.ledger import audit_place, vanished_ledgers
from kafka2hive.service.audit.registrations import accepted, unregistered
from kafka2hive.service.shared.ledgers import (
    Unreadable,
    did_you_mean,
    each_ledger,
    ledger_tables,
    unknown_tables,
)
from kafka2hive.service.shared.wiring import Wiring
from kafka2hive.storage.port import NotFound

if TYPE_CHECKING:
    from kafka2hive.service.audit.kafka_rows import DeepAudit

_MOVED_UNDER_US = 5


@dataclass(frozen=True, slots=True)
class VerifyOrder:
    """What to audit; `tables` empty: all of the service.

    `contents` reads every file back (checksum and footer). `deep` also compares its rows with Kafka's records, `against`
    with those of another table below the same ledger root.
    """

    tables: tuple[str, ...] = ()
    contents: bool = False
    deep: bool = False
    against: str | None = None


class Progress(Protocol):
    """Who is told how far an audit is; from any thread."""

    def table(self, name: str, files: int, rows: int) -> None:
        """A table is begun, with so many files and rows to look at."""
        ...

    def advance(self, files: int, rows: int) -> None:
        """So many more of them are done."""
        ...


class Silent:
    """Nobody looks."""

    def table(self, name: str, files: int, rows: int) -> None:
        """See Progress."""

    def advance(self, files: int, rows: int) -> None:
        """See Progress."""


@dataclass(frozen=True, slots=True)
class VerifiedTable:
    """One table's audit: what was looked at, and what was found. `rows` holds dead letters, too.

    `accepted`: what a person gave up, so no finding.
    `no_answer` says which service did not answer, `not_checked` what cannot be checked any more or at all, `notes` what
    is as the map says, but perhaps not as it was meant.
    """

    table: str
    epochs: int
    files: int
    rows: int
    bytes: int
    findings: tuple[Finding, ...]
    no_answer: tuple[str, ...] = ()
    not_checked: tuple[str, ...] = ()
    accepted: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class VerifyResult:
    tables: tuple[VerifiedTable, ...]
    errors: tuple[tuple[str, Kafka2HiveError], ...]

    @property
    def exit_code(self) -> ExitCode:
        """STOP when anything is not as promised, UNAVAILABLE when something could not be looked at."""
        if any(table.findings for table in self.tables):
            return ExitCode.STOP
        if self.errors:
            return self.errors[0][1].exit_code
        return ExitCode.UNAVAILABLE if any(table.no_answer for table in self.tables) else ExitCode.DONE


def verify(
    wiring: Wiring,
    order: VerifyOrder,
    kafka: Kafka | None,
    metastore: Metastore | None,
    settings: Callable[[str], TaskSettings] | None = None,
    progress: Progress = Silent(),  # noqa: B008  it holds nothing
) -> VerifyResult:
    """Audit every ledger of the map's service, one after the other. Raises ServiceUnavailable (no file system).

    `settings` gives what a task must know of a table; `deep` needs it, and `kafka`.
    """
    tables: list[VerifiedTable] = []
    errors: list[tuple[str, Kafka2HiveError]] = []
    ledgers = ledger_tables(wiring)
    there = {paths.table for paths in ledgers}
    if unknown := unknown_tables(wiring, order.tables, there) + _no_other_dump(wiring, order, there):
        return VerifyResult((), tuple(unknown))
    if order.against is not None and order.against in order.tables:
        return VerifyResult((), (_with_itself(order.against),))
    errors += vanished_ledgers(wiring, order.tables, there)

    def audited(view: View) -> list[VerifiedTable]:
        history = _history(wiring, view)
        if not _is_ours(wiring, history, order) or view.paths.table == order.against:
            return []
        return [_verify_table(wiring, history, order, kafka, metastore, settings, progress)]

    asked = [paths for paths in ledgers if not order.tables or paths.table in order.tables]
    for found in each_ledger(wiring, asked, audited):
        if isinstance(found, Unreadable):
            errors.append((found.table, found.error))
        else:
            tables.append(found)
    if order.against is not None and not (order.tables or tables or errors):
        errors.append(_with_itself(order.against))
    return VerifyResult(tuple(tables), tuple(errors))


def _with_itself(table: str) -> tuple[str, ConfigError]:
    """--against names the only table that is to be audited: nothing would be compared."""
    error = ConfigError(
        "usage.same_table",
        f"{table} cannot be compared with itself: nothing was audited",
        "name the table to audit with --table, and another dump of the same topics with --against",
    )
    return table, error


def _no_other_dump(wiring: Wiring, order: VerifyOrder, there: set[str]) -> list[tuple[str, ConfigError]]:
    """--against names a table without a ledger below this root: there is nothing to compare with."""
    if order.against is None or order.against in there:
        return []
    error = ConfigError(
        "usage.no_such_table",
        f"{order.against} has no ledger below {wiring.paths('').ledgers}: there is nothing to compare with",
        did_you_mean(order.against, there),
    )
    return [(order.against, error)]


@dataclass(frozen=True, slots=True)
class _History:
    """All final snapshots from the first to the newest, and the pending one above them, as `view` showed them."""

    view: View
    finals: tuple[Snapshot, ...]
    pending: Snapshot | None

    @property
    def newest(self) -> Snapshot:
        return self.pending or self.finals[-1]

    @property
    def all(self) -> tuple[Snapshot, ...]:
        return self.finals + ((self.pending,) if self.pending else ())


def _history(wiring: Wiring, view: View) -> _History:
    """A take-over or a purge in between makes us read again."""
    for _ in range(_MOVED_UNDER_US):
        try:
            finals = tuple(final_snapshots(wiring.ports.files, view.paths, view.directory))[::-1]
        except NotFound:
            view = look(wiring.ports.files, view.paths)
            continue
        pending = view.newest.pending and view.state.epoch > finals[-1].epoch
        return _History(view, finals, view.state if pending else None)
    raise ServiceUnavailable("ledger.moving", f"{view.directory} moves while it is read", "ask again")


def _is_ours(wiring: Wiring, history: _History, order: VerifyOrder) -> bool:
    """Asked for, in the map, or ever written by the map's service."""
    names = {*order.tables, *(rule.table for rule in wiring.map.tables)}
    services = {snapshot.service for snapshot in history.all}
    return history.newest.table in names or wiring.map.service in services


def _verify_table(
    wiring: Wiring,
    history: _History,
    order: VerifyOrder,
    kafka: Kafka | None,
    metastore: Metastore | None,
    settings: Callable[[str], TaskSettings] | None,
    progress: Progress,
) -> VerifiedTable:
    """The ledger by itself, then against files, Kafka and Hive."""
    named = [file for snapshot in history.finals for file in snapshot.files]
    progress.table(history.newest.table, len(named), sum(file.rows for file in named))
    findings = [*audit_history(history.all), *audit_place(wiring.ports.files, history.view)]
    no_answer: list[str] = []
    not_checked: list[str] = []
    notes: list[str] = []
    lost = lost_paths(history.all)
    files, concurrency = wiring.ports.files, wiring.ports.concurrency
    findings += audit_presence(
        files,
        concurrency,
        history.finals,
        history.pending,
        lost,
        lambda: look(files, history.view.paths).state.epoch,
    )
    if history.pending is not None:
        whole = order.contents or order.deep
        findings += audit_pending(files, concurrency, history.pending, lost, whole)
    if order.deep and kafka is not None and settings is not None:
        found = _deep(wiring, history, settings, kafka, progress)
        findings += found.findings
        no_answer += found.no_answer
        not_checked += found.not_checked
        notes += found.notes
    elif order.contents:
        findings += audit_contents(files, concurrency, history.finals, lost, progress.advance)
    if order.against is not None and settings is not None:
        differences, left_out = _against(wiring, history, order.against, settings, progress)
        findings += differences
        not_checked += left_out
    if kafka is not None:
        try:
            findings += _beyond_kafka(history.newest, kafka)
        except ServiceUnavailable as error:
            no_answer.append(f"Kafka: {error.message}")
    if metastore is not None:
        try:
            findings += unregistered(history.finals, history.newest, metastore, wiring.ports.clock)
        except MetastoreUnavailable as error:
            no_answer.append(f"Hive: {error}")
    return VerifiedTable(
        history.newest.table,
        len(history.all),
        len(named),
        sum(file.rows for file in named),
        sum(file.length for file in named),
        tuple(findings),
        tuple(dict.fromkeys(no_answer)),
        tuple(not_checked),
        accepted(history.newest),
        tuple(notes),
    )


def _deep(
    wiring: Wiring,
    history: _History,
    settings: Callable[[str], TaskSettings],
    kafka: Kafka,
    progress: Progress,
) -> "DeepAudit":
    """Decoding is loaded only where it is asked for."""
    from kafka2hive.service.audit.kafka_rows import Deep

    table = history.newest.table
    ports = wiring.ports
    deep = Deep(ports.files, ports.concurrency, settings(table), table, progress.advance)
    return deep.audit(history.finals, kafka)


def _against(
    wiring: Wiring,
    history: _History,
    name: str,
    settings: Callable[[str], TaskSettings],
    progress: Progress,
) -> tuple[list[Finding], list[str]]:
    """Raises ConfigError when one of the two keeps no offsets, or the other one has no ledger here."""
    from kafka2hive.service.audit.kafka_rows import place_columns
    from kafka2hive.service.audit.other_table import Against, Side

    table = history.newest.table
    try:
        other = _history(wiring, look(wiring.ports.files, wiring.paths(name)))
    except NoLedger as error:
        raise ConfigError(
            "usage.no_such_table", f"{name} has no ledger below {wiring.paths('').ledgers}"
        ) from error
    mine = settings(table).tables[table]
    try:
        theirs = settings(name).tables[name]
    except ConfigError:  # another map's: its columns are taken to have the same names
        theirs = mine
    ours_place, their_place = place_columns(mine), place_columns(theirs)
    if not (ours_place and their_place and ours_place.complete and their_place.complete):
        raise ConfigError(
            "usage.no_offsets",
            f"{table} and {name} cannot be compared row by row: both must keep topic, partition and offset",
            "`verify --deep` compares each of them with Kafka",
        )
    ports = wiring.ports
    same = mine.bucketing == theirs.bucketing and mine.zone == theirs.zone and theirs is not mine
    by_bucket = same and mine.bucketing.time is not BucketTime.PROCESSING
    sides = Side(table, history.finals, ours_place), Side(name, other.finals, their_place)
    return Against(ports.files, ports.concurrency, *sides, by_bucket, progress.advance).audit()


def _beyond_kafka(newest: Snapshot, kafka: Kafka) -> list[Finding]:
    """Nothing was read that Kafka does not have: positions lie within the log, or Kafka has dropped what was read."""
    ends = kafka.latest([p.topic_partition for p in newest.positions])
    return [
        Finding(
            "verify.beyond_end",
            f"{newest.table} {p.topic_partition}",
            f"read up to {p.end}, Kafka's log ends at {ends[p.topic_partition].offset}",
        )
        for p in newest.positions
        if p.topic_partition in ends and ends[p.topic_partition].offset < p.end
    ]
