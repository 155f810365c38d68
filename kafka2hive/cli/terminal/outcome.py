"""The frame of every command: load the map, set up logging, show the result, turn an error into text and exit code."""

import logging
import os
import sys
from collections.abc import Callable

from kafka2hive.cli.terminal.document import Document, json_text
from kafka2hive.cli.terminal.screen import Screen, standard_output
from kafka2hive.config.keys import ServiceMap
from kafka2hive.config.load import load_map
from kafka2hive.model.errors import ConfigError, ExitCode, Kafka2HiveError
from kafka2hive.model.text import printable, printable_coloured
from kafka2hive.observe.log import LogFormat, configure


def with_map(
    config: str,
    log_format: LogFormat,
    level: int,
    command: Callable[[ServiceMap], int],
    *,
    every_change: bool = False,
    audit_log: str | None = None,
) -> int:
    """Load the map, set up logging, run `command` and return its exit code.

    A named error is printed to standard error, and its exit code is returned. `every_change` and `audit_log`: see
    `configure`.
    """
    try:
        service_map = load_map(config, os.environ)
        try:
            configure(log_format, level, secrets(service_map), every_change=every_change, audit_log=audit_log)
        except OSError as error:
            raise ConfigError(
                "usage.audit_log", f"--audit-log cannot be opened: {error}", "name a file that can be written"
            ) from error
        return command(service_map)
    except Kafka2HiveError as error:
        tell_error(error)
        return int(error.exit_code)
    except KeyboardInterrupt:
        logging.shutdown()
        print("interrupted", file=sys.stderr)  # noqa: T201 (this is the command line)
        return int(ExitCode.INTERRUPTED)


def show(json: bool, color: bool, document: Callable[[], Document], text: Callable[[Screen], str]) -> None:
    """Print a command's result to standard output: as text, or with `json` as one document."""
    say(json_text(document()) if json else text(standard_output(color)))


def say(text: str) -> None:
    """Print to standard output; control sequences that came from records or brokers are escaped."""
    print(printable_coloured(text))  # noqa: T201 (this is the command line)


def tell_error(error: BaseException) -> None:
    """Print an error to standard error; control sequences in it are escaped."""
    tell_line(str(error))


def tell_line(text: str) -> None:
    """Print a line of progress to standard error; control sequences in it are escaped."""
    print(printable(text), file=sys.stderr, flush=True)  # noqa: T201 (this is the command line)


def audit_level(log_format: LogFormat) -> int:
    """Return the default log level of commands that change things and then show what they did.

    On a terminal only warnings are logged, because the result is shown there anyway.
    """
    on_terminal = log_format is LogFormat.AUTO and sys.stderr.isatty()
    return logging.WARNING if on_terminal else logging.INFO


def secrets(service_map: ServiceMap) -> list[str]:
    """Return the values that no log line may show."""
    values = [value for key, value in service_map.properties if key in service_map.secret_keys]
    if service_map.hive and service_map.hive.password:
        values.append(service_map.hive.password)
    if service_map.registry:
        values += [value for value in (service_map.registry.password, service_map.registry.token) if value]
    return values
