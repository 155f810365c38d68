"""`kafka2hive sample`: a map to begin with, drafted from a topic's records."""

import logging
import os
from typing import Annotated

import typer

from kafka2hive.cli import options
from kafka2hive.cli.options import Log
from kafka2hive.observe.log import LogFormat

EXIT_CODES = options.exit_codes(options.UNREADABLE, config="78 no such topic, a wrong property")


def sample(
    topic: Annotated[str, typer.Argument(metavar="TOPIC", help="The topic to look at.")],
    kafka: Annotated[
        str, typer.Option("--kafka", metavar="HOST:PORT", help="Brokers to start from (bootstrap.servers).")
    ],
    properties: Annotated[
        list[str] | None,
        typer.Option(
            "--property",
            "-X",
            metavar="KEY=VALUE",
            help="A property of librdkafka (repeatable); ${NAME} and file:/path as in a map.",
        ),
    ] = None,
    registry: Annotated[
        str | None,
        typer.Option(
            "--registry", metavar="URL", help="The schema registry of topics with Avro or Protobuf records."
        ),
    ] = None,
    records: Annotated[
        int, typer.Option("--records", "-n", min=1, max=10_000, help="So many of the newest records.")
    ] = 1_000,
    log_format: Log = LogFormat.AUTO,
) -> None:
    """Print a map for a topic: columns with types, event time, flush interval, and notes; touches nothing."""
    from kafka2hive.cli.outcome import say, tell_error
    from kafka2hive.model.errors import Kafka2HiveError
    from kafka2hive.observe.log import configure
    from kafka2hive.service.sample.sample import sample as draft

    given = {"bootstrap.servers": kafka}
    for one in properties or ():
        key, separator, value = one.partition("=")
        if not separator:
            raise typer.BadParameter(f"{key}: write KEY=VALUE", param_hint="--property")
        given[key] = value
    configure(log_format, logging.WARNING, [])
    try:
        say(draft(topic, given, registry, records, os.environ).rstrip())
    except Kafka2HiveError as error:
        tell_error(error)
        raise typer.Exit(int(error.exit_code)) from error
