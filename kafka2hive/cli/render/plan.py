"""Text and JSON documents of `plan` and `init`."""

from rich.console import RenderableType
from rich.text import Text

from kafka2hive.cli.render.offsets import offsets_list, offsets_table
from kafka2hive.cli.terminal.document import Document, document, error_of
from kafka2hive.cli.terminal.screen import Screen, render
from kafka2hive.model.text import counted
from kafka2hive.service.inspect.plan import PlanResult, TablePlan
from kafka2hive.service.tables.init import InitOutcome, InitResult


def render_plan(result: PlanResult, screen: Screen) -> str:
    """Return one line per table, with the statements below it exactly as the run would send them."""
    parts: list[RenderableType] = []
    for table in result.tables:
        parts.append(Text(f"{table.table}: {_summary(table)}", style="bold"))
        parts += [Text(f"  {statement};") for statement in table.statements]
        if table.error is not None:
            parts.append(Text(str(table.error), style="red"))
    return render(screen, parts)


def _summary(table: TablePlan) -> str:
    if table.error is not None:
        return "would be set aside"
    if not table.statements:
        return "is the table of the map"
    return f"{counted(len(table.statements), 'statement')} before its first file"


def plan_document(service: str, result: PlanResult) -> Document:
    """Return the document of `plan`."""
    return document(
        "plan",
        result.exit_code,
        service=service,
        tables=[
            {
                "table": table.table,
                "statements": list(table.statements),
                "error": None if table.error is None else error_of(table.error),
            }
            for table in result.tables
        ],
    )


def render_init(result: InitResult, screen: Screen) -> str:
    """Return each table's outcome, with its ledger or its error below."""
    parts: list[RenderableType] = []
    for table in result.tables:
        style = "red" if table.beginning is InitOutcome.FAILED else "green"
        parts.append(Text(f"{table.table}  ").append(table.beginning.value, style=style))
        if table.error is not None:
            parts += [f"  {line}" for line in str(table.error).splitlines()]
        else:
            parts.append(f"  {table.directory}")
        if table.positions:
            parts.append(offsets_table(table.positions))
    return render(screen, parts or ["no table: no topic matches the map's patterns yet"])


def init_document(service: str, result: InitResult) -> Document:
    """Return the document of `init`."""
    tables = [
        {
            "table": table.table,
            "ledger": table.directory,
            "result": table.beginning.value.replace(" ", "_"),
            "error": error_of(table.error) if table.error else None,
            "positions": offsets_list(table.positions),
        }
        for table in result.tables
    ]
    return document("init", result.exit_code, service=service, tables=tables)
