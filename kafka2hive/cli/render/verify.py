"""`verify`: its text and its document."""

from rich.console import RenderableType
from rich.text import Text

from kafka2hive.cli.render.document import Document, document, error_of
from kafka2hive.cli.screen import Screen, grid, render
from kafka2hive.model.quantities import size
from kafka2hive.service.audit.verified import VerifyResult

_SHOWN = 50  # findings per table; all of them: --json


def render_verify(service: str, result: VerifyResult, screen: Screen) -> str:
    """One line per table, then every finding with its place."""
    parts: list[RenderableType] = []
    if result.tables:
        numbers = ("epochs", "files", "rows", "bytes", "findings")
        overview = grid("table", *numbers, right=numbers)
        for table in result.tables:
            found = Text(str(len(table.findings)), style="red" if table.findings else "green")
            counts = (f"{count:,}" for count in (table.epochs, table.files, table.rows))
            overview.add_row(table.table, *counts, size(table.bytes), found)
        parts.append(overview)
    for table in result.tables:
        parts += [Text(f"{f.code}  {f.where}: {f.message}", style="red") for f in table.findings[:_SHOWN]]
        if len(table.findings) > _SHOWN:
            parts.append(f"{table.table}: {len(table.findings) - _SHOWN} more findings (all: --json)")
        parts += [Text(f"{table.table}: accepted: {what}", style="yellow") for what in table.accepted]
        parts += [Text(f"{table.table}: no answer of {what}", style="yellow") for what in table.no_answer]
        parts += [Text(f"{table.table}: not checked: {what}", style="yellow") for what in table.not_checked]
        parts += [Text(f"{table.table}: {what}", style="yellow") for what in table.notes]
    parts += [Text(f"{name}: {error}", style="red") for name, error in result.errors]
    if not result.tables and not result.errors:
        parts.append(f"service {service}: no ledger yet")
    return render(screen, parts)


def verify_document(service: str, result: VerifyResult) -> Document:
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
