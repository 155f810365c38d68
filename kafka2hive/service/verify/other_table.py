"""`verify --against db.table`: compare two dumps of the same topics row by row, over the offsets that both have read.

The audit compares one task of the audited dump at a time with the other dump's files of the same offsets. Dead letters have
no columns to compare: the result counts the records that are a dead letter in only one of the two dumps.
"""

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from kafka2hive.formats.files import UNREADABLE
from kafka2hive.formats.row_hash import comparable
from kafka2hive.model.files import DataFile, FileKind
from kafka2hive.model.offsets import OffsetRange, TopicPartition
from kafka2hive.model.progress import Advance
from kafka2hive.model.snapshot import Snapshot
from kafka2hive.model.text import counted
from kafka2hive.service.verify.result import AuditResult, Finding
from kafka2hive.service.verify.row_comparison import FindingText, compare_by_place, place_findings
from kafka2hive.service.verify.row_sources import Reduction, file_schema, load
from kafka2hive.service.verify.rows import OUTSIDE, Indices, Paths, PlaceColumns, RowHashes, Span
from kafka2hive.service.verify.units import PIECE_OFFSETS, Unit, pieces, units_of
from kafka2hive.storage.port import Concurrency, FileSystem, NotFound

_CACHE_BYTES = 512 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Side:
    """One dump: its finalised epochs, and the columns of its files with the offsets."""

    table: str
    finals: tuple[Snapshot, ...]
    place: PlaceColumns


@dataclass(slots=True, eq=False)
class OtherTableAudit:
    """Compares `ours` with `other`; also the rows' buckets if `buckets` is true, because both dumps bucket rows alike."""

    _files: FileSystem
    _concurrency: Concurrency
    _ours: Side
    _other: Side
    _buckets: bool
    _advance: Advance
    _cache: OrderedDict[str, bytes] = field(default_factory=OrderedDict, init=False)
    _findings: list[Finding] = field(default_factory=list, init=False)
    _letters: int = field(default=0, init=False)
    _only_ours: int = field(default=0, init=False)
    _uncompared: set[str] = field(default_factory=set, init=False)

    def audit(self) -> AuditResult:
        """Compare all offsets that both have read. Raises StorageError."""
        units, _ = units_of(self._ours.finals)
        others, _ = units_of(self._other.finals)
        by_partition = _by_partition(r for unit in others for r in unit.ranges)
        for unit in units:
            shared = [
                part
                for r in unit.ranges
                for part in _intersections(r, by_partition.get(r.topic_partition, []))
            ]
            self._only_ours += sum(map(len, unit.ranges)) - sum(map(len, shared))
            for part in pieces(shared, PIECE_OFFSETS):
                self._piece(unit, [o for o in others if _overlaps(o, part)], part)
            self._advance(**unit.amounts)
        return AuditResult(self._findings, self._not_checked(units, others))

    def _piece(self, unit: Unit, others: Sequence[Unit], ranges: tuple[OffsetRange, ...]) -> None:
        span, paths = Span(ranges), Paths()
        other_files = [f for other in others for f in other.files]
        files = [*unit.files, *other_files]
        contents = dict(zip((f.final for f in files), self._read(files), strict=True))
        reduction = Reduction(self._columns(unit.files, other_files, contents), self._ours.place, span, paths)
        rows, letters = self._rows(unit.files, contents, reduction)
        other_rows, other_letters = self._rows(
            other_files, contents, replace(reduction, place=self._other.place)
        )
        differences = compare_by_place(span.length, other_rows.whole(), rows.whole(), self._buckets)
        lost = differences.lost[~np.isin(differences.lost, letters)]
        extra = differences.extra[~np.isin(differences.extra, other_letters)]
        self._letters += len(differences.lost) - len(lost) + len(differences.extra) - len(extra)
        self._findings += place_findings(
            span=span,
            differences=replace(differences, lost=lost, extra=extra),
            files=unit.files,
            paths=paths.names,
            what="row",
            text=FindingText(
                lost=f"no file has this row of {self._other.table}",
                extra=f"a row that {self._other.table} does not have",
                different=f"the row differs from the one of {self._other.table}",
            ),
        )

    def _rows(
        self, files: Sequence[DataFile], contents: dict[str, bytes | None], reduction: Reduction
    ) -> tuple[RowHashes, Indices]:
        """Return the data rows, and the places of the dead letters."""
        rows = load(files, [contents[file.final] for file in files], reduction)
        self._findings += rows.findings
        places = rows.letters.whole().places
        return rows.data, places[places != OUTSIDE]

    def _columns(
        self, mine: Iterable[DataFile], theirs: Iterable[DataFile], contents: dict[str, bytes | None]
    ) -> dict[str, str]:
        """Return the columns that all files of both dumps have with comparable types, without those of the place."""
        types: dict[str, pa.DataType] = {}
        common: set[str] | None = None
        every: set[str] = set()
        for schema in [*_schemas(mine, contents), *_schemas(theirs, contents)]:
            file_types = {f.name: comparable(f.type) for f in schema}
            names = {name for name, type in file_types.items() if types.setdefault(name, type) == type}
            every |= file_types.keys()
            common = names if common is None else common & names
        places = {*self._ours.place.names(), *self._other.place.names()}
        self._uncompared |= every - (common or set()) - places
        return {name: name for name in sorted((common or set()) - places)}

    def _read(self, files: Sequence[DataFile]) -> list[bytes | None]:
        """Read the files, and cache the latest, because several of our tasks need the same files of the other dump."""

        def content(file: DataFile) -> bytes | None:
            data = self._cache.get(file.final)
            if data is not None:
                return data
            try:
                return self._files.read(file.final)
            except NotFound:
                return None  # the audit of its own table reports it

        contents = self._concurrency.map(content, files)
        for file, data in zip(files, contents, strict=True):
            if data is not None:
                self._cache[file.final] = data
                self._cache.move_to_end(file.final)
        while sum(map(len, self._cache.values())) > _CACHE_BYTES and len(self._cache) > 1:
            self._cache.popitem(last=False)
        return contents

    def _not_checked(self, units: Sequence[Unit], others: Sequence[Unit]) -> list[str]:
        name = self._other.table
        only_other = (
            sum(len(r) for o in others for r in o.ranges)
            - sum(len(r) for u in units for r in u.ranges)
            + self._only_ours
        )
        lines = []
        if self._only_ours:
            lines.append(f"{counted(self._only_ours, 'offset')} that {name} has not read")
        if only_other > 0:
            lines.append(f"{counted(only_other, 'offset')} that only {name} has read")
        if self._letters:
            lines.append(
                f"{counted(self._letters, 'record')} that are a dead letter in one of the two and a row in the other"
            )
        if self._uncompared:
            lines.append(f"columns that are not in all files of both: {', '.join(sorted(self._uncompared))}")
        if not self._buckets:
            lines.append(f"buckets: {name} may have different ones")
        return lines


def _schemas(files: Iterable[DataFile], contents: dict[str, bytes | None]) -> list[pa.Schema]:
    schemas = []
    for file in files:
        data = contents[file.final]
        if data is None or file.kind is not FileKind.DATA:
            continue
        try:
            schemas.append(file_schema(data, file.final))
        except UNREADABLE:
            continue  # reported when its rows are read
    return schemas


def _intersections(one: OffsetRange, others: Iterable[OffsetRange]) -> list[OffsetRange]:
    """Return the parts of `one` that are in any of `others`, which do not overlap."""
    parts = []
    for other in sorted(others):
        start, end = max(one.start, other.start), min(one.end, other.end)
        if start < end:
            parts.append(OffsetRange(one.topic_partition, start, end))
    return parts


def _by_partition(ranges: Iterable[OffsetRange]) -> dict[TopicPartition, list[OffsetRange]]:
    by_partition: dict[TopicPartition, list[OffsetRange]] = {}
    for r in ranges:
        by_partition.setdefault(r.topic_partition, []).append(r)
    return by_partition


def _overlaps(unit: Unit, ranges: Iterable[OffsetRange]) -> bool:
    by_partition = _by_partition(unit.ranges)
    return any(_intersections(r, by_partition.get(r.topic_partition, [])) for r in ranges)
