"""The document of `status`."""

from dataclasses import asdict

from kafka2hive.cli.render.json.document import Document, document, error_of, hive_partition
from kafka2hive.service.conditions.condition import Retrying, Stopped
from kafka2hive.service.conditions.table_state import OwnerLife
from kafka2hive.service.status import StatusResult, TableStatus


def status_document(service: str, result: StatusResult) -> Document:
    """`status`; times are ISO 8601 in UTC or epoch milliseconds, as their names say."""
    return document(
        "status",
        result.exit_code,
        service=service,
        kafka_error=result.kafka_error,
        tables=[_status(table) for table in result.tables],
        errors=[{"table": table, **error_of(error)} for table, error in result.errors],
        not_begun=list(result.not_begun),
    )


def _status(table: TableStatus) -> Document:
    return {
        "table": table.table,
        "generation": table.generation,
        "owner": table.owner,
        "owner_heartbeat": table.owner_life is OwnerLife.ALIVE,
        "state": table.state.name,
        "next_try": table.state.next_try if isinstance(table.state, Retrying) else None,
        "error": error_of(table.state.trouble) if isinstance(table.state, Retrying | Stopped) else None,
        "warnings": list(table.warnings),
        "epoch": table.epoch,
        "written_at": table.written_at,
        "pending": {"files": table.pending_files} if table.pending else None,
        "lag_records": table.lag,
        "newest_record_ms": table.newest_ms,
        "partitions": [
            {
                "topic": p.topic,
                "partition": p.number,
                "next_offset": p.position,
                "log_end": p.log_end,
                "lag_records": p.lag,
            }
            for p in table.partitions
        ],
        "unregistered": [hive_partition(partition) for partition in table.unregistered],
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
        "gaps": table.gaps,
        "losses": table.losses,
    }
