"""The lines of a snapshot's text that tell complete partitions from others; as lines.py."""

from typing import Any

from kafka2hive.ledger.snapshot.lines import parse_partition, partition
from kafka2hive.model.completeness import Certificate, OpenPartition, Tracking


def tracking(t: Tracking) -> dict[str, Any]:
    return {"since": t.since, "through": t.through}


def parse_tracking(v: dict[str, Any] | None) -> Tracking | None:
    return None if v is None else Tracking(v["since"], v["through"])


def open_partition(o: OpenPartition) -> dict[str, Any]:
    counts = {"since": o.since, "opened_at": o.opened_at, "files": o.files, "rows": o.rows}
    return {**partition(o.partition), **counts}


def parse_open_partition(v: dict[str, Any]) -> OpenPartition:
    return OpenPartition(
        partition=parse_partition(v),
        since=v["since"],
        opened_at=v["opened_at"],
        files=v["files"],
        rows=v["rows"],
    )


def certificate(c: Certificate) -> dict[str, Any]:
    return {
        **partition(c.partition),
        "since": c.since,
        "files": c.files,
        "rows": c.rows,
        "through": c.through,
        "policy": c.policy,
        "success_file": c.success_file,
    }


def parse_certificate(v: dict[str, Any]) -> Certificate:
    return Certificate(
        partition=parse_partition(v),
        since=v["since"],
        files=v["files"],
        rows=v["rows"],
        through=v["through"],
        policy=v["policy"],
        success_file=v["success_file"],
    )
