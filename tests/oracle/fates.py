"""What must have become of a record by its bytes, its Kafka timestamp and the bounds in the ledger: a row, or which letter."""

import bisect
import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from tests.oracle.ledger_text import Snapshot

ROW = "row"
OUT_OF_RANGE, LATE = "bucket.out_of_range", "bucket.late"
HOUR_MS = 3_600_000
HOURS = "dt=%Y-%m-%d/hr=%H"


@dataclass(frozen=True, slots=True)
class TimedRecord:
    """A record as its producer knows it; `timestamp_ms` is Kafka's."""

    payload: bytes
    timestamp_ms: int


@dataclass(frozen=True, slots=True)
class _Read:
    """Offsets up to `end` were read with these bounds."""

    end: int
    bounds: Mapping[str, int | None]


class EpochBounds:
    """The bounds of event time with which each offset was read, from the texts of all snapshots."""

    def __init__(self, history: Sequence[Snapshot]) -> None:
        self._reads: dict[tuple[str, int], list[_Read]] = {}
        ends: dict[tuple[str, int], int] = {}
        for snapshot in history:
            for account in sorted(snapshot["account"], key=lambda a: (a["topic"], a["number"], a["start"])):
                place = account["topic"], account["number"]
                assert account["start"] == ends.get(place, 0), f"offsets of {place} do not join: {account}"
                ends[place] = account["end"]
                (bounds,) = snapshot["bounds"]
                self._reads.setdefault(place, []).append(_Read(account["end"], bounds))

    def of(self, topic: str, number: int, offset: int) -> Mapping[str, int | None]:
        """Those of the epoch that read this offset. Raises IndexError or KeyError: no epoch has."""
        reads = self._reads[topic, number]
        return reads[bisect.bisect_right(reads, offset, key=lambda read: read.end)].bounds


def timed_flight(payload: bytes) -> tuple[str, dict[str, Any]]:
    """A flight's row, and its bucket by the hour of `time_hour`."""
    values = orjson.loads(payload)
    values["time_hour"] = moment = _moment(values)
    return f"{moment:{HOURS}}", values


def fate(record: TimedRecord, bounds: Mapping[str, int | None]) -> str:
    """ROW, or the reason of the dead letter."""
    try:
        values = orjson.loads(record.payload)
    except orjson.JSONDecodeError:
        return "json.syntax"
    if not isinstance(values["id"], int):
        return "json.type"
    if values.get("time_hour") is None:
        return "bucket.no_time"
    time_ms = int(_moment(values).replace(tzinfo=datetime.UTC).timestamp() * 1000)
    planned = bounds["planned_ms"]
    assert planned is not None
    ahead = time_ms - min(record.timestamp_ms, planned)
    if ahead > (bounds["max_future_ms"] or ahead) or -ahead > (bounds["max_past_ms"] or -ahead):
        return OUT_OF_RANGE
    late_before = bounds["late_before_ms"]
    is_late = late_before is not None and time_ms // HOUR_MS * HOUR_MS + HOUR_MS <= late_before
    return LATE if is_late else ROW


def _moment(values: Mapping[str, Any]) -> datetime.datetime:
    return datetime.datetime.fromisoformat(values["time_hour"]).astimezone(datetime.UTC).replace(tzinfo=None)
