"""`verify --against db.table`: two dumps of the same topics, compared row by row over the offsets that both have.

Works through one task of the audited dump at a time, beside the other dump's files that hold rows of the same offsets.
Dead letters have no columns to compare: a record that is one in only one of the two is only counted.
"""

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from kafka2hive.formats.readers import UNREADABLE
from kafka2hive.model.files import DataFile, FileKind
from kafka2hive.model.offsets import OffsetRange, TopicPartition
from kafka2hive.model.snapshot import Snapshot
from kafka2hive.model.text import counted
from kafka2hive.service.verify.file_contents import load
from kafka2hive.service.verify.result import AuditResult, Finding
from kafka2hive.service.verify.row_comparison import compare_by_place
from kafka2hive.service.verify.row_findings import FindingText, place_findings
from kafka2hive.service.verify.row_hash import comparable
from kafka2hive.service.verify.row_sources import file_schema
from kafka2hive.service.verify.rows import OUTSIDE, Indices, Paths, PlaceColumns, RowHashes, Span
from kafka2hive.service.verify.units import PIECE_OFFSETS, Advance, Unit, pieces, units_of
from kafka2hive.storage.port import Concurrency, FileSystem, NotFound

_KEPT_BYTES = 512 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Side:
    """One dump: its finished epochs, and the columns of its files that say where a row came from."""

    table: str
    finals: tuple[Snapshot, ...]
    place: PlaceColumns


@dataclass(slots=True, eq=False)
class OtherTableAudit:
    """Compares `ours` with `other`; `buckets`: both put a row into a bucket of the same path."""

    _files: FileSystem
    _concurrency: Concurrency
    _ours: Side
    _other: Side
    _buckets: bool
    _advance: Advance
    _kept: OrderedDict[str, bytes] = field(default_factory=OrderedDict, init=False)
    _findings: list[Finding] = field(default_factory=list, init=False)
    _letters: int = field(default=0, init=False)
    _alone: int = field(default=0, init=False)
    _uncompared: set[str] = field(default_factory=set, init=False)

    def audit(self) -> AuditResult:
        """Raises StorageError."""
        units, _ = units_of(self._ours.finals)
        others, _ = units_of(self._other.finals)
        by_partition = _by_partition(r for unit in others for r in unit.ranges)
        for unit in units:
            shared = [
                part for r in unit.ranges for part in _common(r, by_partition.get(r.topic_partition, []))
            ]
            self._alone += sum(map(len, unit.ranges)) - sum(map(len, shared))
            for part in pieces(shared, PIECE_OFFSETS):
                self._piece(unit, [o for o in others if _touch(o, part)], part)
            self._advance(len(unit.files), unit.rows)
        return AuditResult(self._findings, self._left_out(units, others))

    def _piece(self, unit: Unit, others: Sequence[Unit], ranges: tuple[OffsetRange, ...]) -> None:
        span, paths = Span(ranges), Paths()
        there = [f for other in others for f in other.files]
        files = [*unit.files, *there]
        contents = dict(zip((f.final for f in files), self._read(files), strict=True))
        columns = self._columns(unit.files, there, contents)
        mine, my_letters = self._rows(
            files=unit.files,
            contents=contents,
            columns=columns,
            place=self._ours.place,
            span=span,
            paths=paths,
        )
        theirs, their_letters = self._rows(
            files=there, contents=contents, columns=columns, place=self._other.place, span=span, paths=paths
        )
        found = compare_by_place(span.length, theirs.whole(), mine.whole(), self._buckets)
        lost = found.lost[~np.isin(found.lost, my_letters)]
        extra = found.extra[~np.isin(found.extra, their_letters)]
        self._letters += len(found.lost) - len(lost) + len(found.extra) - len(extra)
        text = FindingText(f"a row of {self._other.table} is", f"row of {self._other.table} is")
        left = replace(found, lost=lost, extra=extra)
        self._findings += place_findings(
            span=span, found=left, files=unit.files, paths=paths.names, what="row", text=text
        )

    def _rows(
        self,
        files: Sequence[DataFile],
        contents: dict[str, bytes | None],
        columns: dict[str, str],
        place: PlaceColumns,
        span: Span,
        paths: Paths,
    ) -> tuple[RowHashes, Indices]:
        """Data rows, and the places of dead letters."""
        loaded = load(
            files=files,
            contents=[contents[file.final] for file in files],
            columns=columns,
            place=place,
            span=span,
            paths=paths,
        )
        self._findings += loaded.findings
        places = loaded.letters.whole().places
        return loaded.data, places[places != OUTSIDE]

    def _columns(
        self, mine: Iterable[DataFile], theirs: Iterable[DataFile], contents: dict[str, bytes | None]
    ) -> dict[str, str]:
        """The columns that all files of both have, of types that compare; the place itself is compared anyway."""
        sides = [_schemas(files, contents) for files in (mine, theirs)]
        kinds: dict[str, pa.DataType] = {}
        shared: set[str] | None = None
        everything: set[str] = set()
        for schema in (s for side in sides for s in side):
            same = {f.name: comparable(f.type) for f in schema}
            names = {name for name, kind in same.items() if kinds.setdefault(name, kind) == kind}
            everything |= same.keys()
            shared = names if shared is None else shared & names
        places = {*self._ours.place.names(), *self._other.place.names()}
        self._uncompared |= everything - (shared or set()) - places
        return {name: name for name in sorted((shared or set()) - places)}

    def _read(self, files: Sequence[DataFile]) -> list[bytes | None]:
        """Contents; those read last are kept, for files of the other dump are asked for by several of our tasks."""

        def one(file: DataFile) -> bytes | None:
            kept = self._kept.get(file.final)
            if kept is not None:
                return kept
            try:
                return self._files.read(file.final)
            except NotFound:
                return None  # found by the audit of the table it belongs to

        contents = self._concurrency.map(one, files)
        for file, data in zip(files, contents, strict=True):
            if data is not None:
                self._kept[file.final] = data
                self._kept.move_to_end(file.final)
        while sum(map(len, self._kept.values())) > _KEPT_BYTES and len(self._kept) > 1:
            self._kept.popitem(last=False)
        return contents

    def _left_out(self, units: Sequence[Unit], others: Sequence[Unit]) -> list[str]:
        name = self._other.table
        only_there = (
            sum(len(r) for o in others for r in o.ranges)
            - sum(len(r) for u in units for r in u.ranges)
            + self._alone
        )
        left_out = []
        if self._alone:
            left_out.append(f"{counted(self._alone, 'offset')} that {name} has not read")
        if only_there > 0:
            left_out.append(f"{counted(only_there, 'offset')} that only {name} has read")
        if self._letters:
            left_out.append(
                f"{counted(self._letters, 'record')} that are a dead letter in one of the two and a row in the other"
            )
        if self._uncompared:
            left_out.append(
                f"columns that are not in all files of both: {', '.join(sorted(self._uncompared))}"
            )
        if not self._buckets:
            left_out.append(f"buckets: {name} has others")
        return left_out


def _schemas(files: Iterable[DataFile], contents: dict[str, bytes | None]) -> list[pa.Schema]:
    found = []
    for file in files:
        data = contents[file.final]
        if data is None or file.kind is not FileKind.DATA:
            continue
        try:
            found.append(file_schema(data, file.final))
        except UNREADABLE:
            continue  # found when its rows are read
    return found


def _common(one: OffsetRange, others: Iterable[OffsetRange]) -> list[OffsetRange]:
    """The parts of `one` that lie in any of `others`, which do not overlap."""
    parts = []
    for other in sorted(others):
        start, end = max(one.start, other.start), min(one.end, other.end)
        if start < end:
            parts.append(OffsetRange(one.topic_partition, start, end))
    return parts


def _by_partition(ranges: Iterable[OffsetRange]) -> dict[TopicPartition, list[OffsetRange]]:
    found: dict[TopicPartition, list[OffsetRange]] = {}
    for r in ranges:
        found.setdefault(r.topic_partition, []).append(r)
    return found


def _touch(unit: Unit, ranges: Iterable[OffsetRange]) -> bool:
    mine = _by_partition(unit.ranges)
    return any(_common(r, mine.get(r.topic_partition, [])) for r in ranges)
