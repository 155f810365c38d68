"""`validate --online`: its text and its document."""

from rich.text import Text

from kafka2hive.cli.render.before_run.checks import check_document, lines_of
from kafka2hive.cli.render.document import Document, document
from kafka2hive.cli.screen import Screen, render
from kafka2hive.config.machine.native_library import DecoderInUse
from kafka2hive.config.shown import shown
from kafka2hive.config.values import ServiceMap
from kafka2hive.model.quantities import counted
from kafka2hive.service.online.checks import Failed, Warned
from kafka2hive.service.online.validate import OnlineResult


def render_online(
    service_map: ServiceMap, result: OnlineResult, decoder: DecoderInUse, screen: Screen
) -> str:
    """A line a check, what to do below it; the verdict last."""
    parts = [
        *lines_of(result.checks),
        Text(f"decoder: {decoder}", style="" if decoder.is_compiled else "yellow"),
    ]
    warned = sum(isinstance(check.result, Warned) for check in result.checks)
    failed = sum(isinstance(check.result, Failed) for check in result.checks)
    verdict = f"service {service_map.service}: {counted(len(result.checks), 'check')}"
    verdict += f", {counted(warned, 'warning')}, {counted(failed, 'error')}"
    if failed:
        verdict += f" (exit code {int(result.exit_code)})"
    return render(screen, [*parts, Text(verdict, style="bold red" if failed else "bold green")])


def online_document(service_map: ServiceMap, result: OnlineResult, decoder: DecoderInUse) -> Document:
    return document(
        "validate",
        result.exit_code,
        map=shown(service_map),
        problems=[],
        checks=[check_document(check) for check in result.checks],
        decoder=str(decoder),
    )
