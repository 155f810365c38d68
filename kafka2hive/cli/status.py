"""`kafka2hive status`."""

import logging

from kafka2hive.cli import json_output
from kafka2hive.cli.outcome import say, with_map
from kafka2hive.cli.screen import standard_output
from kafka2hive.config.values import ServiceMap
from kafka2hive.kafka.client import KafkaAdmin
from kafka2hive.observe.log import LogFormat
from kafka2hive.service.status import status
from kafka2hive.service.wiring import wire

KAFKA_SECONDS = 5.0


def status_command(config: str, json: bool, color: bool, log_format: LogFormat) -> int:
    """Show where every table stands; Kafka being away only leaves the lag out."""

    def command(service_map: ServiceMap) -> int:
        result = status(wire(service_map), KafkaAdmin(service_map.kafka, KAFKA_SECONDS))
        if json:
            say(json_output.text(json_output.status_document(service_map.service, result)))
        else:
            from kafka2hive.cli.render_status import render_status

            say(render_status(service_map.service, result, standard_output(color)))
        return int(result.exit_code)

    return with_map(config, log_format, logging.WARNING, command)
