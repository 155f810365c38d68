"""`verify --deep`: compare the rows of the files with Kafka's records, which are fetched and decoded again.

The audit compares one task of one epoch at a time, so memory is bounded by that task's files and about 80 bytes for each of
its rows. It reads only finalised epochs, and does not disturb a live run.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import compress

import numpy as np

from kafka2hive.config.keys import BucketTime, TableSettings
from kafka2hive.formats.contract.port import FileReader
from kafka2hive.formats.files import UNREADABLE, open_reader
from kafka2hive.kafka.port import Kafka
from kafka2hive.kafka.positions import Logs
from kafka2hive.model.errors import ServiceUnavailable
from kafka2hive.model.files import DataFile, FileKind
from kafka2hive.model.offsets import OffsetAccounting, OffsetRange
from kafka2hive.model.paths.table_directory import extension_of
from kafka2hive.model.progress import Advance
from kafka2hive.model.snapshot import REFETCH, Snapshot
from kafka2hive.model.text import counted
from kafka2hive.model.writer_schema import WriterSchema
from kafka2hive.plan.contract import TableTask, TaskSettings
from kafka2hive.service.topics.kafka_view import logs_of
from kafka2hive.service.verify.compacted_rows import CompactedRows, compacted_partitions
from kafka2hive.service.verify.files import damage_of
from kafka2hive.service.verify.history import replayed_paths
from kafka2hive.service.verify.letters import accepted_letters
from kafka2hive.service.verify.line_forms import line_forms
from kafka2hive.service.verify.masks import columns_of_several_keys, mask_findings
from kafka2hive.service.verify.placeholders import placeholder_findings
from kafka2hive.service.verify.record_sample import RecordSample, table_of_values
from kafka2hive.service.verify.result import AuditResult, Finding
from kafka2hive.service.verify.row_comparison import (
    BucketDifference,
    PlaceDifferences,
    compare_as_multisets,
    compare_by_place,
    multiset_findings,
    place_findings,
    without_absent,
)
from kafka2hive.service.verify.row_sources import (
    LETTERS,
    LoadedRows,
    RecordRows,
    Reduction,
    RowsAside,
    column_differences,
    file_schema,
    is_readable,
    load,
    place_columns,
)
from kafka2hive.service.verify.rows import OUTSIDE, Paths, PlaceColumns, RowHashes, Span
from kafka2hive.service.verify.rules import rule_findings
from kafka2hive.service.verify.semantics.framing import SchemaById
from kafka2hive.service.verify.semantics.judge import SchemaJudge
from kafka2hive.service.verify.semantics.rules import RuleJudge
from kafka2hive.service.verify.units import (
    PIECE_OFFSETS,
    Unit,
    UnreadableRange,
    fetchable_ranges,
    pieces,
    summary_lines,
    units_of,
    without_refetched,
)
from kafka2hive.storage.port import Concurrency, FileSystem, NotFound
from kafka2hive.task.rows import schema_in_files
from kafka2hive.task.run import COMMAND_STALL_SECONDS, dry_run, unowned_task
from kafka2hive.task.write.destination import passing_sinks
from kafka2hive.task.writer_schemas import writers_of


class KafkaAudit:
    """The deep audit of one table."""

    def __init__(
        self,
        files: FileSystem,
        concurrency: Concurrency,
        settings: TaskSettings,
        table: str,
        advance: Advance,
    ) -> None:
        self._files = files
        self._concurrency = concurrency
        self._settings = replace(settings, stall_seconds=COMMAND_STALL_SECONDS)
        self._table = settings.tables[table]
        self._advance = advance
        self._schema = schema_in_files(self._table)
        self._lines = line_forms((), self._table)
        # several rows of one record would share a place, so such tables are compared as if their files had no offsets
        self._place = None if self._table.may_hold_several else place_columns(self._table)
        self._judge = SchemaJudge(self._table, _schemas(self._table, settings, files), settings.mask_keys)
        self._several_keys = columns_of_several_keys(settings, self._table)
        self._rule_judge = RuleJudge(self._table)
        self._unjudged = 0
        self._samples: dict[str, RecordSample] = {}
        self._by_bucket = self._table.bucketing.time is not BucketTime.PROCESSING
        self._audit = AuditResult()
        self._gone: list[UnreadableRange] = []
        self._compacted = 0
        self._uncompared: Counter[str] = Counter()
        self._partitions: Mapping[str, CompactedRows] = {}
        self._not_replayed = 0
        self._filled: set[str] = set()
        self._rows = 0
        self._refetched: set[str] = set()

    def audit(
        self, finals: Sequence[Snapshot], kafka: Kafka, gone: Collection[str] = frozenset()
    ) -> AuditResult:
        """Audit the finalised epochs. Raises StorageError; if Kafka does not answer, `no_answer` says so.

        `gone` has the early files that may be missing because their rows are in compacted files.
        """
        units, unassigned = units_of(finals)
        self._lines = line_forms(finals, self._table)
        if self._by_bucket:
            self._partitions = compacted_partitions(
                finals=finals, units=units, gone=gone, place=self._place, columns=self._columns_of
            )
        elif lacking := [f for unit in units for f in unit.files if f.final in gone]:
            rows = sum(file.rows for file in lacking)
            self._audit.not_checked.append(
                f"{counted(rows, 'row')} of {counted(len(lacking), 'early file')} that are gone: no record says to which"
                " compacted file its row belongs"
            )
        self._refetched = {x.path for s in finals for x in s.losses if x.remedy == REFETCH}
        self._refetched |= replayed_paths(finals)
        try:
            topics = {r.topic_partition.topic for unit in units for r in unit.ranges}
            logs = logs_of(kafka, kafka.cluster(topics.__contains__), topics)
            for unit in units:
                self._unit(unit, logs)
                self._advance(**unit.amounts)
        except ServiceUnavailable as error:
            self._audit.no_answer.append(f"Kafka: {error.message}")
        self._report_not_checked(unassigned)
        return self._audit

    def _unit(self, unit: Unit, logs: Logs) -> None:
        fetchable, gone = fetchable_ranges(unit, logs)
        self._gone += gone
        contents = self._concurrency.map(self._read, unit.files)
        unit, contents = without_refetched(unit, contents, self._refetched)
        self._note_filled(unit, contents)
        columns = self._common_columns(unit, contents)
        place = self._place if self._place and self._place.tells_apart(unit.ranges) else None
        partitions = {p.home.path: p for f in unit.files if (p := self._partitions.get(f.final)) is not None}
        for partition in partitions.values():
            partition.is_partial |= bool(gone)
            partition.add_other_rows(unit, contents, self._lines)
        data_rows = sum(file.rows for file in unit.files if file.kind is FileKind.DATA)
        # what is compared with compacted files is not compared with this task's files
        kept = [not any(p.has(f) for p in partitions.values()) for f in unit.files]
        contents = list(compress(contents, kept))
        unit = replace(unit, files=list(compress(unit.files, kept)))
        # rows without a place cannot be assigned to pieces, so all fetchable ranges are one piece
        whole = [tuple(fetchable)] if fetchable else []
        for ranges in pieces(fetchable, PIECE_OFFSETS) if place else whole:
            self._piece(
                unit=unit,
                contents=contents,
                ranges=ranges,
                columns=columns,
                place=place,
                partitions=partitions,
                data_rows=data_rows,
            )
        for partition in partitions.values():
            partition.waiting -= 1
            if not partition.waiting:
                self.compare_compacted(partition, self._samples.pop(partition.home.path, None))

    def compare_compacted(self, partition: CompactedRows, sample: RecordSample | None) -> AuditResult:
        """Compare a partition whose tasks are all decoded, and free its rows. Return the audit so far.

        `sample`: records of these tasks, for the judge of their schemas.
        """

        def note(reader: FileReader, file: DataFile) -> None:
            self._note_values(reader, file)
            if sample is not None:
                self._report_contradictions(sample, reader, partition.reduction.span, file.final)

        if partition.load(self._read_compacted, self._lines, note):
            self._audit.extend(partition.compare())
        else:
            self._audit.not_checked.append(
                f"{partition.home.path}: its compacted files cannot be read, and its early files are gone"
            )
        partition.expected, partition.actual = RowHashes(), RowHashes()
        return self._audit

    def _read_compacted(self, file: DataFile) -> bytes | None:
        """Return a file's bytes; audit_units checks them, and audit_presence reports missing files."""
        try:
            return self._files.read(file.final)
        except NotFound:
            return None

    def _note_values(self, reader: FileReader, file: DataFile) -> None:
        self._filled |= reader.filled_columns()
        self._rows += file.rows
        self._audit.findings += placeholder_findings(reader, file.final, self._table)
        self._audit.findings += mask_findings(reader, file.final, self._table)
        self._audit.findings += rule_findings(reader, file.final, self._rule_judge)

    def _piece(
        self,
        unit: Unit,
        contents: Sequence[bytes | None],
        ranges: tuple[OffsetRange, ...],
        columns: dict[str, str],
        place: PlaceColumns | None,
        partitions: Mapping[str, CompactedRows],
        data_rows: int,
    ) -> None:
        """Compare the unit's rows of `ranges`, all of its ranges or a part of them, with the rows decoded again from Kafka.

        The rows of `partitions`, by path, are added to these instead. `data_rows` counts the rows in all data files of the task.
        """
        reduction = Reduction(columns, place, Span(ranges), Paths())
        aside = {path: RowsAside(partition.reduction) for path, partition in partitions.items()}
        expected = RecordRows(reduction, aside)
        task = unowned_task(self._table.table, ranges, planned_at_ms=0)
        task = replace(task, epoch=unit.epoch, bounds=unit.bounds)
        manifest = dry_run(task, self._settings, self._files, expected.open_sink)
        if manifest.failure is not None:
            self._gone += [UnreadableRange(r, f"not readable ({manifest.failure.message})") for r in ranges]
            for partition in partitions.values():
                partition.is_partial = True
            return
        actual = load(unit.files, contents, reduction, self._lines)
        self._audit.findings += actual.findings
        is_whole = set(ranges) == set(unit.ranges)
        if is_whole:  # otherwise such rows may belong to another piece
            self._report_rows_outside(unit, actual, has_places=place is not None)
        # the number of rows whose records were compacted away since they were read
        rows_gone = sum(_rows_gone(unit, a.range, a.account) for a in manifest.accounts)
        absent = Counter({b: n for b, n in actual.absent.items() if b != LETTERS})
        letters = compare_by_place(
            reduction.span.length, expected.letters.whole(), actual.letters.whole(), buckets=False
        )
        rows = None
        if place is not None:
            rows = compare_by_place(
                reduction.span.length, expected.data.whole(), actual.data.whole(), self._by_bucket
            )
        accepted = accepted_letters(
            unit=unit,
            accounts=manifest.accounts,
            letters=letters.extra,
            rows=None if rows is None else [rows.lost, *(each.all_places for each in aside.values())],
            data_rows=data_rows,
        )
        self._not_replayed += len(accepted.letters)
        letters = replace(letters, extra=np.setdiff1d(letters.extra, accepted.letters))
        rows_gone -= self._report_places(
            unit=unit,
            reduction=reduction,
            differences=letters,
            absent=Counter({LETTERS: actual.absent[LETTERS]}),
            rows_gone=rows_gone,
            what="dead letter",
        )
        not_replayed = accepted.rows
        if rows is not None and place is not None:
            self._judge_by_schemas(
                unit=unit,
                contents=contents,
                task=task,
                span=reduction.span,
                place=place,
                partitions=partitions,
            )
            rows_gone -= self._report_places(
                unit=unit,
                reduction=reduction,
                differences=replace(rows, lost=np.setdiff1d(rows.lost, accepted.letters)),
                absent=absent,
                rows_gone=rows_gone,
                what="row",
            )
        else:
            differences = compare_as_multisets(expected.data.whole(), actual.data.whole(), self._by_bucket)
            if (lost := sum(d.lost for d in differences)) and lost <= not_replayed:
                differences = [replace(d, lost=0) for d in differences]
                not_replayed -= lost
            where = f"{self._table.table} epoch {unit.epoch}, {', '.join(map(str, ranges))}"
            rows_gone -= self._report_buckets(
                where=where,
                reduction=reduction,
                differences=differences,
                absent=absent,
                rows_gone=rows_gone if is_whole else None,
            )
        for path, partition in partitions.items():
            partition.fetched += ranges
            partition.rows_gone += rows_gone
            partition.not_replayed += not_replayed
            partition.add(aside[path], accepted.letters)

    def _judge_by_schemas(
        self,
        unit: Unit,
        contents: Sequence[bytes | None],
        task: TableTask,
        span: Span,
        place: PlaceColumns,
        partitions: Mapping[str, CompactedRows],
    ) -> None:
        """Report rows that contradict the schemas of their records, judged without the decoder.

        Rows of compacted `partitions` are judged when these are compared.
        """
        if not self._judge.types:
            return
        sample = RecordSample(self._judge, place, self._table.framing)
        by_name = {**self._settings.tables, self._table.table: table_of_values(self._table, self._judge)}
        settings = replace(self._settings, tables=by_name)
        # the piece was read before, so this ends well or soon
        sinks = passing_sinks(lambda rows, _ids, _paths: sample.take(rows, span))
        dry_run(task, settings, self._files, sinks)
        for partition in partitions.values():
            if partition.reduction.place is not None:
                of_partition = self._samples.setdefault(
                    partition.home.path,
                    RecordSample(self._judge, partition.reduction.place, self._table.framing),
                )
                of_partition.rows |= sample.rows
        for file, data in zip(unit.files, contents, strict=True):
            if data is None or file.kind is not FileKind.DATA:
                continue
            try:
                reader = open_reader(data, extension_of(file.final), self._lines.of(file.final))
            except UNREADABLE:
                continue  # `load` has reported the file
            self._report_contradictions(sample, reader, span, file.final)

    def _report_contradictions(self, sample: RecordSample, reader: FileReader, span: Span, path: str) -> None:
        try:
            for where, wrong in sample.contradictions_in(reader, span):
                if wrong is None:
                    self._unjudged += 1
                else:
                    self._audit.findings.append(Finding("verify.semantic", where, f"{wrong}; {path}"))
        except UNREADABLE:
            return  # `load` has reported the file

    def _report_places(
        self,
        unit: Unit,
        reduction: Reduction,
        differences: PlaceDifferences,
        absent: Counter[int],
        rows_gone: int,
        what: str,
    ) -> int:
        """Report the differences that missing files and compaction do not explain.

        `absent` counts the rows of missing files by bucket, `rows_gone` the rows whose records were compacted away. Returns the
        number of rows without a record that compaction explains.
        """
        by_bucket = self._by_bucket or what == "dead letter"
        lost = without_absent(differences.lost, differences.expected_buckets, absent, by_bucket)
        extra = differences.extra
        compacted = len(extra) if len(extra) <= rows_gone else 0
        self._compacted += compacted
        self._audit.findings += place_findings(
            span=reduction.span,
            differences=replace(differences, lost=lost, extra=extra[:0] if compacted else extra),
            files=unit.files,
            paths=reduction.paths.names,
            what=what,
        )
        return compacted

    def _report_buckets(
        self,
        where: str,
        reduction: Reduction,
        differences: Sequence[BucketDifference],
        absent: Counter[int],
        rows_gone: int | None,
    ) -> int:
        """Report differences of rows without places; `absent` and `rows_gone` are those of _report_places.

        `rows_gone` is None if some of the unit's records have aged out: any number of rows may then have no record. Returns as
        _report_places.
        """
        extra = sum(d.extra for d in differences)
        is_explained = rows_gone is None or extra <= rows_gone
        compacted = extra if rows_gone is not None and is_explained else 0
        self._compacted += compacted
        if not self._by_bucket:
            absent = Counter({0: absent.total()})
        unexplained = [replace(d, lost=0) if d.lost <= absent[d.bucket] else d for d in differences]
        names = reduction.paths.names if self._by_bucket else []
        self._audit.findings += multiset_findings(where, unexplained, names, extra=not is_explained)
        return compacted

    def _report_rows_outside(self, unit: Unit, rows: LoadedRows, *, has_places: bool) -> None:
        """Report rows whose offset is outside the ranges of their file."""
        for side in (rows.letters, *([rows.data] if has_places else [])):
            whole = side.whole()
            outside = Counter(whole.files[whole.places == OUTSIDE].tolist())
            for number, count in sorted(outside.items()):
                file = unit.files[number]
                text = f"{counted(count, 'row')} with offsets outside {', '.join(map(str, file.ranges))}"
                self._audit.findings.append(Finding("verify.extra", file.final, text))

    def _read(self, file: DataFile) -> bytes | None:
        """Return a file's bytes, or None if it is damaged or missing (given up, or reported by audit_presence)."""
        try:
            data = self._files.read(file.final)
        except NotFound:
            return None
        damage = damage_of(file, file.final, data)
        if damage is None:
            return data
        self._audit.findings.append(damage)
        return data if is_readable(data, file.final, self._lines.of(file.final)) else None

    def _note_filled(self, unit: Unit, contents: Sequence[bytes | None]) -> None:
        for file, data in zip(unit.files, contents, strict=True):
            if data is not None and file.kind is FileKind.DATA:
                self._note_values(
                    open_reader(data, extension_of(file.final), self._lines.of(file.final)), file
                )

    def _columns_of(self, files: Sequence[DataFile]) -> Mapping[str, str]:
        """Return the columns that the map and all of these compacted files have with comparable types."""
        common = {name: name for name in self._schema.names if name not in self._several_keys}
        for file in files:
            data = self._read_compacted(file)
            if data is None or not is_readable(data, file.final, self._lines.of(file.final)):
                continue
            for name, why in column_differences(
                self._schema, file_schema(data, file.final, self._lines.of(file.final))
            ):
                self._uncompared[why] += 1
                common.pop(name, None)
        return common

    def _common_columns(self, unit: Unit, contents: Sequence[bytes | None]) -> dict[str, str]:
        """Return the columns that the map and all of the unit's files have with comparable types."""
        common = {name: name for name in self._schema.names if name not in self._several_keys}
        for file, data in zip(unit.files, contents, strict=True):
            if data is None or file.kind is not FileKind.DATA:
                continue
            for name, why in column_differences(
                self._schema, file_schema(data, file.final, self._lines.of(file.final))
            ):
                self._uncompared[why] += 1
                common.pop(name, None)
        return common

    def _report_not_checked(self, unassigned: Sequence[DataFile]) -> None:
        """Add the data that was not compared, and the columns that are empty in all rows."""
        from_value = [column.name for column in self._table.columns if column.name in self._schema.names]
        empty = [name for name in from_value if name not in self._filled] if self._rows else []
        self._audit.notes += [f"column {name} is NULL in every row" for name in empty]
        if self._not_replayed:
            letters, table = counted(self._not_replayed, "dead letter"), self._table.table
            self._audit.notes.append(
                f"{letters} that the map accepts now, and that were not replayed yet: `kafka2hive dead-letters replay --table"
                f" {table} -c MAP` makes rows of them"
            )
        not_checked = self._audit.not_checked
        not_checked += summary_lines(self._gone)
        not_checked += self._rule_judge.not_judged(self._schema.names)
        if self._compacted:
            not_checked.append(
                f"{counted(self._compacted, 'row')} whose records have since been compacted away"
            )
        if self._unjudged:
            not_checked.append(
                f"the schemas of {counted(self._unjudged, 'record')}: `verify` could not read these records by them"
            )
        if unassigned:
            rows = sum(file.rows for file in unassigned)
            not_checked.append(
                f"{counted(rows, 'row')} in {counted(len(unassigned), 'file')} of offsets that were accepted as a gap"
            )
        not_checked += [f"{why} {counted(files, 'file')}" for why, files in sorted(self._uncompared.items())]
        not_checked += [
            f"column {name}: only its form, because the map has several mask_keys"
            for name in sorted(self._several_keys)
        ]
        if not self._by_bucket:
            not_checked.append("buckets: they are by processing time, which no record has")


def _schemas(
    table: TableSettings, settings: TaskSettings, files: FileSystem
) -> WriterSchema | SchemaById | None:
    """Return the schema of all values of the table, or the schemas by their ids; None for a format without them."""
    writers = writers_of(table, settings, files, keeps=False)
    return writers if isinstance(writers, WriterSchema) or writers is None else writers.get


def _rows_gone(unit: Unit, part: OffsetRange, now: OffsetAccounting) -> int:
    """Return how many rows of `part` come from records that Kafka has deleted since they were read.

    If `part` is only a piece of a range, this is an upper bound. Tables with several rows per record are never cut into
    pieces.
    """
    then = unit.accounts.get(part)
    if then is None:
        return len(part) - now.read
    return max(0, then.read + then.more_rows - now.read - now.more_rows)
