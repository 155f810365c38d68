"""What `run` asks before it starts Spark or takes anything over: only what fails late, or not at all, without it.

Kafka's metadata, the ledgers and their owners are looked at by the run itself. Nothing is written.
"""

import logging
from collections.abc import Collection

from kafka2hive.config.keys import ServiceMap
from kafka2hive.kafka.port import ClusterView, Kafka
from kafka2hive.model.errors import Kafka2HiveError, ServiceUnavailable
from kafka2hive.service.tables.table_state import Table
from kafka2hive.service.validate.kafka_check import settings_warnings, topics_of
from kafka2hive.service.wiring import Wiring
from kafka2hive.spark.java import require_java
from kafka2hive.storage.connect import root_of
from kafka2hive.storage.port import Denied, FileSystem, NotFound, StorageError

log = logging.getLogger(__name__)


def refuse_to_start(wiring: Wiring) -> None:
    """Raises ServiceUnavailable: a file system of the map does not answer, or there is no Java for Spark."""
    refuse_silent_storage(wiring.ports.files, wiring.map)
    require_java()


def refuse_silent_storage(files: FileSystem, service_map: ServiceMap) -> None:
    """One question to every file system of the map; a directory that is not there, or not allowed, is an answer."""
    places = [service_map.storage.ledger_root, service_map.dead_letters.location]
    places += [rule.location for rule in service_map.tables]
    asked: set[str] = set()
    for place in places:
        root = root_of(place)
        if root in asked:
            continue
        asked.add(root)
        try:
            files.stat(
                service_map.storage.ledger_root
                if root_of(service_map.storage.ledger_root) == root
                else root + "/"
            )
        except (NotFound, Denied):
            continue
        except StorageError as error:
            raise ServiceUnavailable(
                "storage.unavailable",
                f"{root} does not answer: {error}",
                error.remedy or "is the NameNode up, and storage.uri in the map right?",
            ) from error


def warn_beside(wiring: Wiring, kafka: Kafka, tables: Collection[Table], cluster: ClusterView) -> None:
    """Log what is worth a warning about the topics' settings, from a thread of its own: nobody waits for it."""

    def warn() -> None:
        read = topics_of(tables, cluster)
        try:
            settings = kafka.topic_settings(cluster, sorted(read))
        except Kafka2HiveError as error:
            log.debug("the settings of topics are not known: %s", error)
            return
        for warned in settings_warnings(settings, read):
            log.warning("%s", warned.error)

    wiring.background.start("ask-kafka", warn)
