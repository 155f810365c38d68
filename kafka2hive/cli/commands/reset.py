"""`kafka2hive reset`: start a table over."""

import sys
from functools import partial
from typing import Annotated

import typer

from kafka2hive.cli.terminal import options
from kafka2hive.cli.terminal.options import AuditLog, Color, Json, Level, Log, Map, OneTable, Plan, Takeover
from kafka2hive.observe.log import LogFormat

EXIT_CODES = options.exit_codes(options.OWNED, options.FENCED, options.STOP)


def reset(
    config: Map,
    table: OneTable,
    plan: Plan = False,
    keep_data: Annotated[
        bool,
        typer.Option(
            "--keep-data",
            help="Leave visible files in place: records that are read again are in the table twice.",
        ),
    ] = False,
    move_data: Annotated[
        bool, typer.Option("--move-data", help="Move visible files away, to where Hive does not see them.")
    ] = False,
    yes: Annotated[
        str | None,
        typer.Option("--yes", metavar="TABLE", help="The table's name again, to confirm without a question."),
    ] = None,
    takeover: Takeover = False,
    json: Json = False,
    color: Color = True,
    log_format: Log = LogFormat.AUTO,
    log_level: Level = None,
    audit_log: AuditLog = None,
) -> None:
    """Start a table over: its ledger moves to the archive, and the next run creates a new one. Nothing is deleted."""
    from kafka2hive.cli.render.reset import render_reset, reset_document
    from kafka2hive.cli.terminal.outcome import show, with_changes
    from kafka2hive.config.keys import ServiceMap
    from kafka2hive.service.recover.consumer_group import ConsumerGroup
    from kafka2hive.service.recover.reset import ResetPlan, ResetRequest, ResetResult
    from kafka2hive.service.recover.reset import reset as start_over
    from kafka2hive.service.wiring import wire

    _check_options(table, yes, keep_data=keep_data, move_data=move_data, unattended=json, plan=plan)
    request = ResetRequest(table, move_data, plan, takeover)

    def command(service_map: ServiceMap) -> int:
        wiring = wire(service_map)

        def show_reset(result: ResetResult, as_json: bool) -> None:
            name, hive = service_map.service, service_map.hive is not None
            text = partial(render_reset, name, request, result, hive=hive)
            show(as_json, color, partial(reset_document, name, request, result), text)

        def confirm(planned: ResetPlan) -> None:
            if yes is None:
                show_reset(ResetResult(planned, done=False), as_json=False)
                _confirm_by_name(table)

        group = ConsumerGroup(wiring, wiring.kafka(options.KAFKA_SECONDS))
        show_reset(start_over(wiring, group, request, confirm), json)
        return 0

    raise typer.Exit(
        with_changes(
            config=config, log_format=log_format, log_level=log_level, audit_log=audit_log, command=command
        )
    )


def _check_options(
    table: str, yes: str | None, *, keep_data: bool, move_data: bool, unattended: bool, plan: bool
) -> None:
    """Check the options before any service is called. Raises typer.BadParameter."""
    if keep_data == move_data:
        raise typer.BadParameter(
            "give one of the two: they say what happens to the visible files",
            param_hint="--keep-data / --move-data",
        )
    if yes is not None and yes != table:
        raise typer.BadParameter(f"{yes!r} is not the table's name {table!r}", param_hint="--yes")
    if yes is None and not plan and (unattended or not sys.stdin.isatty()):
        raise typer.BadParameter(
            f"the command cannot ask for confirmation (no terminal, or --json is given): give --yes {table}",
            param_hint="--yes",
        )


def _confirm_by_name(table: str) -> None:
    """Ask the user to type the table's name. Raises typer.BadParameter if the text differs."""
    if typer.prompt("Type the table's name to start it over", default="", show_default=False) != table:
        raise typer.BadParameter("that is not the table's name; nothing was changed")
