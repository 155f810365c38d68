"""Which ledgers there are below the root, by their directories alone."""

from kafka2hive.model.errors import ServiceUnavailable
from kafka2hive.model.layout import LedgerPaths
from kafka2hive.service.wiring import Wiring
from kafka2hive.storage.port import NotFound, StorageError


def ledger_tables(wiring: Wiring) -> list[LedgerPaths]:
    """Every table with a ledger below the map's ledger root, sorted by name; none when nothing ran yet.

    Raises ServiceUnavailable.
    """
    ledgers = wiring.paths("").ledgers
    try:
        children = wiring.ports.files.list(ledgers)
    except NotFound:
        return []
    except StorageError as error:
        raise ServiceUnavailable(
            "storage.unavailable",
            f"listing {ledgers}: {error}",
            "is the NameNode up, and the uri in the map right?",
        ) from error
    return [wiring.paths(c.name) for c in children if c.is_directory and not c.name.startswith("init-")]
