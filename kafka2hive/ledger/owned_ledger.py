"""A ledger that this process has taken over, until another start renames its generation directory."""

from dataclasses import dataclass, field

from kafka2hive.model.errors import Fenced, Kafka2HiveError, StateUnknown
from kafka2hive.model.files import HivePartition
from kafka2hive.model.paths.ledger import Generation, LedgerPaths, SnapshotState, snapshot_name
from kafka2hive.model.paths.path import join
from kafka2hive.model.snapshot import Snapshot
from kafka2hive.storage.port import FileStatus, FileSystem, NotFound, StorageError


class Ticket:
    """The right to one commit. Two threads cannot both use it, because `pop` of a list is atomic."""

    __slots__ = ("_uses",)

    def __init__(self) -> None:
        self._uses = [True]

    def use(self) -> bool:
        """Use the right. Return False if it was used before."""
        try:
            return self._uses.pop()
        except IndexError:
            return False

    @property
    def is_used(self) -> bool:
        return not self._uses


@dataclass(frozen=True, slots=True)
class OwnedLedger:
    """A ledger that this process owns. `state` is the newest snapshot; `pending` says whether it must still be finalised.

    `certified` has the Hive partitions for which a certificate of this snapshot is in place.

    An owned ledger allows one commit, whether it succeeds or not. After a lost response, a delayed rename may still make a
    draft of this process `e<N>.pending`. So only a new take-over, whose directory has a new name, may try epoch N again.
    """

    paths: LedgerPaths
    generation: Generation
    state: Snapshot
    pending: bool = False
    certified: frozenset[HivePartition] = frozenset()
    ticket: Ticket = field(default_factory=Ticket, init=False, repr=False, compare=False)

    def spend(self) -> None:
        """Use the right to commit. A commit calls it before its first effect. Raises Kafka2HiveError on a second call (a bug)."""
        if not self.ticket.use():
            raise Kafka2HiveError(
                "ledger.spent",
                f"{self.paths.table}: a commit of epoch {self.next_epoch} of generation {self.generation.number} was tried"
                " before; only another take-over can find out whether it succeeded",
                "please report this bug; nothing was changed, and the next start takes the table over again",
            )

    @property
    def released(self) -> frozenset[HivePartition]:
        """The withheld partitions whose certificates of this snapshot are in place: Hive may have them from now on (G2)."""
        names = {partition.name for partition in self.certified}
        return frozenset(each for each in self.state.withheld if each.name in names)

    @property
    def pending_registrations(self) -> frozenset[HivePartition]:
        """The partitions that Hive must be told of, as far as the ledger knows."""
        return frozenset(self.state.unregistered) | self.released

    @property
    def is_spent(self) -> bool:
        """Whether a commit was tried, so that the files of `next_epoch` may be committed."""
        return self.ticket.is_used

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
        """Return the owned ledger after C2, the commit of `snapshot`."""
        return OwnedLedger(self.paths, self.generation, snapshot, pending=True)

    def finalised(self) -> "OwnedLedger":
        """Return the owned ledger after R7, the rename of its state to `.final`."""
        return OwnedLedger(self.paths, self.generation, self.state)


def list_own_directory(files: FileSystem, owned: OwnedLedger) -> tuple[FileStatus, ...]:
    """List the generation directory, to find out whether an operation was done although its answer was unclear.

    Raises Fenced if the directory is gone (another start took the table over, I2), StateUnknown if the NameNode does not
    answer.
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
        "nothing: the other run goes on with the table; start this run again only if the other was started by mistake",
    )
