"""What a topic's records look like and how they are partitioned, for every peer alike."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

Every = Literal["month", "hour"]
Encoding = Literal["json", "avro", "protobuf", "debezium"]
_IN_PROTOBUF = {"bigint": "int64", "string": "string", "timestamp": "int64"}
ZSTD_LEVEL = 3  # what Spark and Flink write when told nothing; everybody uses it


@dataclass(frozen=True, slots=True)
class Shape:
    """`columns`: Hive types by name; rows go into `dt=<month or hour of the column `time`>`, in UTC.

    `encoding` of the records: JSON objects; Avro behind the id of its schema in the registry at the URL `registry`;
    plain Protobuf messages of `proto`; Debezium's envelopes in JSON, whose newer row counts.
    """

    columns: dict[str, str]
    time: str
    every: Every
    encoding: Encoding = "json"
    registry: str = ""

    @property
    def strftime(self) -> str:
        """The value of `dt` for Python and for the map."""
        return {"month": "%Y%m", "hour": "%Y%m%d%H"}[self.every]

    @property
    def numpy_unit(self) -> str:
        """The unit of `datetime64` that is one bucket."""
        return {"month": "M", "hour": "h"}[self.every]

    @property
    def java_format(self) -> str:
        """The value of `dt` for Spark and Flink."""
        return {"month": "yyyyMM", "hour": "yyyyMMddHH"}[self.every]

    @property
    def spark_ddl(self) -> str:
        """The columns as Spark's DDL; it reads Hive's types."""
        return ", ".join(f"`{name}` {kind}" for name, kind in self.columns.items())

    @property
    def proto(self) -> str:
        """The schema of Protobuf records, times in milliseconds.

        In proto2, which knows fields that are not there: Flink takes proto3's for zeros, and then cannot compile what
        reads `google.protobuf.Timestamp`, which is of proto3.
        """
        fields = (
            f"  optional {_IN_PROTOBUF[kind]} {name} = {number};"
            for number, (name, kind) in enumerate(self.columns.items(), 1)
        )
        head = 'syntax = "proto2";\npackage bench;\n'
        return f"{head}option java_multiple_files = true;\nmessage Record {{\n{chr(10).join(fields)}\n}}\n"

    def write(self, path: Path) -> Path:
        """As JSON."""
        path.write_text(json.dumps(asdict(self)))
        return path


def read_shape(path: Path) -> Shape:
    """What `Shape.write` wrote."""
    return Shape(**json.loads(path.read_text()))
