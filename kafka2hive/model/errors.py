"""Every failure the program can end with: a name, a stable code, an exit code, and what to do.

The tree is sorted by what a caller can do: end the run (`ExitError`s) or set one table aside (`TableError`).
"""

from enum import IntEnum


class ExitCode(IntEnum):
    """Exit codes of every command (docs/operations.md); from sysexits.h where one fits."""

    DONE = 0
    USAGE = 2
    UNAVAILABLE = 69
    BUG = 70
    OWNED = 72
    FENCED = 73
    SET_ASIDE = 75
    STOP = 76
    CONFIG = 78
    INTERRUPTED = 130
    TERMINATED = 143


class Kafka2HiveError(Exception):
    """Base: `code` is stable and dotted, `remedy` says what a person can do next."""

    exit_code: ExitCode = ExitCode.BUG

    def __init__(self, code: str, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        tail = f"\n  what to do: {self.remedy}" if self.remedy else ""
        return f"[{self.code}] {self.message}{tail}"


class ConfigError(Kafka2HiveError):
    """The map is wrong; nothing was touched."""

    exit_code = ExitCode.CONFIG


class ServiceUnavailable(Kafka2HiveError):
    """A service (Kafka, NameNode, HiveServer2, Spark) does not answer; trying again later is right."""

    exit_code = ExitCode.UNAVAILABLE


class OwnedByLiveRun(Kafka2HiveError):
    """Another run is alive and owns the table; nothing was touched."""

    exit_code = ExitCode.OWNED


class Fenced(Kafka2HiveError):
    """Another run took the table over: this one must touch nothing more."""

    exit_code = ExitCode.FENCED


class TakeOverLost(Kafka2HiveError):
    """Another starter took the table over first."""

    exit_code = ExitCode.FENCED


class ManualActionRequired(Kafka2HiveError):
    """The impossible: this table is set aside, nothing is changed, a person must decide."""

    exit_code = ExitCode.STOP


class AmbiguousOutcome(Kafka2HiveError):
    """An answer the protocol does not list (rule R0): drop all memory of the table and take it over afresh."""

    exit_code = ExitCode.UNAVAILABLE


class Unanswered(AmbiguousOutcome):
    """A look got no answer. Within a step it is taken again (ledger/retry.py); anywhere else it is rule R0."""


class TableError(Kafka2HiveError):
    """One table cannot go on for now (schema, quota, permission): set it aside with backoff and try again."""

    exit_code = ExitCode.SET_ASIDE
