"""`kafka2hive recover`: what a start of `run` does before its first epoch, without Spark and without a JVM.

Takes over, rolls forward, registers what is pending, deletes orphans; idempotent and safe at any moment. Never creates a
ledger.
"""

import logging
from collections.abc import Callable
from functools import partial

from kafka2hive.kafka.port import Kafka
from kafka2hive.ledger.reading.look import View
from kafka2hive.model.errors import AmbiguousOutcome, ConfigError, ManualActionRequired
from kafka2hive.model.paths.ledger import LedgerPaths
from kafka2hive.service.conditions.derive import KafkaLook, StartPreview, look_at_kafka
from kafka2hive.service.conditions.stopped import stopped_by_its_run
from kafka2hive.service.recover.forget import refuse_unknown_registrations
from kafka2hive.service.recover.repair import Repairs
from kafka2hive.service.recover.result import RecoveredTable, RecoverOrder, RecoverResult, failed
from kafka2hive.service.recover.table import Register, planned_table, recover_table
from kafka2hive.service.shared.ledgers import (
    apart,
    attempt,
    each_ledger,
    ledger_tables,
    readable,
    unknown_tables,
    vanished_ledgers,
)
from kafka2hive.service.shared.tables import routed_by_ledgers
from kafka2hive.service.shared.wiring import Wiring
from kafka2hive.storage.port import StorageError

log = logging.getLogger(__name__)


def recover(
    wiring: Wiring,
    order: RecoverOrder,
    register: Register,
    repairs: Repairs,
    kafka: Kafka | None = None,
    *,
    announce: Callable[[], None] = lambda: None,
) -> RecoverResult:
    """Recover every ledger of the map's service. `register` and `announce`: see recover_table.

    `kafka` is asked by `--plan` alone, for the STOP that a run would end in; None: it is not asked.
    A table named in `order.tables` may be another service's. A table, file or topic in the order that nobody knows
    is refused before anything is touched. Raises ConfigError (such a file or topic), ServiceUnavailable when the file
    system does not answer at all.
    """
    ledgers = ledger_tables(wiring)
    if order.tables and (left_out := sorted(set(order.accept_location) - set(order.tables))):
        raise ConfigError(
            "usage.accept_location", f"--accept-location {left_out[0]} is none of the --table given"
        )
    named = (*order.tables, *order.accept_location)
    there = {paths.table for paths in ledgers}
    if unknown := unknown_tables(wiring, named, there):
        return RecoverResult(tuple(failed(name, error) for name, error in unknown))
    meant = [paths for paths in ledgers if not order.tables or paths.table in order.tables]
    _refuse_unknown_places(wiring, order, meant, repairs)
    ownership = wiring.ownership_check(take_over=order.take_over, is_left=stopped_by_its_run(wiring))
    planned: list[View] = []

    def work(view: View) -> list[RecoveredTable]:
        if view.state.service != wiring.map.service and view.paths.table not in order.tables:
            return []
        if order.plan_only:
            planned.append(view)
            return []
        return [
            recover_table(
                wiring=wiring,
                view=view,
                order=order,
                ownership=ownership,
                register=register,
                repairs=repairs,
                announce=announce,
            )
        ]

    results, errors = apart(each_ledger(wiring, meant, work))
    seen = KafkaLook()
    if planned:
        routed = routed_by_ledgers(wiring, (view.state for view in planned))
        seen = look_at_kafka(kafka, planned, routed)
        starts = StartPreview(
            _wiring=wiring,
            _kafka=kafka,
            _look=seen,
            _routed=routed,
            _acceptances=order.accept_gap,
            _accept_location=order.accept_location,
        )
        for view in planned:
            done, failures = apart(
                attempt(
                    view.paths.table,
                    partial(planned_table, wiring, view, starts, order, repairs if seen.logs else None),
                )
            )
            results += done
            errors += failures
    results += (failed(*error) for error in (*errors, *vanished_ledgers(wiring, order.tables, there)))
    return RecoverResult(tuple(sorted(results, key=lambda result: result.table)), seen.silent)


def _refuse_unknown_places(
    wiring: Wiring, order: RecoverOrder, ledgers: list[LedgerPaths], repairs: Repairs
) -> None:
    """Raises ConfigError when a file or a topic in the order is of none of the ledgers that it may be of.

    A ledger that cannot be read may be the one: then nothing is refused, and its own error is the result.
    """
    if not (order.accept_loss or order.refetch or order.accept_gap or order.forget):
        return
    views = []
    try:
        for view in readable(each_ledger(wiring, ledgers, lambda view: [view])):
            if order.tables or view.state.service == wiring.map.service:
                views.append(view)
        repairs.refuse_unknown(views, (*order.accept_loss, *order.refetch), order.accept_gap)
        refuse_unknown_registrations((view.state for view in views), order.forget)
    except (ManualActionRequired, AmbiguousOutcome, StorageError) as trouble:
        log.debug("whether what was named exists cannot be said: %s", trouble)
