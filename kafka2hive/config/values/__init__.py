"""The map as declared and as everybody uses it: frozen values, each key with its words, default and bounds at its field.

The YAML's own words and defaults are documented in docs/configuration.md.
"""

from kafka2hive.config.values.bucketing import Bucketing as Bucketing
from kafka2hive.config.values.bucketing import BucketTime as BucketTime
from kafka2hive.config.values.change_log import ChangeLog as ChangeLog
from kafka2hive.config.values.columns import Column as Column
from kafka2hive.config.values.columns import MetadataColumn as MetadataColumn
from kafka2hive.config.values.columns import RecordPart as RecordPart
from kafka2hive.config.values.completion import Completion as Completion
from kafka2hive.config.values.csv import CsvOptions as CsvOptions
from kafka2hive.config.values.flush import Flush as Flush
from kafka2hive.config.values.kerberos import KerberosOptions as KerberosOptions
from kafka2hive.config.values.plugin import PluginOptions as PluginOptions
from kafka2hive.config.values.registry import Framing as Framing
from kafka2hive.config.values.registry import ProtobufIndexes as ProtobufIndexes
from kafka2hive.config.values.registry import RegistryOptions as RegistryOptions
from kafka2hive.config.values.registry import WireFormat as WireFormat
from kafka2hive.config.values.service import DeadLetters as DeadLetters
from kafka2hive.config.values.service import HiveOptions as HiveOptions
from kafka2hive.config.values.service import KafkaOptions as KafkaOptions
from kafka2hive.config.values.service import Limits as Limits
from kafka2hive.config.values.service import Metrics as Metrics
from kafka2hive.config.values.service import ServiceMap as ServiceMap
from kafka2hive.config.values.service import SparkOptions as SparkOptions
from kafka2hive.config.values.service import StorageOptions as StorageOptions
from kafka2hive.config.values.start import StartKind as StartKind
from kafka2hive.config.values.start import StartPolicy as StartPolicy
from kafka2hive.config.values.table import TableRule as TableRule
from kafka2hive.config.values.table import TableSettings as TableSettings
from kafka2hive.config.values.table import Tombstones as Tombstones
from kafka2hive.config.values.writer import FileFormat as FileFormat
from kafka2hive.config.values.writer import TextOptions as TextOptions
from kafka2hive.config.values.writer import WriterOptions as WriterOptions
