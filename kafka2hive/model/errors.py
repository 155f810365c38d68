"""The errors of the program: each has a stable code, an exit code and a remedy; its class says what a caller can do."""

from collections.abc import Collection
from enum import IntEnum

from kafka2hive.model.writer_schema import WriterId


class ExitCode(IntEnum):
    """Exit codes of all commands (docs/operations.md), from sysexits.h if one fits."""

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
    """Return the most severe of several tables' exit codes. SET_ASIDE is the least severe: the run retries such a table."""
    return next((code for code in _WORST_FIRST if code in codes), ExitCode.DONE)


class Kafka2HiveError(Exception):
    """The base of all errors: `code` is stable (`hive.login`), and `remedy` says what the operator does next."""

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
    """The map, an option or this machine is not as it must be; nothing was changed."""

    exit_code = ExitCode.CONFIG


class ServiceUnavailable(Kafka2HiveError):
    """A service (Kafka, NameNode, HiveServer2, Spark) does not answer; the caller may try again later."""

    exit_code = ExitCode.UNAVAILABLE


class AccessRefused(ServiceUnavailable):
    """A service answers, but refuses this client because of its credentials, its certificates or its protocol.

    The caller may try again later, because a certificate may be renewed or a password set meanwhile.
    """


class OwnedByLiveRun(Kafka2HiveError):
    """Another run is alive and owns the table; nothing was changed."""

    exit_code = ExitCode.OWNED


class Fenced(Kafka2HiveError):
    """Another run took the table over: this one must change nothing more."""

    exit_code = ExitCode.FENCED


class TakeOverLost(Kafka2HiveError):
    """Another process that started at the same time took the table over first."""

    exit_code = ExitCode.FENCED


class ManualActionRequired(Kafka2HiveError):
    """A STOP: the table is in a state that should not occur. It is set aside, and its ledger and files stay unchanged."""

    exit_code = ExitCode.STOP


class AmbiguousOutcome(Kafka2HiveError):
    """An operation may or may not have happened (rule R0): drop the table's state and re-acquire its ownership."""

    exit_code = ExitCode.UNAVAILABLE


class StateUnknown(AmbiguousOutcome):
    """A read got no response. A step repeats the read (ledger/ports.py); elsewhere rule R0 applies."""


class TableError(Kafka2HiveError):
    """One table cannot continue for now (schema, quota, permission): it is set aside and retried with backoff."""

    exit_code = ExitCode.SET_ASIDE


class SchemaDiffers(TableError):
    """A writer's schema has fields that the table's columns do not take.

    `writer` names that schema; None means the newest schema of the registry.
    """

    def __init__(self, message: str, remedy: str, writer: WriterId | None = None) -> None:
        super().__init__("schema.differs", message, remedy)
        self.writer = writer


class SchemaRegistryUnavailable(TableError):
    """A message names a schema that is not kept, and the registry does not answer: the table waits."""

    def __init__(self, message: str) -> None:
        super().__init__(
            "registry.unavailable",
            message,
            "check the schema registry and the network; the table resumes by itself",
        )
