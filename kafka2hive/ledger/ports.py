"""The ledger's ports (file system, concurrency, clock, new uuids), and the retries of its steps and starts (R0)."""

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import ClassVar, TypeVar, assert_never

from kafka2hive.model.errors import AmbiguousOutcome, StateUnknown, TableError
from kafka2hive.storage.port import Clock, Concurrency, Denied, FileSystem, NoRoom, StorageError

log = logging.getLogger("kafka2hive.ledger")


Result = TypeVar("Result")


_LONGEST = 500  # characters of an error in a message


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """The number of tries of a step, and the seconds to wait in between: from `first`, doubled up to `longest`.

    `attempts` bounds transient errors (Unavailable, OutcomeUnknown). After an error that an operator must lift (quota, full
    disk, permission) a step waits `blocked` seconds, and is tried `blocked_attempts` times in all.
    """

    attempts: int = 8
    first: float = 0.2
    longest: float = 5.0
    blocked: float = 10.0
    blocked_attempts: int = 3

    def waits(self) -> Iterator[float]:
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
    """What the loop must do after a try: end, try again soon, or wait for an operator."""

    DONE = "done"
    AGAIN = "again"
    BLOCKED = "blocked"


@dataclass(frozen=True, slots=True)
class Answer:
    """The outcome of one try of a step; if it is blocked, `reason` is the file system's error, and `remedy` its advice."""

    kind: AnswerKind
    reason: str = ""
    remedy: str = ""
    DONE: ClassVar["Answer"]
    AGAIN: ClassVar["Answer"]


Answer.DONE = Answer(AnswerKind.DONE)


Answer.AGAIN = Answer(AnswerKind.AGAIN)


def answer_to(error: StorageError) -> Answer:
    """Return BLOCKED for an error that an operator must lift (permission, quota, disk), AGAIN for any other."""
    if isinstance(error, Denied | NoRoom):
        return Answer(AnswerKind.BLOCKED, first_line(error), error.remedy)
    return Answer.AGAIN


def first_line(error: StorageError) -> str:
    """Return the error as a text without the Java stack trace that follows a NameNode's message."""
    return f"{type(error).__name__}: {error}".splitlines()[0][:_LONGEST]


def retry(ports: Ports, step: str, path: str, attempt: Callable[[], Answer]) -> None:
    """Call `attempt` until it is DONE. Raises AmbiguousOutcome (R0) after the budget, TableError if blocked too often.

    StateUnknown (a read without a response) counts as AGAIN: the whole attempt is repeated, and finds a step done that was
    done meanwhile. All other errors of `attempt` (Fenced, ManualActionRequired, AmbiguousOutcome) pass through.
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
                if blocked >= ports.retry_policy.blocked_attempts:
                    raise TableError(
                        "storage.blocked",
                        f"{step} {path}: refused {blocked} times (permission, quota or full disk): {answer.reason}",
                        f"{answer.remedy or 'free room or grant the permission'}; a run then continues by itself,"
                        " a command must be typed again",
                    )
                wait = ports.retry_policy.blocked
            case _:
                assert_never(answer.kind)
        log.warning("%s %s: %s, trying again in %.1f s", step, path, answer.kind.value, wait)
        ports.clock.sleep(wait)


def begin_again(ports: Ports, what: str, attempt: Callable[[], Result]) -> Result:
    """Repeat the whole attempt after an ambiguous outcome (R0). Raises AmbiguousOutcome after the budget."""
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
