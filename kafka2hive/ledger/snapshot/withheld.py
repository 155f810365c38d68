"""Record in the next snapshot which Hive partitions wait for their certificates before Hive gets them: rules G1 to G5. Pure."""

from collections.abc import Iterable
from dataclasses import replace

from kafka2hive.ledger.snapshot.change import Change, Completeness, DataEpoch, NoTracking, Replay
from kafka2hive.model.files import DataFile, FileKind, HivePartition
from kafka2hive.model.snapshot import Snapshot


def without_released(state: Snapshot, released: frozenset[HivePartition]) -> Snapshot:
    """Return the state with pending registrations for the partitions that Hive may have from now on (G2)."""
    if not released:
        return state
    return replace(
        state,
        withheld=tuple(each for each in state.withheld if each not in released),
        unregistered=tuple(sorted({*state.unregistered, *released})),
    )


def with_withheld(after: Snapshot, change: Change) -> Snapshot:
    """Return `after` with its withheld partitions. Its files, certificates and dropped partitions must be set already.

    What is withheld no more becomes a pending registration: if the map registers partitions with their first files (again), or
    if completeness is not tracked, because no partition would ever get a certificate then.
    """
    if after.tracking is None or _ends(change):
        return without_released(after, frozenset(after.withheld))
    withheld = {each.name: each for each in after.withheld}
    if isinstance(change, DataEpoch | Replay):
        withheld |= {each.name: each for each in change.withheld}
    withheld |= {each.name: each for each in _of_data(after.files) if each.name in withheld}
    over = {each.partition.name for each in after.dropped} | {each.partition.name for each in after.forgotten}
    return replace(after, withheld=tuple(withheld[name] for name in sorted(withheld.keys() - over)))


def _ends(change: Change) -> bool:
    match change.completeness:
        case NoTracking():
            return True
        case Completeness(withholds=withholds):
            return not withholds
        case None:
            return False


def _of_data(files: Iterable[DataFile]) -> Iterable[HivePartition]:
    """Return the partitions of the data files. Their newest location counts (`recover --accept-location`)."""
    return (file.hive_partition for file in files if file.kind is not FileKind.DEAD_LETTER)
