"""Text and JSON document of `where`."""

from collections.abc import Sequence

from rich.console import RenderableType
from rich.text import Text

from kafka2hive.cli.terminal.document import Document, document
from kafka2hive.cli.terminal.screen import Screen, render
from kafka2hive.model.errors import ExitCode
from kafka2hive.model.text import counted
from kafka2hive.service.inspect.where import PlaceAnswer


def render_where(place: str, answers: Sequence[PlaceAnswer], screen: Screen) -> str:
    """Return each table's answer, with the files that may hold the record below."""
    parts: list[RenderableType] = []
    for answer in answers:
        parts.append(Text(f"{answer.table}: {place} {answer.answer}", style="bold"))
        for file in answer.files:
            parts.append(f"  {file.kind.value}  {counted(file.rows, 'row')}  {file.final}")
        if answer.epoch is not None and not answer.files:
            parts.append(
                "  no file: a tombstone, filtered, absent or dead-lettered with none left; see the snapshot"
            )
    return render(screen, parts)


def where_document(service: str, place: str, answers: Sequence[PlaceAnswer]) -> Document:
    """Return the document of `where`: each table's answer; `epoch` is null if the table does not hold the offset."""
    tables = [
        {
            "table": answer.table,
            "answer": answer.answer,
            "epoch": answer.epoch,
            "files": [{"kind": f.kind.value, "path": f.final, "rows": f.rows} for f in answer.files],
        }
        for answer in answers
    ]
    return document("where", ExitCode.DONE, service=service, place=place, tables=tables)
