"""Text and JSON document of `explain`."""

from collections.abc import Sequence

from rich.padding import Padding
from rich.text import Text

from kafka2hive.cli.explain.catalogue import Explanation
from kafka2hive.cli.terminal.document import Document, document
from kafka2hive.cli.terminal.screen import Screen, render
from kafka2hive.model.errors import ExitCode


def render_explanations(explanations: Sequence[Explanation], screen: Screen) -> str:
    """Return each code with its meaning, what the program does, and what to do."""
    parts: list[Text | Padding] = []
    for one in explanations:
        if parts:
            parts.append(Text(""))
        parts.append(Text(f"{one.code}: {one.kind}", style="bold"))
        lines = [one.meaning, one.effect, f"what to do: {one.remedy}" if one.remedy else ""]
        parts += [Padding(Text(line), (0, 0, 0, 2)) for line in lines if line]
    return render(screen, parts)


def explain_document(explanations: Sequence[Explanation]) -> Document:
    """Return the document of `explain`; `effect` and `remedy` are null if there is nothing to say."""
    codes = [
        {
            "code": one.code,
            "kind": one.kind,
            "meaning": one.meaning,
            "effect": one.effect or None,
            "remedy": one.remedy or None,
        }
        for one in explanations
    ]
    return document("explain", ExitCode.DONE, codes=codes)
