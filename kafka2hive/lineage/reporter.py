"""Tells a lineage server about published epochs: one event for each table of an epoch, and one when the run ends."""

import uuid
from collections import Counter
from collections.abc import Callable

from kafka2hive.config.dead_letters import DEAD_LETTER_COLUMNS, DEAD_LETTER_PARTITIONS
from kafka2hive.config.keys import Column, LineageOptions, ServiceMap
from kafka2hive.config.keys.columns import METADATA_TYPES
from kafka2hive.hive.tables import partition_columns
from kafka2hive.lineage.events import (
    DatasetName,
    EventType,
    LineageEvent,
    LineageSource,
    TableWritten,
    TopicRead,
    kafka_namespace,
    location_name,
)
from kafka2hive.lineage.sender import LineageSender
from kafka2hive.model.files import FileKind
from kafka2hive.model.offsets import cluster_of, name_in_kafka
from kafka2hive.service.tables.report import EpochReport, TableReport
from kafka2hive.service.tables.table_state import Owned, Table
from kafka2hive.service.wiring import Wiring

END_SECONDS = 5.0


class LineageReporter:
    """Makes the events of a run. A table's run begins with its first published epoch (START) and ends with the service's run.

    Each epoch only puts a small value into a queue; see LineageSender.
    """

    def __init__(
        self, wiring: Wiring, options: LineageOptions, count: Callable[[str, int], None], *, once: bool
    ) -> None:
        self._map = wiring.map
        self._clock = wiring.ports.clock
        self._kafka = {
            name: kafka_namespace(dict(options.properties)["bootstrap.servers"])
            for name, options in wiring.map.clusters.items()
        }
        self._hive = hive_namespace(wiring.map, options)
        source = LineageSource(
            namespace=options.namespace,
            service=wiring.map.service,
            run_id=str(uuid.uuid4()),
            is_batch=once,
        )
        self._sender = LineageSender(options, source, wiring.background, count)
        self._runs: dict[str, str] = {}

    def __call__(self, report: EpochReport) -> None:
        tables = {table.name: table for table in report.tables}
        for part in report.reports:
            type: EventType = "RUNNING" if part.table in self._runs else "START"
            if type == "START":
                self._runs[part.table] = str(uuid.uuid4())
            self._put(
                type,
                part.table,
                inputs=self._inputs(part),
                outputs=self._outputs(part, tables[part.table]),
            )

    def end(self, ended_by: Exception | None) -> None:
        """Report the end of each table's run: FAIL if an error ended the service's run, otherwise COMPLETE."""
        for table in self._runs:
            self._put("COMPLETE" if ended_by is None else "FAIL", table)
        self._sender.end(END_SECONDS)

    def _put(
        self,
        type: EventType,
        table: str,
        *,
        inputs: tuple[TopicRead, ...] = (),
        outputs: tuple[TableWritten, ...] = (),
    ) -> None:
        self._sender.put(
            LineageEvent(
                type=type,
                time_ms=self._clock.epoch_ms(),
                run_id=self._runs[table],
                job=f"{self._map.service}.{table}",
                inputs=inputs,
                outputs=outputs,
            )
        )

    def _inputs(self, part: TableReport) -> tuple[TopicRead, ...]:
        records: Counter[str] = Counter()
        sizes: Counter[str] = Counter()
        for entry in part.outcome.change.accounts:
            topic = entry.range.topic_partition.topic
            records[topic] += entry.account.read
            sizes[topic] += entry.account.bytes
        return tuple(
            TopicRead(topic=self._dataset(topic), records=records[topic], bytes=sizes[topic])
            for topic in sorted(records)
        )

    def _dataset(self, topic: str) -> DatasetName:
        return DatasetName(self._kafka[cluster_of(topic)], name_in_kafka(topic))

    def _outputs(self, part: TableReport, table: Table) -> tuple[TableWritten, ...]:
        letters = self._map.dead_letters
        letter_columns = (*DEAD_LETTER_COLUMNS, *DEAD_LETTER_PARTITIONS)
        data = self._output(
            part, FileKind.DATA, name=table.name, location=table.location, columns=_columns(table)
        )
        dead = self._output(
            part,
            FileKind.DEAD_LETTER,
            name=letters.table,
            location=letters.location,
            columns=letter_columns,
        )
        return (data, dead) if dead.files else (data,)

    def _output(
        self, part: TableReport, kind: FileKind, *, name: str, location: str, columns: tuple[Column, ...]
    ) -> TableWritten:
        files = [file for file in part.state.files if file.kind is kind]
        place = location_name(location)
        return TableWritten(
            table=place if self._hive is None else DatasetName(self._hive, name),
            location=None if self._hive is None else place,
            columns=columns,
            rows=sum(file.rows for file in files),
            bytes=sum(file.length for file in files),
            files=len(files),
        )


def hive_namespace(service_map: ServiceMap, options: LineageOptions) -> str | None:
    """Return the namespace of the tables; None if they are known by their directories only."""
    if options.hive_namespace is not None:
        return options.hive_namespace
    hive = service_map.hive
    return None if hive is None else f"hive://{hive.addresses[0]}"


def _columns(table: Table) -> tuple[Column, ...]:
    """Return the columns of the Hive table; none if the table was dropped from memory meanwhile."""
    if not isinstance(table.ownership, Owned):
        return ()
    settings = table.ownership.settings
    metadata = (Column(name, METADATA_TYPES[kind]) for kind, name in settings.metadata)
    return (*settings.columns, *metadata, *partition_columns(settings.bucketing.path))
