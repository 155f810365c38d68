"""Detect a ledger that is older than its table's files, because somebody restored a backup. A run would duplicate records.

The names of data files and certificates show this: they contain the ledger's generation and epoch, which only grow.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

from kafka2hive.ledger.look import View, look
from kafka2hive.ledger.ports import Ports, log
from kafka2hive.model.errors import AmbiguousOutcome, ManualActionRequired
from kafka2hive.model.instant import instant_seconds
from kafka2hive.model.paths.path import HIVE_DEFAULT_PARTITION
from kafka2hive.model.paths.table_directory import (
    EARLY_PLACES,
    CertificateName,
    DataFileName,
    RetirementName,
    ledger_tag,
    other_place,
    staging_directory,
)
from kafka2hive.storage.port import Denied, FileStatus, StorageError, children

TOUCHED = 32
"""How many directories of each kind are listed: Hive partitions of the newest snapshot, next homes, next early places."""


@dataclass(frozen=True, slots=True)
class _Trace:
    """A data file or certificate of this ledger, or the text file at a retired place, for which `generation` is 0.

    A staged file may be one epoch newer than the newest snapshot.
    """

    path: str
    generation: int
    epoch: int
    staged: bool

    def is_newer(self, view: View) -> bool:
        committed = view.state.epoch + (1 if self.staged else 0)
        return self.epoch > committed or self.generation > view.generation.number


def refuse_older_ledger(ports: Ports, view: View, location: str) -> None:
    """Raise ManualActionRequired if the table has files that are newer than the ledger of `view`.

    It lists the directories in which a newer ledger would have left files: the staging directory, the Hive partitions of the
    newest snapshot and the one with the greatest name, the homes of the early partitions that are compacted next, and the
    early places that are retired next. If a file seems too new, the ledger is read again, because a live owner may have
    committed in the meantime. Raises AmbiguousOutcome (no answer).
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
        f"{view.paths.table}: the ledger is at generation {now.generation.number}, epoch {now.state.epoch}, but"
        f" {newest.path} is of generation {newest.generation}, epoch {newest.epoch}: somebody restored an older ledger,"
        " and a run would read the records since then again",
        f"restore the newer ledger; or move {view.paths.table_directory} away and rebuild it from the files with"
        f" `kafka2hive recover --rebuild-ledger {view.paths.table} -c MAP`",
    )


def _files(ports: Ports, view: View, location: str) -> Iterator[_Trace]:
    tag = ledger_tag(view.state.ledger_id)
    staging = staging_directory(location)
    locations = {
        p.location for p in (*(f.hive_partition for f in view.state.files), *view.state.unregistered)
    }
    touched = sorted(locations - {location}, key=_by_number)[-TOUCHED:]
    places = [staging, *touched, *_next_homes(view), *_next_retired(view)]
    listings = ports.concurrency.map(lambda path: _children(ports, path), places)
    for child in chain.from_iterable(listings):
        yield from _traces(child, tag, staged=child.path.startswith(staging))
    for child in _newest_partition(ports, location):
        yield from _traces(child, tag, staged=False)


def _next_homes(view: View) -> list[str]:
    """Return the homes of the early partitions that are compacted next. Files there show a compaction after the snapshot."""
    early = sorted(view.state.early, key=lambda entry: (not entry.certified, instant_seconds(entry.closes)))[
        :TOUCHED
    ]
    return [other_place(entry.partition.location, entry.partition.path) for entry in early]


def _next_retired(view: View) -> list[str]:
    """Return the early places that are retired next. A text file there shows a retirement after the snapshot."""
    moved = sorted(view.state.moved, key=lambda entry: (not entry.right_since, entry.right_since))
    return [entry.early for entry in moved[:TOUCHED]]


def _traces(child: FileStatus, tag: str, *, staged: bool) -> Iterator[_Trace]:
    parsed = DataFileName.parse(child.name)
    name = CertificateName.parse(child.name) if parsed is None else parsed[0]
    if name is not None and name.ledger == tag:
        yield _Trace(child.path, name.generation, name.epoch, staged)
    retirement = RetirementName.parse(child.name)
    if retirement is not None and retirement.ledger == tag:
        yield _Trace(child.path, 0, retirement.epoch, staged)


def _newest_partition(ports: Ports, location: str) -> Iterable[FileStatus]:
    """Yield the files in the Hive partition with the greatest name and in its parents, for homes and for early places."""
    unlisted = [location]
    while unlisted:
        listing = _children(ports, unlisted.pop())
        yield from (child for child in listing if not child.is_directory)
        deeper = [c.path for c in listing if c.is_directory and _is_hive_partition(c.name)]
        unlisted += [max(deeper, key=_by_number)] if deeper else []
        unlisted += [c.path for c in listing if c.is_directory and c.name == EARLY_PLACES]


def _is_hive_partition(name: str) -> bool:
    """Return whether the name is `name=value`, because users may have other directories in the location."""
    return "=" in name and name[0] not in "_." and HIVE_DEFAULT_PARTITION not in name


def _children(ports: Ports, directory: str) -> tuple[FileStatus, ...]:
    try:
        return children(ports.files, directory)
    except Denied as error:
        log.warning("cannot search %s for files that are newer than the ledger: %s", directory, error)
        return ()


def _by_number(path: str) -> list[str | int]:
    """Return a sort key that puts `hr=9` before `hr=10`. Texts and numbers alternate, so that any two paths compare."""
    return [int(part) if n % 2 else part for n, part in enumerate(re.split(r"([0-9]+)", path))]
