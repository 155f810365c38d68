"""What a run tells a lineage server about one table, and the OpenLineage event (spec 2-0-2) that says so."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal
from urllib.parse import urlsplit

from kafka2hive import __version__
from kafka2hive.config.keys import Column

EventType = Literal["START", "RUNNING", "COMPLETE", "FAIL"]
PRODUCER = f"urn:kafka2hive:{__version__}"
_SPEC = "https://openlineage.io/spec"
_EVENT = f"{_SPEC}/2-0-2/OpenLineage.json#/$defs/RunEvent"
_FACETS = {
    "schema": "1-2-0/SchemaDatasetFacet",
    "symlinks": "1-0-1/SymlinksDatasetFacet",
    "inputStatistics": "1-0-0/InputStatisticsInputDatasetFacet",
    "outputStatistics": "1-0-2/OutputStatisticsOutputDatasetFacet",
    "jobType": "2-0-4/JobTypeJobFacet",
    "parent": "1-2-0/ParentRunFacet",
}


@dataclass(frozen=True, slots=True)
class DatasetName:
    """A dataset by OpenLineage's naming: `kafka://host:port` and a topic, `hive://host:port` and `db.table`, and so on."""

    namespace: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicRead:
    """The records of a topic that went into a table in one epoch; `bytes` are those of their values."""

    topic: DatasetName
    records: int
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TableWritten:
    """The files that one epoch wrote into a table. `location` is the table's directory if `table` is not named by it."""

    table: DatasetName
    location: DatasetName | None
    columns: tuple[Column, ...]
    rows: int
    bytes: int
    files: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LineageEvent:
    """One event about one table: at `time_ms` (milliseconds since 1970), its job and run, and what one epoch moved."""

    type: EventType
    time_ms: int
    run_id: str
    job: str
    inputs: tuple[TopicRead, ...] = ()
    outputs: tuple[TableWritten, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LineageSource:
    """What all events of a run have in common. `namespace` is that of the jobs; the parent is the job `service`."""

    namespace: str
    service: str
    run_id: str
    is_batch: bool

    def document(self, event: LineageEvent) -> dict[str, Any]:
        """Return the event as OpenLineage writes it."""
        parent = {"run": {"runId": self.run_id}, "job": {"namespace": self.namespace, "name": self.service}}
        kind = {"processingType": "BATCH" if self.is_batch else "STREAMING", "integration": "KAFKA2HIVE"}
        time = datetime.fromtimestamp(event.time_ms / 1000, UTC).isoformat(timespec="milliseconds")
        return {
            "eventType": event.type,
            "eventTime": time.replace("+00:00", "Z"),
            "producer": PRODUCER,
            "schemaURL": _EVENT,
            "run": {"runId": event.run_id, "facets": _facet("parent", parent)},
            "job": {"namespace": self.namespace, "name": event.job, "facets": _facet("jobType", kind)},
            "inputs": [_input(topic) for topic in event.inputs],
            "outputs": [_output(table) for table in event.outputs],
        }


def location_name(location: str) -> DatasetName:
    """Return a directory by OpenLineage's naming: `hdfs://host:port` or `file`, and the path."""
    parts = urlsplit(location)
    return DatasetName(f"{parts.scheme}://{parts.netloc}" if parts.netloc else parts.scheme, parts.path)


def kafka_namespace(bootstrap_servers: str) -> str:
    """Return `kafka://host:port` of the first server, as other producers of events name the cluster."""
    first = bootstrap_servers.partition(",")[0].strip().rpartition("://")[2]
    has_port = ":" in first.rpartition("]")[2]
    return f"kafka://{first}" if has_port else f"kafka://{first}:9092"


def _input(read: TopicRead) -> dict[str, Any]:
    statistics = {"rowCount": read.records, "size": read.bytes}
    return {
        "namespace": read.topic.namespace,
        "name": read.topic.name,
        "inputFacets": _facet("inputStatistics", statistics),
    }


def _output(written: TableWritten) -> dict[str, Any]:
    facets: dict[str, Any] = {}
    if written.columns:
        fields = [{"name": column.name, "type": column.type} for column in written.columns]
        facets |= _facet("schema", {"fields": fields})
    if written.location is not None:
        place = written.location
        identifiers = [{"namespace": place.namespace, "name": place.name, "type": "LOCATION"}]
        facets |= _facet("symlinks", {"identifiers": identifiers})
    statistics = {"rowCount": written.rows, "size": written.bytes, "fileCount": written.files}
    return {
        "namespace": written.table.namespace,
        "name": written.table.name,
        "facets": facets,
        "outputFacets": _facet("outputStatistics", statistics),
    }


def _facet(name: str, content: dict[str, Any]) -> dict[str, Any]:
    schema = _FACETS[name]
    return {
        name: {
            "_producer": PRODUCER,
            "_schemaURL": f"{_SPEC}/facets/{schema}.json#/$defs/{schema.partition('/')[2]}",
            **content,
        }
    }
