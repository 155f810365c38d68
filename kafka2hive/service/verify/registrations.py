"""Audit that every Hive partition with data is registered at its location. Only reads."""

from collections.abc import Sequence
from dataclasses import replace

from kafka2hive.model.files import HivePartition
from kafka2hive.model.metastore import Metastore, MetastoreRefused
from kafka2hive.model.paths.path import same_location
from kafka2hive.model.paths.table_directory import other_place
from kafka2hive.model.snapshot import Snapshot
from kafka2hive.service.verify.result import Finding
from kafka2hive.storage.port import Clock

PENDING_SECONDS = 15.0
"""Longer than the 10 s after which a live run retries a registration."""


def accepted_registrations(newest: Snapshot) -> tuple[str, ...]:
    """Return a line for each registration that an operator gave up."""
    return tuple(
        f"{f.partition.table} {f.partition.path} is not registered in Hive, given up {f.accepted_at}: {f.reason}"
        for f in newest.forgotten
    )


def audit_registrations(
    finals: Sequence[Snapshot], newest: Snapshot, metastore: Metastore, clock: Clock
) -> list[Finding]:
    """Return partitions with data that Hive does not have, or has elsewhere. Raises MetastoreUnavailable.

    A live run may be registering a partition that is pending in the ledger, so it is looked up again after a while.
    If it is still missing, it is a finding as well: nobody registers it, or Hive refuses it.
    """
    given_up = {f.partition for f in newest.forgotten}
    units = {unit.partition for snapshot in finals for unit in snapshot.units}
    left = {replace(home, location=other_place(home.location, home.path)) for home in units}
    filled = {f.hive_partition for s in finals for f in s.files if f.hive_partition.path} - given_up - left
    pending = {p for p in newest.unregistered if p.path}
    findings = [
        Finding("verify.hive", _name(p), problem)
        for p in sorted(filled - pending)
        if (problem := wrong_registration(p, metastore))
    ]
    missing = [p for p in sorted(pending) if wrong_registration(p, metastore)]
    if missing:
        clock.sleep(PENDING_SECONDS)
    findings += [
        Finding("verify.unregistered", _name(p), f"{problem}; its registration is pending in the ledger")
        for p in missing
        if (problem := wrong_registration(p, metastore))
    ]
    return findings


def wrong_registration(partition: HivePartition, metastore: Metastore) -> str | None:
    """Return how Hive's location of the partition differs from the ledger's; None if it does not. Raises MetastoreUnavailable."""
    try:
        location = metastore.location(partition)
    except MetastoreRefused as error:
        return str(error)
    if location is None:
        return f"is not registered; its rows are at {partition.location}"
    if not same_location(location, partition.location):
        return f"is registered at {location}, its rows are at {partition.location}"
    return None


def _name(partition: HivePartition) -> str:
    return f"{partition.table} {partition.path}"
