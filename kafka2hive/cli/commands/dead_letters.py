"""`kafka2hive dead-letters list`, `show` and `replay`: records that could not become rows."""

import datetime
import logging
from functools import partial
from typing import Annotated

import typer

from kafka2hive.cli.terminal import options
from kafka2hive.cli.terminal.options import (
    AuditLog,
    Color,
    Json,
    Level,
    Limit,
    Log,
    Map,
    OneTable,
    Plan,
    Tables,
    Takeover,
    Timeout,
)
from kafka2hive.observe.log import LogFormat

app = typer.Typer(
    help="Count dead letters by reason, show single ones with all their bytes, or decode them again.",
    no_args_is_help=True,
)

EXIT_CODES = options.exit_codes(options.STOP)


@app.command("list", epilog=EXIT_CODES)
def list_command(
    config: Map,
    table: Tables = None,
    limit: Limit = 50,
    json: Json = False,
    color: Color = True,
    log_format: Log = LogFormat.AUTO,
    log_level: Level = None,
) -> None:
    """Count dead letters by source table, topic and reason, with one example of each."""
    from kafka2hive.cli.render.dead_letters import list_document, render_list
    from kafka2hive.cli.terminal.outcome import show as show_result
    from kafka2hive.cli.terminal.outcome import with_map
    from kafka2hive.config.keys import ServiceMap
    from kafka2hive.service.inspect.dead_letters import list_dead_letters
    from kafka2hive.service.wiring import wire

    def command(service_map: ServiceMap) -> int:
        name, result = service_map.service, list_dead_letters(wire(service_map), table or (), limit)
        show_result(
            json,
            color,
            partial(list_document, name, result),
            partial(render_list, name, result),
            has_records=True,
        )
        return 0

    raise typer.Exit(with_map(config, log_format, options.level(log_level, logging.WARNING), command))


@app.command(epilog=EXIT_CODES)
def show(
    config: Map,
    place: Annotated[
        str | None, typer.Argument(metavar=f"[{options.PLACE}]", help=options.PLACE_HELP)
    ] = None,
    table: Tables = None,
    limit: Limit = 1,
    json: Json = False,
    color: Color = True,
    log_format: Log = LogFormat.AUTO,
    log_level: Level = None,
) -> None:
    """Print the dead letter at a place with reason, key, value and headers; without a place, the newest ones of --table."""
    from kafka2hive.cli.render.dead_letters import letters_document, render_letters
    from kafka2hive.cli.terminal.outcome import show as show_result
    from kafka2hive.cli.terminal.outcome import with_map
    from kafka2hive.config.keys import ServiceMap
    from kafka2hive.service.inspect.dead_letters import show_dead_letters
    from kafka2hive.service.inspect.where import OffsetPlace
    from kafka2hive.service.wiring import wire

    if place is None and not table:
        raise typer.BadParameter(f"give {options.PLACE} or --table", param_hint=options.PLACE)
    offset = options.parse_option(OffsetPlace.parse, place, options.PLACE) if place is not None else None

    def command(service_map: ServiceMap) -> int:
        result = show_dead_letters(wire(service_map), offset, table or (), limit)
        document = partial(letters_document, service_map.service, result)
        show_result(json, color, document, partial(render_letters, result), has_records=True)
        return 0

    raise typer.Exit(with_map(config, log_format, options.level(log_level, logging.WARNING), command))


@app.command(
    epilog=options.exit_codes(options.BUG, options.OWNED, options.FENCED, options.SET_ASIDE, options.STOP)
)
def replay(
    config: Map,
    table: OneTable,
    reason: Annotated[
        str | None, typer.Option("--reason", metavar="REASON", help="Only dead letters with this reason.")
    ] = None,
    since: Annotated[
        datetime.datetime | None,
        typer.Option(
            "--since", help="Only dead letters whose record has this timestamp (UTC) or a later one."
        ),
    ] = None,
    plan: Plan = False,
    timeout: Timeout = "10m",
    takeover: Takeover = False,
    json: Json = False,
    color: Color = True,
    log_format: Log = LogFormat.AUTO,
    log_level: Level = None,
    audit_log: AuditLog = None,
) -> None:
    """Decode dead letters again after a change of the map, so that they become rows. One that fails again stays a dead letter.

    If a run is alive, the run replays them between its epochs. It must have been started with the same settings of the table.
    """
    from kafka2hive.cli.render.dead_letters import render_replay, replay_document
    from kafka2hive.cli.terminal.outcome import show as show_result
    from kafka2hive.cli.terminal.outcome import tell_line, with_changes
    from kafka2hive.cli.terminal.progress import shown_progress
    from kafka2hive.config.keys import ServiceMap
    from kafka2hive.service.replay.command import ReplayRequest, replay_service
    from kafka2hive.service.wiring import wire

    seconds = options.parse_seconds(timeout, "--timeout")
    request = ReplayRequest(table=table, reason=reason, since=since, plan_only=plan, take_over=takeover)

    def command(service_map: ServiceMap) -> int:
        with shown_progress(color) as progress:
            result = replay_service(wire(service_map, progress), request, seconds=seconds, note=tell_line)
        document = partial(replay_document, service_map.service, request, result)
        show_result(json, color, document, partial(render_replay, request, result), has_records=True)
        return 0

    raise typer.Exit(
        with_changes(
            config=config, log_format=log_format, log_level=log_level, audit_log=audit_log, command=command
        )
    )
