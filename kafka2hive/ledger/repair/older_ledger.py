"""A ledger that is older than its table's files: somebody restored a backup. To go on would read what is there again.

Names tell: data files and certificates carry the generation and the epoch of their ledger, and neither ever goes back.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from kafka2hive.ledger.look import View, look
from kafka2hive.ledger.ports import Ports, log
from kafka2hive.model.errors import AmbiguousOutcome, ManualActionRequired
from kafka2hive.model.paths.data_file import DataFileName, ledger_tag
from kafka2hive.model.paths.partition_path import HIVE_DEFAULT_PARTITION
from kafka2hive.model.paths.table_directory import CertificateName, staging_directory
from kafka2hive.storage.port import Denied, FileStatus, StorageError, children

TOUCHED = 32
"""At most so many of the Hive partitions that the newest snapshot names are looked at: the newest by name."""


@dataclass(frozen=True, slots=True)
class _Seen:
    """A file of this ledger, or a certificate. A staged one may be of the epoch after the newest snapshot, others may not."""

    path: str
    generation: int
    epoch: int
    staged: bool

    def is_newer(self, view: View) -> bool:
        committed = view.state.epoch + (1 if self.staged else 0)
        return self.epoch > committed or self.generation > view.generation.number


def refuse_older_ledger(ports: Ports, view: View, location: str) -> None:
    """Raises ManualActionRequired when the table has files that the ledger of `view` cannot have made yet, AmbiguousOutcome when
    nobody answers.

    Only reads: the staging directory, the newest Hive partition by name, and those that the newest snapshot names. A
    name that seems too new is compared with a second look, taken after it was seen: an owner at work makes new names
    only after the ledger says so, and a file of a fenced owner has an older name.
    """
    try:
        newer = [file for file in _files(ports, view, location) if file.is_newer(view)]
    except StorageError as error:
        raise AmbiguousOutcome(
            "ledger.no_answer", f"looking for newer files of {view.paths.table}: {error}"
        ) from error
    if not newer:
        return
    now = look(ports.files, view.paths)
    newer = [file for file in newer if file.is_newer(now)]
    if not newer:
        return
    newest = max(newer, key=lambda file: (file.generation, file.epoch))
    raise ManualActionRequired(
        "ledger.restored",
        f"{view.paths.table}: the ledger stands at generation {now.generation.number}, epoch {now.state.epoch}, but"
        f" {newest.path} is of generation {newest.generation}, epoch {newest.epoch}: an older ledger was put"
        " back, and what was read since would be read again",
        f"put the newer ledger back; or move {view.paths.table_directory} away and rebuild it from the files with"
        f" `kafka2hive recover --rebuild-ledger {view.paths.table}`",
    )


def _files(ports: Ports, view: View, location: str) -> Iterator[_Seen]:
    tag = ledger_tag(view.state.ledger_id)
    staging = staging_directory(location)
    named = {p.location for p in (*(f.hive_partition for f in view.state.files), *view.state.unregistered)}
    touched = sorted(named - {location}, key=_by_number)[-TOUCHED:]
    listings = ports.concurrency.map(lambda path: _children(ports, path), [staging, *touched])
    for child in (*(c for c in listings[0]), *(c for listing in listings[1:] for c in listing)):
        yield from _own(child, tag, staged=child.path.startswith(staging))
    for child in _newest_partition(ports, location):
        yield from _own(child, tag, staged=False)


def _own(child: FileStatus, tag: str, *, staged: bool) -> Iterator[_Seen]:
    parsed = DataFileName.parse(child.name)
    name = CertificateName.parse(child.name) if parsed is None else parsed[0]
    if name is not None and name.ledger == tag:
        yield _Seen(child.path, name.generation, name.epoch, staged)


def _newest_partition(ports: Ports, location: str) -> Iterable[FileStatus]:
    """All that is met on the way from the location down to the Hive partition with the greatest name."""
    directory: str | None = location
    while directory is not None:
        seen = _children(ports, directory)
        yield from (child for child in seen if not child.is_directory)
        deeper = [c.path for c in seen if c.is_directory and _is_hive_partition(c.name)]
        directory = max(deeper, key=_by_number, default=None)


def _is_hive_partition(name: str) -> bool:
    """`name=value`; a directory that somebody else put beside the Hive partitions is none."""
    return "=" in name and name[0] not in "_." and HIVE_DEFAULT_PARTITION not in name


def _children(ports: Ports, directory: str) -> tuple[FileStatus, ...]:
    try:
        return children(ports.files, directory)
    except Denied as error:
        log.warning("%s is not searched for files newer than the ledger: %s", directory, error)
        return ()


def _by_number(path: str) -> list[str | int]:
    """`hr=9` before `hr=10`: text and numbers by turns, so that two paths can always be compared."""
    return [int(part) if n % 2 else part for n, part in enumerate(re.split(r"([0-9]+)", path))]
