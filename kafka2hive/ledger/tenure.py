"""A tenure: what this process knows of a table it took over. Valid until another start renames the directory."""

from dataclasses import dataclass, replace

from kafka2hive.model.errors import Fenced, Surprise
from kafka2hive.model.layout import Generation, LedgerPaths, SnapshotState, join, snapshot_name
from kafka2hive.model.snapshot import Snapshot
from kafka2hive.storage.port import FileStatus, FileSystem, NotFound, StorageError


@dataclass(frozen=True, slots=True)
class Tenure:
    """`state` is the newest snapshot: the table's whole state, pending or final as `pending` says."""

    paths: LedgerPaths
    generation: Generation
    state: Snapshot
    pending: bool = False

    @property
    def directory(self) -> str:
        """The generation directory: only this process writes in it (rule W1)."""
        return self.paths.generation(self.generation)

    @property
    def next_epoch(self) -> int:
        return self.state.epoch + 1

    def snapshot_path(self, epoch: int, state: str) -> str:
        return join(self.directory, snapshot_name(epoch, state))

    @property
    def state_path(self) -> str:
        state = SnapshotState.PENDING if self.pending else SnapshotState.FINAL
        return self.snapshot_path(self.state.epoch, state)

    def committed(self, snapshot: Snapshot) -> "Tenure":
        """This tenure after C2."""
        return replace(self, state=snapshot, pending=True)

    def finalised(self) -> "Tenure":
        """This tenure after R7."""
        return replace(self, pending=False)


def list_own_directory(files: FileSystem, tenure: Tenure) -> tuple[FileStatus, ...]:
    """The question every unclear answer ends in: is the directory still mine, and what is in it?

    Raises Fenced when it is gone (another start took the table over, I2), Surprise (R0) when the NameNode gives no
    answer to this either.
    """
    try:
        return files.list(tenure.directory)
    except NotFound as error:
        raise fenced(tenure.paths, tenure.generation) from error
    except StorageError as error:
        raise Surprise("ledger.no_answer", f"listing {tenure.directory}: {error}") from error


def fenced(paths: LedgerPaths, mine: Generation) -> Fenced:
    return Fenced(
        "ledger.fenced",
        f"{paths.generation(mine)} is gone: another run took {paths.table} over",
        "nothing: the run that took it over goes on; start this one again only if that one was a mistake",
    )
