"""`kafka2hive size`: what the map's service would cost at given rates."""

import logging
from functools import partial
from typing import Annotated

import typer

from kafka2hive.cli.terminal import options
from kafka2hive.cli.terminal.options import Color, Json, Level, Log, Map
from kafka2hive.observe.log import LogFormat

EXIT_CODES = options.paragraph("0 done", "2 wrong command line", "78 the map is wrong")
_LOAD = "TABLE=RECORDS[,BYTES][xTABLES]"


def size(
    config: Map,
    rate: Annotated[
        float,
        typer.Option(
            "--rate",
            metavar="RECORDS",
            min=0,
            help="Records a second of all tables without --load together, in equal shares.",
        ),
    ] = 0.0,
    load: Annotated[
        list[str] | None,
        typer.Option(
            "--load",
            metavar=_LOAD,
            help="Records a second of one table, the bytes of a record, and of a pattern the number of its tables:"
            " 'raw.{1}=20,80x450'. Can be given several times.",
        ),
    ] = None,
    json: Json = False,
    color: Color = True,
    log_format: Log = LogFormat.AUTO,
    log_level: Level = None,
) -> None:
    """Add up what the map's service would cost: cores, memory, calls of the NameNode, files a day, and when to split it.

    It asks no service: the sums are those of docs/sizing.md, from costs that were measured.
    """
    from kafka2hive.cli.render.size import render_size, size_document
    from kafka2hive.cli.terminal.outcome import show, with_map
    from kafka2hive.config.keys import ServiceMap
    from kafka2hive.service.sizing.loads import ExpectedLoad, loads_of
    from kafka2hive.service.sizing.model import cost_of

    expected = [options.parse_option(ExpectedLoad.parse, text, "--load") for text in load or ()]
    if not rate and not expected:
        raise typer.BadParameter("say how many records come: --rate 50000", param_hint="--rate")

    def command(service_map: ServiceMap) -> int:
        loads = loads_of(service_map, rate, expected)
        limits = service_map.limits
        cost = cost_of(loads, limits, service_map.trigger_seconds)
        document = partial(size_document, service_map.service, cost)
        show(json, color, document, partial(render_size, service_map.service, cost, limits))
        return 0

    raise typer.Exit(with_map(config, log_format, options.level(log_level, logging.WARNING), command))
