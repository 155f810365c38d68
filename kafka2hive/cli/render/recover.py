"""Text and JSON document of `recover`."""

import shlex
from dataclasses import asdict

from rich.text import Text

from kafka2hive.cli.terminal.document import (
    Document,
    document,
    error_of,
    hive_partition,
    next_offset,
    resume_lines,
)
from kafka2hive.cli.terminal.screen import Screen, render
from kafka2hive.model.text import counted
from kafka2hive.observe.progress import manual_registration
from kafka2hive.service.recover.lost_files import PlannedRepair
from kafka2hive.service.recover.rebuild import RebuiltLedger
from kafka2hive.service.recover.result import (
    RecoveredTable,
    RecoverRequest,
    RecoverResult,
    Recovery,
    clusters_without_effect,
    gaps_without_effect,
    paths_without_effect,
)

_INDENT = "  "
_NOT_RECOVERED = {
    Recovery.STOPPED: "STOP: manual intervention required",
    Recovery.OWNED: "owned by a live run, nothing changed",
    Recovery.FAILED: "failed",
}


def render_recover(
    service: str, request: RecoverRequest, result: RecoverResult, screen: Screen, *, hive: bool = True
) -> str:
    """Return a block per table and the verdict last, where it stays on the screen.

    `hive`: the map has a hive section.
    """
    parts: list[Text] = []
    for table in result.tables:
        parts.append(_headline(table))
        parts += [Text(_INDENT + line) for line in _details(table, hive)]
        if table.error is not None:
            lines = str(table.error).splitlines()
            parts += [Text(_INDENT + line.rstrip(), style="red") for line in lines]
    ineffective = [
        f"{gap}: there is no such gap, so nothing was accepted"
        for gap in gaps_without_effect(request, result)
    ]
    ineffective += [
        f"{path}: no such file is lost in any of these ledgers"
        for path in paths_without_effect(request, result)
    ]
    ineffective += [
        f"{table}: the ledger is in the map's Kafka cluster already, so nothing was changed"
        for table in clusters_without_effect(request, result)
    ]
    parts += [Text(line, style="yellow") for line in ineffective]
    if result.kafka_error:
        text = f"it is not known whether the positions still match Kafka: {result.kafka_error}"
        parts.append(Text(text, style="yellow"))
    if (
        request.take_over
        and not request.plan_only
        and any(t.recovery is Recovery.DONE for t in result.tables)
    ):
        parts.append(
            Text(
                "a run that served these tables ends with 73: start it again. A run that had set them aside resumes them itself",
                style="yellow",
            )
        )
    parts.append(_verdict(service, request, result))
    return render(screen, parts)


def _headline(table: RecoveredTable) -> Text:
    style = {Recovery.DONE: "green", Recovery.ORDERED: "green", Recovery.PLANNED: "cyan"}.get(
        table.recovery, "bold red"
    )
    title = Text(table.table, style="bold").append(f"  {_outcome(table)}", style=style)
    if table.generation:
        title.append(f"  epoch {table.epoch}, {table.generation.split('.')[0]}", style="not bold")
    return title


def _outcome(table: RecoveredTable) -> str:
    if table.recovery is Recovery.DONE:
        return "recovered" if table.error is None else "recovered, but Hive refuses partitions"
    if table.recovery is Recovery.ORDERED:
        return "done by the live run" if table.error is None else "ordered, but not done"
    if table.recovery is Recovery.PLANNED:
        return "would be recovered" if table.error is None else "would STOP"
    return _NOT_RECOVERED[table.recovery]


def _details(table: RecoveredTable, hive: bool) -> list[str]:
    lines = _rebuilt_lines(table.rebuilt, table.recovery is Recovery.PLANNED) if table.rebuilt else []
    if table.pending is not None:
        staged, already_there = table.pending.staged, table.pending.already_there
        lines.append(
            f"pending: epoch {table.rolled_forward}, {counted(staged, 'file')} to rename, {already_there} already there"
        )
    elif table.rolled_forward is not None:
        moves = table.moves
        given_up = f", {moves.given_up} given up" if moves.given_up else ""
        lines += [
            f"rolled forward: epoch {table.rolled_forward}, {counted(moves.created, 'file')} = {moves.renamed} renamed"
            f" + {moves.already_there} already there{given_up}",
            f"{counted(moves.retried, 'rename')} retried",
        ]
    elif table.error is None and table.recovery is not Recovery.ORDERED:
        lines.append("nothing was pending" if table.recovery is Recovery.DONE else "nothing is pending")
    if table.unregistered and not hive:
        lines.append(manual_registration(table.unregistered))
    elif table.registered or table.unregistered:
        registered = (
            f"{counted(table.registered, 'partition')} registered, "
            if table.recovery is Recovery.DONE
            else ""
        )
        lines.append(f"Hive: {registered}{table.unregistered} still pending")
    if table.orphans_deleted:
        lines.append(
            f"deleted: {counted(table.orphans_deleted, 'orphan')} (staged files and drafts that are not used)"
        )
    if table.relocated is not None:
        lines += [
            f"new files go to {table.relocated.after}; those in {table.relocated.before} stay there",
            "before the next run: for each partition in Hive that will get more records, copy its files to the new"
            f" location and ALTER TABLE {table.table} PARTITION (..) SET LOCATION; otherwise its new rows are hidden"
            " (hive.misplaced)",
        ]
    lines += [f"given up or fetched again: {path}" for path in table.repaired]
    lines += [f"registration given up: {p.table} {p.path}" for p in table.forgotten]
    lines += [line for repair in table.lost for line in _lost_lines(table.table, repair)]
    gap_is = "gap to be accepted" if table.recovery is Recovery.PLANNED else "gap accepted"
    lines += [
        f"{gap.range.topic_partition}@{gap.range.end} {gap.reason}"
        if gap.moved_to
        else f"{gap_is}: {gap.range}: {gap.reason}"
        for gap in table.gaps
    ]
    lines += [f"the next run resumes at {line}" for line in resume_lines(table.resumes_at)]
    return lines


def _lost_lines(table: str, repair: PlannedRepair) -> list[str]:
    """Return what is known of a lost file, and the command that repairs it."""
    file, rows = repair.file, counted(repair.file.rows, "row")
    command = f"`kafka2hive recover --table {table} --refetch {shlex.quote(file.final)} -c MAP`"
    lines = [f"lost: {file.final}, {rows}"]
    if repair.present and not repair.missing:
        return [
            *lines,
            f"  {command} writes it again from {counted(repair.present, 'early file')}, without Kafka",
        ]
    if repair.present or repair.missing:
        return [
            *lines,
            f"  {command} writes it again from {counted(repair.present, 'early file')}, and the records of"
            f" {counted(repair.missing, 'early file')} from Kafka",
        ]
    return [*lines, f"  {command} reads its records again if Kafka still has them"]


def _rebuilt_lines(rebuilt: RebuiltLedger, planned: bool) -> list[str]:
    ledger = rebuilt.ledger
    lines = [
        f"ledger {ledger.final.ledger_id} {'would be ' if planned else ''}rebuilt from {counted(rebuilt.files, 'file')}"
    ]
    if ledger.pending is not None:
        lines.append(
            f"{len(ledger.pending.files):,} of them belong to an epoch of which only a part was made visible"
        )
    if ledger.left_staged:
        lines.append(
            f"{ledger.left_staged:,} staged files belong to no committed epoch: their offsets are read again"
        )
    if rebuilt.foreign:
        lines.append(f"{counted(rebuilt.foreign, 'file')} of other ledgers are not touched")
    lines += [f"accepted without proof: {item.range}: {item.why}" for item in ledger.unproven]
    return lines


def _verdict(service: str, request: RecoverRequest, result: RecoverResult) -> Text:
    if not result.tables:
        return Text(f"service {service}: nothing to recover, there is no ledger yet")
    failures = sum(table.error is not None for table in result.tables)
    count = counted(len(result.tables), "table")
    outcome = "examined, nothing changed" if request.plan_only else "recovered"
    if not failures:
        return Text(f"service {service}: {count} {outcome}", style="bold green")
    need = "needs" if failures == 1 else "need"
    return Text(
        f"service {service}: {failures} of {count} {need} attention (exit code {result.exit_code})",
        style="bold red",
    )


def recover_document(service: str, plan_only: bool, result: RecoverResult) -> Document:
    """Return the document of `recover`; `plan_only`: nothing was changed."""
    tables = [_table_document(table) for table in result.tables]
    return document(
        "recover",
        result.exit_code,
        service=service,
        plan=plan_only,
        kafka_error=result.kafka_error,
        tables=tables,
    )


def _table_document(table: RecoveredTable) -> Document:
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
                "moved_to": gap.moved_to or None,
            }
            for gap in table.gaps
        ],
        "resumes_at": [
            next_offset(position.topic_partition.topic, position.topic_partition.number, position.end)
            for position in table.resumes_at
        ],
        "error": error_of(table.error) if table.error else None,
        "rebuilt": _rebuilt_document(table.rebuilt) if table.rebuilt else None,
        "forgotten": [hive_partition(partition) for partition in table.forgotten],
        "location": asdict(table.relocated) if table.relocated else None,
        "lost": [
            {
                "path": repair.file.final,
                "rows": repair.file.rows,
                "early_files": {"present": repair.present, "missing": repair.missing},
            }
            for repair in table.lost
        ],
    }


def _rebuilt_document(rebuilt: RebuiltLedger) -> Document:
    ledger = rebuilt.ledger
    return {
        "ledger": ledger.final.ledger_id,
        "files": rebuilt.files,
        "rows": sum(file.rows for s in (ledger.final, ledger.pending) if s for file in s.files),
        "pending_files": len(ledger.pending.files) if ledger.pending else 0,
        "left_staged": ledger.left_staged,
        "foreign_files": rebuilt.foreign,
    }
