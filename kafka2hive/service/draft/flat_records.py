"""Debezium's rows after the transformation ExtractNewRecordState, among sampled records. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kafka2hive.config.keys.source import OPERATION, TIME
from kafka2hive.decode.change_logs.flat import DELETED, FIELDS
from kafka2hive.decode.change_logs.positions import POSITION_FIELDS
from kafka2hive.service.draft.change_log_columns import PAYLOAD, Fields, payload_fields

OF_CHANGE = frozenset(
    (OPERATION, DELETED, TIME, *(before + name for before in FIELDS for name in POSITION_FIELDS))
)
"""The keys of a record that are not of the row."""
_POSITIONS = ("lsn", "file", "commit_lsn", "scn")


@dataclass(frozen=True, slots=True)
class FlatRecords:
    """The rows, and the schemas that records have beside them."""

    rows: Sequence[dict[str, Any]]
    schemas: Sequence[Fields]

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def have_positions(self) -> bool:
        """Whether every row has its position in the database's log."""
        names = [before + name for before in FIELDS for name in _POSITIONS]
        return all(any(row.get(name) is not None for name in names) for row in self.rows)


def flat_records(objects: Sequence[dict[str, Any]]) -> FlatRecords:
    """Return the flat rows among the objects."""
    rows: list[dict[str, Any]] = []
    schemas: list[Fields] = []
    for one in objects:
        payload = one.get(PAYLOAD)
        row = payload if isinstance(payload, dict) else one
        if isinstance(row.get(OPERATION), str) or row.get(DELETED) in ("true", "false"):
            rows.append(row)
            if fields := payload_fields(one):
                schemas.append(fields)
    return FlatRecords(rows, schemas)
