"""`kafka2hive init`."""

from kafka2hive.cli.outcome import audit_level, say, with_map
from kafka2hive.cli.render import json_output
from kafka2hive.cli.screen import standard_output
from kafka2hive.config.values import ServiceMap
from kafka2hive.kafka.client import KafkaAdmin
from kafka2hive.observe.log import LogFormat
from kafka2hive.service.shared.init_ledgers import init_ledgers
from kafka2hive.service.shared.wiring import wire


def init_command(config: str, json: bool, color: bool, log_format: LogFormat) -> int:
    """Make the ledgers that are missing and say which."""

    def command(service_map: ServiceMap) -> int:
        result = init_ledgers(wire(service_map), KafkaAdmin(service_map.kafka))
        if json:
            say(json_output.text(json_output.init_document(service_map.service, result)))
        else:
            from kafka2hive.cli.render.init import render_init

            say(render_init(result, standard_output(color)))
        return int(result.exit_code)

    return with_map(config, log_format, audit_level(log_format), command)
