"""The text of `init`."""

from rich.text import Text

from kafka2hive.cli.screen import Screen, render
from kafka2hive.service.shared.init_ledgers import Beginning, InitResult


def render_init(result: InitResult, screen: Screen) -> str:
    """One line a table, its trouble below it."""
    parts: list[Text | str] = []
    for table in result.tables:
        style = "red" if table.beginning is Beginning.FAILED else "green"
        parts.append(Text(f"{table.table}  ").append(table.beginning.value, style=style))
        if table.error is not None:
            parts += [f"  {line}" for line in str(table.error).splitlines()]
        else:
            parts.append(f"  {table.directory}")
    return render(screen, parts or ["no table: no topic matches the map's patterns yet"])
