"""How a query ended."""

from dataclasses import dataclass
from enum import Enum


class EndReason(Enum):
    """Why a query ended."""

    DRAINED = "drained"  # `--once`: nothing more was due
    STOPPED = "stopped"  # asked to
    FAILED = "failed"  # see the error


@dataclass(frozen=True, slots=True)
class Ended:
    """`error` with FAILED: the very object that the planner or the listener raised, or ServiceUnavailable for Spark's
    own trouble. `abandoned`: the epoch that a stop interrupted; nothing of it was told to the listener.
    """

    reason: EndReason
    error: Exception | None = None
    abandoned: int | None = None
