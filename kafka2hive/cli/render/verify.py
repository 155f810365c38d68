"""Text and JSON document of `verify`."""

import shlex
from collections.abc import Sequence

from rich.console import RenderableType
from rich.text import Text

from kafka2hive.cli.explain.catalogue import explanations
from kafka2hive.cli.terminal.document import Document, document, error_of
from kafka2hive.cli.terminal.screen import Screen, grid, render
from kafka2hive.model.text import size
from kafka2hive.service.verify.result import Finding, VerifyResult

_SHOWN = 50  # findings per table; --json prints all


def render_verify(service: str, result: VerifyResult, screen: Screen) -> str:
    """Return one line per table, then every finding with its place."""
    parts: list[RenderableType] = []
    if result.tables:
        numbers = ("epochs", "files", "rows", "bytes", "findings")
        overview = grid("table", *numbers, right=numbers)
        for table in result.tables:
            findings = Text(str(len(table.findings)), style="red" if table.findings else "green")
            counts = (f"{count:,}" for count in (table.epochs, table.files, table.rows))
            overview.add_row(table.table, *counts, size(table.bytes), findings)
        parts.append(overview)
    for table in result.tables:
        parts += [Text(f"{f.code}  {f.where}: {f.message}", style="red") for f in table.findings[:_SHOWN]]
        parts += [Text(line, style="yellow") for line in remedy_lines(table.findings, table.table)]
        if len(table.findings) > _SHOWN:
            parts.append(f"{table.table}: {len(table.findings) - _SHOWN} more findings (all: --json)")
        parts += [Text(f"{table.table}: accepted: {what}", style="yellow") for what in table.accepted]
        parts += [Text(f"{table.table}: no answer from {what}", style="yellow") for what in table.no_answer]
        parts += [Text(f"{table.table}: not checked: {what}", style="yellow") for what in table.not_checked]
        parts += [Text(f"{table.table}: {what}", style="yellow") for what in table.notes]
    parts += [Text(f"{name}: {error}", style="red") for name, error in result.errors]
    if not result.tables and not result.errors:
        parts.append(f"service {service}: no ledger yet")
    return render(screen, parts)


def remedy_lines(findings: Sequence[Finding], table: str) -> list[str]:
    """Return what to do about each code of a table's findings, with the first finding's path in the commands."""
    first: dict[str, Finding] = {}
    for finding in findings:
        first.setdefault(finding.code, finding)
    remedies = dict.fromkeys(_remedy(finding, table) for finding in first.values())
    return [f"  what to do: {remedy}" for remedy in remedies]


def _remedy(finding: Finding, table: str) -> str:
    """Return the explanation's remedy with the finding's table, path and offset in its commands."""
    remedy = explanations()[finding.code].remedy.replace("TABLE", table)
    where = finding.where
    if "/" in where:
        return remedy.replace("PATH", shlex.quote(where))
    place = where.split(" ")[0]
    return remedy.replace("TOPIC-PARTITION@OFFSET", place) if "@" in place and "[" not in place else remedy


def verify_document(service: str, result: VerifyResult) -> Document:
    """Return the document of `verify`, with all findings."""
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
    errors = [{"table": table, **error_of(error)} for table, error in result.errors]
    return document("verify", result.exit_code, service=service, tables=tables, errors=errors)
