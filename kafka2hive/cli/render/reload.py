"""Text and JSON document of `reload`, of `validate --against-running`, and of the last reload in `status`."""

from rich.text import Text

from kafka2hive.cli.terminal.document import Document, document, error_of
from kafka2hive.cli.terminal.screen import Screen, render
from kafka2hive.model.errors import ExitCode
from kafka2hive.service.tables.condition import RELOAD_PLANNED, RELOAD_REFUSED, ReloadAnswer

_HEADS = {
    "planned": ("a reload would be carried out without a restart", "bold green"),
    "applied": ("the map is in force", "bold green"),
    "unchanged": ("the run has this map: nothing changed", "bold green"),
    "refused": ("the reload is refused: nothing was changed", "bold red"),
}


def render_reload(answer: ReloadAnswer, screen: Screen) -> str:
    """Return the outcome, the difference by table, and why a reload is refused."""
    head, style = _HEADS[answer.outcome]
    if answer.outcome == RELOAD_PLANNED and not differs(answer):
        head = "the run has this map: a reload would change nothing"
    return render(screen, [Text(head, style=style), *answer_lines(answer)])


def differs(answer: ReloadAnswer) -> bool:
    return bool(answer.added or answer.changed or answer.removed or answer.keys or answer.restart)


def answer_lines(answer: ReloadAnswer) -> list[Text]:
    lines = [Text(f"  added    {table}") for table in answer.added]
    lines += [Text(f"  changed  {table}: {', '.join(keys)}") for table, keys in answer.changed]
    lines += [Text(f"  removed  {table}: its ledger and its data stay") for table in answer.removed]
    lines += [Text(f"  changed  {key}") for key in answer.keys]
    if answer.trouble is not None:
        code, message, remedy = answer.trouble.code, answer.trouble.message, answer.trouble.remedy
        lines.append(Text(f"  [{code}] {message}", style="red"))
        lines += [Text(f"  what to do: {remedy}")] if remedy else []
    for table, trouble in answer.aside:
        lines.append(Text(f"  {table} is set aside: [{trouble.code}] {trouble.message}", style="yellow"))
        lines += [Text(f"  what to do: {trouble.remedy}")] if trouble.remedy else []
    return lines


def reload_document(command: str, service: str, answer: ReloadAnswer) -> Document:
    """Return the document of the command `reload` or `validate --against-running`."""
    return document(command, ExitCode(answer.exit_code), service=service, **answer_document(answer))


def answer_document(answer: ReloadAnswer) -> Document:
    return {
        "outcome": answer.outcome,
        "is_refused": answer.outcome == RELOAD_REFUSED,
        "order": answer.order or None,
        "given_by": answer.given_by,
        "at": answer.at,
        "map": answer.map or None,
        "added": list(answer.added),
        "changed": [{"table": table, "keys": list(keys)} for table, keys in answer.changed],
        "removed": list(answer.removed),
        "keys": list(answer.keys),
        "restart": list(answer.restart),
        "error": None if answer.trouble is None else error_of(answer.trouble),
        "set_aside": [{"table": table, **error_of(trouble)} for table, trouble in answer.aside],
    }
