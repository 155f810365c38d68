"""A table's whole history: every snapshot from the first to the newest."""

from dataclasses import dataclass

from kafka2hive.ledger.reading.history import final_snapshots
from kafka2hive.ledger.reading.look import View, look
from kafka2hive.model.errors import ServiceUnavailable
from kafka2hive.model.snapshot import Snapshot
from kafka2hive.storage.port import FileSystem, NotFound

_MOST_READS = 5


@dataclass(frozen=True, slots=True)
class History:
    """All final snapshots from the first to the newest, and the pending one above them, as `view` showed them."""

    view: View
    finals: tuple[Snapshot, ...]
    pending: Snapshot | None

    @property
    def newest(self) -> Snapshot:
        return self.pending or self.finals[-1]

    @property
    def all(self) -> tuple[Snapshot, ...]:
        return self.finals + ((self.pending,) if self.pending else ())


def read_history(files: FileSystem, view: View) -> History:
    """A take-over or the archiving of snapshots in between makes us read again.

    Raises ServiceUnavailable (it keeps moving), StorageError, and what `look` raises.
    """
    for _ in range(_MOST_READS):
        try:
            finals = tuple(final_snapshots(files, view.paths, view.directory))[::-1]
        except NotFound:
            view = look(files, view.paths)
            continue
        pending = view.newest.pending and view.state.epoch > finals[-1].epoch
        return History(view, finals, view.state if pending else None)
    raise ServiceUnavailable("ledger.moving", f"{view.directory} moves while it is read", "ask again")
