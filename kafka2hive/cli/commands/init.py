"""`kafka2hive init`: the ledgers of the map's tables, before a first run."""

from functools import partial
from typing import Annotated

import typer

from kafka2hive.cli.commands.offsets import SOURCE, SOURCE_HELP
from kafka2hive.cli.terminal import options
from kafka2hive.cli.terminal.options import AuditLog, Color, Json, KafkaTimeout, Level, Log, Map
from kafka2hive.observe.log import LogFormat

EXIT_CODES = options.exit_codes(options.SET_ASIDE, options.STOP)


def init(
    config: Map,
    offsets_from: Annotated[
        str | None,
        typer.Option(
            "--offsets-from", metavar=SOURCE, help=f"Begin where another tool ended: {SOURCE_HELP}."
        ),
    ] = None,
    plan: Annotated[
        bool, typer.Option("--plan", help="With --offsets-from: only show the positions; change nothing.")
    ] = False,
    kafka_timeout: KafkaTimeout = options.KAFKA_SECONDS,
    json: Json = False,
    color: Color = True,
    log_format: Log = LogFormat.AUTO,
    log_level: Level = None,
    audit_log: AuditLog = None,
) -> None:
    """Create the ledgers of the map's tables without starting a run, also with the positions of another tool."""
    from kafka2hive.cli.render.plan import init_document, render_init
    from kafka2hive.cli.terminal.outcome import show, with_changes
    from kafka2hive.config.keys import ServiceMap
    from kafka2hive.service.tables.init import ImportOrder, import_positions, init_ledgers
    from kafka2hive.service.tables.offset_sources import OffsetSource
    from kafka2hive.service.wiring import wire

    if plan and offsets_from is None:
        raise typer.BadParameter("--plan is for --offsets-from", param_hint="--plan")
    order = None
    if offsets_from is not None:
        order = ImportOrder(options.parsed(OffsetSource.parse, offsets_from, "--offsets-from"), plan)

    def command(service_map: ServiceMap) -> int:
        wiring = wire(service_map)
        kafka = wiring.kafka(kafka_timeout, shared_timeout=True)
        result = init_ledgers(wiring, kafka) if order is None else import_positions(wiring, kafka, order)
        show(json, color, partial(init_document, service_map.service, result), partial(render_init, result))
        return int(result.exit_code)

    raise typer.Exit(with_changes(config, log_format, log_level, audit_log, command))
