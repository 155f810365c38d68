"""`kafka2hive reset`."""

import sys
from collections.abc import Callable

import typer

from kafka2hive.cli.outcome import audit_level, say, with_map
from kafka2hive.cli.render import json_output
from kafka2hive.cli.screen import standard_output
from kafka2hive.config.values import ServiceMap
from kafka2hive.kafka.client import KafkaAdmin
from kafka2hive.observe.log import LogFormat
from kafka2hive.service.recover.consumer_group import ConsumerGroup
from kafka2hive.service.recover.reset import ResetOrder, ResetPlan, ResetResult, reset
from kafka2hive.service.shared.wiring import wire


def data_moves(keep: bool, move: bool) -> bool:
    """Whether the visible files are moved away. Raises typer.BadParameter: exactly one of the options must be given."""
    if keep == move:
        raise typer.BadParameter(
            "give one of them: what becomes of the files that are visible?",
            param_hint="--keep-data / --move-data",
        )
    return move


def check_confirmation(yes: str | None, plan_only: bool, json: bool, table: str) -> None:
    """What can be known before anything is asked. Raises typer.BadParameter."""
    if yes is not None and yes != table:
        raise typer.BadParameter(f"{yes!r} is not the table's name {table!r}", param_hint="--yes")
    if yes is None and not plan_only and (json or not sys.stdin.isatty()):
        raise typer.BadParameter(f"with nobody to ask, give --yes {table}", param_hint="--yes")


def reset_command(
    config: str, order: ResetOrder, yes: str | None, json: bool, color: bool, log_format: LogFormat
) -> int:
    """Show what is put away, have the table's name typed, do it, and say what was done."""

    def command(service_map: ServiceMap) -> int:
        wiring = wire(service_map)
        group = ConsumerGroup(wiring, KafkaAdmin(service_map.kafka))
        result = reset(wiring, group, order, _confirmation(service_map, order, yes, color))
        if json:
            say(json_output.text(json_output.reset_document(service_map.service, order, result)))
        else:
            _show(service_map, order, result, color)
        return 0

    return with_map(config, log_format, audit_level(log_format), command)


def _confirmation(
    service_map: ServiceMap, order: ResetOrder, yes: str | None, color: bool
) -> Callable[[ResetPlan], None]:
    def confirm(plan: ResetPlan) -> None:
        if yes is not None:
            return
        _show(service_map, order, ResetResult(plan, done=False), color)
        if (
            typer.prompt("Type the table's name to start it over", default="", show_default=False)
            != order.table
        ):
            raise typer.BadParameter("that is not the table's name; nothing was touched")

    return confirm


def _show(service_map: ServiceMap, order: ResetOrder, result: ResetResult, color: bool) -> None:
    from kafka2hive.cli.render.reset import render_reset

    hive = service_map.hive is not None
    say(render_reset(service_map.service, order, result, standard_output(color), hive=hive))
