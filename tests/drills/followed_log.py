"""A run's log, read on from where one stood: a drill of an hour cannot read it from the beginning ten times a second."""

import datetime
import json
from pathlib import Path
from typing import Any

Record = dict[str, Any]


class FollowedLog:
    """`epoch_times` (Unix seconds) and `unclear` (changes of files with an unknown outcome) grow with each `read_on`."""

    def __init__(self, path: Path) -> None:
        self.epoch_times: list[float] = []
        self.unclear: list[str] = []
        self._path = path
        self._read = 0

    def read_on(self) -> list[Record]:
        """The JSON records that were written since the last call; other lines (the JVM's) are left out."""
        with self._path.open("rb") as log:
            log.seek(self._read)
            whole, _, _ = log.read().rpartition(b"\n")
        if not whole:
            return []
        self._read += len(whole) + 1
        records = [record for line in whole.splitlines() if (record := _record(line)) is not None]
        for record in records:
            if record.get("event") == "epoch":
                self.epoch_times.append(datetime.datetime.fromisoformat(record["time"]).timestamp())
            if str(record.get("outcome", "")).startswith("OutcomeUnknown"):
                self.unclear.append(record["message"])
        return records


def _record(line: bytes) -> Record | None:
    if not line.startswith(b"{"):
        return None
    try:
        record: Record = json.loads(line)
    except ValueError:
        return None
    return record if "message" in record else None
