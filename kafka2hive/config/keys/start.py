"""Where a table begins in a topic it never read: as the map has it, and what it comes to."""

from dataclasses import dataclass
from enum import Enum
from typing import Annotated

from kafka2hive.config.keys.declaration import Bounds, Key


class StartKind(Enum):
    """Where a table's first epoch begins in a topic it never read."""

    EARLIEST = "earliest"
    LATEST = "latest"
    TIMESTAMP = "timestamp"
    OFFSETS = "offsets"


@dataclass(frozen=True, slots=True)
class StartPolicy:
    """`timestamp_ms` with TIMESTAMP (epoch milliseconds); `offsets` with OFFSETS: (topic, number, offset)."""

    kind: StartKind
    timestamp_ms: int | None = None
    offsets: tuple[tuple[str, int, int], ...] = ()

    @property
    def text(self) -> str:
        """As the ledger records it: `latest`, `timestamp 1358380800000`, `offsets flights:0=12 flights:1=9`."""
        given = [f"{topic}:{number}={offset}" for topic, number, offset in self.offsets]
        at = [] if self.timestamp_ms is None else [str(self.timestamp_ms)]
        return " ".join([self.kind.value, *at, *sorted(given)])


@dataclass(frozen=True, slots=True)
class Start:
    """A first position other than earliest or latest: exactly one of the keys."""

    timestamp: Annotated[
        str | None,
        Key("Begin at the first record at or after this ISO 8601 time with a zone, `2013-01-01T00:00:00Z`."),
    ] = None
    offsets: Annotated[
        dict[str, dict[int, Annotated[int, Bounds(at_least=0)]]] | None,
        Key(
            "These offsets, one for every partition of every topic of the table; a missing one or one "
            "outside the log is a STOP.",
            written="topic: {number: offset}",
        ),
    ] = None
