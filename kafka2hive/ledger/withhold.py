"""Which Hive partitions an epoch must withhold from Hive until they have a certificate: rule G1 of docs/protocol.md."""

from collections.abc import Callable, Sequence
from functools import partial

from kafka2hive.ledger.snapshot.change import DataEpoch, Replay
from kafka2hive.model.errors import AmbiguousOutcome
from kafka2hive.model.files import FileKind, HivePartition
from kafka2hive.model.paths.table_directory import CertificateName, other_place
from kafka2hive.model.snapshot import (
    DroppedPartition,
    EarlyPartition,
    ForgottenRegistration,
    MovedPartition,
    OpenPartition,
    RetiredPartition,
    Snapshot,
)
from kafka2hive.storage.port import FileSystem, StorageError, children

_LineOfPartition = (
    OpenPartition
    | EarlyPartition
    | MovedPartition
    | RetiredPartition
    | DroppedPartition
    | ForgottenRegistration
)


def new_partitions(
    files: FileSystem,
    state: Snapshot,
    change: DataEpoch | Replay,
    has_certificates: Callable[[HivePartition], bool],
) -> frozenset[HivePartition]:
    """Return the partitions whose first data files this change has, as far as they can ever get a certificate.

    Only committed files get to the two places of a partition (I4), so a partition without files there is one that Hive has
    never been told of; the snapshot names the others whose files may all be gone. The files must have their places already.
    Raises AmbiguousOutcome.
    """
    known = {each.name for each in (*state.unregistered, *state.withheld)}
    lines: Sequence[_LineOfPartition] = (
        *state.open,
        *state.early,
        *state.moved,
        *state.retired,
        *state.dropped,
        *state.forgotten,
    )
    known.update(line.partition.name for line in lines)
    partitions = {file.hive_partition for file in change.files if file.kind is FileKind.DATA}
    new = (each for each in partitions if each.path and each.name not in known and has_certificates(each))
    return frozenset(each for each in new if not any(map(partial(_has_traces, files), _places(each))))


def _places(partition: HivePartition) -> tuple[str, str]:
    return partition.location, other_place(partition.location, partition.path)


def _has_traces(files: FileSystem, directory: str) -> bool:
    """Return whether readers would see a file in the directory, or whether a certificate is there."""
    try:
        listed = children(files, directory)
    except StorageError as error:
        raise AmbiguousOutcome("ledger.no_answer", f"listing {directory}: {error}") from error
    return any(child.is_visible or CertificateName.parse(child.name) for child in listed)
