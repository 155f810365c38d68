"""Texts and JSON documents of `where` and `certificate`."""

from collections.abc import Sequence

from rich.console import RenderableType
from rich.text import Text

from kafka2hive.cli.render.verify import remedy_lines
from kafka2hive.cli.terminal.document import Document, document, drop_document
from kafka2hive.cli.terminal.screen import Screen, render
from kafka2hive.model.errors import ExitCode
from kafka2hive.model.text import counted
from kafka2hive.service.inspect.certificate import Completion, PartitionName, PartitionReport
from kafka2hive.service.inspect.where import PartitionDrop, PlaceAnswer

_STATES = {
    Completion.COMPLETE: "is complete: {amount}",
    Completion.LATE: "was complete ({amount}), and {more} came later: another certificate is due",
    Completion.OPEN: "is not complete yet: {more} without a certificate",
    Completion.UNREGISTERED: "is complete on HDFS ({amount}), but not registered in Hive yet",
    Completion.ABSENT: "is not complete: it has no published file yet{where}",
    Completion.DROPPED: "does not exist any more: {drop}",
    Completion.EXPIRED: "has expired and has no file: records of its period become dead letters",
}
_WITHHELD = "not in Hive before the certificate of its partition (`register: complete`)"


def render_where(place: str, answers: Sequence[PlaceAnswer], screen: Screen) -> str:
    """Return each table's answer, with the files that may hold the record below."""
    parts: list[RenderableType] = []
    for answer in answers:
        parts.append(Text(f"{answer.table}: {place} {answer.answer}", style="bold"))
        for file in answer.files:
            drop = answer.drops.get(file.final)
            place = file.final if drop is None or not drop.deleted_at else file.hive_partition.path
            parts.append(f"  {file.kind.value}  {counted(file.rows, 'row')}  {place}")
            if drop is not None:
                parts.append(Text(f"    {_drop_text(drop)}", style="yellow"))
            if file.final in answer.withheld:
                parts.append(Text(f"    {_WITHHELD}", style="yellow"))
        if answer.epoch is not None and not answer.files:
            parts.append(
                "  no file: the offset is a tombstone, filtered, absent, or a replayed dead letter; see the snapshot"
            )
    return render(screen, parts)


def _drop_text(drop: PartitionDrop) -> str:
    text = f"dropped by retention in epoch {drop.epoch}"
    if drop.deleted_at:
        return f"{text}, its files were deleted by {drop.deleted_at}"
    if drop.deletable_from:
        return f"{text}, its files will be deleted after {drop.deletable_from}"
    return f"{text}, its files will be deleted a day after Hive has dropped it"


def _drop_document(drop: PartitionDrop | None) -> Document | None:
    """Return a drop as a document; `deleted_at` is null while there may be files."""
    return None if drop is None else {**drop_document(drop), "deleted_at": drop.deleted_at or None}


def where_document(service: str, place: str, answers: Sequence[PlaceAnswer]) -> Document:
    """Return the document of `where`: each table's answer; `epoch` is null if the table does not hold the offset."""
    tables = [
        {
            "table": answer.table,
            "answer": answer.answer,
            "epoch": answer.epoch,
            "files": [
                {
                    "kind": file.kind.value,
                    "path": file.final,
                    "rows": file.rows,
                    "dropped": _drop_document(answer.drops.get(file.final)),
                    "withheld": file.final in answer.withheld,
                }
                for file in answer.files
            ],
        }
        for answer in answers
    ]
    return document("where", ExitCode.DONE, service=service, place=place, tables=tables)


def render_certificate(name: PartitionName, report: PartitionReport, screen: Screen) -> str:
    """Return the state of the partition, then its certificates, then their faults."""
    amount = f"{counted(report.rows, 'row')} in {counted(report.files, 'file')}"
    uncounted = report.open
    more = f"{counted(uncounted.rows, 'row')} in {counted(uncounted.files, 'file')}" if uncounted else "files"
    state = _STATES[report.completion].format(
        amount=amount,
        more=more,
        where=f" in {report.location}" if report.location else "",
        drop="" if report.drop is None else _drop_text(report.drop),
    )
    parts: list[RenderableType] = [Text(f"{name} {state}", style="bold")]
    for path, written_at, each in report.certificates:
        counts = f"{counted(each.rows, 'row')} in {counted(each.files, 'file')}"
        parts.append(
            f"  {counts}, complete through {each.through}, certified at {written_at} by policy {each.policy}"
        )
        parts.append(f"    {path}")
    if report.findings:
        parts.append(Text(f"{counted(len(report.findings), 'finding')}:", style="bold red"))
        parts += [f"  {each.code}  {each.where}: {each.message}" for each in report.findings]
        parts += remedy_lines(report.findings, name.table)
        parts.append(f"`kafka2hive verify --table {name.table} -c MAP` checks the whole table")
    return render(screen, parts)


def certificate_document(service: str, name: PartitionName, report: PartitionReport) -> Document:
    """Return the document of `certificate`; `open` is null if every file is counted by a certificate."""
    uncounted = report.open
    return document(
        "certificate",
        report.exit_code,
        service=service,
        table=name.table,
        partition=name.path,
        state=str(report.completion),
        location=report.location or None,
        files=report.files,
        rows=report.rows,
        certificates=[
            {
                "path": path,
                "certified_at": written_at,
                "complete_through": each.through,
                "files": each.files,
                "rows": each.rows,
                "policy": each.policy,
            }
            for path, written_at, each in report.certificates
        ],
        open=None
        if uncounted is None
        else {"files": uncounted.files, "rows": uncounted.rows, "opened_at": uncounted.opened_at},
        findings=[
            {"code": each.code, "where": each.where, "message": each.message} for each in report.findings
        ],
        dropped=_drop_document(report.drop),
    )
