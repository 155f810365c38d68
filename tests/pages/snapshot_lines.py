"""The lines of a snapshot for docs/protocol.md."""

from kafka2hive.ledger.snapshot.line import Field, Line
from kafka2hive.ledger.snapshot.lines import LINES


def snapshot_lines() -> str:
    """A table of the kinds of lines, and each one's fields with its note."""
    rows = [f"| `{line.tag}` | {line.doc} | {line.life.value} | {line.since} |" for line in LINES]
    head = ["| tag | what it says | holds | since format |", "|---|---|---|---|"]
    return "\n".join([*head, *rows, "", "Their fields:", "", *map(_fields, LINES), ""])


def _fields(line: Line) -> str:
    names = ", ".join(map(_field, (*line.fields, *line.later_fields)))
    return "\n  ".join([f"- `{line.tag}`: {names}.", *line.note.splitlines()])


def _field(field: Field) -> str:
    return f"`{field.name}`" + (f" (format {field.since})" if field.since > 1 else "")
