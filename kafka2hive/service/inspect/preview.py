"""`kafka2hive preview`: what the map makes of records that Kafka holds now, by the code that dumps them. Writes nothing."""

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from kafka2hive.config.keys import MetadataColumn, TableSettings
from kafka2hive.kafka.errors import unknown_topics
from kafka2hive.kafka.port import Kafka
from kafka2hive.kafka.positions import Logs
from kafka2hive.model.errors import ConfigError, ExitCode, Kafka2HiveError, TableError, worst
from kafka2hive.model.files import FileKind
from kafka2hive.model.offsets import OffsetRange, TopicPartition
from kafka2hive.plan.contract import ColumnsSeen
from kafka2hive.plan.packing import fair_shares
from kafka2hive.service.inspect.where import OffsetPlace
from kafka2hive.service.tables.hive_schemas import Catalogue
from kafka2hive.service.tables.kafka_view import logs_of
from kafka2hive.service.tables.ledgers import did_you_mean, refuse_unknown
from kafka2hive.service.tables.never_filled import NeverFilled, never_filled
from kafka2hive.service.tables.routes import know_added_columns, task_settings, tell_missing, topic_routes
from kafka2hive.service.tables.table_state import Table
from kafka2hive.service.validate.selects import selects_of
from kafka2hive.service.wiring import Wiring
from kafka2hive.task.bucket.bucketer import BucketIds
from kafka2hive.task.replay import Looked, look, unowned_task
from kafka2hive.task.sink import PassingSink, RowSink
from kafka2hive.task.write.destination import Destination

if TYPE_CHECKING:
    from kafka2hive.sql.selects import Selects

_COORDINATES = {
    kind: f"@{kind.value}" for kind in (MetadataColumn.TOPIC, MetadataColumn.PARTITION, MetadataColumn.OFFSET)
}
"""Columns beside the table's own; no map can use the names."""


@dataclass(frozen=True, slots=True, order=True)
class PreviewRow:
    """`bucket` is its Hive partition, empty in a table without; `values` are those of the table's other columns."""

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
class PreviewedTable:
    """Of the records of `ranges`; with an `error` nothing is known of them. Rows and letters by topic partition and offset.

    `misspelled`: columns that no record fills, while one has a key of nearly that name which no column takes.
    """

    table: str
    ranges: tuple[OffsetRange, ...] = ()
    rows: tuple[PreviewRow, ...] = ()
    letters: tuple[PreviewLetter, ...] = ()
    tombstones: int = 0
    error: Kafka2HiveError | None = None
    misspelled: tuple[NeverFilled, ...] = ()


@dataclass(frozen=True, slots=True)
class PreviewResult:
    tables: tuple[PreviewedTable, ...]

    @property
    def exit_code(self) -> ExitCode:
        return worst([table.error.exit_code for table in self.tables if table.error is not None])


def preview(
    wiring: Wiring, kafka: Kafka, wanted: Collection[str], records: int, place: OffsetPlace | None
) -> PreviewResult:
    """About `records` records of each table: those from `place` on, else the newest, fairly from all topic partitions.

    Spark is started where one of the tables has SQL.

    `wanted`: tables by name, none for all. Raises ServiceUnavailable, ConfigError (no such table or topic partition).
    """
    cluster = kafka.cluster()
    routes = topic_routes(wiring, cluster.topics)
    tell_missing(routes.tables)
    tables = {table.name: table for table in routes.tables}
    refuse_unknown(wanted, {*tables, *(conflict.table for conflict in routes.conflicts)})
    chosen = [table for name, table in tables.items() if name in wanted or not wanted]
    refused = [
        PreviewedTable(conflict.table, error=conflict.error)
        for conflict in routes.conflicts
        if (conflict.table in wanted or not wanted)
        and (place is None or conflict.topic == place.topic_partition.topic)
    ]
    if place is not None:
        chosen = [table for table in chosen if place.topic_partition.topic in table.topics]
        if not chosen and not refused:
            raise ConfigError(
                "usage.no_such_topic",
                f"no table of the map reads topic {place.topic_partition.topic}",
                did_you_mean(
                    place.topic_partition.topic, {topic for t in tables.values() for topic in t.topics}
                ),
            )
    logs = logs_of(kafka, cluster, sorted({topic for table in chosen for topic in table.topics}))
    metastore = wiring.hive()
    catalogue = Catalogue(wiring.map, metastore)
    try:
        with selects_of([table.rule for table in chosen], wiring.map) as selects:
            shown = [
                _previewed(
                    wiring=wiring,
                    catalogue=catalogue,
                    logs=logs,
                    table=table,
                    records=records,
                    place=place,
                    selects=selects,
                )
                for table in chosen
            ]
            return PreviewResult((*shown, *refused))
    finally:
        if metastore is not None:
            metastore.close()


def ranges_of(
    logs: Logs, topics: Collection[str], records: int, place: OffsetPlace | None
) -> tuple[OffsetRange, ...]:
    """Offsets of about `records` records: from `place` on, else the newest of each topic partition, in fair shares.

    Raises ConfigError where `place` is not within the log.
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
    there = [str(r) for r in held if r.topic_partition.topic == place.topic_partition.topic]
    raise ConfigError(
        "usage.no_such_offset",
        f"Kafka does not hold {place}",
        f"it holds {', '.join(there) or 'no record of the topic'}",
    )


def _previewed(
    wiring: Wiring,
    catalogue: Catalogue,
    logs: Logs,
    table: Table,
    records: int,
    place: OffsetPlace | None,
    selects: "Selects | None",
) -> PreviewedTable:
    ranges = ranges_of(logs, table.topics, records, place)
    try:
        if not table.topics:  # of those that are missing beside others the log warns
            raise unknown_topics(table.name, table.missing)
        know_added_columns(wiring, [table])
        settings = replace(catalogue.resolve(table), schema_evolution="ignore")
    except (TableError, ConfigError) as error:
        return PreviewedTable(table.name, error=error)
    seen = _Seen()
    try:
        looked = _look(wiring=wiring, table=settings, ranges=ranges, seen=seen, selects=selects)
    except TableError as error:
        return PreviewedTable(table.name, ranges, error=error)
    return PreviewedTable(
        table=table.name,
        ranges=ranges,
        rows=tuple(sorted(seen.rows, key=lambda row: row.place)),
        letters=tuple(sorted(seen.letters)),
        tombstones=looked.tombstones,
        misspelled=_misspelled(looked.columns, settings),
    )


def _misspelled(columns: ColumnsSeen, table: TableSettings) -> tuple[NeverFilled, ...]:
    empty = never_filled(columns.empty, table.decoded_columns, columns.unmapped) if columns.rows else []
    return tuple(column for column in empty if column.nearest)


def _look(
    wiring: Wiring,
    table: TableSettings,
    ranges: tuple[OffsetRange, ...],
    seen: "_Seen",
    selects: "Selects | None",
) -> Looked:
    """Raises TableError."""
    files, now, places = wiring.ports.files, int(time.time() * 1000), tuple(_COORDINATES.items())
    if selects is not None and table.sql is not None:
        from kafka2hive.sql.look import LookThroughSelect

        told = task_settings(wiring.map, {table.table: table})
        task = unowned_task(table.table, ranges, now)
        return LookThroughSelect(
            task=task, table=table, settings=told, files=files, open_sink=seen.open_sink
        ).look(selects, places)
    told = task_settings(wiring.map, {table.table: replace(table, metadata=(*table.metadata, *places))})
    return look(
        table=table.table,
        ranges=ranges,
        settings=told,
        files=files,
        open_sink=seen.open_sink,
        planned_at_ms=now,
    )


class _Seen:
    """Where the rows go: kept, they are few."""

    def __init__(self) -> None:
        self.rows: list[PreviewRow] = []
        self.letters: list[PreviewLetter] = []

    def open_sink(self, destination: Destination, schema: pa.Schema) -> RowSink:
        return PassingSink(self._take_rows if destination.kind is FileKind.DATA else self._take_letters)

    def _take_rows(self, rows: pa.RecordBatch, ids: BucketIds, paths: Sequence[str]) -> None:
        topic, number, offset = _COORDINATES.values()
        for row, bucket in zip(rows.to_pylist(maps_as_pydicts="strict"), ids.tolist(), strict=True):
            place = OffsetPlace(TopicPartition(row.pop(topic), row.pop(number)), row.pop(offset))
            self.rows.append(PreviewRow(place, paths[bucket], row))

    def _take_letters(self, rows: pa.RecordBatch, ids: BucketIds, paths: Sequence[str]) -> None:
        for row in rows.select(["topic", "partition", "offset", "reason", "detail"]).to_pylist():
            place = OffsetPlace(TopicPartition(row["topic"], row["partition"]), row["offset"])
            self.letters.append(PreviewLetter(place, row["reason"], row["detail"]))
