"""`kafka2hive run`."""

import logging

from kafka2hive.cli.outcome import tell_error, with_map
from kafka2hive.config.values import ServiceMap
from kafka2hive.observe.log import LogFormat
from kafka2hive.service.run.result import RunOrder
from kafka2hive.service.run.service import Run
from kafka2hive.service.shared.wiring import wire


def run_command(config: str, once: bool, take_over: bool, log_format: LogFormat) -> int:
    """Run the service until it ends; what stopped it or set a table aside goes to standard error."""

    def command(service_map: ServiceMap) -> int:
        result = Run(wire(service_map), RunOrder(once, take_over)).run()
        if result.error is not None:
            tell_error(result.error)
        for _table, error in result.set_aside:
            tell_error(error)
        if result.unregistered is not None:
            tell_error(result.unregistered)
        return int(result.exit_code)

    return with_map(config, log_format, logging.INFO, command)
