"""`kafka2hive plan`: what the next run would change in Hive."""

import logging
from functools import partial

import typer

from kafka2hive.cli.terminal import options
from kafka2hive.cli.terminal.options import Color, Json, KafkaTimeout, Log, Map, Tables
from kafka2hive.observe.log import LogFormat

EXIT_CODES = options.exit_codes(options.UNREADABLE)


def plan(
    config: Map,
    table: Tables = None,
    kafka_timeout: KafkaTimeout = options.KAFKA_SECONDS,
    json: Json = False,
    color: Color = True,
    log_format: Log = LogFormat.AUTO,
) -> None:
    """Show which tables the next run would create or alter in Hive, statement by statement. Changes nothing."""
    from kafka2hive.cli.render.plan import plan_document, render_plan
    from kafka2hive.cli.terminal.outcome import show, with_map
    from kafka2hive.config.keys import ServiceMap
    from kafka2hive.service.inspect.plan import plan as look
    from kafka2hive.service.wiring import wire

    def command(service_map: ServiceMap) -> int:
        wiring = wire(service_map)
        result = look(wiring, wiring.kafka(kafka_timeout, shared_timeout=True), table or ())
        show(json, color, partial(plan_document, service_map.service, result), partial(render_plan, result))
        return int(result.exit_code)

    raise typer.Exit(with_map(config, log_format, logging.WARNING, command))
