"""`kafka2hive verify`: audits what the dump promises, with an exit code. Only reads; safe during a live run."""

from collections.abc import Callable

from kafka2hive.kafka.port import Kafka
from kafka2hive.model.errors import ConfigError
from kafka2hive.model.metastore import Metastore
from kafka2hive.plan.contract import TaskSettings
from kafka2hive.service.tables.ledgers import (
    apart,
    did_you_mean,
    each_ledger,
    ledger_tables,
    unknown_tables,
    vanished_ledgers,
)
from kafka2hive.service.verify.result import Progress, VerifyOrder, VerifyResult
from kafka2hive.service.verify.table import TableAudit
from kafka2hive.service.wiring import Wiring


def verify(
    wiring: Wiring,
    order: VerifyOrder,
    kafka: Kafka | None,
    metastore: Metastore | None,
    settings: Callable[[str], TaskSettings] | None = None,
    progress: Progress = Progress(),  # noqa: B008  it holds nothing
) -> VerifyResult:
    """Audit every ledger of the map's service, one after the other. Raises ServiceUnavailable (no file system).

    The services and `settings`: see TableAudit.
    """
    ledgers = ledger_tables(wiring)
    there = {paths.table for paths in ledgers}
    if unknown := unknown_tables(wiring, order.tables, there) + _no_other_dump(wiring, order, there):
        return VerifyResult((), tuple(unknown))
    if order.against is not None and order.against in order.tables:
        return VerifyResult((), (_with_itself(order.against),))
    errors = vanished_ledgers(wiring, order.tables, there)
    audit = TableAudit(
        wiring=wiring, order=order, kafka=kafka, metastore=metastore, settings=settings, progress=progress
    ).audit
    asked = [paths for paths in ledgers if not order.tables or paths.table in order.tables]
    tables, failed = apart(each_ledger(wiring, asked, audit))
    errors += failed
    if order.against is not None and not (order.tables or tables or errors):
        errors.append(_with_itself(order.against))
    return VerifyResult(tuple(tables), tuple(errors))


def _with_itself(table: str) -> tuple[str, ConfigError]:
    """--against names the only table that is to be audited: nothing would be compared."""
    error = ConfigError(
        "usage.same_table",
        f"{table} cannot be compared with itself: nothing was audited",
        "name the table to audit with --table, and another dump of the same topics with --against",
    )
    return table, error


def _no_other_dump(wiring: Wiring, order: VerifyOrder, there: set[str]) -> list[tuple[str, ConfigError]]:
    """--against names a table without a ledger below this root: there is nothing to compare with."""
    if order.against is None or order.against in there:
        return []
    error = ConfigError(
        "usage.no_such_table",
        f"{order.against} has no ledger below {wiring.paths('').ledgers}: there is nothing to compare with",
        did_you_mean(order.against, there),
    )
    return [(order.against, error)]
