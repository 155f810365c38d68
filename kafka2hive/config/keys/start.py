"""The start policy: where a table begins in a topic that it never read."""

from dataclasses import dataclass
from enum import Enum
from typing import Annotated

from kafka2hive.config.keys.declaration import Bounds, Key


class StartKind(Enum):
    """Where a table begins in a topic that it never read."""

    EARLIEST = "earliest"
    LATEST = "latest"
    TIMESTAMP = "timestamp"
    OFFSETS = "offsets"


@dataclass(frozen=True, slots=True)
class StartPolicy:
    """A start policy: TIMESTAMP has `timestamp_ms` (since 1970), OFFSETS has `offsets` (topic, number, offset)."""

    kind: StartKind
    timestamp_ms: int | None = None
    offsets: tuple[tuple[str, int, int], ...] = ()

    @property
    def text(self) -> str:
        """The ledger's text: `latest`, `timestamp 1358380800000`, `offsets flights:0=12 flights:1=9`."""
        offsets = [f"{topic}:{number}={offset}" for topic, number, offset in self.offsets]
        timestamp = [] if self.timestamp_ms is None else [str(self.timestamp_ms)]
        return " ".join([self.kind.value, *timestamp, *sorted(offsets)])


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
