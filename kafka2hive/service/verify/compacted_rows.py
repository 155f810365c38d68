"""The rows of compacted files against Kafka's records, for partitions whose early files are gone.

The rows of a partition come from many tasks. Their records are decoded task by task, and a partition is compared once all of its
tasks are decoded. So memory holds about 60 bytes for each row of the partitions that are not compared yet.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from kafka2hive.formats.contract.port import FileReader
from kafka2hive.formats.files import UNREADABLE, open_reader
from kafka2hive.ledger.early_files import in_unit
from kafka2hive.model.files import DataFile, FileKind, HivePartition
from kafka2hive.model.offsets import OffsetRange, merge_ranges
from kafka2hive.model.paths.table_directory import extension_of
from kafka2hive.model.snapshot import Snapshot
from kafka2hive.model.text import counted
from kafka2hive.service.verify.line_forms import LineForms
from kafka2hive.service.verify.result import AuditResult, Finding
from kafka2hive.service.verify.row_comparison import (
    Mask,
    compare_as_multisets,
    compare_by_place,
    multiset_findings,
    place_findings,
)
from kafka2hive.service.verify.row_sources import Reduction, RowsAside, read_rows
from kafka2hive.service.verify.rows import (
    OUTSIDE,
    Indices,
    Paths,
    PlaceColumns,
    RowArrays,
    RowHashes,
    Span,
    SparseSpan,
)
from kafka2hive.service.verify.units import Unit

Read = Callable[[DataFile], bytes | None]
"""Returns a file's bytes, None if it does not exist."""


@dataclass(slots=True, eq=False)
class CompactedRows:
    """A partition whose compacted files must hold the rows of the tasks that wrote its early files.

    `files` are its compacted files, `units` the tasks. `fetched` are the offsets that were decoded again, and `rows_gone` counts
    rows whose records Kafka has deleted since. `not_replayed` counts rows that today's map makes of dead letters.
    """

    home: HivePartition
    sources: frozenset[str]
    files: list[DataFile]
    units: list[Unit]
    reduction: Reduction
    waiting: int
    expected: RowHashes = field(default_factory=RowHashes)
    actual: RowHashes = field(default_factory=RowHashes)
    fetched: list[OffsetRange] = field(default_factory=list)
    is_partial: bool = False
    rows_gone: int = 0
    not_replayed: int = 0

    def add(self, rows: RowsAside, letters: Indices) -> None:
        """Add the decoded rows of one piece, without those at the places in `letters`, which are letters in the files."""
        whole = _only(rows.rows.whole(), ~np.isin(rows.all_places, letters))
        self.expected.add(whole.places, whole.hashes, whole.buckets)

    def add_other_rows(self, unit: Unit, contents: Sequence[bytes | None], lines: LineForms) -> None:
        """Add the rows of a task's other files in this partition, as those of replayed letters, which came after the move."""
        for file, data in zip(unit.files, contents, strict=True):
            if data is not None and self.has(file) and file.final not in self.sources:
                self.files.append(file)
                reader = open_reader(data, extension_of(file.final), lines.of(file.final))
                self.actual.extend(read_rows(reader, self.reduction, 0, len(self.files) - 1))

    def has(self, file: DataFile) -> bool:
        """Return whether the file has rows of this partition."""
        return file.kind is FileKind.DATA and file.hive_partition.path == self.home.path

    def load(self, read: Read, lines: LineForms, note: Callable[[FileReader, DataFile], None]) -> bool:
        """Read the compacted files. Return False if one is missing or unreadable, which is reported elsewhere.

        `note` gets each of them, and its reader.
        """
        for number, file in enumerate(self.files):
            if file.kind is not FileKind.COMPACTED:
                continue
            data = read(file)
            if data is None:
                return False
            try:
                reader = open_reader(data, extension_of(file.final), lines.of(file.final))
                self.actual.extend(read_rows(reader, self.reduction, 0, number))
            except UNREADABLE:
                return False
            note(reader, file)
        return True

    def compare(self) -> AuditResult:
        """Compare the rows, once all tasks are decoded and the files are loaded."""
        result = AuditResult()
        expected, actual = self.expected.whole(), self.actual.whole()
        if self.reduction.place is None:
            self._compare_as_multisets(expected, actual, result)
        else:
            self._compare_by_place(expected, actual, result)
        return result

    def _compare_by_place(self, expected: RowArrays, actual: RowArrays, result: AuditResult) -> None:
        outside = int((actual.places == OUTSIDE).sum())
        if outside:
            text = f"{counted(outside, 'row')} with offsets that no task of this partition read"
            result.findings.append(Finding("verify.extra", self.home.location, text))
        actual = _only(actual, self.reduction.span.are_within(actual.places, self.fetched))
        places = np.unique(np.concatenate([expected.places, actual.places]))
        differences = compare_by_place(
            len(places), _ranked(expected, places), _ranked(actual, places), buckets=False
        )
        if len(differences.extra) <= self.rows_gone:
            result.not_checked += _compacted_away(len(differences.extra))
            differences = replace(differences, extra=differences.extra[:0])
        result.findings += place_findings(
            span=SparseSpan(self.reduction.span, places),
            differences=differences,
            files=self.files,
            paths=[self.home.path],
            what="row",
        )

    def _compare_as_multisets(self, expected: RowArrays, actual: RowArrays, result: AuditResult) -> None:
        for difference in compare_as_multisets(expected, actual, buckets=False):
            lost = 0 if difference.lost <= self.not_replayed else difference.lost
            is_explained = self.is_partial or difference.extra <= self.rows_gone
            if not self.is_partial and is_explained:
                result.not_checked += _compacted_away(difference.extra)
            result.findings += multiset_findings(
                self.home.location, [replace(difference, lost=lost)], [self.home.path], not is_explained
            )


def compacted_partitions(
    finals: Sequence[Snapshot],
    units: Iterable[Unit],
    gone: Collection[str],
    place: PlaceColumns | None,
    columns: Callable[[Sequence[DataFile]], Mapping[str, str]],
) -> dict[str, CompactedRows]:
    """Return the compacted partitions with early files in `gone`, by the paths of their early files.

    `gone` has the files that may be missing. `columns` returns the columns that the map and some files have in common.
    """
    units = list(units)
    lost = {loss.path for snapshot in finals for loss in snapshot.losses}
    result: dict[str, CompactedRows] = {}
    for home, sources in _sources(finals).items():
        if not sources & set(gone):
            continue
        tasks = [unit for unit in units if any(file.final in sources for file in unit.files)]
        files = [
            file
            for snapshot in finals
            for file in snapshot.files
            if file.kind is FileKind.COMPACTED and file.hive_partition == home and file.final not in lost
        ]
        ranges = merge_ranges(r for unit in tasks for r in unit.ranges)
        is_placed = place is not None and place.tells_apart(ranges)
        partition = CompactedRows(
            home=home,
            sources=frozenset(sources),
            files=files,
            units=tasks,
            reduction=Reduction(columns(files), place if is_placed else None, Span(ranges), Paths()),
            waiting=len(tasks),
        )
        result.update(dict.fromkeys(sources, partition))
    return result


def _sources(finals: Sequence[Snapshot]) -> dict[HivePartition, set[str]]:
    """Return the early files whose rows each compacted partition has."""
    by_path: dict[str, list[tuple[int, DataFile]]] = {}
    for snapshot in finals:
        for file in snapshot.files:
            if file.kind is FileKind.DATA:
                by_path.setdefault(file.hive_partition.path, []).append((snapshot.epoch, file))
    sources: dict[HivePartition, set[str]] = {}
    for snapshot in finals:
        before = {loss.path for loss in snapshot.losses}
        for unit in snapshot.units:
            sources.setdefault(unit.partition, set()).update(
                file.final
                for epoch, file in by_path.get(unit.partition.path, ())
                if epoch <= snapshot.epoch and file.final not in before and in_unit(file, unit)
            )
    return sources


def _only(rows: RowArrays, mask: Mask) -> RowArrays:
    return RowArrays(rows.places[mask], rows.hashes[mask], rows.buckets[mask], rows.files[mask])


def _ranked(rows: RowArrays, places: Indices) -> RowArrays:
    """Return the rows with the index of their place in `places` as their place."""
    return replace(rows, places=np.searchsorted(places, rows.places))


def _compacted_away(rows: int) -> list[str]:
    return (
        [f"{counted(rows, 'row')} of compacted files whose records have since been compacted away"]
        if rows
        else []
    )
