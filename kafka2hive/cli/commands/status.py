"""`kafka2hive status`."""

import logging
import sys
import time

import typer

from kafka2hive.cli.outcome import say, with_map
from kafka2hive.cli.render import json_output
from kafka2hive.cli.screen import standard_output
from kafka2hive.config.values import ServiceMap
from kafka2hive.kafka.client import KafkaAdmin
from kafka2hive.model.errors import Kafka2HiveError
from kafka2hive.observe.log import LogFormat
from kafka2hive.service.shared.wiring import wire
from kafka2hive.service.status import status

KAFKA_SECONDS = 5.0
LEAST_WATCH_SECONDS = 1.0
_CLEAR = "\033[H\033[2J"


def status_command(
    config: str, tables: tuple[str, ...], watch: float | None, json: bool, color: bool, log_format: LogFormat
) -> int:
    """Show where every table stands; Kafka being away only leaves the lag out.

    With `watch` again and again, so many seconds apart, until a signal; what cannot be asked then is told and asked again.
    """
    if watch is not None and json:
        raise typer.BadParameter(
            "shows a screen; for scripts ask again and again with --json", param_hint="--watch"
        )

    def command(service_map: ServiceMap) -> int:
        wiring, kafka = wire(service_map), KafkaAdmin(service_map.kafka, KAFKA_SECONDS)
        screen = standard_output(color)

        def show() -> int:
            result = status(wiring, kafka, tables)
            if json:
                say(json_output.text(json_output.status_document(service_map.service, result)))
            else:
                from kafka2hive.cli.render.status import render_status

                text = render_status(service_map.service, result, screen, hive=service_map.hive is not None)
                say(_CLEAR + text if watch is not None and sys.stdout.isatty() else text)
            sys.stdout.flush()
            return int(result.exit_code)

        if watch is None:
            return show()
        while True:
            try:
                show()
            except Kafka2HiveError as error:
                say(str(error))
            time.sleep(max(watch, LEAST_WATCH_SECONDS))

    return with_map(config, log_format, logging.WARNING, command)
