"""The sections of the map as frozen values; each key is declared at its field with description, default and bounds.

docs/configuration.md and the pages that it names document the keys; their tables are generated from these declarations.
"""

from kafka2hive.config.keys.bucketing import Bucketing as Bucketing
from kafka2hive.config.keys.bucketing import BucketTime as BucketTime
from kafka2hive.config.keys.bucketing import CompactOptions as CompactOptions
from kafka2hive.config.keys.bucketing import CompletionOptions as CompletionOptions
from kafka2hive.config.keys.columns import Column as Column
from kafka2hive.config.keys.columns import MetadataColumn as MetadataColumn
from kafka2hive.config.keys.columns import RecordPart as RecordPart
from kafka2hive.config.keys.connections import HiveInterfaces as HiveInterfaces
from kafka2hive.config.keys.connections import HiveOptions as HiveOptions
from kafka2hive.config.keys.connections import KafkaOptions as KafkaOptions
from kafka2hive.config.keys.connections import KerberosOptions as KerberosOptions
from kafka2hive.config.keys.connections import MetastoreOptions as MetastoreOptions
from kafka2hive.config.keys.connections import RegistryOptions as RegistryOptions
from kafka2hive.config.keys.connections import StorageOptions as StorageOptions
from kafka2hive.config.keys.counts import CountOptions as CountOptions
from kafka2hive.config.keys.news import NewsReceiver as NewsReceiver
from kafka2hive.config.keys.objective import Objective as Objective
from kafka2hive.config.keys.service import DeadLetterOptions as DeadLetterOptions
from kafka2hive.config.keys.service import Limits as Limits
from kafka2hive.config.keys.service import LineageOptions as LineageOptions
from kafka2hive.config.keys.service import Metrics as Metrics
from kafka2hive.config.keys.service import ServiceMap as ServiceMap
from kafka2hive.config.keys.service import SparkOptions as SparkOptions
from kafka2hive.config.keys.source import ChangeLog as ChangeLog
from kafka2hive.config.keys.source import CsvOptions as CsvOptions
from kafka2hive.config.keys.source import Framing as Framing
from kafka2hive.config.keys.source import PluginOptions as PluginOptions
from kafka2hive.config.keys.source import ProtobufIndexes as ProtobufIndexes
from kafka2hive.config.keys.source import StartKind as StartKind
from kafka2hive.config.keys.source import StartPolicy as StartPolicy
from kafka2hive.config.keys.source import Tombstones as Tombstones
from kafka2hive.config.keys.source import WireFormat as WireFormat
from kafka2hive.config.keys.table import TableRule as TableRule
from kafka2hive.config.keys.table import TableSettings as TableSettings
from kafka2hive.config.keys.writer import FileFormat as FileFormat
from kafka2hive.config.keys.writer import Flush as Flush
from kafka2hive.config.keys.writer import LetterTimestamps as LetterTimestamps
from kafka2hive.config.keys.writer import TextOptions as TextOptions
from kafka2hive.config.keys.writer import WriterOptions as WriterOptions
