"""`kafka2hive validate`."""

import logging
import os

from kafka2hive.cli.outcome import say, secrets, tell_error
from kafka2hive.cli.render import json_output
from kafka2hive.cli.screen import standard_output
from kafka2hive.config.load import load_map
from kafka2hive.config.problems import MapInvalid
from kafka2hive.config.values import ServiceMap
from kafka2hive.model.errors import ConfigError
from kafka2hive.observe.log import LogFormat, configure

KAFKA_SECONDS = 10.0


def validate_command(config: str, json: bool, color: bool, online: bool) -> int:
    """Check the map; all its problems go to standard error, and with --json as a document to standard output.

    With `online` its services are asked, too; what they say is the result.
    """
    try:
        service_map = load_map(config, os.environ)
        if online:
            return _online(service_map, json, color)
    except ConfigError as error:
        tell_error(error)
        if json and isinstance(error, MapInvalid):
            say(json_output.text(json_output.problems_document(error.problems)))
        return int(error.exit_code)
    if json:
        say(json_output.text(json_output.map_document(service_map)))
    else:
        from kafka2hive.cli.render.map import render_map

        say(render_map(service_map, standard_output(color)))
    return 0


def _online(service_map: ServiceMap, json: bool, color: bool) -> int:
    from kafka2hive.kafka.client import KafkaAdmin
    from kafka2hive.service.online.validate import validate_online
    from kafka2hive.service.shared.wiring import wire

    configure(LogFormat.AUTO, logging.ERROR, secrets(service_map))
    result = validate_online(wire(service_map), KafkaAdmin(service_map.kafka, KAFKA_SECONDS))
    if json:
        say(json_output.text(json_output.online_document(service_map, result)))
    else:
        from kafka2hive.cli.render.online import render_online

        say(render_online(service_map, result, standard_output(color)))
    return int(result.exit_code)
