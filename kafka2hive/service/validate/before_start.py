"""The checks of `run` before it starts Spark or takes a table over: problems that would otherwise show late or never.

Kafka's metadata, the ledgers and their owners are not checked here, because the run reads them anyway. Nothing is written.
"""

import logging
from collections.abc import Collection

from kafka2hive.config.keys import ServiceMap
from kafka2hive.kafka.port import ClusterView, Kafka
from kafka2hive.model.errors import Kafka2HiveError, ServiceUnavailable
from kafka2hive.service.tables.table_state import MapTable
from kafka2hive.service.validate.kafka_check import settings_warnings, topics_of
from kafka2hive.service.wiring import Wiring
from kafka2hive.spark.java import require_java
from kafka2hive.storage.connect import root_of
from kafka2hive.storage.port import Denied, FileSystem, NotFound, StorageError

log = logging.getLogger(__name__)


def refuse_to_start(wiring: Wiring) -> None:
    """Raise ServiceUnavailable if a file system of the map does not answer, or if there is no Java for Spark."""
    require_storage(wiring.ports.files, wiring.map)
    require_java()


def require_storage(files: FileSystem, service_map: ServiceMap) -> None:
    """Call every file system of the map once; raise ServiceUnavailable for the first that does not answer.

    A directory that does not exist, or that may not be read, is an answer.
    """
    ledger_root = service_map.storage.ledger_root
    places = [ledger_root, service_map.dead_letters.location, *(rule.location for rule in service_map.tables)]
    for root in dict.fromkeys(map(root_of, places)):
        try:
            files.stat(ledger_root if root_of(ledger_root) == root else root + "/")
        except (NotFound, Denied):
            continue
        except StorageError as error:
            raise ServiceUnavailable(
                "storage.unavailable",
                f"{root} does not answer: {error}",
                error.remedy or "is the NameNode up, and storage.uri in the map right?",
            ) from error


def warn_of_topic_settings(
    wiring: Wiring, kafka: Kafka, tables: Collection[MapTable], cluster: ClusterView
) -> None:
    """Log warnings about the topics' settings from a background thread, without waiting for it."""

    def warn() -> None:
        readers = topics_of(tables, cluster)
        try:
            settings = kafka.topic_settings(cluster, sorted(readers))
        except Kafka2HiveError as error:
            log.debug("the settings of topics are not known: %s", error)
            return
        for warning in settings_warnings(settings, readers):
            log.warning("%s", warning.error)

    wiring.background.start("ask-kafka", warn)
