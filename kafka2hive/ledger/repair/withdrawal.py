"""The certificates that a repair withdraws, because they count a file that it gives up or fetches again. Pure."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from kafka2hive.model.files import HivePartition
from kafka2hive.model.paths.path import base_name, parent
from kafka2hive.model.paths.table_directory import DataFileName, other_place
from kafka2hive.model.snapshot import AcceptedLoss, Certificate, Snapshot


@dataclass(frozen=True, slots=True)
class _InForce:
    """A certificate of the snapshot of `epoch` that no later snapshot has withdrawn."""

    epoch: int
    certificate: Certificate

    def counts(self, path: str) -> bool:
        """Return whether the certificate counts the data file, as far as name and directory tell."""
        parsed = DataFileName.parse(base_name(path))
        is_here = parent(path) == self.certificate.partition.location
        return is_here and parsed is not None and self.certificate.since <= parsed[0].epoch <= self.epoch

    def without(self, losses: Iterable[AcceptedLoss]) -> Certificate:
        """Return the certificate without the files that were recorded as lost since, while completeness was not tracked."""
        gone = [loss for loss in losses if loss.epoch > self.epoch and self.counts(loss.path)]
        files, rows = self.certificate.files - len(gone), self.certificate.rows - sum(x.rows for x in gone)
        return replace(self.certificate, files=files, rows=rows)


def withdrawn_certificates(
    snapshots: Sequence[Snapshot], certified: frozenset[HivePartition], lost: Collection[str]
) -> tuple[Certificate, ...]:
    """Return the certificates that a repair of the `lost` files withdraws.

    If one certificate of a partition counts such a file, all of its certificates are withdrawn, so that one later certificate
    counts all of the partition's files. `snapshots` are the ledger's, oldest first; `certified` are the partitions whose
    certificates of the newest one are in place. The other certificates of the newest one are withdrawn anyway.
    """
    if not snapshots or snapshots[-1].tracking is None:
        return ()
    newest = snapshots[-1]
    result: list[Certificate] = []
    for partition, entries in _in_force(snapshots).items():
        if any(entry.counts(path) for entry in entries for path in lost):
            is_certified = partition in certified
            kept = [entry for entry in entries if is_certified or entry.epoch < newest.epoch]
            result += [entry.without(newest.losses) for entry in kept]
    return tuple(result)


def _in_force(snapshots: Iterable[Snapshot]) -> dict[HivePartition, list[_InForce]]:
    in_force: dict[HivePartition, list[_InForce]] = {}
    for snapshot in snapshots:
        lost = [loss.path for loss in snapshot.losses if loss.epoch == snapshot.epoch]
        for partition in snapshot.reopened:
            entries = in_force.pop(partition, [])
            if not any(entry.counts(path) for entry in entries for path in lost):
                in_force[partition] = entries[:-1]  # only that of the snapshot before was not written
        for unit in snapshot.units:  # the certificate at the home replaces those at the early place
            home = unit.partition
            in_force.pop(replace(home, location=other_place(home.location, home.path)), None)
        for certificate in snapshot.certificates:
            in_force.setdefault(certificate.partition, []).append(_InForce(snapshot.epoch, certificate))
    return in_force
