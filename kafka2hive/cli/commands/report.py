"""`kafka2hive report`: one page with the state and the history of every table."""

import logging
from functools import partial
from typing import Annotated

import typer

from kafka2hive.cli.terminal import options
from kafka2hive.cli.terminal.options import Color, Json, KafkaTimeout, Level, Log, Map, Output, Tables
from kafka2hive.observe.log import LogFormat

EXIT_CODES = options.exit_codes(config="78 the map is wrong, or the page cannot be written")
STANDARD_OUTPUT = "-"


def report(
    config: Map,
    output: Output,
    table: Tables = None,
    details: Annotated[
        int, typer.Option("--details", metavar="N", min=0, help="Show the history of at most N tables.")
    ] = 20,
    epochs: Annotated[
        int, typer.Option("--epochs", metavar="N", min=1, help="Read at most N epochs of each table.")
    ] = 100,
    kafka_timeout: KafkaTimeout = options.KAFKA_SECONDS,
    json: Json = False,
    color: Color = True,
    log_format: Log = LogFormat.AUTO,
    log_level: Level = None,
) -> None:
    """Write one HTML page: what each table needs, epochs, freshness, files, offsets, dead letters, certificates."""
    from kafka2hive.cli.render.report import render_report, report_document
    from kafka2hive.cli.terminal.outcome import output_file, say_bytes, show, shown, with_map
    from kafka2hive.cli.terminal.progress import shown_progress
    from kafka2hive.config.keys import ServiceMap
    from kafka2hive.observe.log import Redaction
    from kafka2hive.service.report.page import page
    from kafka2hive.service.report.report import ReportScope
    from kafka2hive.service.report.report import report as make
    from kafka2hive.service.wiring import wire

    if json and output == STANDARD_OUTPUT:
        raise typer.BadParameter("--json and the page cannot both go to standard output", param_hint="--json")

    def command(service_map: ServiceMap) -> int:
        with shown_progress(color) as progress:
            wiring = wire(service_map, progress)
            kafka = wiring.kafka(kafka_timeout, shared_timeout=True)
            result = make(wiring, kafka, ReportScope(tuple(table or ()), details, epochs))
        redact = Redaction(service_map.secrets)
        document = page(result, lambda text: redact(shown(text)))
        if output == STANDARD_OUTPUT:
            say_bytes(document)
            return 0
        with output_file(output) as draft:
            draft.write_bytes(document)
        show(json, color, partial(report_document, result, output), partial(render_report, result, output))
        return 0

    raise typer.Exit(with_map(config, log_format, options.level(log_level, logging.WARNING), command))
