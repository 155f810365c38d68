"""`kafka2hive plan` and `preview`: what the next run would change in Hive, and what it would make of Kafka's records."""

import logging
from functools import partial
from typing import Annotated

import typer

from kafka2hive.cli.terminal import options
from kafka2hive.cli.terminal.options import Color, Json, KafkaTimeout, Level, Log, Map, Records, Tables
from kafka2hive.observe.log import LogFormat

EXIT_CODES = options.exit_codes(options.UNREADABLE)


def plan(
    config: Map,
    table: Tables = None,
    kafka_timeout: KafkaTimeout = options.KAFKA_SECONDS,
    json: Json = False,
    color: Color = True,
    log_format: Log = LogFormat.AUTO,
    log_level: Level = None,
) -> None:
    """Show which tables the next run would create or alter in Hive, statement by statement. Changes nothing."""
    from kafka2hive.cli.render.preview import plan_document, render_plan
    from kafka2hive.cli.terminal.outcome import show, with_map
    from kafka2hive.config.keys import ServiceMap
    from kafka2hive.service.inspect.plan import plan as look
    from kafka2hive.service.wiring import wire

    def command(service_map: ServiceMap) -> int:
        wiring = wire(service_map)
        result = look(wiring, wiring.kafka(kafka_timeout, shared_timeout=True), table or ())
        show(json, color, partial(plan_document, service_map.service, result), partial(render_plan, result))
        return int(result.exit_code)

    raise typer.Exit(with_map(config, log_format, options.level(log_level, logging.WARNING), command))


def preview(
    config: Map,
    place: Annotated[
        str | None,
        typer.Argument(metavar=f"[{options.PLACE}]", help="First record to show, e.g. flights-3@12345."),
    ] = None,
    table: Tables = None,
    records: Records = 20,
    kafka_timeout: KafkaTimeout = options.KAFKA_SECONDS,
    json: Json = False,
    color: Color = True,
    log_format: Log = LogFormat.AUTO,
    log_level: Level = None,
) -> None:
    """Show what the map makes of Kafka's newest records, or of those from a given place on: rows, buckets, dead letters."""
    from kafka2hive.cli.render.preview import preview_document, render_preview
    from kafka2hive.cli.terminal.outcome import show, with_map
    from kafka2hive.config.keys import ServiceMap
    from kafka2hive.service.inspect.preview import preview as look
    from kafka2hive.service.inspect.where import OffsetPlace
    from kafka2hive.service.wiring import wire

    first = options.parse_option(OffsetPlace.parse, place, options.PLACE) if place is not None else None

    def command(service_map: ServiceMap) -> int:
        wiring = wire(service_map)
        kafka = wiring.kafka(kafka_timeout, shared_timeout=True)
        result = look(wiring=wiring, kafka=kafka, wanted=table or (), records=records, place=first)
        show(
            json,
            color,
            partial(preview_document, service_map.service, result),
            partial(render_preview, result),
            has_records=True,
        )
        return int(result.exit_code)

    raise typer.Exit(with_map(config, log_format, options.level(log_level, logging.WARNING), command))
