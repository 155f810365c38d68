"""The paths of the simulated world."""

from kafka2hive.model.paths.ledger import LedgerPaths
from kafka2hive.model.paths.path import join
from kafka2hive.model.paths.table_directory import staging_directory
from tests.simulation.namenode import ROOT

TABLE = "db.flights"
DEAD_LETTER_TABLE = "db.dead"
SERVICE = "sim"
WAREHOUSE = join(ROOT, "warehouse")
LOCATION = join(WAREHOUSE, "flights")
DEAD_LETTER_LOCATION = join(WAREHOUSE, "dead")
LEDGER = LedgerPaths(join(ROOT, "kafka2hive"), TABLE)
LEDGERS = LEDGER.ledgers
TABLE_DIRECTORY = LEDGER.table_directory
STAGING = staging_directory(LOCATION)


def location_of(table: str) -> str:
    """Return the directory of a table: `warehouse/t` for `db.t`."""
    return join(WAREHOUSE, table.partition(".")[2])
