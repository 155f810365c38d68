"""Audit that every Hive partition with data is registered at its location. Only reads."""

from collections.abc import Iterable

from kafka2hive.model.files import HivePartition
from kafka2hive.model.metastore import Metastore, MetastoreRefused
from kafka2hive.model.paths.path import same_location
from kafka2hive.model.snapshot import Snapshot
from kafka2hive.service.verify.result import Finding
from kafka2hive.storage.port import Clock

PENDING_SECONDS = 15.0
"""A live run registers at once, and tries again every 10 s."""


def accepted(newest: Snapshot) -> tuple[str, ...]:
    return tuple(
        f"{f.partition.table} {f.partition.path} is not registered in Hive, given up {f.accepted_at}: {f.reason}"
        for f in newest.forgotten
    )


def unregistered(
    finals: Iterable[Snapshot], newest: Snapshot, metastore: Metastore, clock: Clock
) -> list[Finding]:
    """Return partitions with data that Hive does not have, or has elsewhere. Raises MetastoreUnavailable.

    A live run may be registering a partition that is pending in the ledger, so it is looked up again after a while.
    If it is still missing, it is a finding as well: nobody registers it, or Hive refuses it.
    """
    given_up = {f.partition for f in newest.forgotten}
    touched = {f.hive_partition for s in finals for f in s.files if f.hive_partition.path} - given_up
    pending = {p for p in newest.unregistered if p.path}
    found = [
        Finding("verify.hive", _name(p), wrong)
        for p in sorted(touched - pending)
        if (wrong := wrong_registration(p, metastore))
    ]
    asked_again = [p for p in sorted(pending) if wrong_registration(p, metastore)]
    if asked_again:
        clock.sleep(PENDING_SECONDS)
    found += [
        Finding("verify.unregistered", _name(p), f"{wrong}; its registration is pending in the ledger")
        for p in asked_again
        if (wrong := wrong_registration(p, metastore))
    ]
    return found


def wrong_registration(partition: HivePartition, metastore: Metastore) -> str | None:
    """Return how Hive's location of the partition differs from the ledger's; None if it does not. Raises MetastoreUnavailable."""
    try:
        where = metastore.location(partition)
    except MetastoreRefused as error:
        return str(error)
    if where is None:
        return f"is not registered; its rows are at {partition.location}"
    if not same_location(where, partition.location):
        return f"is registered at {where}, its rows are at {partition.location}"
    return None


def _name(partition: HivePartition) -> str:
    return f"{partition.table} {partition.path}"
