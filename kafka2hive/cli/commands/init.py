"""`kafka2hive init`: the ledgers of the map's tables, before a first run."""

from functools import partial

import typer

from kafka2hive.cli.terminal import options
from kafka2hive.cli.terminal.options import AuditLog, Color, Json, KafkaTimeout, Level, Log, Map
from kafka2hive.observe.log import LogFormat

EXIT_CODES = options.exit_codes(options.SET_ASIDE, options.STOP)


def init(
    config: Map,
    kafka_timeout: KafkaTimeout = options.KAFKA_SECONDS,
    json: Json = False,
    color: Color = True,
    log_format: Log = LogFormat.AUTO,
    log_level: Level = None,
    audit_log: AuditLog = None,
) -> None:
    """Create the ledgers of the map's tables without starting a run."""
    from kafka2hive.cli.render.plan import init_document, render_init
    from kafka2hive.cli.terminal.outcome import audit_level, show, with_map
    from kafka2hive.config.keys import ServiceMap
    from kafka2hive.service.tables.init import init_ledgers
    from kafka2hive.service.wiring import wire

    def command(service_map: ServiceMap) -> int:
        wiring = wire(service_map)
        result = init_ledgers(wiring, wiring.kafka(kafka_timeout, altogether=True))
        show(json, color, partial(init_document, service_map.service, result), partial(render_init, result))
        return int(result.exit_code)

    level = audit_level(log_format) if log_level is None else log_level.number
    every_change = log_level is None
    raise typer.Exit(
        with_map(config, log_format, level, command, every_change=every_change, audit_log=audit_log)
    )
