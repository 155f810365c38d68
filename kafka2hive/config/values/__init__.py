"""The map as declared and as everybody uses it: frozen values, each key with its words, default and bounds at its field.

The YAML's own words and defaults are documented in docs/configuration.md.
"""

from kafka2hive.config.values.columns import Column, MetadataColumn
from kafka2hive.config.values.service import (
    DeadLetters,
    HiveOptions,
    KafkaOptions,
    Limits,
    Metrics,
    ServiceMap,
    SparkOptions,
    StorageOptions,
)
from kafka2hive.config.values.table import (
    Bucketing,
    BucketTime,
    Flush,
    SharedOptions,
    StartKind,
    StartPolicy,
    TableRule,
    Tombstones,
    WriterOptions,
)

__all__ = [
    "BucketTime",
    "Bucketing",
    "Column",
    "DeadLetters",
    "Flush",
    "HiveOptions",
    "KafkaOptions",
    "Limits",
    "MetadataColumn",
    "Metrics",
    "ServiceMap",
    "SharedOptions",
    "SparkOptions",
    "StartKind",
    "StartPolicy",
    "StorageOptions",
    "TableRule",
    "Tombstones",
    "WriterOptions",
]
