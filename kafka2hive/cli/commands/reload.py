"""`kafka2hive reload`: the live run of a service takes its map again, without a restart."""

from functools import partial

import typer

from kafka2hive.cli.terminal import options
from kafka2hive.cli.terminal.options import AuditLog, Color, Json, Level, Log, Map, Plan, Timeout
from kafka2hive.observe.log import LogFormat

EXIT_CODES = options.exit_codes(
    "72 another live run owns a table that the map adds",
    "75 an added or changed table is set aside",
    options.STOP,
    config="78 the map is wrong, or has a change that needs a restart",
)
_DEFAULT_TIMEOUT = "3m"


def reload(
    config: Map,
    plan: Plan = False,
    timeout: Timeout = _DEFAULT_TIMEOUT,
    json: Json = False,
    color: Color = True,
    log_format: Log = LogFormat.AUTO,
    log_level: Level = None,
    audit_log: AuditLog = None,
) -> None:
    """Let the live run take added, changed and removed tables of its map between two epochs; nothing is restarted.

    A key that needs a restart is refused with its line and the reason; then nothing is changed.
    """
    from kafka2hive.cli.render.reload import reload_document, render_reload
    from kafka2hive.cli.terminal.outcome import show, tell_line, with_changes
    from kafka2hive.cli.terminal.progress import shown_progress
    from kafka2hive.config.keys import ServiceMap
    from kafka2hive.service.orders.reload import ask_for_reload
    from kafka2hive.service.wiring import wire

    seconds = options.parse_seconds(timeout, "--timeout")

    def command(service_map: ServiceMap) -> int:
        with shown_progress(color) as progress:
            answer = ask_for_reload(
                wire(service_map, progress), is_plan=plan, seconds=seconds, note=tell_line
            )
        document = partial(reload_document, "reload", service_map.service, answer)
        show(json, color, document, partial(render_reload, answer))
        return answer.exit_code

    raise typer.Exit(
        with_changes(
            config=config, log_format=log_format, log_level=log_level, audit_log=audit_log, command=command
        )
    )
