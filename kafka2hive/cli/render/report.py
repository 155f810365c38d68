"""Text and JSON document of `report`; the page itself is made by the service."""

from rich.console import RenderableType
from rich.text import Text

from kafka2hive.cli.terminal.document import Document, document
from kafka2hive.cli.terminal.screen import Screen, render
from kafka2hive.model.errors import ExitCode
from kafka2hive.model.text import counted
from kafka2hive.service.inspect.attention import Urgency
from kafka2hive.service.report.report import Report

_SHOWN = 10


def render_report(report: Report, output: str, screen: Screen) -> str:
    """Return where the page is, and the tables that need attention, at most ten of them."""
    urgent = [one for one in report.attention if one.urgency is not Urgency.FINE]
    parts: list[RenderableType] = [
        f"{output}: {counted(len(report.attention), 'table')}, {len(report.tables)} in detail"
    ]
    parts += [Text(f"  {one.table}: {one.headline}") for one in urgent[:_SHOWN]]
    if len(urgent) > _SHOWN:
        parts.append(f"  and {counted(len(urgent) - _SHOWN, 'more table')} that need attention")
    return render(screen, parts)


def report_document(report: Report, output: str) -> Document:
    """Return the document of `report`: each table's state in words, the most urgent first."""
    return document(
        "report",
        ExitCode.DONE,
        service=report.service,
        output=output,
        tables=[
            {
                "table": one.table,
                "urgency": one.urgency.name.lower(),
                "headline": one.headline,
                "detail": one.detail,
                "remedy": one.remedy or None,
            }
            for one in report.attention
        ],
        details=[table.name for table in report.tables],
        not_read=[{"table": table.name, "error": text} for table in report.tables for text in table.failures],
    )
