"""Read a ledger without owning it: for `status`, `recover --plan`, and the checks before a take-over."""

from collections.abc import Callable
from dataclasses import dataclass

from kafka2hive.ledger.take_over import NewestSnapshot, newest_snapshot, read_state, the_generation
from kafka2hive.model.errors import AmbiguousOutcome
from kafka2hive.model.paths.ledger import Generation, LedgerPaths
from kafka2hive.model.paths.path import join
from kafka2hive.model.snapshot import Snapshot
from kafka2hive.storage.port import FileSystem, NotFound, StorageError

_READS = 5


@dataclass(frozen=True, slots=True)
class View:
    """A table's ledger at the time of the look; its owner may have changed it since."""

    paths: LedgerPaths
    generation: Generation
    newest: NewestSnapshot
    state: Snapshot

    @property
    def directory(self) -> str:
        return self.paths.generation(self.generation)


def look(
    files: FileSystem, paths: LedgerPaths, notice: Callable[[Generation], None] = lambda generation: None
) -> View:
    """Read the newest snapshot. Call `notice` with the generation first, so that it is known even if reading fails.

    Raises NoLedger, ManualActionRequired, AmbiguousOutcome (no answer, or the owner changed during each of five reads).
    """
    try:
        for _ in range(_READS):
            generation = the_generation(files, paths)
            notice(generation)
            directory = paths.generation(generation)
            try:
                newest = newest_snapshot(directory, files.list(directory))
                state = read_state(files, paths, join(directory, newest.name))
                return View(paths, generation, newest, state)
            except NotFound:
                continue
    except StorageError as error:
        raise AmbiguousOutcome("ledger.no_answer", f"reading {paths.table_directory}: {error}") from error
    raise AmbiguousOutcome(
        "ledger.moving", f"{paths.table_directory} changed owners {_READS} times while it was read"
    )
