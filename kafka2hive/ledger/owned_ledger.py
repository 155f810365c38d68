"""The state of a ledger that this process has taken over. It is valid until another start renames the directory."""

from dataclasses import dataclass, field

from kafka2hive.model.errors import Fenced, Kafka2HiveError, StateUnknown
from kafka2hive.model.files import HivePartition
from kafka2hive.model.paths.ledger import Generation, LedgerPaths, SnapshotState, snapshot_name
from kafka2hive.model.paths.path import join
from kafka2hive.model.snapshot import Snapshot
from kafka2hive.storage.port import FileStatus, FileSystem, NotFound, StorageError


class Ticket:
    """The right to one commit. `pop` of a list is atomic, so two threads cannot both use it."""

    __slots__ = ("_uses",)

    def __init__(self) -> None:
        self._uses = [True]

    def use(self) -> bool:
        try:
            return self._uses.pop()
        except IndexError:
            return False


@dataclass(frozen=True, slots=True)
class OwnedLedger:
    """A ledger that this process owns. `state` is the newest snapshot; `pending` says whether it must still be finalised.

    `certified` are the Hive partitions whose certificates of this snapshot are in place.

    An owned ledger allows one commit, whether it succeeds or not. After a lost response a draft of this process may still
    become `e<N>.pending` at any moment, so only a new take-over, which has new paths, may try epoch N again.
    """

    paths: LedgerPaths
    generation: Generation
    state: Snapshot
    pending: bool = False
    certified: frozenset[HivePartition] = frozenset()
    ticket: Ticket = field(default_factory=Ticket, init=False, repr=False, compare=False)

    def spend(self) -> None:
        """Use the right to commit, before the first effect of a commit. Raises Kafka2HiveError if it was used before (a bug)."""
        if not self.ticket.use():
            raise Kafka2HiveError(
                "ledger.spent",
                f"{self.paths.table}: epoch {self.next_epoch} of generation {self.generation.number} was tried before;"
                " what became of it is known only after another take-over",
                "report it: a bug; nothing was changed, the next start re-acquires ownership",
            )

    @property
    def directory(self) -> str:
        """Return the generation directory, in which only this process writes (rule W1)."""
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

    def committed(self, snapshot: Snapshot) -> "OwnedLedger":
        """Return this owned ledger after C2."""
        return OwnedLedger(self.paths, self.generation, snapshot, pending=True)

    def finalised(self) -> "OwnedLedger":
        """Return this owned ledger after R7."""
        return OwnedLedger(self.paths, self.generation, self.state)


def list_own_directory(files: FileSystem, owned: OwnedLedger) -> tuple[FileStatus, ...]:
    """List the generation directory, to find out what an operation without a clear answer did.

    Raises Fenced if it is gone (another start took the table over, I2), StateUnknown if the NameNode does not answer.
    """
    try:
        return files.list(owned.directory)
    except NotFound as error:
        raise fenced(owned.paths, owned.generation) from error
    except StorageError as error:
        raise StateUnknown("ledger.no_answer", f"listing {owned.directory}: {error}") from error


def fenced(paths: LedgerPaths, generation: Generation) -> Fenced:
    """Return the error for a generation directory that is gone."""
    return Fenced(
        "ledger.fenced",
        f"{paths.generation(generation)} is gone: another run took {paths.table} over",
        "nothing: the run that took it over goes on; start this one again only if that one was a mistake",
    )
