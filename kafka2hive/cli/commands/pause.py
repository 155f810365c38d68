"""`kafka2hive pause` and `kafka2hive resume`: orders to the run that owns a table."""

from functools import partial
from typing import TYPE_CHECKING

import typer

from kafka2hive.cli.terminal import options
from kafka2hive.cli.terminal.options import AuditLog, Color, Json, Level, Log, Map, OneTable, Timeout
from kafka2hive.observe.log import LogFormat, LogLevel

if TYPE_CHECKING:
    from kafka2hive.ledger.inbox import Instruction

EXIT_CODES = options.exit_codes(
    "75 the table cannot be written now", options.STOP, config="78 the map or the table's name is wrong"
)

_DEFAULT_TIMEOUT = "2m"


def pause(
    config: Map,
    table: OneTable,
    timeout: Timeout = _DEFAULT_TIMEOUT,
    json: Json = False,
    color: Color = True,
    log_format: Log = LogFormat.AUTO,
    log_level: Level = None,
    audit_log: AuditLog = None,
) -> None:
    """Stop reading records into a table until it is resumed; a live run does it between two epochs."""
    from kafka2hive.ledger.inbox import PauseTable

    _give_order(
        instruction=PauseTable(),
        config=config,
        table=table,
        timeout=timeout,
        json=json,
        color=color,
        log_format=log_format,
        log_level=log_level,
        audit_log=audit_log,
    )


def resume(
    config: Map,
    table: OneTable,
    timeout: Timeout = _DEFAULT_TIMEOUT,
    json: Json = False,
    color: Color = True,
    log_format: Log = LogFormat.AUTO,
    log_level: Level = None,
    audit_log: AuditLog = None,
) -> None:
    """Read records into a paused table again, from where it stopped."""
    from kafka2hive.ledger.inbox import ResumeTable

    _give_order(
        instruction=ResumeTable(),
        config=config,
        table=table,
        timeout=timeout,
        json=json,
        color=color,
        log_format=log_format,
        log_level=log_level,
        audit_log=audit_log,
    )


def _give_order(
    instruction: "Instruction",
    config: str,
    table: str,
    timeout: str,
    json: bool,
    color: bool,
    log_format: LogFormat,
    log_level: LogLevel | None,
    audit_log: str | None,
) -> None:
    from kafka2hive.cli.render.order import order_document, render_order
    from kafka2hive.cli.terminal.outcome import show, tell_line, with_changes
    from kafka2hive.config.keys import ServiceMap
    from kafka2hive.service.orders.delivery import give_order
    from kafka2hive.service.wiring import wire

    seconds = options.parse_seconds(timeout, "--timeout")

    def command(service_map: ServiceMap) -> int:
        answer = give_order(wire(service_map), table, instruction, seconds=seconds, note=tell_line)
        document = partial(order_document, service_map.service, answer)
        show(json, color, document, partial(render_order, answer))
        return 0

    raise typer.Exit(
        with_changes(
            config=config, log_format=log_format, log_level=log_level, audit_log=audit_log, command=command
        )
    )
