"""The JSON document of `status`."""

from dataclasses import asdict

from kafka2hive.cli.render.order import pause_document
from kafka2hive.cli.render.reload import answer_document
from kafka2hive.cli.terminal.document import (
    Document,
    document,
    drop_document,
    error_of,
    hive_partition,
    next_offset,
)
from kafka2hive.ledger.staged_files import StagedFiles
from kafka2hive.model.offsets import Position
from kafka2hive.model.snapshot import UNKNOWN_TIME, Snapshot
from kafka2hive.service.inspect.state import (
    LastOutcome,
    OwnerLife,
    TableState,
)
from kafka2hive.service.inspect.status import RetentionStatus, StatusResult, TableStatus
from kafka2hive.service.tables.attainment import Attainment
from kafka2hive.service.tables.condition import Retrying, RunConditions, Stopped, since_of


def status_document(service: str, result: StatusResult) -> Document:
    """Return the document of `status`; times are ISO 8601 in UTC, or Unix milliseconds if the name ends in `_ms`."""
    return document(
        "status",
        result.exit_code,
        service=service,
        storage_error=None if result.storage_error is None else error_of(result.storage_error),
        kafka_error=result.kafka_error,
        most_tasks=result.most_tasks,
        tables=[_status(table) for table in result.tables],
        errors=[{"table": table, **error_of(error)} for table, error in result.errors],
        not_begun=[one.table for one in result.not_begun],
        other_services=[{"table": table, "service": service} for table, service in result.other_services],
        last_run=_run_document(result.last_run),
        map_differs=result.map_differs,
        map=result.runs.map or None,
        last_reload=None if result.runs.last_reload is None else answer_document(result.runs.last_reload),
        decoder=result.decoder or None,
        warnings=list(result.runs.warnings),
        waiting_orders=[
            {
                "id": order.id,
                "kind": order.instruction.kind,
                "table": order.table,
                "given_by": order.given_by,
                "given_at": order.given_at,
            }
            for order in result.waiting_orders
        ],
        not_begun_states=[
            {"table": one.table, **_condition(one.state, one.condition.warnings)}
            for one in result.not_begun
            if one.condition is not None
        ],
        not_begun_outcomes=[
            {"table": one.table, **_outcome_document(one.last)}
            for one in result.not_begun
            if one.last is not None
        ],
    )


def _run_document(run: RunConditions | None) -> Document | None:
    """Return how the last run ended: null if a run is alive or none left a report.

    `ended` is false if the run died without reporting its end; `at` is then the time of its last report.
    """
    if run is None:
        return None
    trouble = None if run.end is None else run.end.trouble
    return {
        "at": run.at,
        "ended": run.end is not None,
        "exit_code": None if run.end is None else run.end.exit_code,
        "error": None if trouble is None else error_of(trouble),
    }


def _outcome_document(last: LastOutcome) -> Document:
    return {
        "at": last.at,
        "ended": last.ended,
        "state": last.condition.state.name,
        "since": since_of(last.condition.state) or None,
        "error": None if last.trouble is None else error_of(last.trouble),
        "warnings": list(last.condition.warnings),
    }


def _status(table: TableStatus) -> Document:
    view, state = table.view, table.view.state
    return {
        "table": table.name,
        "generation": view.generation.name,
        "owner": view.generation.owner or "init",
        "owner_heartbeat": table.owner_life is OwnerLife.ALIVE,
        **_condition(table.state, table.warnings),
        "last_outcome": None if table.last is None else _outcome_document(table.last),
        "epoch": state.epoch,
        "written_at": state.written_at,
        "pending": {"files": len(state.files)} if view.newest.pending else None,
        "lag_records": table.lag,
        "newest_record_ms": state.newest_ms,
        "partitions": [_partition(table, position) for position in state.positions],
        "unregistered": [hive_partition(partition) for partition in state.unregistered],
        "not_in_hive": [hive_partition(partition) for partition in table.not_in_hive],
        "withheld": [hive_partition(partition) for partition in state.withheld],
        "completion": _completion(state),
        "early": [
            {
                **hive_partition(each.partition),
                "files": each.files,
                "rows": each.rows,
                "complete": each.certified > 0,
            }
            for each in state.early
        ],
        "bounds": None if state.bounds is None else asdict(state.bounds),
        "objective": _objective(table.attainment),
        "retention": _retention(table.retention),
        "staged": _staged(table.staged),
        "last_epochs": [
            {
                "epoch": epoch.epoch,
                "written_at": epoch.written_at,
                "files": epoch.files,
                "rows": epoch.rows,
                "records": asdict(epoch.account),
            }
            for epoch in table.last_epochs
        ],
        "paused": pause_document(state),
        "gaps": len(state.gaps),
        "losses": len(state.given_up),
        "refetched": len(state.losses) - len(state.given_up),
    }


def _staged(staged: StagedFiles | None) -> Document | None:
    """Return what is in the staging directory; null if it was not listed."""
    if staged is None:
        return None
    parts = {"committed": staged.committed, "others": staged.others}
    counts = {
        name: {"files": len(files), "bytes": sum(file.length for file in files)}
        for name, files in parts.items()
    }
    return {"directory": staged.directory, **counts}


def _condition(state: TableState, warnings: tuple[str, ...]) -> Document:
    return {
        "state": state.name,
        "next_try": state.next_try or None if isinstance(state, Retrying) else None,
        "since": since_of(state) or None,
        "error": error_of(state.trouble) if isinstance(state, Retrying | Stopped) else None,
        "warnings": list(warnings),
    }


def _completion(state: Snapshot) -> Document | None:
    """Return which Hive partitions are open; null if the map does not ask for completeness."""
    if state.tracking is None:
        return None
    known = None if state.tracking.through == UNKNOWN_TIME else state.tracking.through
    return {
        "since_epoch": state.tracking.since,
        "read_through": known,
        "open": [
            {
                **hive_partition(each.partition),
                "since_epoch": each.since,
                "opened_at": each.opened_at,
                "files": each.files,
                "rows": each.rows,
            }
            for each in state.open
        ],
    }


def _objective(attainment: Attainment | None) -> Document | None:
    """Return the table's objective and how it is met; null if it has none, or if no run has reported it."""
    if attainment is None:
        return None
    return {
        "freshness_seconds": attainment.objective.freshness_seconds,
        "share": attainment.objective.share,
        "observed_seconds": attainment.observed_seconds,
        "missed_seconds": attainment.missed_seconds,
        "budget_left": round(attainment.budget_left, 4),
    }


def _retention(retention: RetentionStatus | None) -> Document | None:
    """Return what has expired; `files` and `bytes` of dropped Hive partitions are null if they were not counted."""
    if retention is None:
        return None
    return {
        "retain_seconds": retention.retain_seconds,
        "expired_before": retention.expired_before or None,
        "dropped": [
            {
                **hive_partition(each.partition),
                **drop_document(each.drop),
                "files": each.files,
                "bytes": each.length,
            }
            for each in retention.dropped
        ],
        "waiting": [{"partition": path, "waits": why} for path, why in retention.waits],
    }


def _partition(table: TableStatus, position: Position) -> Document:
    tp, end = position.topic_partition, table.ends.get(position.topic_partition)
    line = next_offset(tp.topic, tp.number, position.end)
    return line | {"log_end": end.offset if end else None, "lag_records": table.lag_of(position)}
