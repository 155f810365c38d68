"""`kafka2hive doctor`: look for what is wrong, and for what will go wrong soon."""

import logging
from functools import partial
from typing import TYPE_CHECKING

import typer

from kafka2hive.cli.commands.validate import KAFKA_SECONDS
from kafka2hive.cli.terminal import options
from kafka2hive.cli.terminal.options import Color, Json, Level, Log, Map
from kafka2hive.observe.log import LogFormat

if TYPE_CHECKING:
    from kafka2hive.config.keys import ServiceMap

EXIT_CODES = options.exit_codes("75 a permission or free space is missing", config=options.CONFIG_OR_CLUSTER)


def doctor(
    config: Map,
    json: Json = False,
    color: Color = True,
    log_format: Log = LogFormat.AUTO,
    log_level: Level = None,
) -> None:
    """Check everything that `validate --online` checks, and what will go wrong soon. Changes nothing.

    It also checks this machine, clocks, quotas, records that Kafka deletes before they are read, waiting orders and
    leftovers. Each line has the result of one check; the line below a problem says what to do. A warning does not change
    the exit code.
    """
    from kafka2hive.cli.render.validate import doctor_document, render_online
    from kafka2hive.cli.terminal.outcome import show, with_map
    from kafka2hive.config.native_library import decoder_in_use
    from kafka2hive.service.doctor.examine import examine
    from kafka2hive.service.validate.map_check import check_own_schemas, selects_of
    from kafka2hive.service.wiring import wire

    def command(service_map: "ServiceMap") -> int:
        check_own_schemas(service_map)
        with selects_of(service_map.tables, service_map) as selects:
            wiring = wire(service_map)
            result = examine(wiring, wiring.kafka(KAFKA_SECONDS), selects)
        text = partial(render_online, service_map, result, decoder_in_use())
        show(json, color, partial(doctor_document, service_map.service, result), text)
        return int(result.exit_code)

    raise typer.Exit(with_map(config, log_format, options.level(log_level, logging.ERROR), command))
