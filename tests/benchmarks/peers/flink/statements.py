"""The SQL of the Flink peer, and Flink's names of Hive's types."""

import re
from itertools import pairwise

from tests.benchmarks.peers.assignment import Assignment
from tests.benchmarks.peers.shape import ZSTD_LEVEL

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
    source = {
        "connector": "kafka",
        "topic": assignment.topic,
        "properties.bootstrap.servers": assignment.bootstrap,
        "properties.group.id": "flink-peer",
        "scan.startup.mode": "earliest-offset",
        "properties.register.consumer.metrics": "false",
        "format": "json",
        "json.timestamp-format.standard": "ISO-8601",
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
        f"CREATE TABLE source ({columns}) WITH ({_options(source)})",
        f"CREATE TABLE sink ({columns}, dt STRING) PARTITIONED BY (dt) WITH ({_options(sink)})",
        f"INSERT INTO sink SELECT *, DATE_FORMAT(`{shape.time}`, '{shape.java_format}') FROM source",
    ]


def _options(pairs: dict[str, str]) -> str:
    return ", ".join(f"'{key}' = '{value}'" for key, value in pairs.items())
