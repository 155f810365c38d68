"""`kafka2hive verify`: an audit of the tables against ledgers, files and Kafka."""

import logging
from functools import partial
from typing import Annotated

import typer

from kafka2hive.cli.terminal import options
from kafka2hive.cli.terminal.options import Color, Json, Level, Log, Map, Tables
from kafka2hive.observe.log import LogFormat

EXIT_CODES = options.exit_codes(options.FINDINGS)
KAFKA_SECONDS = 10.0


def verify(
    config: Map,
    contents: Annotated[
        bool, typer.Option("--contents", help="Also read every file back: checksum and row count.")
    ] = False,
    deep: Annotated[
        bool, typer.Option("--deep", help="Also decode Kafka's records again and compare every row.")
    ] = False,
    against: Annotated[
        str | None,
        typer.Option(
            "--against", metavar="DB.TABLE", help="Also compare with another dump of the same topics."
        ),
    ] = None,
    table: Tables = None,
    json: Json = False,
    color: Color = True,
    log_format: Log = LogFormat.AUTO,
    log_level: Level = None,
) -> None:
    """Audit the dump: no offset missing or read twice, every file present and whole, every row accounted for."""
    from kafka2hive.cli.render.verify import render_verify, verify_document
    from kafka2hive.cli.terminal.outcome import show, with_map
    from kafka2hive.cli.terminal.progress import shown_progress
    from kafka2hive.config.keys import ServiceMap
    from kafka2hive.service.verify.result import VerifyRequest
    from kafka2hive.service.verify.verify import verify as audit
    from kafka2hive.service.wiring import wire

    request = VerifyRequest(tuple(table or ()), contents, deep, against)

    def command(service_map: ServiceMap) -> int:
        with shown_progress(color) as progress:
            wiring = wire(service_map, progress)
            metastore = wiring.hive()
            settings, reading = None, None
            if request.deep or request.against is not None or metastore is not None:
                from kafka2hive.service.hive.schemas import MapTables

                tables = MapTables(wiring, metastore)
                settings = tables.settings if request.deep or request.against is not None else None
            if metastore is not None:
                from kafka2hive.service.verify.hive_reading import HiveReading

                reading = HiveReading(tables, metastore.tables)
            kafka = wiring.kafka(KAFKA_SECONDS)
            try:
                result = audit(wiring, request, kafka, metastore, settings=settings, reading=reading)
            finally:
                if metastore is not None:
                    metastore.close()
        name = service_map.service
        show(json, color, partial(verify_document, name, result), partial(render_verify, name, result))
        return int(result.exit_code)

    raise typer.Exit(with_map(config, log_format, options.level(log_level, logging.WARNING), command))
