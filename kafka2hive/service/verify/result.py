"""The request and the result of `verify`."""

from dataclasses import dataclass, field

from kafka2hive.model.errors import ExitCode, Kafka2HiveError
from kafka2hive.model.snapshot import Snapshot


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """A broken guarantee. `code` is stable; `where` is a path, an epoch, or a topic partition with offsets."""

    code: str
    where: str
    message: str


def of_epoch(snapshot: Snapshot, code: str, message: str) -> Finding:
    """Return a finding about the whole epoch of `snapshot`."""
    return Finding(code, f"{snapshot.table} epoch {snapshot.epoch}", message)


@dataclass(slots=True)
class AuditResult:
    """The result of one part of an audit.

    `not_checked` names data that could not be compared, `no_answer` the services that did not answer. `notes` name facts that
    agree with map and ledger, but may be unintended.
    """

    findings: list[Finding] = field(default_factory=list)
    not_checked: list[str] = field(default_factory=list)
    no_answer: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def extend(self, more: "AuditResult") -> None:
        self.findings += more.findings
        self.not_checked += more.not_checked
        self.no_answer += more.no_answer
        self.notes += more.notes


@dataclass(frozen=True, slots=True)
class TableAuditResult:
    """The audit of one table: the amount of data, and the fields of AuditResult. `rows` includes dead letters.

    `accepted` are missing registrations that an operator gave up; they do not count as findings.
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
    """All audited tables, and tables that could not be audited."""

    tables: tuple[TableAuditResult, ...]
    errors: tuple[tuple[str, Kafka2HiveError], ...]

    @property
    def exit_code(self) -> ExitCode:
        """STOP if there is a finding, otherwise the first error's code, or UNAVAILABLE if a service did not answer."""
        if any(table.findings for table in self.tables):
            return ExitCode.STOP
        if self.errors:
            return self.errors[0][1].exit_code
        return ExitCode.UNAVAILABLE if any(table.no_answer for table in self.tables) else ExitCode.DONE


@dataclass(frozen=True, slots=True)
class VerifyRequest:
    """What to audit; an empty `tables` means all tables of the service.

    `contents` reads every file (checksum and footer), `deep` also compares its rows with Kafka's records. `against` names
    another table below the same ledger root to compare the rows with.
    """

    tables: tuple[str, ...] = ()
    contents: bool = False
    deep: bool = False
    against: str | None = None
