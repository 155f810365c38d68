"""`kafka2hive verify`: audit ledgers, files, certificates and registrations. Only reads; safe during a live run."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from kafka2hive.kafka.port import Kafka
from kafka2hive.model.errors import ConfigError
from kafka2hive.model.metastore import Metastore
from kafka2hive.service.tables.ledgers import (
    apart,
    did_you_mean,
    each_ledger,
    ledger_tables,
    unknown_tables,
    vanished_ledgers,
)
from kafka2hive.service.verify.result import Progress, VerifyRequest, VerifyResult
from kafka2hive.service.verify.table import TableAudit
from kafka2hive.service.wiring import Wiring

if TYPE_CHECKING:
    from kafka2hive.plan.contract import TaskSettings


def verify(
    wiring: Wiring,
    request: VerifyRequest,
    kafka: Kafka | None,
    metastore: Metastore | None,
    settings: "Callable[[str], TaskSettings] | None" = None,
    progress: Progress = Progress(),  # noqa: B008  stateless
) -> VerifyResult:
    """Audit the requested ledgers of the map's service, one after the other. Raises ServiceUnavailable (no file system).

    TableAudit documents the other parameters.
    """
    ledgers = ledger_tables(wiring)
    names = {paths.table for paths in ledgers}
    if unknown := unknown_tables(wiring, request.tables, names) + _no_other_dump(wiring, request, names):
        return VerifyResult((), tuple(unknown))
    if request.against is not None and request.against in request.tables:
        return VerifyResult((), (_same_table(request.against),))
    errors = vanished_ledgers(wiring, request.tables, names)
    audit = TableAudit(
        wiring=wiring,
        request=request,
        kafka=kafka,
        metastore=metastore,
        settings=settings,
        progress=progress,
    ).audit
    selected = [paths for paths in ledgers if not request.tables or paths.table in request.tables]
    tables, failed = apart(each_ledger(wiring, selected, audit))
    errors += failed
    if request.against is not None and not (request.tables or tables or errors):
        errors.append(_same_table(request.against))
    return VerifyResult(tuple(tables), tuple(errors))


def _same_table(table: str) -> tuple[str, ConfigError]:
    """Return the error if --against names the only table to audit, so that nothing would be compared."""
    error = ConfigError(
        "usage.same_table",
        f"{table} cannot be compared with itself: nothing was audited",
        "name the table to audit with --table, and another dump of the same topics with --against",
    )
    return table, error


def _no_other_dump(wiring: Wiring, request: VerifyRequest, names: set[str]) -> list[tuple[str, ConfigError]]:
    """Return an error if --against names a table that is not among `names`, those with a ledger."""
    if request.against is None or request.against in names:
        return []
    error = ConfigError(
        "usage.no_such_table",
        f"{request.against} has no ledger below {wiring.paths('').ledgers}: there is nothing to compare with",
        did_you_mean(request.against, names),
    )
    return [(request.against, error)]
