"""The JSON that `--json` prints, frozen in examples (tests/contract): keys are added, never renamed or removed.

A change that is not an addition raises `format`. Offsets are half-open: `next_offset` is the next one to be read.
"""

import json
from base64 import b64encode
from collections.abc import Iterable
from typing import TYPE_CHECKING, assert_never

from kafka2hive.config.problems import MapProblem
from kafka2hive.config.shown import shown
from kafka2hive.config.values import ServiceMap
from kafka2hive.model.errors import ExitCode, Kafka2HiveError
from kafka2hive.model.files import HivePartition
from kafka2hive.model.offset_accounting import OffsetAccounting
from kafka2hive.service.audit.verify import VerifyResult
from kafka2hive.service.conditions.condition import Retrying, Stopped, Trouble
from kafka2hive.service.conditions.table_state import OwnerLife, state_name
from kafka2hive.service.online.checks import Check, Failed, Passed, Warned
from kafka2hive.service.online.validate import OnlineResult
from kafka2hive.service.recover.rebuild import RebuiltLedger
from kafka2hive.service.recover.recover import RecoveredTable, RecoverResult
from kafka2hive.service.recover.reset import ResetOrder, ResetResult
from kafka2hive.service.shared.init_ledgers import InitResult
from kafka2hive.service.status import StatusResult, TableStatus
from kafka2hive.service.where import WhereResult

if TYPE_CHECKING:  # needs pyarrow, which no other command's document does
    from kafka2hive.service.dead_letters import DeadLetterList, FoundLetters

FORMAT = 1

Document = dict[str, object]


def text(document: Document) -> str:
    """The document as it is printed."""
    return json.dumps(document, indent=2, ensure_ascii=False)


def map_document(service_map: ServiceMap) -> Document:
    """`validate`: the whole map with its defaults, secrets hidden."""
    return _document("validate", ExitCode.DONE, map=shown(service_map), problems=[], checks=None)


def online_document(service_map: ServiceMap, result: OnlineResult) -> Document:
    """`validate --online`: the map, and what every check came to."""
    return _document(
        "validate",
        result.exit_code,
        map=shown(service_map),
        problems=[],
        checks=[_check(check) for check in result.checks],
    )


def _check(check: Check) -> Document:
    line: Document = {"system": check.system, "subject": check.subject}
    match check.result:
        case Passed(message):
            return line | {"result": "ok", "message": message, "code": None, "remedy": None}
        case Warned(error):
            return line | {"result": "warning"} | _error(error)
        case Failed(error):
            return line | {"result": "error"} | _error(error)
        case _:
            assert_never(check.result)


def problems_document(problems: Iterable[MapProblem]) -> Document:
    """`validate` of a wrong map; lines and columns count from 1."""
    found = [
        {
            "line": problem.line,
            "column": problem.column,
            "where": problem.where,
            "message": problem.message,
            "suggestion": problem.suggestion or None,
        }
        for problem in problems
    ]
    return _document("validate", ExitCode.CONFIG, map=None, problems=found, checks=None)


def recover_document(service: str, plan_only: bool, result: RecoverResult) -> Document:
    """`recover`: what was done, or with `--plan` would be."""
    tables = [_recovered(table) for table in result.tables]
    return _document(
        "recover",
        result.exit_code,
        service=service,
        plan=plan_only,
        kafka_error=result.kafka_error,
        tables=tables,
    )


def status_document(service: str, result: StatusResult) -> Document:
    """`status`; times are ISO 8601 in UTC or epoch milliseconds, as their names say."""
    return _document(
        "status",
        result.exit_code,
        service=service,
        kafka_error=result.kafka_error,
        tables=[_status(table) for table in result.tables],
        errors=[{"table": table, **_error(error)} for table, error in result.errors],
        not_begun=list(result.not_begun),
    )


def init_document(service: str, result: InitResult) -> Document:
    """`init`: every table of the map and what became of its ledger."""
    tables = [
        {
            "table": table.table,
            "ledger": table.directory,
            "result": table.beginning.value.replace(" ", "_"),
            "error": _error(table.error) if table.error else None,
        }
        for table in result.tables
    ]
    return _document("init", result.exit_code, service=service, tables=tables)


def reset_document(service: str, order: ResetOrder, result: ResetResult) -> Document:
    """`reset`: what was put away, or with `--plan` would be."""
    plan = result.plan
    record = plan.record
    return _document(
        "reset",
        ExitCode.DONE,
        service=service,
        plan=order.plan_only,
        table=order.table,
        begun=plan.begun.value,
        done=result.done,
        ledger=plan.ledger or None,
        data=list(plan.data),
        positions=[
            {"topic": topic, "partition": number, "next_offset": end}
            for topic, number, end in (record.positions if record else ())
        ],
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
        left_pending=_error(result.left_pending) if result.left_pending else None,
    )


def verify_document(service: str, result: VerifyResult) -> Document:
    """`verify`: every finding of every table."""
    tables = [
        {
            "table": table.table,
            "epochs": table.epochs,
            "files": table.files,
            "rows": table.rows,
            "bytes": table.bytes,
            "findings": [{"code": f.code, "where": f.where, "message": f.message} for f in table.findings],
            "no_answer": list(table.no_answer),
            "not_checked": [*table.no_answer, *table.not_checked],
            "accepted": list(table.accepted),
            "notes": list(table.notes),
        }
        for table in result.tables
    ]
    errors = [{"table": table, **_error(error)} for table, error in result.errors]
    return _document("verify", result.exit_code, service=service, tables=tables, errors=errors)


def where_document(service: str, place: str, result: WhereResult) -> Document:
    """`where`: each table's answer; `epoch` null: the table does not hold the offset."""
    tables = [
        {
            "table": found.table,
            "answer": found.answer,
            "epoch": found.epoch,
            "files": [{"kind": f.kind.value, "path": f.final, "rows": f.rows} for f in found.files],
        }
        for found in result.found
    ]
    return _document("where", result.exit_code, service=service, place=place, tables=tables)


def dead_letters_document(service: str, result: "DeadLetterList") -> Document:
    """`dead-letters list`: counts, the most frequent first; each with the place and detail of one of them."""
    groups = [
        {
            "table": group.table,
            "topic": group.topic,
            "reason": group.reason,
            "count": group.count,
            "example": {"place": str(group.place), "detail": group.detail},
        }
        for group in result.groups
    ]
    return _document(
        "dead-letters list",
        result.exit_code,
        service=service,
        dead_letters=result.letters,
        files=result.files,
        groups=groups,
        more_groups=result.more_groups,
        not_read=[{"path": path, "why": why} for path, why in result.not_read],
    )


def dead_letter_document(service: str, result: "FoundLetters") -> Document:
    """`dead-letters show`: bytes in base64, null where the record has none."""
    letters = [
        {
            "place": str(letter.place),
            "table": letter.table,
            "epoch": letter.epoch,
            "reason": letter.reason,
            "detail": letter.detail,
            "timestamp": letter.timestamp.isoformat(timespec="milliseconds") + "Z"
            if letter.timestamp
            else None,
            "key": _base64(letter.key),
            "value": _base64(letter.value),
            "headers": None
            if letter.headers is None
            else [{"key": key, "value": _base64(value)} for key, value in letter.headers],
            "file": letter.file,
        }
        for letter in result.letters
    ]
    return _document(
        "dead-letters show", result.exit_code, service=service, dead_letters=letters, more=result.more
    )


def _base64(data: bytes | None) -> str | None:
    return None if data is None else b64encode(data).decode()


def _document(command: str, exit_code: ExitCode, **content: object) -> Document:
    return {"format": FORMAT, "command": command, "exit_code": int(exit_code), **content}


def _recovered(table: RecoveredTable) -> Document:
    moves, pending = table.moves, table.pending
    return {
        "table": table.table,
        "result": table.recovery.value,
        "generation": table.generation or None,
        "epoch": table.epoch if table.epoch >= 0 else None,
        "rolled_forward": table.rolled_forward,
        "files": {
            "created": moves.created,
            "renamed": moves.renamed,
            "already_there": moves.already_moved,
            "missing": int(table.error is not None and table.error.code == "ledger.missing"),
            "failed": moves.retried,
            "given_up": moves.given_up,
        },
        "pending": {"staged": pending.staged, "already_there": pending.already_there} if pending else None,
        "orphans_deleted": table.swept,
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
            {
                "topic": position.topic_partition.topic,
                "partition": position.topic_partition.number,
                "next_offset": position.end,
            }
            for position in table.resumes_at
        ],
        "error": _error(table.error) if table.error else None,
        "rebuilt": _rebuilt(table.rebuilt) if table.rebuilt else None,
        "forgotten": [_partition(partition) for partition in table.forgotten],
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


def _status(table: TableStatus) -> Document:
    return {
        "table": table.table,
        "generation": table.generation,
        "owner": table.owner,
        "owner_alive": table.owner_life is OwnerLife.ALIVE,
        "state": state_name(table.state),
        "next_try": table.state.next_try if isinstance(table.state, Retrying) else None,
        "error": _trouble(table.state.trouble) if isinstance(table.state, Retrying | Stopped) else None,
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
        "unregistered": [_partition(partition) for partition in table.unregistered],
        "last_epochs": [
            {
                "epoch": epoch.epoch,
                "written_at": epoch.written_at,
                "files": epoch.files,
                "rows": epoch.rows,
                "records": _account(epoch.account),
            }
            for epoch in table.last_epochs
        ],
        "gaps": table.gaps,
        "losses": table.losses,
    }


def _trouble(trouble: Trouble) -> Document:
    return {"code": trouble.code, "message": trouble.message, "remedy": trouble.remedy or None}


def _partition(partition: HivePartition) -> Document:
    return {"table": partition.table, "partition": partition.path, "location": partition.location}


def _account(account: OffsetAccounting) -> Document:
    return {
        "read": account.read,
        "written": account.written,
        "filtered": account.filtered,
        "tombstones": account.tombstones,
        "dead_lettered": account.dead_lettered,
        "absent": account.absent,
        "bytes": account.bytes,
    }


def _error(error: Kafka2HiveError) -> Document:
    return {"code": error.code, "message": error.message, "remedy": error.remedy or None}
