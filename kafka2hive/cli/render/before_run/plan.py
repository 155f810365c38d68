"""`plan`: its text and its document."""

from rich.console import RenderableType
from rich.text import Text

from kafka2hive.cli.render.document import Document, document, error_of
from kafka2hive.cli.screen import Screen, render
from kafka2hive.model.quantities import counted
from kafka2hive.service.plan import PlannedTable, PlanResult


def render_plan(result: PlanResult, screen: Screen) -> str:
    """A line a table, its statements below it as they would be sent."""
    parts: list[RenderableType] = []
    for table in result.tables:
        parts.append(Text(f"{table.table}: {_summary(table)}", style="bold"))
        parts += [Text(f"  {statement};") for statement in table.statements]
        if table.error is not None:
            parts.append(Text(str(table.error), style="red"))
    return render(screen, parts)


def _summary(table: PlannedTable) -> str:
    if table.error is not None:
        return "would be set aside"
    if not table.statements:
        return "is the table of the map"
    return f"{counted(len(table.statements), 'statement')} before its first file"


def plan_document(service: str, result: PlanResult) -> Document:
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
