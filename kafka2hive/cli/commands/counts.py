"""`kafka2hive counts`: a table's records by the time of their Kafka timestamps."""

import logging
import math
from functools import partial
from typing import Annotated

import typer

from kafka2hive.cli.terminal import options
from kafka2hive.cli.terminal.options import Color, Json, KafkaTimeout, Level, Log, Map, OneTable
from kafka2hive.observe.log import LogFormat

EXIT_CODES = options.exit_codes(
    "75 --against: windows may agree later, or have no counts", "76 --against: windows differ; or a STOP"
)


def counts(
    config: Map,
    table: OneTable,
    topic: Annotated[str, typer.Option("--topic", metavar="TOPIC", help="Only records of this topic.")] = "",
    begin: Annotated[
        str | None,
        typer.Option(
            "--from", metavar="TIME", help="Only windows that begin then or later, e.g. 2026-11-21T08:00:00Z."
        ),
    ] = None,
    end: Annotated[
        str | None, typer.Option("--to", metavar="TIME", help="Only windows that begin before this time.")
    ] = None,
    by_partition: Annotated[
        bool, typer.Option("--by-partition", help="One line for each topic partition, with its offsets.")
    ] = False,
    against: Annotated[
        str | None,
        typer.Option(
            "--against", metavar="TOPIC", help="Compare with the counts that producers send to this topic."
        ),
    ] = None,
    wait: Annotated[
        str | None,
        typer.Option(
            "--wait",
            metavar="DURATION",
            help="--against: wait at most this long until the table has read what Kafka holds now, e.g. 10m.",
        ),
    ] = None,
    kafka_timeout: KafkaTimeout = options.KAFKA_SECONDS,
    json: Json = False,
    color: Color = True,
    log_format: Log = LogFormat.AUTO,
    log_level: Level = None,
) -> None:
    """Show how many records of each window of time the table has read, as its ledger counts them."""
    from kafka2hive.cli.render.counts import (
        comparison_document,
        counts_document,
        render_comparison,
        render_counts,
    )
    from kafka2hive.cli.terminal.outcome import show, with_map
    from kafka2hive.config.keys import ServiceMap
    from kafka2hive.service.inspect.counts import CountRequest, moment, table_counts
    from kafka2hive.service.inspect.producer_counts import compared_counts
    from kafka2hive.service.wiring import wire

    request = CountRequest(
        topic=topic,
        begin=-math.inf if begin is None else options.parse_option(moment, begin, "--from"),
        end=math.inf if end is None else options.parse_option(moment, end, "--to"),
        by_partition=by_partition,
    )

    seconds = 0.0 if wait is None else options.parse_seconds(wait, "--wait")
    if against is None and wait is not None:
        raise typer.BadParameter("is used only with --against", param_hint="--wait")
    if against is not None and by_partition:
        raise typer.BadParameter("cannot be used with --against", param_hint="--by-partition")

    def command(service_map: ServiceMap) -> int:
        wiring = wire(service_map)
        if against is not None:
            kafka = wiring.kafka(kafka_timeout)
            result = compared_counts(
                wiring=wiring,
                kafka=kafka,
                table=table,
                request=request,
                against=against,
                wait_seconds=seconds,
            )
            show(
                json,
                color,
                partial(comparison_document, service_map.service, result),
                partial(render_comparison, result),
            )
            return int(result.exit_code)
        answer = table_counts(wiring, table, request)
        show(
            json, color, partial(counts_document, service_map.service, answer), partial(render_counts, answer)
        )
        return 0

    raise typer.Exit(with_map(config, log_format, options.level(log_level, logging.WARNING), command))
