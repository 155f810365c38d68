"""Text and JSON document of `pause` and `resume`."""

from dataclasses import asdict

from rich.text import Text

from kafka2hive.cli.terminal.document import Document, document, resume_lines
from kafka2hive.cli.terminal.screen import Screen, render
from kafka2hive.model.errors import ExitCode
from kafka2hive.model.snapshot import Snapshot
from kafka2hive.service.orders.delivery import OrderAnswer


def render_order(answer: OrderAnswer, screen: Screen) -> str:
    """Return the table's state after the order, who carried it out, and where reading resumes."""
    record, state = answer.record, answer.state
    lines = [
        Text(f"{state.table} {pause_text(state) or 'is not paused'}", style="bold green"),
        Text(f"  order {record.id} was carried out in epoch {record.epoch} at {record.done_at}"),
    ]
    reading = "reading stopped" if state.paused else "reading continues"
    lines += [Text(f"  {reading} at {line}") for line in resume_lines(state.positions)]
    return render(screen, lines)


def pause_text(state: Snapshot) -> str:
    """Return since when and by whom the table is paused; empty if it is not."""
    return "" if state.paused is None else f"has been paused since {state.paused.since} by {state.paused.by}"


def order_document(service: str, answer: OrderAnswer) -> Document:
    """Return the document of the command `pause` or `resume`."""
    record = answer.record
    return document(
        record.kind,
        ExitCode.DONE,
        service=service,
        table=answer.state.table,
        order=asdict(record),
        paused=pause_document(answer.state),
    )


def pause_document(state: Snapshot) -> Document | None:
    """Return since when, by whom and from which epoch on the table is paused; null if it is not."""
    return None if state.paused is None else asdict(state.paused)
