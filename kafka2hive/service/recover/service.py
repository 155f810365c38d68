"""`kafka2hive recover`: rolls tables forward and records an operator's decisions. Hive and Kafka are connected when needed.

It needs no Spark and no JVM. Only `--refetch` imports pyarrow, because it decodes and writes records in this process.
"""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain

from kafka2hive.config.rules.service import filesystem_of
from kafka2hive.kafka.port import Kafka
from kafka2hive.ledger.history import BoundsSearch, final_snapshots
from kafka2hive.ledger.look import View
from kafka2hive.ledger.owned_ledger import OwnedLedger
from kafka2hive.ledger.repair.compacted import DamagedUnit
from kafka2hive.model.errors import (
    AmbiguousOutcome,
    ConfigError,
    ManualActionRequired,
)
from kafka2hive.model.files import DataFile
from kafka2hive.model.paths.ledger import Generation, LedgerPaths
from kafka2hive.service.hive.schemas import MapTables
from kafka2hive.service.recover.compacted import UnitSources, rewrite_unit
from kafka2hive.service.recover.consumer_group import ConsumerGroup, set_back_after_rebuild
from kafka2hive.service.recover.forget import order_to_forget, refuse_unknown_registrations
from kafka2hive.service.recover.rebuild import RebuiltLedger, rebuild_ledger
from kafka2hive.service.recover.refetch import refetch_file, refuse_other_topic
from kafka2hive.service.recover.repair import Repairs
from kafka2hive.service.recover.result import (
    RecoveredTable,
    RecoverRequest,
    RecoverResult,
    Recovery,
    failed_table,
)
from kafka2hive.service.recover.table import planned_table, recover_table, with_registrations
from kafka2hive.service.repair_heartbeat import RepairHeartbeat
from kafka2hive.service.start.preview import StartPreview, look_at_kafka
from kafka2hive.service.start.takeover import Register, TablesInHive
from kafka2hive.service.tables.ledgers import (
    UnreadableLedger,
    apart,
    attempt,
    each_ledger,
    ledger_tables,
    readable,
    unknown_tables,
    vanished_ledgers,
)
from kafka2hive.service.tables.live_stop import stopped_by_its_run
from kafka2hive.service.topics.routes import routed_by_ledgers
from kafka2hive.service.wiring import Wiring
from kafka2hive.storage.port import StorageError

log = logging.getLogger(__name__)

PLAN_SECONDS = 5.0
"""The time limit for Kafka's answers to `--plan`."""


def recover(
    wiring: Wiring,
    request: RecoverRequest,
    register: Register,
    repairs: Repairs,
    kafka: Kafka | None = None,
    *,
    announce: Callable[[], None] = lambda: None,
    release: Callable[[], None] = lambda: None,
) -> RecoverResult:
    """Recover every ledger of the map's service. `announce`: see recover_table.

    When all tables are recovered, `release` ends this process's heartbeat, and only then the pending partitions are registered:
    that may take minutes, and a run that starts meanwhile does not wait.

    Only `--plan` asks `kafka`, for the STOP that a run would meet; if it is None, positions are not compared with Kafka.
    A table named in `request.tables` may belong to another service. Unknown tables, files and topics in the request are
    refused before anything is changed. Raises ConfigError (an unknown file or topic), ServiceUnavailable (the file system
    does not answer).
    """
    ledgers = ledger_tables(wiring)
    for code, option, names in (
        ("usage.accept_location", "--accept-location", request.accept_location),
        ("usage.accept_cluster", "--accept-cluster", request.accept_cluster),
    ):
        if request.tables and (left_out := sorted(set(names) - set(request.tables))):
            raise ConfigError(
                code,
                f"{option} {left_out[0]} is not among the tables named with --table",
                f"add --table {left_out[0]}, or leave --table out",
            )
    named = (*request.tables, *request.accept_location, *request.accept_cluster)
    tables = {paths.table for paths in ledgers}
    if unknown := unknown_tables(wiring, named, tables):
        return RecoverResult(tuple(failed_table(name, error) for name, error in unknown))
    selected = [paths for paths in ledgers if not request.tables or paths.table in request.tables]
    _refuse_unknown_places(wiring, request, selected, repairs)
    ownership = wiring.ownership_check(take_over=request.take_over, is_stopped=stopped_by_its_run(wiring))
    planned: list[View] = []
    owned: dict[str, OwnedLedger] = {}

    def work(view: View) -> list[RecoveredTable]:
        if view.state.service != wiring.map.service and view.paths.table not in request.tables:
            return []
        if request.plan_only:
            planned.append(view)
            return []
        table, owned[view.paths.table] = recover_table(
            wiring=wiring,
            view=view,
            request=request,
            ownership=ownership,
            register=register,
            repairs=repairs,
            announce=announce,
        )
        return [table]

    with wiring.progress.work("recover", tables=len(selected)) as advance:
        results, errors = apart(each_ledger(wiring, selected, work, advance))
    release()
    results = list(_register_each(wiring, results, owned, register))
    kafka_error = None
    if planned:
        plans, kafka_error = _plans(
            wiring=wiring, request=request, views=planned, kafka=kafka, repairs=repairs
        )
        done, failures = apart(plans)
        results += done
        errors += failures
    results += (
        failed_table(*error) for error in (*errors, *vanished_ledgers(wiring, request.tables, tables))
    )
    return RecoverResult(tuple(sorted(results, key=lambda result: result.table)), kafka_error)


def _register_each(
    wiring: Wiring,
    results: Sequence[RecoveredTable],
    owned: Mapping[str, OwnedLedger],
    register: Register,
) -> Iterator[RecoveredTable]:
    with wiring.progress.work("register partitions in Hive", tables=len(results)) as advance:
        for table in results:
            ledger = owned.get(table.table)
            yield with_registrations(wiring.ports, table, ledger, register) if ledger else table
            advance(tables=1)


def _plans(
    wiring: Wiring, request: RecoverRequest, views: list[View], kafka: Kafka | None, repairs: Repairs
) -> tuple[Iterator[RecoveredTable | UnreadableLedger], str | None]:
    """Return the plans of these tables for `--plan`, and the reason if Kafka did not answer."""
    routed = routed_by_ledgers(wiring, (view.state for view in views))
    look = look_at_kafka(kafka, views, routed)
    starts = StartPreview(
        _wiring=wiring,
        _kafka=kafka,
        _look=look,
        _routed=routed,
        _acceptances=request.accept_gap,
        _accept_location=request.accept_location,
        _accept_cluster=request.accept_cluster,
    )
    plans = (
        attempt(
            view.paths.table,
            partial(
                planned_table,
                wiring=wiring,
                view=view,
                starts=starts,
                request=request,
                repairs=repairs,
                knows_kafka=look.logs is not None,
            ),
        )
        for view in views
    )
    return chain.from_iterable(plans), look.error


def _refuse_unknown_places(
    wiring: Wiring, request: RecoverRequest, ledgers: list[LedgerPaths], repairs: Repairs
) -> None:
    """Raise ConfigError if no selected ledger knows a file, topic or registration in the request.

    If a ledger cannot be read, nothing is refused, because it may know them; its error is in the result.
    """
    if not (request.accept_loss or request.refetch or request.accept_gap or request.forget):
        return
    views = []
    try:
        for view in readable(each_ledger(wiring, ledgers, lambda view: [view])):
            if request.tables or view.state.service == wiring.map.service:
                views.append(view)
        repairs.refuse_unknown(views, (*request.accept_loss, *request.refetch), request.accept_gap)
        refuse_unknown_registrations((view.state for view in views), request.forget)
    except (ManualActionRequired, AmbiguousOutcome, StorageError) as trouble:
        log.debug("files, topics and registrations in the request are not checked: %s", trouble)


def _with_file_system(request: RecoverRequest, file_system: str) -> RecoverRequest:
    """Return the request with full addresses of files; a path without a scheme is on the map's storage."""

    def full(paths: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(f"{file_system}{path}" if path.startswith("/") else path for path in paths)

    return replace(request, accept_loss=full(request.accept_loss), refetch=full(request.refetch))


def recover_service(wiring: Wiring, request: RecoverRequest) -> RecoverResult:
    """Recover the map's service; a live run gets an order if that suffices.

    Raises ServiceUnavailable if the file system does not answer.
    """
    request = _with_file_system(request, filesystem_of(wiring.map.storage.uri))
    if (ordered := order_to_forget(wiring, request)) is not None:
        return ordered
    with RepairHeartbeat(wiring) as heartbeat:
        if request.rebuild is not None:
            return rebuild_and_recover(
                wiring,
                request,
                request.rebuild,
                wiring.kafka,
                announce=heartbeat.begin,
                release=heartbeat.end,
            )
        return _recover(wiring, request, heartbeat.begin, heartbeat.end)


def _recover(
    wiring: Wiring, request: RecoverRequest, announce: Callable[[], None], release: Callable[[], None]
) -> RecoverResult:
    in_hive = TablesInHive(wiring, "recover")
    kafka = wiring.kafka(PLAN_SECONDS) if request.plan_only else None
    repairs = Repairs(
        wiring,
        wiring.kafka if kafka is None else lambda: kafka,
        refetch=partial(_refetch, wiring, in_hive.tables),
        rewrite=partial(_rewrite, wiring, in_hive.tables),
    )
    return recover(
        wiring=wiring,
        request=request,
        register=in_hive.register,
        repairs=repairs,
        kafka=kafka,
        announce=announce,
        release=release,
    )


def rebuild_and_recover(
    wiring: Wiring,
    request: RecoverRequest,
    table: str,
    kafka: Callable[[], Kafka],
    *,
    announce: Callable[[], None] = lambda: None,
    release: Callable[[], None] = lambda: None,
) -> RecoverResult:
    """Rebuild a table's ledger, set the consumer group back to its positions if the map has a group, and recover the table.

    Recovery takes the ledger over, rolls its pending epoch forward and registers its partitions, as it does for any ledger.
    """

    def rebuild() -> list[RebuiltLedger]:
        return [
            rebuild_ledger(
                wiring=wiring,
                table=table,
                acceptances=request.accept_gap,
                plan_only=request.plan_only,
                take_over=request.take_over,
                kafka=kafka,
                announce=announce,
            )
        ]

    (rebuilt,) = attempt(table, rebuild)
    if isinstance(rebuilt, UnreadableLedger):
        return RecoverResult((failed_table(table, rebuilt.error),))
    newest = rebuilt.ledger.newest
    if request.plan_only:
        planned = RecoveredTable(
            table,
            Recovery.PLANNED,
            generation=Generation(newest.generation).name,
            epoch=newest.epoch,
            rolled_forward=rebuilt.ledger.pending.epoch if rebuilt.ledger.pending else None,
            unregistered=len(newest.unregistered),
            gaps=newest.gaps,
            resumes_at=newest.positions,
            rebuilt=rebuilt,
        )
        return RecoverResult((planned,))
    set_back_after_rebuild(ConsumerGroup(wiring, kafka()), table, newest.positions)
    recovery = RecoverRequest(take_over=request.take_over, tables=(table,))
    return RecoverResult(
        tuple(replace(t, rebuilt=rebuilt) for t in _recover(wiring, recovery, announce, release).tables)
    )


def _refetch(wiring: Wiring, tables: MapTables, owned: OwnedLedger, lost: DataFile) -> tuple[DataFile, ...]:
    """Dump the records of a lost file again, with the bounds that applied when they were read first."""
    ports = wiring.ports
    search = BoundsSearch()
    for snapshot in (owned.state, *final_snapshots(ports.files, owned.paths, owned.directory)):
        search.add(snapshot, [lost])
        if lost.final in search.bounds:
            break
    bounds = search.bounds.get(lost.final)
    refuse_other_topic(owned.paths.table, lost, search.origins.get(lost.final), wiring.kafka().cluster)
    return refetch_file(
        owned=owned, lost=lost, settings=tables.settings, now_ms=ports.clock.epoch_ms(), bounds=bounds
    )


def _rewrite(
    wiring: Wiring, tables: MapTables, owned: OwnedLedger, unit: DamagedUnit, sources: UnitSources
) -> tuple[DataFile, ...]:
    """Write the rows of a compaction unit's lost files again."""
    ports = wiring.ports
    return rewrite_unit(
        files=ports.files,
        owned=owned,
        unit=unit,
        sources=sources,
        settings=tables.settings,
        now_ms=ports.clock.epoch_ms(),
        cluster=lambda: wiring.kafka().cluster(),
    )
