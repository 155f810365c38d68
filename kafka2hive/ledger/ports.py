"""The ports through which the ledger does all I/O, and the retries of its steps and starts (R0)."""

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import ClassVar, TypeVar, assert_never

from kafka2hive.model.errors import AmbiguousOutcome, StateUnknown, TableError
from kafka2hive.model.text import counted
from kafka2hive.storage.port import (
    Clock,
    Concurrency,
    Denied,
    ErasureCoded,
    FileSystem,
    NoRoom,
    StorageError,
)

log = logging.getLogger("kafka2hive.ledger")


Result = TypeVar("Result")


BLOCKED = "storage.blocked"
"""The code of a step that a quota or a full disk has prevented for too long."""
_LONGEST_REASON = 500  # characters of an error that a message repeats


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How many times a step is tried, and the seconds to wait between tries.

    After a transient error (Unavailable, OutcomeUnknown) the wait is `first`, doubled up to `longest`, and there are at most
    `attempts` tries. After an error that an operator must lift (quota, full disk, permission) the wait is `blocked`, and the
    step fails at the `blocked_attempts`-th such error, or the `denied_attempts`-th for lack of permission.
    """

    attempts: int = 8
    first: float = 0.2
    longest: float = 5.0
    blocked: float = 10.0
    blocked_attempts: int = 3
    denied_attempts: int = 3

    def waits(self) -> Iterator[float]:
        """Yield the seconds to wait after each try but the last."""
        wait = self.first
        for _ in range(self.attempts - 1):
            yield wait
            wait = min(wait * 2, self.longest)


@dataclass(frozen=True, slots=True)
class Ports:
    """All that the ledger uses for I/O. `new_uuid` returns 32 new lower-case hex digits at each call."""

    files: FileSystem
    concurrency: Concurrency
    clock: Clock
    new_uuid: Callable[[], str]
    retry_policy: RetryPolicy = field(default_factory=RetryPolicy)


class AnswerKind(Enum):
    """What `retry` does after a try: it ends, tries again soon, or waits for an operator."""

    DONE = "done"
    AGAIN = "again"
    BLOCKED = "blocked"


@dataclass(frozen=True, slots=True)
class Answer:
    """The outcome of one try of a step. If the kind is BLOCKED, the other fields come from the file system's error."""

    kind: AnswerKind
    reason: str = ""
    remedy: str = ""
    is_denied: bool = False
    DONE: ClassVar["Answer"]
    AGAIN: ClassVar["Answer"]


Answer.DONE = Answer(AnswerKind.DONE)


Answer.AGAIN = Answer(AnswerKind.AGAIN)


def answer_to(error: StorageError) -> Answer:
    """Return BLOCKED for an error that an operator must lift (permission, quota, disk), AGAIN for any other.

    Raises TableError for an erasure-coded directory, because waiting does not help.
    """
    if isinstance(error, ErasureCoded):
        raise TableError("storage.erasure_coded", first_line(error), error.remedy) from error
    if isinstance(error, Denied | NoRoom):
        return Answer(AnswerKind.BLOCKED, first_line(error), error.remedy, isinstance(error, Denied))
    return Answer.AGAIN


def first_line(error: StorageError) -> str:
    """Return the error as a string without the Java stack trace that follows a NameNode's message."""
    return f"{type(error).__name__}: {error}".splitlines()[0][:_LONGEST_REASON]


def retry(ports: Ports, step: str, path: str, attempt: Callable[[], Answer]) -> None:
    """Call `attempt` until it returns DONE. `step` and `path` are for messages.

    Raises AmbiguousOutcome (R0) if the tries are used up, and TableError if the step was blocked too often. If `attempt`
    raises StateUnknown (a read without a response), it is called again, and must notice if the step was done before. All
    other errors of `attempt` (Fenced, ManualActionRequired, AmbiguousOutcome) pass through.
    """
    waits = ports.retry_policy.waits()
    blocked = 0
    while True:
        try:
            answer = attempt()
        except StateUnknown as error:
            log.warning("%s %s: %s", step, path, error.message)
            answer = Answer.AGAIN
        match answer.kind:
            case AnswerKind.DONE:
                return
            case AnswerKind.AGAIN:
                wait = next(waits, None)
                if wait is None:
                    raise AmbiguousOutcome(
                        "ledger.no_answer",
                        f"{step} {path}: no clear answer after {ports.retry_policy.attempts} tries",
                    )
            case AnswerKind.BLOCKED:
                blocked += 1
                policy = ports.retry_policy
                if blocked >= (policy.denied_attempts if answer.is_denied else policy.blocked_attempts):
                    cause = "no permission" if answer.is_denied else "quota or full disk"
                    raise TableError(
                        "storage.denied" if answer.is_denied else BLOCKED,
                        f"{step} {path}: refused {counted(blocked, 'time')} ({cause}): {answer.reason}",
                        f"{answer.remedy or 'free space or grant the permission'}; then a run continues by itself; if a command"
                        " failed, type the same `kafka2hive` command again",
                    )
                wait = ports.retry_policy.blocked
            case _:
                assert_never(answer.kind)
        log.warning("%s %s: %s; next try in %.1f s", step, path, answer.kind.value, wait)
        ports.clock.sleep(wait)


def begin_again(ports: Ports, what: str, attempt: Callable[[], Result]) -> Result:
    """Return the result of `attempt`, repeating the whole attempt after an ambiguous outcome (R0).

    Raises the last AmbiguousOutcome if the tries are used up.
    """
    waits = ports.retry_policy.waits()
    while True:
        try:
            return attempt()
        except AmbiguousOutcome as ambiguous:
            wait = next(waits, None)
            if wait is None:
                raise
            log.warning("%s again in %.1f s: %s", what, wait, ambiguous.message)
            ports.clock.sleep(wait)
