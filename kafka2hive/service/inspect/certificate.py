"""The completeness of a Hive partition and the audit of its certificates, for `kafka2hive certificate`.

Only reads. The checks share no code with the module that writes certificates.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import chain, takewhile

from kafka2hive.config.keys import TableRule
from kafka2hive.config.keys.bucket_path import BucketEnds, period_of, read_bucket_path
from kafka2hive.ledger.history import final_snapshots
from kafka2hive.ledger.look import NoLedger, View, look
from kafka2hive.model.errors import ConfigError, ExitCode, ServiceUnavailable
from kafka2hive.model.files import DataFile, FileKind, HivePartition
from kafka2hive.model.metastore import Metastore, MetastoreRefused, MetastoreUnavailable
from kafka2hive.model.paths.path import base_name, join, parent
from kafka2hive.model.paths.table_directory import CertificateName, DataFileName, certificate_path, ledger_tag
from kafka2hive.model.snapshot import Certificate, OpenPartition, Snapshot
from kafka2hive.model.text import unix_seconds
from kafka2hive.service.inspect.where import PartitionDrop, partition_drops
from kafka2hive.service.tables.ledgers import ledger_tables, literal_rules, no_answer_about, require_table
from kafka2hive.service.tables.read_through import expired_among, not_tracked, refuse_impossible
from kafka2hive.service.topics.routes import routed_by_ledgers
from kafka2hive.service.verify.files import changed_files
from kafka2hive.service.verify.hive_partitions import audit_certificates, wrong_registration
from kafka2hive.service.verify.result import Finding
from kafka2hive.service.wiring import Wiring
from kafka2hive.storage.port import Clock, FileStatus, NotFound, StorageError

LEAST_POLL_SECONDS = 5.0
IDLE_SHARE = 10
"""`await_completion` sleeps this many times as long as one report takes."""

NAME = "DB.TABLE/PARTITION"


@dataclass(frozen=True, slots=True)
class PartitionName:
    """The name of a Hive partition on the command line: `air.flights/dt=2026-11-22/hr=07`."""

    table: str
    path: str

    def __str__(self) -> str:
        return f"{self.table}/{self.path}"

    @staticmethod
    def parse(text: str) -> "PartitionName":
        """Return the partition that `text` names. Raises ConfigError (`usage.partition`)."""
        table, _, path = text.rstrip("/").partition("/")
        if table.count(".") != 1 or not path or not all("=" in level for level in path.split("/")):
            raise ConfigError(
                "usage.partition",
                f"not a Hive partition: {text!r}",
                f"write {NAME}, e.g. air.flights/dt=2026-11-22",
            )
        return PartitionName(table, path)


class Completion(StrEnum):
    """The completeness of a Hive partition; only if it is COMPLETE may a reader begin."""

    COMPLETE = "complete"
    LATE = "late"
    """It was complete, but late records have come; another certificate is due."""
    OPEN = "open"
    UNREGISTERED = "unregistered"
    """It is complete on HDFS, but Hive does not know it yet."""
    ABSENT = "absent"
    """It has no record yet."""
    DROPPED = "dropped"
    """Retention has dropped it."""
    EXPIRED = "expired"
    """Its period has expired, and it has no file: no record comes any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionReport:
    """The state of a Hive partition, the certificates that count its files, and the findings about them.

    `open` counts the files that no certificate counts.
    """

    completion: Completion
    location: str = ""
    """The partition's directory; empty if the table has no ledger yet."""
    certificates: tuple[tuple[str, str, Certificate], ...] = ()
    """Path, time of writing (ISO-8601 UTC), and content, oldest first."""
    open: OpenPartition | None = None
    findings: tuple[Finding, ...] = ()
    drop: PartitionDrop | None = None
    """Set if the partition is DROPPED."""

    @property
    def files(self) -> int:
        return sum(certificate.files for _, _, certificate in self.certificates)

    @property
    def rows(self) -> int:
        return sum(certificate.rows for _, _, certificate in self.certificates)

    @property
    def exit_code(self) -> ExitCode:
        """Return DONE if the partition is complete, SET_ASIDE if it may become complete, CONFIG if it never will.

        An untrue certificate is a STOP.
        """
        if self.findings:
            return ExitCode.STOP
        if self.completion in (Completion.DROPPED, Completion.EXPIRED):
            return ExitCode.CONFIG
        return ExitCode.DONE if self.completion is Completion.COMPLETE else ExitCode.SET_ASIDE


def certificate(wiring: Wiring, name: PartitionName, metastore: Metastore | None) -> PartitionReport:
    """Report on one Hive partition, and audit its certificates.

    Raises ConfigError (no such table or partition, or its partitions are not tracked), ManualActionRequired, ServiceUnavailable.
    """
    files, paths = wiring.ports.files, wiring.paths(name.table)
    try:
        view = look(files, paths)
    except NoLedger:
        require_table(wiring, name.table, {paths.table for paths in ledger_tables(wiring)})
        if (rule := literal_rules(wiring).get(name.table)) is not None:
            if rule.completion is None:
                raise not_tracked(name.table) from None
            refuse_impossible(rule, name.table, name.path)
        return PartitionReport(completion=Completion.ABSENT)
    if view.state.tracking is None:
        raise not_tracked(name.table)
    try:
        return _Partition(
            wiring=wiring, view=view, name=name, tracked_since=view.state.tracking.since, metastore=metastore
        ).report()
    except MetastoreUnavailable as error:
        raise error.to_error(f"{name}: {error}") from error
    except StorageError as error:
        raise no_answer_about(str(name), error) from error


def await_completion(
    ask: Callable[[], PartitionReport], clock: Clock, seconds: float, tell: Callable[[str], None]
) -> PartitionReport:
    """Ask until the partition is complete, a certificate is untrue, or `seconds` are over, and return the last report.

    `tell` receives each change. Raises what `ask` raises, except that ServiceUnavailable is retried until the time is over.
    """
    end = clock.monotonic() + seconds
    last = ""
    while True:
        began = clock.monotonic()
        try:
            report = ask()
            if report.exit_code is not ExitCode.SET_ASIDE or clock.monotonic() >= end:
                return report
            line = str(report.completion)
        except ServiceUnavailable as error:
            if clock.monotonic() >= end:
                raise
            line = str(error)
        if line != last:
            tell(line)
            last = line
        clock.sleep(
            min(
                max(LEAST_POLL_SECONDS, IDLE_SHARE * (clock.monotonic() - began)),
                max(0.0, end - clock.monotonic()),
            )
        )


@dataclass(slots=True)
class _Partition:
    """One Hive partition in a view of its table's ledger; certificates count files since epoch `tracked_since`."""

    wiring: Wiring
    view: View
    name: PartitionName
    tracked_since: int
    metastore: Metastore | None
    _directories: dict[str, dict[str, FileStatus]] = field(default_factory=dict)

    def report(self) -> PartitionReport:
        """Return the partition's state. Raises ConfigError, ManualActionRequired, StorageError, MetastoreUnavailable."""
        still_open = next(
            (each for each in self.view.state.open if each.partition.path == self.name.path), None
        )
        if (drop := self._drop([self.view.state])) is not None:
            return self._gone(drop)
        routed = routed_by_ledgers(self.wiring, [self.view.state]).get(self.name.table)
        rule = None if routed is None else routed.rule
        if rule is not None and still_open is None and not self._children(self._location(None)):
            refuse_impossible(rule, self.name.table, self.name.path)
        first = self._first_epoch(still_open)
        if first is None and still_open is None and (gone := self._after_expiry(rule)) is not None:
            return gone
        has_nothing = first is None and still_open is None
        if has_nothing and self._may_have_been_complete(rule):
            first = self.tracked_since  # its files may all be gone by mistake
        if first is None:
            completion = Completion.ABSENT if still_open is None else Completion.OPEN
            return PartitionReport(
                completion=completion,
                location=self._location(still_open),
                open=still_open,
                findings=() if still_open is None else tuple(self._lost_files(still_open)),
            )
        snapshots = self._snapshots(first)
        certificates = self._certificates(snapshots)
        if not certificates and still_open is None and (has_nothing or self._was_given_up(snapshots)):
            return PartitionReport(completion=Completion.ABSENT, location=self._location(None))
        if not certificates and still_open is None and not self.view.newest.pending:
            raise ConfigError(
                "certificate.none",
                f"the files of {self.name} are older than the table's `completion` section: no certificate counts them",
                "`kafka2hive verify -c MAP` checks them",
            )
        findings = list(self._audit(snapshots, certificates))
        in_place = [
            (path, snapshot.written_at, each)
            for snapshot, each in certificates
            if base_name(path := _path(snapshot, each)) in self._children(parent(path))
        ]
        completion = Completion.OPEN
        if in_place:
            completion = Completion.LATE if still_open else Completion.COMPLETE
        if completion is Completion.COMPLETE and not findings:
            completion, findings = self._registration(in_place[-1][2].partition)
        return PartitionReport(
            completion=completion,
            location=in_place[-1][2].partition.location if in_place else self._location(still_open),
            certificates=tuple(in_place),
            open=still_open,
            findings=tuple(findings),
        )

    def _after_expiry(self, rule: TableRule | None) -> PartitionReport | None:
        """Return the report of a partition without files whose period has expired; None if records may still come.

        Only the snapshots since the period expired are read: earlier ones cannot have dropped the partition.
        """

        def has_expired(state: Snapshot) -> bool:
            return rule is not None and bool(expired_among(rule, state, [(self.name.table, self.name.path)]))

        if not has_expired(self.view.state):
            return None
        snapshots = final_snapshots(self.wiring.ports.files, self.view.paths, self.view.directory)
        return self._gone(self._drop(chain([self.view.state], takewhile(has_expired, snapshots))))

    def _drop(self, snapshots: Iterable[Snapshot]) -> PartitionDrop | None:
        wanted = (self.name.table, self.name.path)
        return next((drop for home, drop in partition_drops(snapshots) if home.name == wanted), None)

    def _gone(self, drop: PartitionDrop | None) -> PartitionReport:
        completion = Completion.EXPIRED if drop is None else Completion.DROPPED
        return PartitionReport(completion=completion, location=self._location(None), drop=drop)

    def _first_epoch(self, still_open: OpenPartition | None) -> int | None:
        """Return the first epoch whose snapshot has to be read; None if there is no certificate to check."""
        tag = ledger_tag(self.view.state.ledger_id)
        epochs: list[int] = []
        certified = False
        for location in self._locations(still_open):
            for child in self._children(location):
                certificate = CertificateName.parse(child)
                data = DataFileName.parse(child)
                if certificate is not None and certificate.ledger == tag:
                    certified = True
                    epochs.append(certificate.epoch)
                elif data is not None and data[0].ledger == tag:
                    epochs.append(data[0].epoch)
            if epochs:
                break
        if not epochs or (still_open is not None and not certified):
            return None
        return max(self.tracked_since, min(epochs))

    def _location(self, still_open: OpenPartition | None) -> str:
        if still_open is not None:
            return still_open.partition.location
        for early in self.view.state.early:
            if early.partition.path == self.name.path:
                return early.partition.location
        return join(self.view.state.location, self.name.path)

    def _locations(self, still_open: OpenPartition | None) -> Iterator[str]:
        """Yield the directories that may hold the files; Hive is asked only if the first one has none."""
        location = self._location(still_open)
        yield location
        if self.metastore is None:
            return
        partition = HivePartition(self.name.table, self.name.path, location)
        try:
            registered_at = self.metastore.location(partition)
        except MetastoreRefused:
            return
        if registered_at is not None:
            yield registered_at

    def _snapshots(self, first: int) -> list[Snapshot]:
        """Return the final snapshots from epoch `first` to the newest, oldest first.

        Earlier epochs are read, too, as far back as a certificate counts files: those files may be gone by mistake.
        """
        read: list[Snapshot] = []
        for snapshot in final_snapshots(self.wiring.ports.files, self.view.paths, self.view.directory):
            if snapshot.epoch < first:
                break
            read.append(snapshot)
            first = min([first, *(each.since for each in self._given_by(snapshot))])
        return read[::-1]

    def _certificates(self, snapshots: list[Snapshot]) -> list[tuple[Snapshot, Certificate]]:
        """Return the partition's certificates that no later snapshot withdrew, each with its snapshot."""
        certificates: list[tuple[Snapshot, Certificate]] = []
        for snapshot in snapshots:
            if any(each.path == self.name.path for each in snapshot.reopened):
                lost = {loss.path for loss in snapshot.losses if loss.epoch == snapshot.epoch}
                is_repair = any(_counts(given, each, path) for given, each in certificates for path in lost)
                certificates = [] if is_repair else certificates[:-1]
            if self._moves(snapshot):
                certificates = []  # the certificate at the partition's home counts the rows of those at its early place
            certificates += [(snapshot, each) for each in self._given_by(snapshot)]
        return certificates

    def _given_by(self, snapshot: Snapshot) -> tuple[Certificate, ...]:
        """Return the partition's certificates of one snapshot: at most one."""
        return tuple(each for each in snapshot.certificates if each.partition.path == self.name.path)

    def _audit(
        self, snapshots: list[Snapshot], certificates: list[tuple[Snapshot, Certificate]]
    ) -> Iterator[Finding]:
        """Compare certificates with snapshots, their counts with the file lines, and the file lines with HDFS."""
        of_partition = [replace(each, certificates=self._given_by(each)) for each in snapshots]
        yield from audit_certificates(self.wiring.ports.files, self.wiring.ports.concurrency, of_partition)
        lost = {loss.path for loss in self.view.state.losses}
        for snapshot, certificate in certificates:
            lost_by_then = {loss.path for loss in snapshot.losses}
            before = [each for each in snapshots if each.epoch <= snapshot.epoch]
            files = [f for f in self._files_of(certificate, before) if f.final not in lost_by_then]
            rows = sum(file.rows for file in files)
            if (len(files), rows) != (certificate.files, certificate.rows):
                yield Finding(
                    "verify.completeness",
                    _path(snapshot, certificate),
                    f"counts {certificate.files} files with {certificate.rows} rows; the snapshots of epochs"
                    f" {certificate.since} to {snapshot.epoch} have {len(files)} files with {rows} rows",
                )
            yield from self._damage([file for file in files if file.final not in lost])

    def _lost_files(self, still_open: OpenPartition) -> Iterator[Finding]:
        """Compare the files that no certificate counts with HDFS; the history is read only if some of them are gone."""
        tag = ledger_tag(self.view.state.ledger_id)
        names = (DataFileName.parse(name) for name in self._children(still_open.partition.location))
        in_place = sum(name is not None and name[0].ledger == tag for name in names)
        if in_place >= still_open.files or self.view.newest.pending:
            return
        lost = {loss.path for loss in self.view.state.losses}
        files = (file for snapshot in self._snapshots(still_open.since) for file in self._data(snapshot))
        yield from self._damage([file for file in files if file.final not in lost])

    def _files_of(self, certificate: Certificate, snapshots: list[Snapshot]) -> Iterator[DataFile]:
        """Yield the files that a certificate counts. Compacted files replace all earlier files of the partition."""
        moves = [each.epoch for each in snapshots if each.epoch >= certificate.since and self._moves(each)]
        for snapshot in snapshots:
            if snapshot.epoch >= max([certificate.since, *moves]):
                yield from self._compacted(snapshot)
                yield from self._data(snapshot)

    def _damage(self, files: Collection[DataFile]) -> Iterator[Finding]:
        directories = {parent(file.final) for file in files}
        lengths = {
            child.path: child.length for each in directories for child in self._children(each).values()
        }
        yield from changed_files(files, lengths)

    def _registration(self, partition: HivePartition) -> tuple[Completion, list[Finding]]:
        """Compare Hive's registration of the complete partition with its location. Raises MetastoreUnavailable."""
        state = self.view.state
        if self.metastore is None or any(each.partition == partition for each in state.forgotten):
            return Completion.COMPLETE, []
        wrong = wrong_registration(partition, self.metastore)
        if wrong is None:
            return Completion.COMPLETE, []
        pending = partition in (*state.unregistered, *state.withheld_until_certified)
        return Completion.UNREGISTERED, [] if pending else [Finding("verify.hive", str(self.name), wrong)]

    def _data(self, snapshot: Snapshot) -> Iterator[DataFile]:
        for file in snapshot.files:
            if file.kind is FileKind.DATA and file.hive_partition.path == self.name.path:
                yield file

    def _compacted(self, snapshot: Snapshot) -> list[DataFile]:
        """Return the files into which the snapshot compacted the partition's early files, or that replace such a file."""
        return [
            file
            for file in snapshot.files
            if file.kind is FileKind.COMPACTED and file.hive_partition.path == self.name.path
        ]

    def _moves(self, snapshot: Snapshot) -> bool:
        """Return whether the snapshot moves the partition; its certificate counts the compacted files only."""
        return any(unit.partition.path == self.name.path for unit in snapshot.units)

    def _was_given_up(self, snapshots: list[Snapshot]) -> bool:
        """Return whether a repair has withdrawn the certificates, and given up all files that they counted."""
        return any(each.path == self.name.path for snapshot in snapshots for each in snapshot.reopened)

    def _may_have_been_complete(self, rule: TableRule | None) -> bool:
        """Return whether a partition without any file may have been certified, so that its files are lost.

        Only then the whole history is read: a certificate is often awaited before the partition's first record.
        """
        through = unix_seconds(self.view.state.tracking.through) if self.view.state.tracking else None
        if through is None:
            return False
        path = None if rule is None else read_bucket_path(rule.bucketing.path)
        if rule is not None and path is not None and period_of(path) is not None:
            end_ms = BucketEnds(path, rule.bucketing.zone).end_ms(self.name.path)
            return end_ms is not None and end_ms <= through * 1000
        return rule is None or self._is_in_hive()

    def _is_in_hive(self) -> bool:
        partition = HivePartition(self.name.table, self.name.path, self._location(None))
        try:
            return self.metastore is not None and self.metastore.location(partition) is not None
        except MetastoreRefused:
            return False

    def _children(self, directory: str) -> dict[str, FileStatus]:
        """Return a directory's files by name, listed once; a missing directory has none."""
        if directory not in self._directories:
            try:
                listed = self.wiring.ports.files.list(directory)
            except NotFound:
                listed = ()
            self._directories[directory] = {child.name: child for child in listed if not child.is_directory}
        return self._directories[directory]


def _counts(snapshot: Snapshot, certificate: Certificate, path: str) -> bool:
    """Return whether the certificate of this snapshot counts the file, as far as its directory and its name tell."""
    parsed = DataFileName.parse(base_name(path))
    is_here = parent(path) == certificate.partition.location
    return is_here and parsed is not None and certificate.since <= parsed[0].epoch <= snapshot.epoch


def _path(snapshot: Snapshot, certificate: Certificate) -> str:
    location = certificate.partition.location
    return certificate_path(location, snapshot.ledger_id, snapshot.generation, snapshot.epoch)
