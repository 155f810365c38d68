"""Every failure the program can end with: a name, a stable code, an exit code, and what to do.

The tree is sorted by what a caller can do: end the run (`ExitError`s) or set one table aside (`TableError`).
"""

from collections.abc import Collection
from enum import IntEnum

from kafka2hive.model.writer_schema import WriterId


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


_WORST_FIRST = (
    ExitCode.BUG,
    ExitCode.STOP,
    ExitCode.FENCED,
    ExitCode.OWNED,
    ExitCode.UNAVAILABLE,
    ExitCode.CONFIG,
    ExitCode.SET_ASIDE,
)


def worst(codes: Collection[ExitCode]) -> ExitCode:
    """The exit code of a command over several tables: the gravest; what is set aside tries again by itself."""
    return next((code for code in _WORST_FIRST if code in codes), ExitCode.DONE)


class Kafka2HiveError(Exception):
    """Base: `code` is stable and dotted, `remedy` says what to do next."""

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


class AccessRefused(ServiceUnavailable):
    """A service answers and refuses this client: credentials, certificates, the way to connect.

    It may pass by itself (a certificate is renewed, a password is set): trying again later is right.
    """


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
    """The impossible: the table is set aside, nothing is changed, manual intervention is required."""

    exit_code = ExitCode.STOP


class AmbiguousOutcome(Kafka2HiveError):
    """A response the protocol does not list (rule R0): drop all memory of the table and re-acquire its ownership."""

    exit_code = ExitCode.UNAVAILABLE


class StateUnknown(AmbiguousOutcome):
    """A read got no response. Within a step it is repeated (ledger/retry.py); anywhere else rule R0 applies."""


class TableError(Kafka2HiveError):
    """One table cannot go on for now (schema, quota, permission): set it aside with backoff and try again."""

    exit_code = ExitCode.SET_ASIDE


class SchemaDiffers(TableError):
    """Records were written with a schema that has what the table's columns do not take. `writer`: which; None: the newest."""

    def __init__(self, message: str, remedy: str, writer: WriterId | None = None) -> None:
        super().__init__("schema.differs", message, remedy)
        self.writer = writer


class SchemaRegistryUnavailable(TableError):
    """The schema of a message's id is not known here, and the registry does not answer: the table waits."""

    def __init__(self, message: str) -> None:
        super().__init__(
            "registry.unavailable", message, "check the schema registry and the way to it; the table resumes"
        )
