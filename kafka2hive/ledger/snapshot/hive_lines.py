"""The lines of a snapshot that are about Hive, as JSON objects: partitions, tables compared, registrations given up."""

from typing import Any

from kafka2hive.model.files import HivePartition
from kafka2hive.model.snapshot import ComparedTable, ForgottenRegistration


def partition(p: HivePartition) -> dict[str, Any]:
    return {"table": p.table, "partition": p.path, "location": p.location}


def parse_partition(v: dict[str, Any]) -> HivePartition:
    return HivePartition(v["table"], v["partition"], v["location"])


def compared(c: ComparedTable) -> dict[str, Any]:
    return {
        "table": c.table,
        "location": c.location,
        "format": c.format,
        "columns": c.columns,
        "partition_columns": c.partition_columns,
    }


def parse_compared(v: dict[str, Any]) -> ComparedTable:
    return ComparedTable(
        table=v["table"],
        location=v["location"],
        format=v["format"],
        columns=v["columns"],
        partition_columns=v["partition_columns"],
    )


def forgotten(f: ForgottenRegistration) -> dict[str, Any]:
    return {
        **partition(f.partition),
        "reason": f.reason,
        "by": f.accepted_by,
        "at": f.accepted_at,
        "epoch": f.epoch,
    }


def parse_forgotten(v: dict[str, Any]) -> ForgottenRegistration:
    return ForgottenRegistration(
        partition=parse_partition(v),
        reason=v["reason"],
        accepted_by=v["by"],
        accepted_at=v["at"],
        epoch=v["epoch"],
    )
