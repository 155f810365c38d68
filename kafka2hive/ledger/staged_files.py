"""What is in a table's staging directory, for commands that only read."""

from dataclasses import dataclass

from kafka2hive.model.paths.path import base_name
from kafka2hive.model.paths.table_directory import DataFileName, ledger_tag, staging_directory
from kafka2hive.model.snapshot import Snapshot
from kafka2hive.storage.port import FileStatus, FileSystem, children


@dataclass(frozen=True, slots=True)
class StagedFiles:
    """A ledger's staged files in `directory`.

    `committed` are files of the pending snapshot, which become visible. All `others` belong to an epoch or a unit that is being
    written, or are orphans, which a run deletes.
    """

    directory: str
    committed: tuple[FileStatus, ...]
    others: tuple[FileStatus, ...]


def staged_files(files: FileSystem, state: Snapshot, *, pending: bool) -> StagedFiles:
    """List the staged files of the ledger whose newest snapshot is `state`. Raises StorageError."""
    directory, tag = staging_directory(state.location), ledger_tag(state.ledger_id)
    own = [
        child
        for child in children(files, directory)
        if (parsed := DataFileName.parse(child.name)) and parsed[0].ledger == tag
    ]
    named = {base_name(file.staged) for file in state.files} if pending else set[str]()
    return StagedFiles(
        directory=directory,
        committed=tuple(child for child in own if child.name in named),
        others=tuple(child for child in own if child.name not in named),
    )
