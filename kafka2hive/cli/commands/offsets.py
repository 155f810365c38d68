"""`kafka2hive offsets` and `init`: the positions of the tables or of another tool, and ledgers that begin at them."""

import logging
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from kafka2hive.cli.terminal import options
from kafka2hive.cli.terminal.options import AuditLog, Color, Json, KafkaTimeout, Level, Log, Map, Plan, Tables
from kafka2hive.observe.log import LogFormat

if TYPE_CHECKING:
    from kafka2hive.config.keys import ServiceMap
    from kafka2hive.service.inspect.offsets import OffsetsResult

SOURCE = "KIND:PLACE"
SOURCE_HELP = "group:NAME, spark:CHECKPOINT[#BATCH], connect:TOPICS_DIR or csv:FILE"
EXIT_CODES = options.exit_codes(options.UNREADABLE, options.STOP)
INIT_EXIT_CODES = options.exit_codes(options.SET_ASIDE, options.STOP)
From = Annotated[
    str | None,
    typer.Option("--from", metavar=SOURCE, help=f"Positions of another tool: {SOURCE_HELP}."),
]

app = typer.Typer(help="Positions in Kafka, of the tables or of another tool.", no_args_is_help=True)


@app.command(epilog=EXIT_CODES)
def show(
    config: Map,
    source: From = None,
    table: Tables = None,
    kafka_timeout: KafkaTimeout = options.KAFKA_SECONDS,
    json: Json = False,
    color: Color = True,
    log_format: Log = LogFormat.AUTO,
    log_level: Level = None,
) -> None:
    """Show each position, where its log begins and ends, and how many offsets wait to be read."""
    from kafka2hive.cli.render.offsets import offsets_document, render_offsets
    from kafka2hive.cli.terminal.outcome import show as show_result
    from kafka2hive.cli.terminal.outcome import with_map

    def command(service_map: "ServiceMap") -> int:
        result = _look_up(service_map, source, table, kafka_timeout)
        document = partial(offsets_document, service_map.service, result)
        show_result(json, color, document, partial(render_offsets, result))
        return int(result.exit_code)

    raise typer.Exit(with_map(config, log_format, options.level(log_level, logging.WARNING), command))


@app.command(epilog=EXIT_CODES)
def export(
    config: Map,
    source: From = None,
    table: Tables = None,
    kafka_timeout: KafkaTimeout = options.KAFKA_SECONDS,
    log_format: Log = LogFormat.AUTO,
    log_level: Level = None,
) -> None:
    """Print the positions as CSV: topic, partition, the next offset to read."""
    from kafka2hive.cli.render.offsets import offsets_csv
    from kafka2hive.cli.terminal.outcome import say, tell_error, with_map

    def command(service_map: "ServiceMap") -> int:
        result = _look_up(service_map, source, table, kafka_timeout)
        for _, error in result.errors:
            tell_error(error)
        if not result.errors:
            say(offsets_csv(result))
        return int(result.exit_code)

    raise typer.Exit(with_map(config, log_format, options.level(log_level, logging.WARNING), command))


def init(
    config: Map,
    offsets_from: Annotated[
        str | None,
        typer.Option(
            "--offsets-from", metavar=SOURCE, help=f"Begin where another tool ended: {SOURCE_HELP}."
        ),
    ] = None,
    plan: Plan = False,
    kafka_timeout: KafkaTimeout = options.KAFKA_SECONDS,
    json: Json = False,
    color: Color = True,
    log_format: Log = LogFormat.AUTO,
    log_level: Level = None,
    audit_log: AuditLog = None,
) -> None:
    """Create the ledgers of the map's tables without starting a run, optionally at the positions of another tool."""
    from kafka2hive.cli.render.offsets import init_document, render_init
    from kafka2hive.cli.terminal.outcome import show, with_changes
    from kafka2hive.config.keys import ServiceMap
    from kafka2hive.service.init.init import ImportRequest, import_positions, init_ledgers
    from kafka2hive.service.init.offset_sources import OffsetSource
    from kafka2hive.service.wiring import wire

    if plan and offsets_from is None:
        raise typer.BadParameter("--plan is used only with --offsets-from", param_hint="--plan")
    request = None
    if offsets_from is not None:
        request = ImportRequest(
            options.parse_option(OffsetSource.parse, offsets_from, "--offsets-from"), plan
        )

    def command(service_map: ServiceMap) -> int:
        wiring = wire(service_map)
        kafka = wiring.kafka(kafka_timeout, shared_timeout=True)
        result = init_ledgers(wiring, kafka) if request is None else import_positions(wiring, kafka, request)
        show(json, color, partial(init_document, service_map.service, result), partial(render_init, result))
        return int(result.exit_code)

    raise typer.Exit(
        with_changes(
            config=config, log_format=log_format, log_level=log_level, audit_log=audit_log, command=command
        )
    )


def _look_up(
    service_map: "ServiceMap", source: str | None, tables: list[str] | None, kafka_timeout: float
) -> "OffsetsResult":
    from kafka2hive.service.init.offset_sources import OffsetSource
    from kafka2hive.service.inspect.offsets import source_offsets, table_offsets
    from kafka2hive.service.wiring import wire

    if source is not None and tables:
        raise typer.BadParameter(
            "give either --table or --from: positions of another tool belong to no table",
            param_hint="--table",
        )
    origin = None if source is None else options.parse_option(OffsetSource.parse, source, "--from")
    wiring = wire(service_map)
    kafka = wiring.kafka(kafka_timeout, shared_timeout=True)
    if origin is not None:
        return source_offsets(wiring, kafka, origin)
    return table_offsets(wiring, kafka, tuple(tables or ()))
