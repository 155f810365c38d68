"""A task of the product on real Kafka and HDFS without a service, its files moved to where Hive reads them."""

from kafka2hive.config.keys import StorageOptions, TableSettings
from kafka2hive.model.paths.path import parent
from kafka2hive.plan.contract import TableManifest, TaskSettings
from kafka2hive.storage.port import FileSystem, ParentMissing
from tests.services.hdfs import Hdfs
from tests.services.kafka_broker import KafkaBroker


def settings_below(
    base: str, kafka: KafkaBroker, hdfs: Hdfs, database: str, tables: dict[str, TableSettings]
) -> TaskSettings:
    """Of a task that dumps these tables; dead letters lie below `base`, too."""
    return TaskSettings(
        kafka=(("bootstrap.servers", kafka.bootstrap),),
        storage=StorageOptions(
            hdfs.namenode_url, f"{base}/ledger", base, tuple(hdfs.client_properties.items())
        ),
        tables=tables,
        dead_letter_table=f"{database}.dead",
        dead_letter_location=f"{base}/dead",
        file_bytes=1 << 28,
        open_files=64,
        memory_bytes=1 << 28,
        stall_seconds=60.0,
    )


def promote(files: FileSystem, manifest: TableManifest) -> None:
    assert manifest.failure is None, manifest.failure
    for file in manifest.files:
        try:
            files.rename(file.staged, file.final)
        except ParentMissing:
            files.mkdirs(parent(file.final))
            files.rename(file.staged, file.final)
