"""`validate --online`: its text and its document."""

from typing import assert_never

from rich.text import Text

from kafka2hive.cli.render.document import Document, document, error_of
from kafka2hive.cli.screen import Screen, render
from kafka2hive.config.shown import shown
from kafka2hive.config.values import ServiceMap
from kafka2hive.model.errors import Kafka2HiveError
from kafka2hive.model.quantities import counted
from kafka2hive.service.online.checks import Check, Failed, Passed, Warned
from kafka2hive.service.online.validate import OnlineResult


def render_online(service_map: ServiceMap, result: OnlineResult, screen: Screen) -> str:
    """A line a check, what to do below it; the verdict last."""
    parts: list[Text] = []
    for check in result.checks:
        parts += _lines(check)
    warned = sum(isinstance(check.result, Warned) for check in result.checks)
    failed = sum(isinstance(check.result, Failed) for check in result.checks)
    verdict = f"service {service_map.service}: {counted(len(result.checks), 'check')}"
    verdict += f", {counted(warned, 'warning')}, {counted(failed, 'error')}"
    if failed:
        verdict += f" (exit code {int(result.exit_code)})"
    return render(screen, [*parts, Text(verdict, style="bold red" if failed else "bold green")])


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


def online_document(service_map: ServiceMap, result: OnlineResult) -> Document:
    return document(
        "validate",
        result.exit_code,
        map=shown(service_map),
        problems=[],
        checks=[_check(check) for check in result.checks],
    )


def _check(check: Check) -> Document:
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
