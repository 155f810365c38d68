"""Trying a step again: the one loop behind C1, C2, R6 and R7, with a class of error for each answer."""

from collections.abc import Callable
from enum import Enum
from typing import assert_never

from kafka2hive.ledger.ports import Ports, log
from kafka2hive.model.errors import Surprise, TableError, Unanswered
from kafka2hive.storage.port import Denied, NoRoom, StorageError


class Answer(Enum):
    """What one try of a step came to."""

    DONE = "done"
    AGAIN = "again"
    BLOCKED = "blocked"


def answer_to(error: StorageError) -> Answer:
    """BLOCKED for what a person must lift (permission, quota, disk), AGAIN for the rest."""
    return Answer.BLOCKED if isinstance(error, Denied | NoRoom) else Answer.AGAIN


def persist(ports: Ports, step: str, path: str, attempt: Callable[[], Answer]) -> None:
    """Call `attempt` until DONE. Raises Surprise (R0) after the budget, TableError when blocked too often.

    Unanswered (a look without an answer) counts as AGAIN: what is tried again is the whole attempt, and a step that was
    done meanwhile is found done by the next look. What else `attempt` raises (Fenced, Stop, Surprise) passes through.
    """
    waits = ports.patience.waits()
    blocked = 0
    while True:
        try:
            answer = attempt()
        except Unanswered as look:
            log.warning("%s %s: %s", step, path, look.message)
            answer = Answer.AGAIN
        match answer:
            case Answer.DONE:
                return
            case Answer.AGAIN:
                wait = next(waits, None)
                if wait is None:
                    raise Surprise(
                        "ledger.no_answer",
                        f"{step} {path}: no clear answer after {ports.patience.attempts} tries",
                    )
            case Answer.BLOCKED:
                blocked += 1
                if blocked >= ports.patience.blocked_attempts:
                    raise TableError(
                        "storage.blocked",
                        f"{step} {path}: refused {blocked} times (permission, quota or full disk)",
                        "free room or grant the permission; the table goes on by itself",
                    )
                wait = ports.patience.blocked
            case _:
                assert_never(answer)
        log.warning("%s %s: %s, trying again in %.1f s", step, path, answer.value, wait)
        ports.clock.sleep(wait)
