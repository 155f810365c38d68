"""`kafka2hive offsets`: the positions of the tables or of another tool, next to the ends of Kafka's logs. Only reads."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from kafka2hive.kafka.port import ClusterView, Kafka
from kafka2hive.model.errors import ExitCode, Kafka2HiveError
from kafka2hive.model.offsets import TopicPartition
from kafka2hive.service.init.offset_sources import OffsetSource, PlacedOffset, read_offsets
from kafka2hive.service.tables.ledgers import apart, each_ledger, ledger_tables, unknown_tables
from kafka2hive.service.topics.kafka_view import logs_of
from kafka2hive.service.topics.routes import topic_routes
from kafka2hive.service.wiring import Wiring


@dataclass(frozen=True, slots=True)
class OwnedOffsets:
    """Positions of one owner: a table, or a source such as `group:flink`."""

    owner: str
    offsets: tuple[PlacedOffset, ...]


@dataclass(frozen=True, slots=True)
class OffsetsResult:
    """The positions of all owners, and an error for each table that is unknown or whose ledger cannot be read."""

    owners: tuple[OwnedOffsets, ...]
    errors: tuple[tuple[str, Kafka2HiveError], ...] = ()

    @property
    def exit_code(self) -> ExitCode:
        return self.errors[0][1].exit_code if self.errors else ExitCode.DONE


def table_offsets(wiring: Wiring, kafka: Kafka, tables: Collection[str]) -> OffsetsResult:
    """Return the positions of `tables`, or of all tables of the service if it is empty. Raises ServiceUnavailable."""
    ledgers = ledger_tables(wiring)
    unknown = unknown_tables(wiring, tables, {paths.table for paths in ledgers})
    selected = [paths for paths in ledgers if not tables or paths.table in tables]
    states, errors = apart(each_ledger(wiring, selected, lambda view: [view.state]))
    shown = [state for state in states if tables or state.service == wiring.map.service]
    ends = {state.table: {p.topic_partition: p.end for p in state.positions} for state in shown}
    cluster = kafka.cluster(lambda _topic: False)
    return OffsetsResult(_placed(kafka, cluster, ends), (*unknown, *errors))


def source_offsets(wiring: Wiring, kafka: Kafka, source: OffsetSource) -> OffsetsResult:
    """Return the positions that another tool has in the topics of the map. Raises ConfigError, ServiceUnavailable."""
    cluster = kafka.cluster(lambda _topic: False)
    routes = topic_routes(wiring, cluster.topics)
    topics = sorted({topic for table in routes.tables for topic in table.topics})
    foreign = read_offsets(source, wiring, kafka, cluster.topic_partitions(topics))
    return OffsetsResult(_placed(kafka, cluster, {str(source): foreign.offsets}))


def _placed(
    kafka: Kafka, cluster: ClusterView, offsets: Mapping[str, Mapping[TopicPartition, int]]
) -> tuple[OwnedOffsets, ...]:
    """Return each owner's positions, each with the start and end of its log, or None where Kafka does not report one."""
    topics = sorted({tp.topic for positions in offsets.values() for tp in positions})
    logs = logs_of(kafka, cluster, topics)
    return tuple(
        OwnedOffsets(
            owner,
            tuple(
                PlacedOffset(
                    tp,
                    offset,
                    logs.earliest[tp].offset if tp in logs.earliest else None,
                    logs.latest[tp].offset if tp in logs.latest else None,
                )
                for tp, offset in sorted(positions.items())
            ),
        )
        for owner, positions in offsets.items()
    )
