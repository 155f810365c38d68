"""`verify --deep`: reads the rows back and compares them with Kafka's records, fetched and decoded again.

Works through what one task of one epoch read at a time, so memory is bounded by that task's files and about 80 bytes
for each of its rows. Only reads, and only finished epochs: a live run goes on beside it.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from kafka2hive.config.keys import BucketTime
from kafka2hive.formats.lines.reader import PlainLines
from kafka2hive.formats.readers import opened
from kafka2hive.kafka.port import Kafka
from kafka2hive.kafka.positions import Logs
from kafka2hive.model.errors import ServiceUnavailable
from kafka2hive.model.files import DataFile, FileKind
from kafka2hive.model.offset_accounting import OffsetAccounting
from kafka2hive.model.offsets import OffsetRange
from kafka2hive.model.paths.data_file import extension_of
from kafka2hive.model.snapshot import REFETCH, Snapshot
from kafka2hive.model.text import counted
from kafka2hive.plan.contract import TableTask, TaskSettings
from kafka2hive.service.tables.kafka_view import logs_of
from kafka2hive.service.verify.file_contents import LoadedRows, column_differences, load, place_columns
from kafka2hive.service.verify.files import damage_of
from kafka2hive.service.verify.result import AuditResult, Finding
from kafka2hive.service.verify.row_comparison import PlaceDifferences, compare_as_multisets, compare_by_place
from kafka2hive.service.verify.row_findings import multiset_findings, place_findings, without_absent
from kafka2hive.service.verify.row_sources import LETTERS, Replay, file_schema, is_readable
from kafka2hive.service.verify.rows import OUTSIDE, Paths, PlaceColumns, Span
from kafka2hive.service.verify.units import (
    PIECE_OFFSETS,
    Advance,
    Unit,
    UnreadableUnit,
    fetchable_ranges,
    pieces,
    summary_lines,
    units_of,
    without_refetched,
)
from kafka2hive.storage.port import Concurrency, FileSystem, NotFound
from kafka2hive.task.replay import STALL_SECONDS, replay
from kafka2hive.task.rows import schema_in_files


class KafkaAudit:
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
        self._settings = replace(settings, stall_seconds=STALL_SECONDS)
        self._table = settings.tables[table]
        self._advance = advance
        self._schema = schema_in_files(self._table)
        self._plain = PlainLines(self._schema, self._table.writer)
        # several rows of one offset have one place: they are compared as those of tables that keep no offset
        self._place = None if self._table.may_hold_several else place_columns(self._table)
        self._by_bucket = self._table.bucketing.time is not BucketTime.PROCESSING
        self._audit = AuditResult()
        self._gone: list[UnreadableUnit] = []
        self._compacted = 0
        self._uncompared: Counter[str] = Counter()
        self._filled: set[str] = set()
        self._rows = 0
        self._refetched: set[str] = set()

    def audit(self, finals: Sequence[Snapshot], kafka: Kafka) -> AuditResult:
        """Raises StorageError. A Kafka that does not answer stands in `no_answer`."""
        units, unassigned = units_of(finals)
        self._refetched = {x.path for s in finals for x in s.losses if x.remedy == REFETCH}
        try:
            topics = {r.topic_partition.topic for unit in units for r in unit.ranges}
            logs = logs_of(kafka, kafka.cluster(topics.__contains__), topics)
            for unit in units:
                self._unit(unit, logs)
                self._advance(len(unit.files), unit.rows)
        except ServiceUnavailable as error:
            self._audit.no_answer.append(f"Kafka: {error.message}")
        self._report_left_out(unassigned)
        return self._audit

    def _unit(self, unit: Unit, logs: Logs) -> None:
        there, gone = fetchable_ranges(unit, logs)
        self._gone += gone
        contents = self._concurrency.map(self._read, unit.files)
        unit, contents = without_refetched(unit, contents, self._refetched)
        self._note_filled(unit, contents)
        columns = self._common_columns(unit, contents)
        place = self._place if self._place and self._place.tells_apart(unit.ranges) else None
        # rows that know no place cannot be told apart by piece
        parts = list(pieces(there, PIECE_OFFSETS)) if place else [tuple(there)] if there else []
        for part in parts:
            self._piece(unit=unit, contents=contents, ranges=part, columns=columns, place=place)

    def _piece(
        self,
        unit: Unit,
        contents: Sequence[bytes | None],
        ranges: tuple[OffsetRange, ...],
        columns: dict[str, str],
        place: PlaceColumns | None,
    ) -> None:
        span, paths = Span(ranges), Paths()
        expected = Replay(span, columns, place, paths)
        task = TableTask(
            table=self._table.table,
            ledger_id="",
            generation=0,
            epoch=unit.epoch,
            planned_at_ms=0,
            ranges=ranges,
        )
        manifest = replay(task, self._settings, self._files, expected.open_sink)
        if manifest.failure is not None:
            self._gone += [UnreadableUnit(r, f"not readable ({manifest.failure.message})") for r in ranges]
            return
        loaded = load(
            files=unit.files,
            contents=contents,
            columns=columns,
            place=place,
            span=span,
            paths=paths,
            plain=self._plain,
        )
        self._audit.findings += loaded.findings
        whole = set(ranges) == set(unit.ranges)
        if whole:  # in a part, rows outside may be of another part
            self._report_rows_outside(unit, loaded, place is not None)
        # a record that was read and has gone since (compaction) leaves its row behind
        gone = sum(_gone(unit, a.range, a.account) for a in manifest.accounts)
        letters = compare_by_place(
            span.length, expected.letters.whole(), loaded.letters.whole(), buckets=False
        )
        gone -= self._report_places(
            unit=unit,
            span=span,
            paths=paths,
            found=letters,
            absent=Counter({LETTERS: loaded.absent[LETTERS]}),
            gone=gone,
            what="dead letter",
        )
        rows_absent = Counter({b: n for b, n in loaded.absent.items() if b != LETTERS})
        if place is not None:
            rows = compare_by_place(span.length, expected.data.whole(), loaded.data.whole(), self._by_bucket)
            self._report_places(
                unit=unit, span=span, paths=paths, found=rows, absent=rows_absent, gone=gone, what="row"
            )
            return
        differences = compare_as_multisets(expected.data.whole(), loaded.data.whole(), self._by_bucket)
        extra = sum(d.extra for d in differences)
        explained = not whole or extra <= gone  # a part: rows of what has aged out cannot be told from others
        self._compacted += extra if whole and explained else 0
        if not self._by_bucket:
            rows_absent = Counter({0: rows_absent.total()})
        left = [replace(d, lost=0) if d.lost <= rows_absent[d.bucket] else d for d in differences]
        where = f"{self._table.table} epoch {unit.epoch}, {', '.join(map(str, ranges))}"
        names = paths.names if self._by_bucket else []
        self._audit.findings += multiset_findings(where, left, names, extra=not explained)

    def _report_places(
        self,
        unit: Unit,
        span: Span,
        paths: Paths,
        found: PlaceDifferences,
        absent: Counter[int],
        gone: int,
        what: str,
    ) -> int:
        """Report the differences; gives how many rows beyond Kafka's records compaction explains."""
        by_bucket = self._by_bucket or what == "dead letter"
        lost = without_absent(found.lost, found.expected_buckets, absent, by_bucket)
        explained = len(found.extra) if len(found.extra) <= gone else 0
        self._compacted += explained
        left = replace(found, lost=lost, extra=found.extra[:0] if explained else found.extra)
        self._audit.findings += place_findings(
            span=span, found=left, files=unit.files, paths=paths.names, what=what
        )
        return explained

    def _report_rows_outside(self, unit: Unit, loaded: LoadedRows, placed: bool) -> None:
        """Rows that say they come from offsets that their own file does not name."""
        for rows in (loaded.letters, *([loaded.data] if placed else [])):
            whole = rows.whole()
            outside = Counter(whole.files[whole.places == OUTSIDE].tolist())
            for number, count in sorted(outside.items()):
                file = unit.files[number]
                text = f"{counted(count, 'row')} say they are of other offsets than {', '.join(map(str, file.ranges))}"
                self._audit.findings.append(Finding("verify.extra", file.final, text))

    def _read(self, file: DataFile) -> bytes | None:
        """A file's bytes; None when it is not there (audit_presence says it, or it was given up) or damaged."""
        try:
            data = self._files.read(file.final)
        except NotFound:
            return None
        damage = damage_of(file, file.final, data)
        if damage is None:
            return data
        self._audit.findings.append(damage)
        return data if is_readable(data, file.final, self._plain) else None

    def _note_filled(self, unit: Unit, contents: Sequence[bytes | None]) -> None:
        for file, data in zip(unit.files, contents, strict=True):
            if data is not None and file.kind is FileKind.DATA:
                self._filled |= opened(data, extension_of(file.final), self._plain).filled_columns()
                self._rows += file.rows

    def _common_columns(self, unit: Unit, contents: Sequence[bytes | None]) -> dict[str, str]:
        """The columns that the map and all of the unit's files have, of types that compare."""
        shared = {name: name for name in self._schema.names}
        for file, data in zip(unit.files, contents, strict=True):
            if data is None or file.kind is not FileKind.DATA:
                continue
            for name, why in column_differences(self._schema, file_schema(data, file.final, self._plain)):
                self._uncompared[why] += 1
                shared.pop(name, None)
        return shared

    def _report_left_out(self, unassigned: Sequence[DataFile]) -> None:
        from_value = [column.name for column in self._table.columns if column.name in self._schema.names]
        empty = [name for name in from_value if name not in self._filled] if self._rows else []
        self._audit.notes += [f"column {name} is NULL in every row" for name in empty]
        left_out = self._audit.not_checked
        left_out += summary_lines(self._gone)
        if self._compacted:
            left_out.append(f"{counted(self._compacted, 'row')} whose records were compacted away since")
        if unassigned:
            rows = sum(file.rows for file in unassigned)
            left_out.append(
                f"{counted(rows, 'row')} in {counted(len(unassigned), 'file')} of offsets that were accepted as a gap"
            )
        left_out += [f"{why} {counted(files, 'file')}" for why, files in sorted(self._uncompared.items())]
        if not self._by_bucket:
            left_out.append("buckets: they are of the time of processing, which no record tells")


def _gone(unit: Unit, part: OffsetRange, now: OffsetAccounting) -> int:
    """How many rows are of records of `part` that were read and are not there any more; of a cut range the most it can be.

    Tables with several rows of a record are never judged by a cut range.
    """
    then = unit.accounts.get(part)
    if then is None:
        return len(part) - now.read
    return max(0, then.read + then.more_rows - now.read - now.more_rows)
