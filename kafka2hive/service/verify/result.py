"""What `verify` is asked, who is told how far it is, and what it answers."""

from dataclasses import dataclass, field

from kafka2hive.model.errors import ExitCode, Kafka2HiveError
from kafka2hive.model.snapshot import Snapshot


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """Something that is not as promised. `code` is stable, `where` a path or a topic partition with its offsets."""

    code: str
    where: str
    message: str


def of_epoch(snapshot: Snapshot, code: str, message: str) -> Finding:
    return Finding(code, f"{snapshot.table} epoch {snapshot.epoch}", message)


@dataclass(slots=True)
class Audited:
    """What an audit found: `not_checked` cannot be compared, `no_answer` is what a service did not answer.

    `notes` is as the map and the ledger say, but perhaps not as it was meant.
    """

    findings: list[Finding] = field(default_factory=list)
    not_checked: list[str] = field(default_factory=list)
    no_answer: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def extend(self, more: "Audited") -> None:
        self.findings += more.findings
        self.not_checked += more.not_checked
        self.no_answer += more.no_answer
        self.notes += more.notes


@dataclass(frozen=True, slots=True)
class VerifiedTable:
    """One table's audit: what was looked at, and what was found (see Audited). `rows` holds dead letters, too.

    `accepted`: registrations that were given up, so no finding.
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


class Progress:
    """Who is told how far an audit is, from any thread; this one tells nobody."""

    def table(self, name: str, files: int, rows: int) -> None:
        """A table is begun, with so many files and rows to look at."""

    def advance(self, files: int, rows: int) -> None:
        """So many more of them are done."""
