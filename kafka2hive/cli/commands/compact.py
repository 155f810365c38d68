"""`kafka2hive compact`: rewrite the small files of a table's complete partitions."""

from functools import partial

import typer

from kafka2hive.cli.terminal import options
from kafka2hive.cli.terminal.options import (
    AuditLog,
    Color,
    Json,
    Level,
    Log,
    Map,
    OneTable,
    Plan,
    Takeover,
    Timeout,
)
from kafka2hive.observe.log import LogFormat

EXIT_CODES = options.exit_codes(options.BUG, options.OWNED, options.FENCED, options.SET_ASIDE, options.STOP)


def compact(
    config: Map,
    table: OneTable,
    plan: Plan = False,
    timeout: Timeout = "1h",
    takeover: Takeover = False,
    json: Json = False,
    color: Color = True,
    log_format: Log = LogFormat.AUTO,
    log_level: Level = None,
    audit_log: AuditLog = None,
) -> None:
    """Rewrite the small files of complete partitions as large ones, and move the partitions.

    If a run is alive, it does this in parallel with its epochs, at any time of day.
    """
    from kafka2hive.cli.render.compact import compact_document, render_compact
    from kafka2hive.cli.terminal.outcome import show, tell_line, with_changes
    from kafka2hive.cli.terminal.progress import shown_progress
    from kafka2hive.config.keys import ServiceMap
    from kafka2hive.service.compaction.command import CompactRequest
    from kafka2hive.service.compaction.command import compact as compact_table
    from kafka2hive.service.wiring import wire

    seconds = options.parse_seconds(timeout, "--timeout")
    request = CompactRequest(table, plan, takeover)

    def command(service_map: ServiceMap) -> int:
        with shown_progress(color) as progress:
            result = compact_table(wire(service_map, progress), request, seconds=seconds, note=tell_line)
        document = partial(compact_document, service_map.service, request, result)
        show(json, color, document, partial(render_compact, request, result))
        return int(result.exit_code)

    raise typer.Exit(
        with_changes(
            config=config, log_format=log_format, log_level=log_level, audit_log=audit_log, command=command
        )
    )
