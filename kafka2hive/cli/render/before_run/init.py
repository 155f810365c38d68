"""`init`: its text and its document."""

from rich.text import Text

from kafka2hive.cli.render.document import Document, document, error_of
from kafka2hive.cli.screen import Screen, render
from kafka2hive.service.shared.init_ledgers import Beginning, InitResult


def render_init(result: InitResult, screen: Screen) -> str:
    parts: list[Text | str] = []
    for table in result.tables:
        style = "red" if table.beginning is Beginning.FAILED else "green"
        parts.append(Text(f"{table.table}  ").append(table.beginning.value, style=style))
        if table.error is not None:
            parts += [f"  {line}" for line in str(table.error).splitlines()]
        else:
            parts.append(f"  {table.directory}")
    return render(screen, parts or ["no table: no topic matches the map's patterns yet"])


def init_document(service: str, result: InitResult) -> Document:
    tables = [
        {
            "table": table.table,
            "ledger": table.directory,
            "result": table.beginning.value.replace(" ", "_"),
            "error": error_of(table.error) if table.error else None,
        }
        for table in result.tables
    ]
    return document("init", result.exit_code, service=service, tables=tables)
