"""`kafka2hive validate`: check the map without a cluster, or with `--online` against the services."""

import logging
import os
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from kafka2hive.cli.terminal import options
from kafka2hive.cli.terminal.options import Color, Json, Level, Log, Map
from kafka2hive.observe.log import LogFormat

if TYPE_CHECKING:
    from kafka2hive.config.keys import ServiceMap
    from kafka2hive.service.validate.map_check import SelectCheck

EXIT_CODES = options.exit_codes(
    options.NO_ACCESS,
    "72 with --against-running: another live run owns an added table",
    config=options.CONFIG_OR_CLUSTER,
)
KAFKA_SECONDS = 10.0


def validate(
    config: Map,
    online: Annotated[
        bool,
        typer.Option(
            "--online",
            help="Also check with Kafka, HDFS, Hive and Java whether a run would work; dumps nothing.",
        ),
    ] = False,
    against_running: Annotated[
        bool,
        typer.Option(
            "--against-running",
            help="Also ask the live run what a reload of this map would change; changes nothing.",
        ),
    ] = False,
    json: Json = False,
    color: Color = True,
    log_format: Log = LogFormat.AUTO,
    log_level: Level = None,
) -> None:
    """Check the map without a cluster and show what will be dumped where; --json prints the whole map, secrets hidden.

    Spark is started only if a table has sql: it plans each SELECT as a dump would (needs Java and some 10 seconds).
    """
    from kafka2hive.cli.render.validate import map_document, problems_document, render_map
    from kafka2hive.cli.terminal.outcome import named_map, say_json, show, tell_error
    from kafka2hive.config.load import load_map
    from kafka2hive.config.machine import check_this_machine
    from kafka2hive.config.native_library import decoder_in_use
    from kafka2hive.config.yaml.problems import MapInvalid
    from kafka2hive.model.errors import Kafka2HiveError
    from kafka2hive.observe.log import configure
    from kafka2hive.service.validate.map_check import check_own_schemas, check_selects, selects_of
    from kafka2hive.service.validate.readers import check_readers

    if online and against_running:
        raise typer.BadParameter("choose one of --online and --against-running")
    with named_map(config):
        try:
            service_map = load_map(config, os.environ)
            check_this_machine(service_map, os.environ)
            check_own_schemas(service_map)
            configure(log_format, options.level(log_level, logging.ERROR), service_map.secrets)
            with selects_of(service_map.tables, service_map) as selects:
                checks = check_readers(service_map)
                checks += [] if selects is None else check_selects(service_map, selects)
                if against_running:
                    raise typer.Exit(_against_running(service_map, json, color))
                if online:
                    raise typer.Exit(_online(service_map, selects, json, color))
        except Kafka2HiveError as error:
            tell_error(error)
            if json and isinstance(error, MapInvalid):
                say_json(problems_document(error.problems))
            raise typer.Exit(int(error.exit_code)) from error
        decoder = decoder_in_use()
        document = partial(map_document, service_map, checks, decoder)
        show(json, color, document, partial(render_map, service_map, checks, decoder))


def _against_running(service_map: "ServiceMap", json: bool, color: bool) -> int:
    from kafka2hive.cli.render.reload import reload_document, render_reload
    from kafka2hive.cli.terminal.outcome import show, tell_line
    from kafka2hive.cli.terminal.progress import shown_progress
    from kafka2hive.service.orders.reload import ask_for_reload
    from kafka2hive.service.wiring import wire

    with shown_progress(color) as progress:
        answer = ask_for_reload(wire(service_map, progress), is_plan=True, note=tell_line)
    document = partial(reload_document, "validate", service_map.service, answer)
    show(json, color, document, partial(render_reload, answer))
    return answer.exit_code


def _online(service_map: "ServiceMap", selects: "SelectCheck | None", json: bool, color: bool) -> int:
    from kafka2hive.cli.render.validate import online_document, render_online
    from kafka2hive.cli.terminal.outcome import show
    from kafka2hive.config.native_library import decoder_in_use
    from kafka2hive.service.validate.online import validate_online
    from kafka2hive.service.wiring import wire

    wiring = wire(service_map)
    result = validate_online(wiring, wiring.kafka(KAFKA_SECONDS), selects)
    decoder = decoder_in_use()
    document = partial(online_document, service_map, result, decoder)
    show(json, color, document, partial(render_online, service_map, result, decoder))
    return int(result.exit_code)
