"""`kafka2hive retain`: drop a table's expired partitions."""

from functools import partial

import typer

from kafka2hive.cli.terminal import options
from kafka2hive.cli.terminal.options import AuditLog, Color, Json, Level, Log, Map, OneTable, Plan, Takeover
from kafka2hive.observe.log import LogFormat

EXIT_CODES = options.exit_codes(options.BUG, options.OWNED, options.FENCED, options.SET_ASIDE, options.STOP)


def retain(
    config: Map,
    table: OneTable,
    plan: Plan = False,
    takeover: Takeover = False,
    json: Json = False,
    color: Color = True,
    log_format: Log = LogFormat.AUTO,
    log_level: Level = None,
    audit_log: AuditLog = None,
) -> None:
    """Drop partitions older than `retain` from Hive, and delete their files a day later; the service must be stopped."""
    from kafka2hive.cli.render.retain import render_retain, retain_document
    from kafka2hive.cli.terminal.outcome import show, with_changes
    from kafka2hive.cli.terminal.progress import shown_progress
    from kafka2hive.config.keys import ServiceMap
    from kafka2hive.service.retention.command import RetainRequest
    from kafka2hive.service.retention.command import retain as retain_table
    from kafka2hive.service.wiring import wire

    request = RetainRequest(table, plan, takeover)

    def command(service_map: ServiceMap) -> int:
        with shown_progress(color) as progress:
            result = retain_table(wire(service_map, progress), request)
        document = partial(retain_document, service_map.service, request, result)
        show(json, color, document, partial(render_retain, request, result))
        return int(result.exit_code)

    raise typer.Exit(
        with_changes(
            config=config, log_format=log_format, log_level=log_level, audit_log=audit_log, command=command
        )
    )
