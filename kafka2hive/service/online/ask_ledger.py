"""May this service feed the tables: is each table's owner marker its ledger's, and the ledger the newest? Only looks."""

from collections.abc import Collection

from kafka2hive.ledger.marker import refuse_vanished_ledger
from kafka2hive.ledger.take_over import NoLedger
from kafka2hive.model.errors import Kafka2HiveError
from kafka2hive.service.online.ask_storage import LEDGER_ROOT
from kafka2hive.service.online.checks import Check, Failed, Passed, Result
from kafka2hive.service.shared.ownership import OwnershipCheck
from kafka2hive.service.shared.table_state import Table
from kafka2hive.service.shared.wiring import Wiring


def tables_behind(places: Collection[Check], tables: Collection[Table]) -> list[Table]:
    """The tables whose places refused nothing: another ledger could only be refused for the reason that was told."""
    refused = {place.subject for place in places if isinstance(place.result, Failed)}
    return [] if LEDGER_ROOT in refused else [table for table in tables if table.name not in refused]


def check_ledgers(wiring: Wiring, tables: Collection[Table]) -> list[Check]:
    """One line a table. A live owner is no error: nobody is watched."""
    ownership = wiring.ownership_check(take_over=True)

    def check(table: Table) -> Check:
        return Check("ledger", table.name, _check(wiring, ownership, table))

    return wiring.side_by_side.map(check, tables)


def _check(wiring: Wiring, ownership: OwnershipCheck, table: Table) -> Result:
    try:
        ownership.check(table.paths, table.location)
    except NoLedger:
        return _without_ledger(wiring, table)
    except Kafka2HiveError as error:
        return Failed(error)
    return Passed(f"{table.paths.table_directory} feeds {table.location}")


def _without_ledger(wiring: Wiring, table: Table) -> Result:
    directory = table.paths.table_directory
    try:
        refuse_vanished_ledger(wiring.ports.files, table.location, directory)
    except Kafka2HiveError as error:
        return Failed(error)
    return Passed(f"there is none yet: a run makes {directory}")
