"""Looking at a ledger without touching it: what `status` and `recover --plan` show, and what a start checks."""

from collections.abc import Callable
from dataclasses import dataclass

from kafka2hive.ledger.take_over import Newest, newest_snapshot, read_state, the_generation
from kafka2hive.model.errors import AmbiguousOutcome
from kafka2hive.model.paths.ledger import Generation, LedgerPaths
from kafka2hive.model.paths.path import join
from kafka2hive.model.snapshot import Snapshot
from kafka2hive.storage.port import FileSystem, NotFound, StorageError

_MOVED_UNDER_US = 5


@dataclass(frozen=True, slots=True)
class View:
    """A table's ledger as it stood a moment ago; advice, not ownership."""

    paths: LedgerPaths
    generation: Generation
    newest: Newest
    state: Snapshot

    @property
    def directory(self) -> str:
        return self.paths.generation(self.generation)


def look(
    files: FileSystem, paths: LedgerPaths, notice: Callable[[Generation], None] = lambda generation: None
) -> View:
    """Read the state under its present name, which `notice` hears also if the state cannot be read.

    Raises NoLedger, ManualActionRequired, AmbiguousOutcome (no answer, or it keeps moving).
    """
    try:
        for _ in range(_MOVED_UNDER_US):
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
        "ledger.moving", f"{paths.table_directory} changed owners {_MOVED_UNDER_US} times while it was read"
    )
