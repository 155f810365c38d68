"""`kafka2hive where`: the epoch and the files of an offset."""

import logging
from typing import Annotated

import typer

from kafka2hive.cli import options
from kafka2hive.cli.options import Color, Json, Log, Map
from kafka2hive.observe.log import LogFormat

EXIT_CODES = options.exit_codes(
    options.DONE, options.USAGE, options.UNAVAILABLE, options.STOP, options.CONFIG
)


def where(
    place: Annotated[str, typer.Argument(metavar=options.PLACE, help=options.PLACE_HELP)],
    config: Map,
    json: Json = False,
    color: Color = True,
    log_format: Log = LogFormat.AUTO,
) -> None:
    """Say in which epoch and in which files an offset lies, table by table."""
    from kafka2hive.cli.arguments import parsed
    from kafka2hive.cli.outcome import show, with_map
    from kafka2hive.cli.render.json.where import where_document
    from kafka2hive.cli.render.where import render_where
    from kafka2hive.config.values import ServiceMap
    from kafka2hive.service.shared.wiring import wire
    from kafka2hive.service.where import Place
    from kafka2hive.service.where import where as find

    asked = parsed(Place.parse, place, options.PLACE)

    def command(service_map: ServiceMap) -> int:
        result = find(wire(service_map), asked)
        show(
            json,
            color,
            lambda: where_document(service_map.service, str(asked), result),
            lambda screen: render_where(str(asked), result, screen),
        )
        return int(result.exit_code)

    raise typer.Exit(with_map(config, log_format, logging.WARNING, command))
