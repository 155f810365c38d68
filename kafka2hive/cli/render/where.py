"""The text of `where`."""

from collections.abc import Sequence

from rich.console import RenderableType
from rich.text import Text

from kafka2hive.cli.screen import Screen, render
from kafka2hive.model.quantities import counted
from kafka2hive.service.where import FoundPlace


def render_where(place: str, answers: Sequence[FoundPlace], screen: Screen) -> str:
    """Each table's answer and the files in question."""
    parts: list[RenderableType] = []
    for found in answers:
        parts.append(Text(f"{found.table}: {place} {found.answer}", style="bold"))
        for file in found.files:
            parts.append(f"  {file.kind.value}  {counted(file.rows, 'row')}  {file.final}")
        if found.epoch is not None and not found.files:
            parts.append(
                "  no file: a tombstone, filtered, absent or dead-lettered with none left; see the snapshot"
            )
    return render(screen, parts)
