"""`kafka2hive where` and `certificate`: the files of an offset, and whether a Hive partition is complete."""

import logging
from functools import partial
from typing import Annotated

import typer

from kafka2hive.cli.terminal import options
from kafka2hive.cli.terminal.options import Color, Json, Level, Log, Map
from kafka2hive.observe.log import LogFormat

WHERE_EXIT_CODES = options.exit_codes(options.STOP)
CERTIFICATE_EXIT_CODES = options.exit_codes(
    "75 not complete yet",
    "76 a certificate is untrue",
    config="78 the map is wrong, the table has no `completion`, or the partition has expired",
)

_NAME = "DB.TABLE/PARTITION"


def where(
    place: Annotated[str, typer.Argument(metavar=options.PLACE, help=options.PLACE_HELP)],
    config: Map,
    json: Json = False,
    color: Color = True,
    log_format: Log = LogFormat.AUTO,
    log_level: Level = None,
) -> None:
    """Show which epoch and which files hold an offset, table by table."""
    from kafka2hive.cli.render.lookup import render_where, where_document
    from kafka2hive.cli.terminal.outcome import show, with_map
    from kafka2hive.config.keys import ServiceMap
    from kafka2hive.service.inspect.where import OffsetPlace
    from kafka2hive.service.inspect.where import where as find
    from kafka2hive.service.wiring import wire

    offset = options.parse_option(OffsetPlace.parse, place, options.PLACE)

    def command(service_map: ServiceMap) -> int:
        answers = find(wire(service_map), offset)
        document = partial(where_document, service_map.service, str(offset), answers)
        show(json, color, document, partial(render_where, str(offset), answers))
        return 0

    raise typer.Exit(with_map(config, log_format, options.level(log_level, logging.WARNING), command))


def certificate(
    partition: Annotated[str, typer.Argument(metavar=_NAME, help="For example air.flights/dt=2026-11-22.")],
    config: Map,
    wait: Annotated[
        str | None,
        typer.Option(
            "--wait", metavar="DURATION", help="Wait at most this long until it is complete, e.g. 2h."
        ),
    ] = None,
    json: Json = False,
    color: Color = True,
    log_format: Log = LogFormat.AUTO,
    log_level: Level = None,
) -> None:
    """Show whether a Hive partition is complete, and check its certificates against snapshots, files and Hive."""
    from kafka2hive.cli.render.lookup import certificate_document, render_certificate
    from kafka2hive.cli.terminal.outcome import show, tell_line, with_map
    from kafka2hive.config.keys import ServiceMap
    from kafka2hive.service.inspect.certificate import PartitionName, PartitionReport, await_completion
    from kafka2hive.service.inspect.certificate import certificate as look_up
    from kafka2hive.service.wiring import wire

    name = options.parse_option(PartitionName.parse, partition, _NAME)
    seconds = 0.0 if wait is None else options.parse_seconds(wait, "--wait")

    def command(service_map: ServiceMap) -> int:
        wiring = wire(service_map)
        metastore = wiring.hive()

        def ask() -> PartitionReport:
            return look_up(wiring, name, metastore)

        def note(change: str) -> None:
            tell_line(f"waiting for {name}: {change}")

        try:
            report = await_completion(ask, wiring.ports.clock, seconds, note)
        finally:
            if metastore is not None:
                metastore.close()
        show(
            json,
            color,
            partial(certificate_document, service_map.service, name, report),
            partial(render_certificate, name, report),
        )
        return int(report.exit_code)

    raise typer.Exit(with_map(config, log_format, options.level(log_level, logging.WARNING), command))
