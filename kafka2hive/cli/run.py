"""`kafka2hive run`."""

import logging
import sys

from kafka2hive.cli.outcome import with_map
from kafka2hive.config.values import ServiceMap
from kafka2hive.service.run import Run, RunOrder
from kafka2hive.service.wiring import wire


def run_command(config: str, once: bool, take_over: bool, log_format: str) -> int:
    def command(service_map: ServiceMap) -> int:
        result = Run(wire(service_map), RunOrder(once, take_over)).run()
        if result.error is not None:
            print(result.error, file=sys.stderr)  # noqa: T201 (this is the command line)
        for _table, error in result.set_aside:
            print(error, file=sys.stderr)  # noqa: T201 (this is the command line)
        return int(result.exit_code)

    return with_map(config, log_format, logging.INFO, command)
