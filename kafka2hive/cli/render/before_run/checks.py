"""Lines of checks, as text and as JSON: of services, and of what Spark says of SELECTs."""

from collections.abc import Sequence
from typing import assert_never

from rich.text import Text

from kafka2hive.cli.render.document import Document, error_of
from kafka2hive.model.errors import Kafka2HiveError
from kafka2hive.service.online.checks import Check, Failed, Passed, Warned


def lines_of(checks: Sequence[Check]) -> list[Text]:
    return [line for check in checks for line in _lines(check)]


def _lines(check: Check) -> list[Text]:
    match check.result:
        case Passed(message):
            return [_line("ok", "green", check, message)]
        case Warned(error):
            return _trouble("warning", "yellow", check, error)
        case Failed(error):
            return _trouble("error", "bold red", check, error)
        case _:
            assert_never(check.result)


def _trouble(word: str, style: str, check: Check, error: Kafka2HiveError) -> list[Text]:
    lines = [_line(word, style, check, f"[{error.code}] {error.message}")]
    if error.remedy:
        lines.append(Text(f"         what to do: {error.remedy}"))
    return lines


def _line(word: str, style: str, check: Check, message: str) -> Text:
    return Text(f"{word:<8} ", style=style).append(
        f"{check.system:<8} {check.subject}: {message}", style="not bold"
    )


def check_document(check: Check) -> Document:
    line: Document = {"system": check.system, "subject": check.subject}
    match check.result:
        case Passed(message):
            return line | {"result": "ok", "message": message, "code": None, "remedy": None}
        case Warned(error):
            return line | {"result": "warning"} | error_of(error)
        case Failed(error):
            return line | {"result": "error"} | error_of(error)
        case _:
            assert_never(check.result)
