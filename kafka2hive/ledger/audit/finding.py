"""What an audit finds."""

from dataclasses import dataclass

from kafka2hive.model.snapshot import Snapshot


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """Something that is not as promised. `code` is stable, `where` a path or a topic partition with its offsets."""

    code: str
    where: str
    message: str


def of_epoch(snapshot: Snapshot, code: str, message: str) -> Finding:
    return Finding(code, f"{snapshot.table} epoch {snapshot.epoch}", message)
