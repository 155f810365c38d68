"""`kafka2hive verify`: audit ledgers, files, certificates and registrations, and rows against Kafka or another table.

The command only reads, and is safe during a live run. It audits each table's ledger first, and then compares the ledger with
the files, Kafka and Hive.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kafka2hive.config.keys import BucketTime
from kafka2hive.kafka.port import Kafka
from kafka2hive.ledger.history import History, read_history
from kafka2hive.ledger.location import read_marker
from kafka2hive.ledger.look import NoLedger, View, look
from kafka2hive.model.errors import ConfigError, ManualActionRequired, ServiceUnavailable
from kafka2hive.model.metastore import Metastore, MetastoreUnavailable
from kafka2hive.model.paths.table_directory import owner_marker
from kafka2hive.model.progress import Advance, amounts
from kafka2hive.model.snapshot import Snapshot
from kafka2hive.model.text import counted
from kafka2hive.service.tables.ledgers import (
    apart,
    did_you_mean,
    each_ledger,
    ledger_tables,
    unknown_tables,
    vanished_ledgers,
)
from kafka2hive.service.verify.files import audit_contents, audit_pending, audit_presence
from kafka2hive.service.verify.history import (
    audit_history,
    dropped_places,
    expired_paths,
    files_with_rows,
    lost_paths,
    retired_paths,
)
from kafka2hive.service.verify.hive_partitions import (
    Locations,
    accepted_registrations,
    audit_certificates,
    audit_registrations,
)
from kafka2hive.service.verify.result import (
    AuditResult,
    Finding,
    TableAuditResult,
    VerifyRequest,
    VerifyResult,
)
from kafka2hive.service.wiring import Wiring
from kafka2hive.storage.port import FileSystem

if TYPE_CHECKING:
    from kafka2hive.plan.contract import TaskSettings
    from kafka2hive.service.verify.hive_reading import HiveReading


def verify(
    wiring: Wiring,
    request: VerifyRequest,
    kafka: Kafka | None,
    metastore: Metastore | None,
    settings: "Callable[[str], TaskSettings] | None" = None,
    reading: "HiveReading | None" = None,
) -> VerifyResult:
    """Audit the requested tables of the map's service, one after the other. TableAudit documents the other parameters.

    Raises ServiceUnavailable (the file system does not answer).
    """
    ledgers = ledger_tables(wiring)
    names = {paths.table for paths in ledgers}
    if unknown := unknown_tables(wiring, request.tables, names) + _no_other_dump(wiring, request, names):
        return VerifyResult((), tuple(unknown))
    if request.against is not None and request.against in request.tables:
        return VerifyResult((), (_same_table(request.against),))
    errors = vanished_ledgers(wiring, request.tables, names)
    audit = TableAudit(
        wiring=wiring,
        request=request,
        kafka=kafka,
        metastore=metastore,
        settings=settings,
        reading=reading,
    ).audit
    selected = [paths for paths in ledgers if not request.tables or paths.table in request.tables]
    with wiring.progress.work("verify", tables=len(selected)) as advance:
        tables, failed = apart(each_ledger(wiring, selected, audit, advance))
    errors += failed
    if request.against is not None and not (request.tables or tables or errors):
        errors.append(_same_table(request.against))
    return VerifyResult(tuple(tables), tuple(errors))


def _same_table(table: str) -> tuple[str, ConfigError]:
    """Return the error of an --against that names the only table to audit."""
    error = ConfigError(
        "usage.same_table",
        f"{table} cannot be compared with itself: nothing was audited",
        "name the table to audit with --table, and another dump of the same topics with --against",
    )
    return table, error


def _no_other_dump(wiring: Wiring, request: VerifyRequest, names: set[str]) -> list[tuple[str, ConfigError]]:
    """Return an error if --against names a table that is not in `names`, the tables with a ledger."""
    if request.against is None or request.against in names:
        return []
    error = ConfigError(
        "usage.no_such_table",
        f"{request.against} has no ledger below {wiring.paths('').ledgers}: there is nothing to compare with",
        did_you_mean(request.against, names),
    )
    return [(request.against, error)]


@dataclass(frozen=True, slots=True)
class TableAudit:
    """Audits the tables of `request`.

    `kafka` or `metastore` is None if the audit must not ask it. `settings` returns the task settings of a table: `deep`
    needs `settings` and `kafka`, `against` needs `settings`. `reading` is None if Hive's descriptions are not compared.
    """

    wiring: Wiring
    request: VerifyRequest
    kafka: Kafka | None
    metastore: Metastore | None
    settings: "Callable[[str], TaskSettings] | None"
    reading: "HiveReading | None" = None

    def audit(self, view: View) -> list[TableAuditResult]:
        """Return the result for one table, or nothing if the request leaves the table out.

        Raises Kafka2HiveError, StorageError.
        """
        history = read_history(self.wiring.ports.files, view)
        table, newest = view.paths.table, history.newest
        if not self._is_selected(history) or table == self.request.against:
            return []
        files = [file for snapshot in history.finals for file in snapshot.files]
        kept = list(files_with_rows(history.all))
        result = AuditResult(
            [*audit_history(history.all), *audit_ownership(self.wiring.ports.files, history.view)]
        )
        reads = self.request.contents or self.request.deep or self.request.against is not None
        with self.wiring.progress.work(table, **(amounts(kept) if reads else {})) as advance:
            self._files(history, result, advance)
            if self.request.against is not None and self.settings is not None:
                result.extend(self._with_other_table(history, self.request.against, self.settings, advance))
            self._services(history, result)
        table_result = TableAuditResult(
            table=newest.table,
            epochs=len(history.all),
            files=len(files),
            rows=sum(file.rows for file in kept),
            bytes=sum(file.length for file in files),
            findings=tuple(result.findings),
            no_answer=tuple(dict.fromkeys(result.no_answer)),
            not_checked=tuple(result.not_checked),
            accepted=accepted_registrations(newest),
            notes=tuple(result.notes),
        )
        return [table_result]

    def _is_selected(self, history: History) -> bool:
        """Return whether the table is requested, in the map, or was ever written by the map's service."""
        service_map = self.wiring.map
        names = {*self.request.tables, *(rule.table for rule in service_map.tables)}
        return history.newest.table in names or service_map.service in {s.service for s in history.all}

    def _files(self, history: History, result: AuditResult, advance: Advance) -> None:
        """Audit the files' names and lengths, their contents if requested, and with `deep` their rows against Kafka's records."""
        request, retired, expired = self.request, retired_paths(history.all), expired_paths(history.all)
        lost = lost_paths(history.all) | retired | expired
        files, concurrency = self.wiring.ports.files, self.wiring.ports.concurrency
        result.extend(
            audit_presence(
                files=files,
                concurrency=concurrency,
                finals=history.finals,
                pending=history.pending,
                lost=lost,
                newest_now=lambda: look(files, history.view.paths).state.epoch,
            )
        )
        dropped = dropped_places(history.all)
        result.findings += audit_certificates(files, concurrency, history.finals, dropped)
        if history.pending is not None:
            result.findings += audit_pending(
                files=files,
                concurrency=concurrency,
                pending=history.pending,
                lost=lost,
                contents=request.contents or request.deep,
            )
        if request.deep and self.kafka is not None and self.settings is not None:
            from kafka2hive.service.verify.compaction import audit_units
            from kafka2hive.service.verify.kafka_rows import KafkaAudit  # slow: it loads the decoders

            name = history.newest.table
            audit = KafkaAudit(
                files=files,
                concurrency=concurrency,
                settings=self.settings(name),
                table=name,
                advance=advance,
            )
            gone = (retired | lost_paths(history.all)) - expired
            result.extend(audit.audit(history.finals, self.kafka, gone))
            result.findings += audit_units(files, history.finals, lost, self.settings(name).tables[name])
            if expired:
                rows = sum(f.rows for s in history.finals for f in s.files if f.final in expired)
                files_of = counted(len(expired), "file")
                result.not_checked.append(
                    f"{counted(rows, 'row')} of {files_of} in expired partitions, which may be deleted"
                )
        elif request.contents:
            result.findings += audit_contents(
                files=files,
                concurrency=concurrency,
                snapshots=history.finals,
                lost=lost,
                advance=advance,
            )

    def _services(self, history: History, result: AuditResult) -> None:
        """Audit positions against the ends of Kafka's logs, and the registrations in Hive."""
        if self.kafka is not None:
            try:
                result.findings += _beyond_kafka(history.newest, self.kafka)
            except ServiceUnavailable as error:
                result.no_answer.append(f"Kafka: {error.message}")
        if self.metastore is not None:
            clock = self.wiring.ports.clock
            try:
                locations: Locations = self.metastore
                described = None
                if self.reading is not None:
                    result.findings += self.reading.audit_tables(history.finals)
                    locations = described = self.reading.partitions(history.finals, self.metastore)
                result.findings += audit_registrations(
                    finals=history.finals,
                    newest=history.newest,
                    metastore=locations,
                    clock=clock,
                    dropped=dropped_places(history.all),
                )
                result.findings += described.findings if described else ()
            except (MetastoreUnavailable, ServiceUnavailable) as error:
                result.no_answer.append(f"Hive: {error}")

    def _with_other_table(
        self, history: History, name: str, settings: "Callable[[str], TaskSettings]", advance: Advance
    ) -> AuditResult:
        """Compare the table with the table `name`.

        Raises ConfigError if one of the two does not keep topic, partition and offset, or if `name` has no ledger.
        """
        from kafka2hive.service.verify.other_table import OtherTableAudit, Side
        from kafka2hive.service.verify.row_sources import place_columns

        table, ports = history.newest.table, self.wiring.ports
        try:
            other = read_history(ports.files, look(ports.files, self.wiring.paths(name)))
        except NoLedger as error:
            raise ConfigError(
                "usage.no_such_table",
                f"{name} has no ledger below {self.wiring.paths('').ledgers}: there is nothing to compare with",
            ) from error
        own = settings(table).tables[table]
        try:
            others = settings(name).tables[name]
        except ConfigError:  # the table is in another map: assume that its columns have the same names
            others = own
        place, other_place = place_columns(own), place_columns(others)
        if not (place and other_place and place.complete and other_place.complete):
            raise ConfigError(
                "usage.no_offsets",
                f"{table} and {name} cannot be compared row by row: both must keep topic, partition and offset",
                "`verify --deep` compares each of them with Kafka",
            )
        same = own.bucketing == others.bucketing and own.zone == others.zone and others is not own
        by_bucket = same and own.bucketing.time is not BucketTime.PROCESSING
        sides = Side(table, history.finals, place), Side(name, other.finals, other_place)
        audit = OtherTableAudit(ports.files, ports.concurrency, *sides, by_bucket, advance)
        return audit.audit()


def audit_ownership(files: FileSystem, view: View) -> list[Finding]:
    """Audit that the snapshot's generation is not above its directory's, and audit the owner marker. Raises StorageError.

    A ledger that never wrote anything (generation 0) has no marker yet.
    """
    findings = []
    state, path = view.state, owner_marker(view.state.location)
    if state.generation > view.generation.number:
        message = f"holds a snapshot of generation {state.generation}: the directory was renamed by hand"
        findings.append(Finding("verify.generation", view.directory, message))
    try:
        ledger_id = read_marker(files, state.location)
    except ManualActionRequired as error:
        return [*findings, Finding("verify.marker", path, error.message)]
    if ledger_id is None and state.generation > 0:
        message = f"does not exist: another ledger could feed {state.table}"
        findings.append(Finding("verify.marker", path, message))
    elif ledger_id not in (None, state.ledger_id):
        message = f"names ledger {ledger_id}, but ledger {state.ledger_id} feeds {state.table}"
        findings.append(Finding("verify.marker", path, message))
    return findings


def _beyond_kafka(newest: Snapshot, kafka: Kafka) -> list[Finding]:
    """Return a finding for each position beyond the end of Kafka's log."""
    ends = kafka.latest([p.topic_partition for p in newest.positions])
    return [
        Finding(
            "verify.beyond_end",
            f"{newest.table} {p.topic_partition}",
            f"read up to {p.end}, but Kafka's log ends at {ends[p.topic_partition].offset}",
        )
        for p in newest.positions
        if p.topic_partition in ends and ends[p.topic_partition].offset < p.end
    ]
