"""`kafka2hive preview`: the rows that the map makes of records in Kafka, by the code of a run. Writes nothing."""

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from kafka2hive.config.keys import MetadataColumn, TableSettings
from kafka2hive.kafka.port import Kafka
from kafka2hive.kafka.positions import Logs
from kafka2hive.kafka.problems import unknown_topics
from kafka2hive.model.errors import ConfigError, ExitCode, Kafka2HiveError, TableError, worst
from kafka2hive.model.offsets import OffsetRange, TopicPartition
from kafka2hive.plan.contract import ColumnsSeen
from kafka2hive.plan.epoch import fair_shares
from kafka2hive.service.hive.schemas import Catalogue, task_settings
from kafka2hive.service.inspect.where import OffsetPlace
from kafka2hive.service.tables.ledgers import did_you_mean
from kafka2hive.service.tables.never_filled import NeverFilledColumn, never_filled
from kafka2hive.service.tables.read_through import bounds_of_map
from kafka2hive.service.tables.table_state import MapTable
from kafka2hive.service.topics.kafka_view import logs_of
from kafka2hive.service.topics.routes import tell_missing, topic_routes, with_added_columns
from kafka2hive.service.validate.map_check import selects_of
from kafka2hive.service.wiring import Wiring
from kafka2hive.task.run import DryRun, dry_run_ranges, unowned_task
from kafka2hive.task.write.bucketer import BucketIds
from kafka2hive.task.write.destination import OpenSink, passing_sinks

if TYPE_CHECKING:
    from kafka2hive.sql.selects import Selects

_COORDINATES = {
    kind: f"@{kind.value}" for kind in (MetadataColumn.TOPIC, MetadataColumn.PARTITION, MetadataColumn.OFFSET)
}
"""The metadata columns that a preview adds to the table. A map cannot have these names, so they never clash."""


@dataclass(frozen=True, slots=True, order=True)
class PreviewRow:
    """One row: `bucket` is its Hive partition, empty if the table has none; `values` has the other columns by name."""

    place: OffsetPlace
    bucket: str
    values: Mapping[str, Any] = field(compare=False)


@dataclass(frozen=True, slots=True, order=True)
class PreviewLetter:
    """A record that would become a dead letter."""

    place: OffsetPlace
    reason: str
    detail: str


@dataclass(frozen=True, slots=True)
class TablePreview:
    """The rows and dead letters of the records in `ranges`, sorted by place; none if there is an `error`.

    `misspelled` are columns that no record fills although the records have a key of nearly the same name, which no column
    reads.
    """

    table: str
    ranges: tuple[OffsetRange, ...] = ()
    rows: tuple[PreviewRow, ...] = ()
    letters: tuple[PreviewLetter, ...] = ()
    tombstones: int = 0
    filtered: int = 0
    error: Kafka2HiveError | None = None
    misspelled: tuple[NeverFilledColumn, ...] = ()


@dataclass(frozen=True, slots=True)
class PreviewResult:
    tables: tuple[TablePreview, ...]

    @property
    def exit_code(self) -> ExitCode:
        return worst([table.error.exit_code for table in self.tables if table.error is not None])


def preview(
    wiring: Wiring, kafka: Kafka, wanted: Collection[str], records: int, place: OffsetPlace | None
) -> PreviewResult:
    """Preview about `records` records of each table: those from `place` on, or the newest of all its topic partitions.

    `wanted` names the tables; empty means all. Spark is started only if one of them has SQL.
    Raises ServiceUnavailable, ConfigError (no such table or topic partition).
    """
    cluster = kafka.cluster()
    routes = topic_routes(wiring, cluster.topics)
    tell_missing(routes.tables)
    selection = routes.select(wanted)
    selected = selection.tables
    refused = [
        TablePreview(conflict.table, error=conflict.error)
        for conflict in selection.conflicts
        if place is None or conflict.topic == place.topic_partition.topic
    ]
    if place is not None:
        selected = tuple(table for table in selected if place.topic_partition.topic in table.topics)
        if not selected and not refused:
            raise ConfigError(
                "usage.no_such_topic",
                f"no table of the map reads topic {place.topic_partition.topic}",
                did_you_mean(
                    place.topic_partition.topic, {topic for table in routes.tables for topic in table.topics}
                ),
            )
    logs = logs_of(kafka, cluster, sorted({topic for table in selected for topic in table.topics}))
    metastore = wiring.hive()
    catalogue = Catalogue(wiring.map, metastore)
    try:
        with selects_of([table.rule for table in selected], wiring.map) as selects:
            previews = [
                _table_preview(
                    wiring=wiring,
                    catalogue=catalogue,
                    logs=logs,
                    table=table,
                    records=records,
                    place=place,
                    selects=selects,
                )
                for table in selected
            ]
            return PreviewResult((*previews, *refused))
    finally:
        if metastore is not None:
            metastore.close()


def ranges_of(
    logs: Logs, topics: Collection[str], records: int, place: OffsetPlace | None
) -> tuple[OffsetRange, ...]:
    """Return about `records` offsets: those from `place` on, or the newest of each topic partition in fair shares.

    Raises ConfigError if `place` is outside the log.
    """
    held = [
        OffsetRange(tp, earliest.offset, logs.latest[tp].offset)
        for tp, earliest in sorted(logs.earliest.items())
        if tp.topic in topics and tp in logs.latest
    ]
    if place is None:
        shares = fair_shares([len(r) for r in held], records)
        newest = [
            OffsetRange(r.topic_partition, r.end - share, r.end)
            for r, share in zip(held, shares, strict=True)
        ]
        return tuple(r for r in newest if len(r))
    for r in held:
        if place.is_in(r):
            return (OffsetRange(r.topic_partition, place.offset, min(r.end, place.offset + records)),)
    of_topic = [str(r) for r in held if r.topic_partition.topic == place.topic_partition.topic]
    raise ConfigError(
        "usage.no_such_offset",
        f"Kafka does not hold {place}",
        f"it holds {', '.join(of_topic) or 'no record of the topic'}",
    )


def _table_preview(
    wiring: Wiring,
    catalogue: Catalogue,
    logs: Logs,
    table: MapTable,
    records: int,
    place: OffsetPlace | None,
    selects: "Selects | None",
) -> TablePreview:
    ranges = ranges_of(logs, table.topics, records, place)
    try:
        if not table.topics:  # if only some are missing, tell_missing has logged a warning
            raise unknown_topics(table.name, table.missing)
        (table,) = with_added_columns(wiring, [table])
        settings = replace(catalogue.resolve(table), schema_evolution="ignore")
    except (TableError, ConfigError) as error:
        return TablePreview(table.name, error=error)
    collector = _Collector()
    try:
        outcome = _dry_run(wiring=wiring, table=settings, ranges=ranges, collector=collector, selects=selects)
    except TableError as error:
        return TablePreview(table.name, ranges, error=error)
    return TablePreview(
        table=table.name,
        ranges=ranges,
        rows=tuple(sorted(collector.rows, key=lambda row: row.place)),
        letters=tuple(sorted(collector.letters)),
        tombstones=outcome.tombstones,
        filtered=outcome.filtered,
        misspelled=_misspelled(outcome.columns, settings),
    )


def _misspelled(columns: ColumnsSeen, table: TableSettings) -> tuple[NeverFilledColumn, ...]:
    empty = never_filled(columns.empty, table.decoded_columns, columns.unmapped) if columns.rows else []
    return tuple(column for column in empty if column.nearest)


def _dry_run(
    wiring: Wiring,
    table: TableSettings,
    ranges: tuple[OffsetRange, ...],
    collector: "_Collector",
    selects: "Selects | None",
) -> DryRun:
    """Read `ranges` into `collector`. Raises TableError."""
    files, now, places = wiring.ports.files, int(time.time() * 1000), tuple(_COORDINATES.items())
    bounds = bounds_of_map(table.bucketing, now)
    if selects is not None and table.sql is not None:
        from kafka2hive.sql.look import LookThroughSelect

        settings = task_settings(wiring.map, {table.table: table})
        task = replace(unowned_task(table.table, ranges, now), bounds=bounds)
        return LookThroughSelect(
            task=task, table=table, settings=settings, files=files, open_sink=collector.open_sink
        ).look(selects, places)
    settings = task_settings(wiring.map, {table.table: replace(table, metadata=(*table.metadata, *places))})
    return dry_run_ranges(
        table=table.table,
        ranges=ranges,
        settings=settings,
        files=files,
        open_sink=collector.open_sink,
        planned_at_ms=now,
        bounds=bounds,
    )


class _Collector:
    """Keeps rows and dead letters in memory, since a preview has only a few."""

    def __init__(self) -> None:
        self.rows: list[PreviewRow] = []
        self.letters: list[PreviewLetter] = []

    @property
    def open_sink(self) -> OpenSink:
        return passing_sinks(self._take_rows, self._take_letters)

    def _take_rows(self, rows: pa.RecordBatch, ids: BucketIds, paths: Sequence[str]) -> None:
        topic, number, offset = _COORDINATES.values()
        for row, bucket in zip(rows.to_pylist(maps_as_pydicts="strict"), ids.tolist(), strict=True):
            place = OffsetPlace(TopicPartition(row.pop(topic), row.pop(number)), row.pop(offset))
            self.rows.append(PreviewRow(place, paths[bucket], row))

    def _take_letters(self, rows: pa.RecordBatch, ids: BucketIds, paths: Sequence[str]) -> None:
        for row in rows.select(["topic", "partition", "offset", "reason", "detail"]).to_pylist():
            place = OffsetPlace(TopicPartition(row["topic"], row["partition"]), row["offset"])
            self.letters.append(PreviewLetter(place, row["reason"], row["detail"]))
