"""The results of checks as values, and the exit code of several checks."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import assert_never

from kafka2hive.model.errors import AmbiguousOutcome, ExitCode, Kafka2HiveError, ServiceUnavailable, worst

# Errors whose cause is outside the map: rights and disk space.
_OUTSIDE = frozenset({"kafka.denied", "storage.denied", "storage.no_room", "hive.refused"})


@dataclass(frozen=True, slots=True)
class Passed:
    """The check passed; `message` describes the finding."""

    message: str


@dataclass(frozen=True, slots=True)
class Warned:
    """A run would work, but perhaps not for long, or not as intended."""

    error: Kafka2HiveError


@dataclass(frozen=True, slots=True)
class Failed:
    """A run would not dump the table or topic."""

    error: Kafka2HiveError


Result = Passed | Warned | Failed


@dataclass(frozen=True, slots=True)
class Check:
    """One line of the report; `system` is `machine`, `kafka`, `registry`, `storage`, `ledger`, `hive`, `reader` or `spark`.

    `subject` names the checked thing, such as a table.
    """

    system: str
    subject: str
    result: Result


def exit_code_of(checks: Iterable[Check]) -> ExitCode:
    """Return the worst exit code.

    It is 69 if a service did not answer (not everything was checked), otherwise 78 if the map does not match its
    services, otherwise 75 if rights or space are missing.
    """
    return worst({_exit_code(check.result) for check in checks})


def _exit_code(result: Result) -> ExitCode:
    match result:
        case Passed() | Warned():
            return ExitCode.DONE
        case Failed(error):
            if isinstance(error, ServiceUnavailable | AmbiguousOutcome):
                return ExitCode.UNAVAILABLE
            return ExitCode.SET_ASIDE if error.code in _OUTSIDE else ExitCode.CONFIG
        case _:
            assert_never(result)
