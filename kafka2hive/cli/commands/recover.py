"""`kafka2hive recover`."""

from collections.abc import Iterable

import typer

from kafka2hive.cli.outcome import audit_level, say, with_map
from kafka2hive.cli.render import json_output
from kafka2hive.cli.screen import standard_output
from kafka2hive.config.values import ServiceMap
from kafka2hive.kafka.acceptance import GapAcceptance
from kafka2hive.model.errors import ConfigError
from kafka2hive.observe.log import LogFormat
from kafka2hive.service.recover.recover import RecoverOrder
from kafka2hive.service.recover.recovering import recover_service
from kafka2hive.service.shared.wiring import wire


def parse_gaps(texts: Iterable[str]) -> tuple[GapAcceptance, ...]:
    """The arguments of --accept-gap. Raises typer.BadParameter (a usage error, exit code 2)."""
    try:
        return tuple(GapAcceptance.parse(text) for text in texts)
    except ConfigError as error:
        raise typer.BadParameter(f"{error.message}; {error.remedy}", param_hint="--accept-gap") from error


def recover_command(config: str, order: RecoverOrder, json: bool, color: bool, log_format: LogFormat) -> int:
    """Recover, show what was done, and give the exit code of the worst table."""

    def command(service_map: ServiceMap) -> int:
        result = recover_service(wire(service_map), order)
        if json:
            document = json_output.recover_document(service_map.service, order.plan_only, result)
            say(json_output.text(document))
        else:
            from kafka2hive.cli.render.recover import render_recover

            text = render_recover(
                service_map.service,
                order,
                result,
                standard_output(color),
                hive=service_map.hive is not None,
            )
            say(text)
        return int(result.exit_code)

    return with_map(config, log_format, audit_level(log_format), command)
