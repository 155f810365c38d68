"""May this service feed the tables: is each table's owner marker its ledger's, and would a start go on from it? Only looks."""

from collections.abc import Collection
from itertools import chain

from kafka2hive.config.route import RoutedTable
from kafka2hive.kafka.port import Kafka
from kafka2hive.ledger.marker import refuse_vanished_ledger
from kafka2hive.ledger.reading.look import View, look
from kafka2hive.model.errors import Kafka2HiveError
from kafka2hive.service.conditions.derive import StartPreview, look_at_kafka
from kafka2hive.service.online.ask_storage import LEDGER_ROOT
from kafka2hive.service.online.checks import Check, Failed, Passed, Result
from kafka2hive.service.shared.ledgers import Unreadable, apart, attempt
from kafka2hive.service.shared.table_state import Table
from kafka2hive.service.shared.wiring import Wiring


def tables_behind(places: Collection[Check], tables: Collection[Table]) -> list[Table]:
    """The tables whose places refused nothing: another ledger could only be refused for the reason that was told."""
    refused = {place.subject for place in places if isinstance(place.result, Failed)}
    return [] if LEDGER_ROOT in refused else [table for table in tables if table.name not in refused]


def check_ledgers(wiring: Wiring, tables: Collection[Table], kafka: Kafka | None) -> list[Check]:
    """One line a table: it fails where a start would STOP. A live owner is no error: nobody is watched.

    `kafka` None: it does not answer, and positions are not compared with it.
    """
    ledgers = wiring.side_by_side.map(lambda table: _looked(wiring, table), tables)
    views, _ = apart(chain.from_iterable(ledgers))
    routed = {table.name: RoutedTable(table.rule, table.topics, table.missing) for table in tables}
    starts = StartPreview(wiring, kafka, look_at_kafka(kafka, views, routed), routed)

    def check(looked: tuple[Table, list[View | Unreadable]]) -> Check:
        table, found = looked
        result = _check(table, starts, found[0]) if found else _without_ledger(wiring, table)
        return Check("ledger", table.name, result)

    return wiring.side_by_side.map(check, list(zip(tables, ledgers, strict=True)))


def _looked(wiring: Wiring, table: Table) -> list[View | Unreadable]:
    """Empty: there is no ledger."""
    return list(attempt(table.name, lambda: [look(wiring.ports.files, table.paths)]))


def _check(table: Table, starts: StartPreview, found: View | Unreadable) -> Result:
    if isinstance(found, Unreadable):
        return Failed(found.error)
    for would in attempt(table.name, lambda: [starts.of(found)]):
        if isinstance(would, Unreadable):
            return Failed(would.error)
        if would.stop is not None:
            return Failed(would.stop)
    return Passed(f"{table.paths.table_directory} feeds {table.location}")


def _without_ledger(wiring: Wiring, table: Table) -> Result:
    directory = table.paths.table_directory
    try:
        refuse_vanished_ledger(wiring.ports.files, table.location, directory)
    except Kafka2HiveError as error:
        return Failed(error)
    return Passed(f"there is none yet: a run makes {directory}")
