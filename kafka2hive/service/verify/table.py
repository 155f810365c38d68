"""The audit of one table: the ledger by itself, then against files, Kafka, Hive, and another table."""

from collections.abc import Callable
from dataclasses import dataclass

from kafka2hive.config.keys import BucketTime
from kafka2hive.kafka.port import Kafka
from kafka2hive.ledger.history import History, read_history
from kafka2hive.ledger.look import View, look
from kafka2hive.ledger.marker import read_marker
from kafka2hive.ledger.take_over import NoLedger
from kafka2hive.model.errors import ConfigError, ManualActionRequired, ServiceUnavailable
from kafka2hive.model.metastore import Metastore, MetastoreUnavailable
from kafka2hive.model.paths.table_directory import owner_marker
from kafka2hive.model.snapshot import Snapshot
from kafka2hive.plan.contract import TaskSettings
from kafka2hive.service.verify.certificates import audit_certificates
from kafka2hive.service.verify.files import audit_contents, audit_pending, audit_presence
from kafka2hive.service.verify.history import audit_history, lost_paths
from kafka2hive.service.verify.registrations import accepted, unregistered
from kafka2hive.service.verify.result import Audited, Finding, Progress, VerifiedTable, VerifyOrder
from kafka2hive.service.wiring import Wiring
from kafka2hive.storage.port import FileSystem


@dataclass(frozen=True, slots=True)
class TableAudit:
    """Audits table after table as `order` says.

    `settings` gives what a task must know of a table; `deep` needs it, and `kafka`.
    """

    wiring: Wiring
    order: VerifyOrder
    kafka: Kafka | None
    metastore: Metastore | None
    settings: Callable[[str], TaskSettings] | None
    progress: Progress

    def audit(self, view: View) -> list[VerifiedTable]:
        """One table; none when it is not meant. Raises Kafka2HiveError, StorageError."""
        history = read_history(self.wiring.ports.files, view)
        table, newest = view.paths.table, history.newest
        if not self._is_meant(history) or table == self.order.against:
            return []
        named = [file for snapshot in history.finals for file in snapshot.files]
        rows = sum(file.rows for file in named)
        self.progress.table(newest.table, len(named), rows)
        found = Audited([*audit_history(history.all), *audit_place(self.wiring.ports.files, history.view)])
        self._files(history, found)
        if self.order.against is not None and self.settings is not None:
            found.extend(self._with_other_table(history, self.order.against, self.settings))
        self._services(history, found)
        audited = VerifiedTable(
            table=newest.table,
            epochs=len(history.all),
            files=len(named),
            rows=rows,
            bytes=sum(file.length for file in named),
            findings=tuple(found.findings),
            no_answer=tuple(dict.fromkeys(found.no_answer)),
            not_checked=tuple(found.not_checked),
            accepted=accepted(newest),
            notes=tuple(found.notes),
        )
        return [audited]

    def _is_meant(self, history: History) -> bool:
        """Asked for, in the map, or ever written by the map's service."""
        whole = self.wiring.map
        names = {*self.order.tables, *(rule.table for rule in whole.tables)}
        return history.newest.table in names or whole.service in {s.service for s in history.all}

    def _files(self, history: History, found: Audited) -> None:
        """Names and lengths; with `contents` or `deep` what is in them, with `deep` against Kafka's records."""
        order, lost = self.order, lost_paths(history.all)
        files, concurrency = self.wiring.ports.files, self.wiring.ports.concurrency
        found.extend(
            audit_presence(
                files=files,
                concurrency=concurrency,
                finals=history.finals,
                pending=history.pending,
                lost=lost,
                newest_now=lambda: look(files, history.view.paths).state.epoch,
            )
        )
        found.findings += audit_certificates(files, concurrency, history.finals)
        if history.pending is not None:
            whole = order.contents or order.deep
            found.findings += audit_pending(
                files=files, concurrency=concurrency, pending=history.pending, lost=lost, contents=whole
            )
        if order.deep and self.kafka is not None and self.settings is not None:
            # decoding is loaded only where it is asked for
            from kafka2hive.service.verify.kafka_rows import KafkaAudit

            name = history.newest.table
            rows = KafkaAudit(
                files=files,
                concurrency=concurrency,
                settings=self.settings(name),
                table=name,
                advance=self.progress.advance,
            )
            found.extend(rows.audit(history.finals, self.kafka))
        elif order.contents:
            found.findings += audit_contents(
                files=files,
                concurrency=concurrency,
                snapshots=history.finals,
                lost=lost,
                advance=self.progress.advance,
            )

    def _services(self, history: History, found: Audited) -> None:
        """The ends of Kafka's logs and the registrations in Hive."""
        if self.kafka is not None:
            try:
                found.findings += _beyond_kafka(history.newest, self.kafka)
            except ServiceUnavailable as error:
                found.no_answer.append(f"Kafka: {error.message}")
        if self.metastore is not None:
            clock = self.wiring.ports.clock
            try:
                found.findings += unregistered(history.finals, history.newest, self.metastore, clock)
            except MetastoreUnavailable as error:
                found.no_answer.append(f"Hive: {error}")

    def _with_other_table(
        self, history: History, name: str, settings: Callable[[str], TaskSettings]
    ) -> Audited:
        """Raises ConfigError when one of the two keeps no offsets, or the other one has no ledger here."""
        from kafka2hive.service.verify.file_contents import place_columns
        from kafka2hive.service.verify.other_table import OtherTableAudit, Side

        table, ports = history.newest.table, self.wiring.ports
        try:
            other = read_history(ports.files, look(ports.files, self.wiring.paths(name)))
        except NoLedger as error:
            raise ConfigError(
                "usage.no_such_table", f"{name} has no ledger below {self.wiring.paths('').ledgers}"
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
        same = mine.bucketing == theirs.bucketing and mine.zone == theirs.zone and theirs is not mine
        by_bucket = same and mine.bucketing.time is not BucketTime.PROCESSING
        sides = Side(table, history.finals, ours_place), Side(name, other.finals, their_place)
        audit = OtherTableAudit(ports.files, ports.concurrency, *sides, by_bucket, self.progress.advance)
        return audit.audit()


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


def audit_place(files: FileSystem, view: View) -> list[Finding]:
    """The generation's number against the snapshot's, and the marker in the table's directory. Raises StorageError.

    A ledger that never wrote anything (generation 0) has no marker yet.
    """
    found = []
    state, path = view.state, owner_marker(view.state.location)
    if state.generation > view.generation.number:
        message = f"holds a snapshot of generation {state.generation}: it was renamed by hand"
        found.append(Finding("verify.generation", view.directory, message))
    try:
        owner = read_marker(files, state.location)
    except ManualActionRequired as damaged:
        return [*found, Finding("verify.marker", path, damaged.message)]
    if owner is None and state.generation > 0:
        message = f"is not there: nothing keeps another ledger from feeding {state.table}"
        found.append(Finding("verify.marker", path, message))
    elif owner not in (None, state.ledger_id):
        message = f"names ledger {owner}, {state.table} is fed by {state.ledger_id}"
        found.append(Finding("verify.marker", path, message))
    return found
