"""What `run` asks before it starts Spark or takes anything over: only what fails late, or not at all, without it.

Kafka's metadata, the ledgers and their owners are looked at by the run itself. Nothing is written.
"""

from kafka2hive.config.values import ServiceMap
from kafka2hive.model.errors import ServiceUnavailable
from kafka2hive.service.online.java import require_java
from kafka2hive.service.wiring import Wiring
from kafka2hive.storage.connect import root_of
from kafka2hive.storage.port import Denied, FileSystem, NotFound, StorageError


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
                "is the NameNode up, and storage.uri in the map right?",
            ) from error
