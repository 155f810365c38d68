"""The document of `recover`."""

from dataclasses import asdict

from kafka2hive.cli.render.json.document import Document, document, error_of, hive_partition, next_offset
from kafka2hive.service.recover.rebuild import RebuiltLedger
from kafka2hive.service.recover.result import RecoveredTable, RecoverResult


def recover_document(service: str, plan_only: bool, result: RecoverResult) -> Document:
    """`recover`: what was done, or with `--plan` would be."""
    tables = [_recovered(table) for table in result.tables]
    return document(
        "recover",
        result.exit_code,
        service=service,
        plan=plan_only,
        kafka_error=result.kafka_error,
        tables=tables,
    )


def _recovered(table: RecoveredTable) -> Document:
    pending = table.pending
    return {
        "table": table.table,
        "result": table.recovery.value,
        "generation": table.generation or None,
        "epoch": table.epoch if table.epoch >= 0 else None,
        "rolled_forward": table.rolled_forward,
        "files": asdict(table.moves),
        "pending": {"staged": pending.staged, "already_there": pending.already_there} if pending else None,
        "orphans_deleted": table.orphans_deleted,
        "registrations": {"done": table.registered, "open": table.unregistered},
        "repaired": list(table.repaired),
        "gaps": [
            {
                "topic": gap.range.topic_partition.topic,
                "partition": gap.range.topic_partition.number,
                "start": gap.range.start,
                "end": gap.range.end,
                "reason": gap.reason,
            }
            for gap in table.gaps
        ],
        "resumes_at": [
            next_offset(position.topic_partition.topic, position.topic_partition.number, position.end)
            for position in table.resumes_at
        ],
        "error": error_of(table.error) if table.error else None,
        "rebuilt": _rebuilt(table.rebuilt) if table.rebuilt else None,
        "forgotten": [hive_partition(partition) for partition in table.forgotten],
        "location": {"before": table.relocated.before, "after": table.relocated.after}
        if table.relocated
        else None,
    }


def _rebuilt(rebuilt: RebuiltLedger) -> Document:
    ledger = rebuilt.ledger
    return {
        "ledger": ledger.final.ledger_id,
        "files": rebuilt.files,
        "rows": sum(file.rows for s in (ledger.final, ledger.pending) if s for file in s.files),
        "pending_files": len(ledger.pending.files) if ledger.pending else 0,
        "left_staged": ledger.left_staged,
        "foreign_files": rebuilt.foreign,
    }
