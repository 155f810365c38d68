"""The SQL of the Flink peer, and Flink's names of Hive's types."""

import re
from itertools import pairwise

from tests.benchmarks.peers.assignment import Assignment
from tests.benchmarks.peers.shape import ZSTD_LEVEL, Encoding, Shape

_NAMES = {
    "bigint": "BIGINT",
    "double": "DOUBLE",
    "string": "STRING",
    "timestamp": "TIMESTAMP_LTZ(3)",
    "binary": "BYTES",
}


def flink_type(hive: str) -> str:
    """`array<struct<a:bigint>>` -> `ARRAY<ROW<`a` BIGINT>>`. Raises KeyError for a type no data set has."""
    if hive.startswith("array<"):
        return f"ARRAY<{flink_type(hive[6:-1])}>"
    if hive.startswith("struct<"):
        fields = (field.partition(":") for field in _top_level(hive[7:-1]))
        return "ROW<" + ", ".join(f"`{name}` {flink_type(kind)}" for name, _, kind in fields) + ">"
    if hive.startswith("map<"):
        return "MAP<" + ", ".join(flink_type(kind) for kind in _top_level(hive[4:-1])) + ">"
    if hive.startswith("decimal("):
        return hive.upper()
    return _NAMES[hive]


def _top_level(fields: str) -> list[str]:
    """Split at the commas that lie within no brackets."""
    depth, cuts = 0, [-1]
    for found in re.finditer("[<>,]", fields):
        depth += {"<": 1, ">": -1, ",": 0}[found[0]]
        if found[0] == "," and depth == 0:
            cuts.append(found.start())
    return [fields[start + 1 : end] for start, end in pairwise([*cuts, len(fields)])]


def statements(assignment: Assignment) -> list[str]:
    """Source, sink, and the job that copies."""
    shape = assignment.shape
    columns = ", ".join(f"`{name}` {flink_type(kind)}" for name, kind in shape.columns.items())
    record = source_columns(shape)
    source = {
        "connector": "kafka",
        "topic": assignment.topic,
        "properties.bootstrap.servers": assignment.bootstrap,
        "properties.group.id": "flink-peer",
        "scan.startup.mode": "earliest-offset",
        "properties.register.consumer.metrics": "false",
        **_format(shape),
    }
    if assignment.interval_seconds is None:
        source["scan.bounded.mode"] = "latest-offset"
    sink = {
        "connector": "filesystem",
        "path": assignment.output,
        "format": "parquet",
        "parquet.compression": "ZSTD",
        "parquet.compression.codec.zstd.level": str(ZSTD_LEVEL),
    }
    return [
        f"CREATE TABLE source ({record}) WITH ({_options(source)})",
        f"CREATE TABLE sink ({columns}, dt STRING) PARTITIONED BY (dt) WITH ({_options(sink)})",
        f"INSERT INTO sink SELECT *, DATE_FORMAT(`{shape.time}`, '{shape.java_format}') FROM {_rows(shape)}",
    ]


def source_columns(shape: Shape) -> str:
    """The columns of the source: the record's fields as its encoding holds them."""
    kinds = {name: _encoded_type(kind, shape.encoding) for name, kind in shape.columns.items()}
    fields = ", ".join(f"`{name}` {kind}" for name, kind in kinds.items())
    return f"`after` ROW<{fields}>" if shape.encoding == "debezium" else fields


def _encoded_type(hive: str, encoding: Encoding) -> str:
    if hive == "timestamp" and encoding != "json":  # Avro's local type in Flink, and numbers of the others
        return "TIMESTAMP(3)" if encoding == "avro" else "BIGINT"
    return flink_type(hive)


def _format(shape: Shape) -> dict[str, str]:
    if shape.encoding == "avro":
        return {"format": "avro-confluent", "avro-confluent.url": shape.registry}
    if shape.encoding == "protobuf":
        return {"format": "protobuf", "protobuf.message-class-name": "bench.Record"}
    return {"format": "json", "json.timestamp-format.standard": "ISO-8601"}


def _rows(shape: Shape) -> str:
    """Where the sink's rows come from. Flink's debezium-json makes a changelog, which no file sink takes."""
    if shape.encoding == "json":
        return "source"
    field = "`after`." if shape.encoding == "debezium" else ""
    taken = [
        _taken(f"{field}`{name}`", kind, shape.encoding) + f" AS `{name}`"
        for name, kind in shape.columns.items()
    ]
    return f"(SELECT {', '.join(taken)} FROM source)"


def _taken(field: str, hive: str, encoding: Encoding) -> str:
    if hive != "timestamp":
        return field
    return f"CAST({field} AS TIMESTAMP_LTZ(3))" if encoding == "avro" else f"TO_TIMESTAMP_LTZ({field}, 3)"


def _options(pairs: dict[str, str]) -> str:
    return ", ".join(f"'{key}' = '{value}'" for key, value in pairs.items())
