"""The document of `reset`."""

from kafka2hive.cli.render.json.document import Document, document, error_of, next_offset
from kafka2hive.model.errors import ExitCode
from kafka2hive.service.recover.reset import ResetOrder, ResetResult


def reset_document(service: str, order: ResetOrder, result: ResetResult) -> Document:
    """`reset`: what was put away, or with `--plan` would be."""
    plan = result.plan
    record = plan.record
    return document(
        "reset",
        ExitCode.DONE,
        service=service,
        plan=order.plan_only,
        table=order.table,
        begun=plan.begun.value,
        done=result.done,
        ledger=plan.ledger or None,
        data=list(plan.data),
        positions=[next_offset(*position) for position in (record.positions if record else ())],
        group=plan.group,
        group_moves=[
            {
                "topic": move.topic_partition.topic,
                "partition": move.topic_partition.number,
                "before": move.before,
                "after": move.after,
            }
            for move in plan.group_moves
        ],
        moved=result.moved,
        left_pending=error_of(result.left_pending) if result.left_pending else None,
    )
