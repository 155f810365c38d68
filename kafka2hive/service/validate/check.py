"""What a check of a service came to, as values; and the exit code of them all."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import assert_never

from kafka2hive.model.errors import AmbiguousOutcome, ExitCode, Kafka2HiveError, ServiceUnavailable, worst

# Errors whose cause lies outside of the map: rights, room.
_OUTSIDE = frozenset({"kafka.denied", "storage.denied", "storage.no_room", "hive.refused"})


@dataclass(frozen=True, slots=True)
class Passed:
    """As it should be; `message` says what was found."""

    message: str


@dataclass(frozen=True, slots=True)
class Warned:
    """A run would work, and perhaps not for long, or not as meant."""

    error: Kafka2HiveError


@dataclass(frozen=True, slots=True)
class Failed:
    """A run would not dump this."""

    error: Kafka2HiveError


Result = Passed | Warned | Failed


@dataclass(frozen=True, slots=True)
class Check:
    """One line: `system` is `kafka`, `registry`, `storage`, `ledger`, `hive` or `spark`, `subject` what was asked about."""

    system: str
    subject: str
    result: Result


def exit_code_of(checks: Iterable[Check]) -> ExitCode:
    """69 when a service does not answer (not all could be checked), else 78 where map and world do not fit, else 75."""
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
