"""Text and JSON document of `reset`."""

from rich.text import Text

from kafka2hive.cli.terminal.document import Document, document, error_of, next_offset, resume_lines
from kafka2hive.cli.terminal.screen import Screen, render
from kafka2hive.ledger.repair.reset import ResetRecord
from kafka2hive.model.errors import ExitCode
from kafka2hive.model.offsets import Position, TopicPartition
from kafka2hive.service.recover.reset import ResetPlan, ResetRequest, ResetResult, ResetStage


def render_reset(
    service: str, request: ResetRequest, result: ResetResult, screen: Screen, *, hive: bool = True
) -> str:
    """Return what moves where, and what that means for the rows. `hive`: the map has a hive section."""
    plan = result.plan
    if plan.record is None:
        line = f"{request.table} has no ledger: there is nothing to start over"
        return render(screen, [Text(line, style="yellow")])
    title = Text(request.table, style="bold").append(
        "  started over" if result.done else "  would be started over",
        style="green" if result.done else "cyan",
    )
    if plan.stage is ResetStage.UNFINISHED:
        title.append(f"  (the reset of {plan.record.at} is continued)", style="not bold")
    lines = _lines(service=service, plan=plan, record=plan.record, done=result.done, hive=hive)
    if result.left_pending is not None:
        lines += str(result.left_pending).splitlines()
        lines.append("that epoch's files that are not visible yet were moved away with the staging directory")
    return render(screen, [title, *(Text("  " + line) for line in lines)])


def _lines(service: str, plan: ResetPlan, record: ResetRecord, done: bool, hive: bool) -> list[str]:
    positions = [Position(TopicPartition(topic, number), end, end) for topic, number, end in record.positions]
    verb, dropped = ("is in", "dropped") if done else ("goes to", "would be dropped")
    lines = [f"the ledger (epoch {record.epoch}) {verb} {plan.ledger}"]
    lines += [f"position {dropped}: {line}" for line in resume_lines(positions)]
    if plan.data:
        lines += [f"visible files {'are in' if done else 'go to'} {place}" for place in plan.data]
        whose = "the table's partitions" if hive else "partitions that you registered"
        lines.append(
            f"{whose} stay in Hive, empty until the next run fills them; drop those that you do not want"
        )
    else:
        lines.append(f"visible files stay in {record.location}")
        lines.append(
            "`retain` never drops the partitions that hold them: the next ledger did not write these files"
        )
        lines.append(
            "ROWS ARE DOUBLED if the next run reads offsets whose records are in those files (the map's `start` decides)"
        )
    for move in plan.group_moves:
        verb = "was" if done else "would be"
        lines.append(
            f"group {plan.group}: {move.topic_partition} {verb} set back from {move.before} to {move.after}"
        )
    lines.append(f"the next run of service {service} begins {record.table} at the map's `start`")
    return lines


def reset_document(service: str, request: ResetRequest, result: ResetResult) -> Document:
    """Return the document of `reset`."""
    plan = result.plan
    record = plan.record
    return document(
        "reset",
        ExitCode.DONE,
        service=service,
        plan=request.plan_only,
        table=request.table,
        begun=plan.stage.value,
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
