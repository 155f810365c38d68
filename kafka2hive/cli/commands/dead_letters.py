"""`kafka2hive dead-letters list` and `show`: records that could not become rows."""

import logging
from typing import Annotated

import typer

from kafka2hive.cli import options
from kafka2hive.cli.options import Color, Json, Log, Map, exit_codes
from kafka2hive.observe.log import LogFormat

app = typer.Typer(
    help="Look into the dead-letter table: counts by reason, and single records with all their bytes.",
    no_args_is_help=True,
)

Table = Annotated[
    str | None, typer.Option("--table", metavar="DB.TABLE", help="Only dead letters of this source table.")
]
_CODES = exit_codes(options.OK, options.USAGE, options.AWAY, options.STOP, options.CONFIG)


@app.command("list", epilog=_CODES)
def list_command(
    config: Map,
    table: Table = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="At most this many lines.")] = 50,
    json: Json = False,
    color: Color = True,
    log_format: Log = LogFormat.AUTO,
) -> None:
    """Count dead letters by source table, topic and reason, each with one place to look at."""
    from kafka2hive.cli.outcome import say, with_map
    from kafka2hive.cli.render import json_output
    from kafka2hive.cli.render.dead_letters import render_list
    from kafka2hive.cli.screen import standard_output
    from kafka2hive.config.values import ServiceMap
    from kafka2hive.service.dead_letters import list_dead_letters
    from kafka2hive.service.shared.wiring import wire

    def command(service_map: ServiceMap) -> int:
        result = list_dead_letters(wire(service_map), table, limit)
        if json:
            say(json_output.text(json_output.dead_letters_document(service_map.service, result)))
        else:
            say(render_list(service_map.service, result, standard_output(color)))
        return int(result.exit_code)

    raise typer.Exit(with_map(config, log_format, logging.WARNING, command))


@app.command(epilog=_CODES)
def show(
    config: Map,
    place: Annotated[
        str | None, typer.Argument(metavar="[TOPIC-PARTITION@OFFSET]", help="For example flights-3@12345.")
    ] = None,
    table: Table = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="At most this many records.")] = 1,
    json: Json = False,
    color: Color = True,
    log_format: Log = LogFormat.AUTO,
) -> None:
    """Print a dead letter with reason, key, value and headers; without a place the newest of --table."""
    from kafka2hive.cli.commands.verify import parse_place
    from kafka2hive.cli.outcome import say, with_map
    from kafka2hive.cli.render import json_output
    from kafka2hive.cli.render.dead_letters import render_letters
    from kafka2hive.cli.screen import standard_output
    from kafka2hive.config.values import ServiceMap
    from kafka2hive.service.dead_letters import show_dead_letters
    from kafka2hive.service.shared.wiring import wire

    if place is None and table is None:
        raise typer.BadParameter(
            "give TOPIC-PARTITION@OFFSET or --table", param_hint="TOPIC-PARTITION@OFFSET"
        )
    wanted = parse_place(place) if place is not None else None

    def command(service_map: ServiceMap) -> int:
        result = show_dead_letters(wire(service_map), wanted, table, limit)
        if json:
            say(json_output.text(json_output.dead_letter_document(service_map.service, result)))
        else:
            say(render_letters(result, standard_output(color)))
        return int(result.exit_code)

    raise typer.Exit(with_map(config, log_format, logging.WARNING, command))
