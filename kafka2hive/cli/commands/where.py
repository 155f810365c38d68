"""`kafka2hive where`: the epoch and the files of an offset."""

import logging
from functools import partial
from typing import Annotated

import typer

from kafka2hive.cli.terminal import options
from kafka2hive.cli.terminal.options import Color, Json, Log, Map
from kafka2hive.observe.log import LogFormat

EXIT_CODES = options.exit_codes(options.STOP)


def where(
    place: Annotated[str, typer.Argument(metavar=options.PLACE, help=options.PLACE_HELP)],
    config: Map,
    json: Json = False,
    color: Color = True,
    log_format: Log = LogFormat.AUTO,
) -> None:
    """Show which epoch and which files hold an offset, table by table."""
    from kafka2hive.cli.render.where import render_where, where_document
    from kafka2hive.cli.terminal.options import parsed
    from kafka2hive.cli.terminal.outcome import show, with_map
    from kafka2hive.config.keys import ServiceMap
    from kafka2hive.service.inspect.where import OffsetPlace
    from kafka2hive.service.inspect.where import where as find
    from kafka2hive.service.wiring import wire

    offset = parsed(OffsetPlace.parse, place, options.PLACE)

    def command(service_map: ServiceMap) -> int:
        answers = find(wire(service_map), offset)
        document = partial(where_document, service_map.service, str(offset), answers)
        show(json, color, document, partial(render_where, str(offset), answers))
        return 0

    raise typer.Exit(with_map(config, log_format, logging.WARNING, command))
