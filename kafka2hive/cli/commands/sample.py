"""`kafka2hive sample`: a first map, drafted from the records of topics."""

import logging
import os
import re
from typing import Annotated

import typer

from kafka2hive.cli.terminal import options
from kafka2hive.cli.terminal.options import KafkaTimeout, Level, Log, Records
from kafka2hive.observe.log import LogFormat

EXIT_CODES = options.exit_codes(options.UNREADABLE, config="78 no such topic, or a wrong property")

Brokers = Annotated[
    str, typer.Option("--kafka", metavar="HOST:PORT", help="Brokers to start from (bootstrap.servers).")
]
Topics = Annotated[
    list[str] | None, typer.Argument(metavar="[TOPIC]...", help="The topics to read; each gets one table.")
]
Pattern = Annotated[
    str | None,
    typer.Option("--pattern", metavar="REGEX", help="Also read all topics whose whole name matches."),
]
Properties = Annotated[
    list[str] | None,
    typer.Option(
        "--property",
        "-X",
        metavar="KEY=VALUE",
        help="A property of librdkafka (repeatable); ${NAME} and file:/path work as in a map.",
    ),
]
RegistryUrl = Annotated[
    str | None,
    typer.Option(
        "--registry", metavar="URL", help="The schema registry of topics with Avro or Protobuf records."
    ),
]
HiveUrl = Annotated[
    str | None,
    typer.Option(
        "--hive",
        metavar="URL",
        help="HiveServer2; if it has the table, its columns, types, partitions and location are used.",
    ),
]
StorageUri = Annotated[
    str | None, typer.Option("--storage", metavar="URI", help="Where the map's tables will be.")
]
TableName = Annotated[
    str,
    typer.Option(
        "--table",
        metavar="DB.TABLE",
        help="The table's name; for several topics it must contain {topic}, the topic's name.",
    ),
]
Rules = Annotated[
    bool,
    typer.Option(
        "--rules", help="Also propose rules that the records obey; they may show values of the records."
    ),
]


def sample(
    kafka: Brokers,
    topics: Topics = None,
    pattern: Pattern = None,
    properties: Properties = None,
    registry: RegistryUrl = None,
    hive: HiveUrl = None,
    storage: StorageUri = None,
    table: TableName = "kafka.{topic}",
    rules: Rules = False,
    records: Records = 1_000,
    kafka_timeout: KafkaTimeout = options.KAFKA_SECONDS,
    log_format: Log = LogFormat.AUTO,
    log_level: Level = None,
) -> None:
    """Draft a map from the records of topics: columns with types, event time, flush interval and notes. Changes nothing."""
    from kafka2hive.cli.terminal.outcome import say, tell_error
    from kafka2hive.cli.terminal.progress import shown_progress
    from kafka2hive.model.errors import Kafka2HiveError
    from kafka2hive.observe.log import configure
    from kafka2hive.service.draft.draft import DraftRequest
    from kafka2hive.service.draft.draft import sample as draft

    if not topics and pattern is None:
        raise typer.BadParameter("name a topic, or give --pattern", param_hint="TOPIC")
    if (pattern is not None or len(topics or ()) > 1) and "{topic}" not in table:
        raise typer.BadParameter(
            "each of several topics needs a table: write {topic} in the name", param_hint="--table"
        )
    try:
        re.compile(pattern or "")
    except re.error as error:
        raise typer.BadParameter(f"not a regular expression: {error}", param_hint="--pattern") from error
    client = {"bootstrap.servers": kafka}
    for text in properties or ():
        key, separator, value = text.partition("=")
        if not separator:
            raise typer.BadParameter(f"{key}: write KEY=VALUE", param_hint="--property")
        client[key] = value
    configure(log_format, options.level(log_level, logging.WARNING), [])
    try:
        request = DraftRequest(
            topics=topics or (),
            pattern=pattern,
            kafka=client,
            registry=registry,
            hive=hive,
            storage=storage,
            table=table,
            rules=rules,
            records=records,
            kafka_seconds=kafka_timeout,
        )
        with shown_progress() as progress:
            text = draft(request, os.environ, progress)
        say(text.rstrip())
    except Kafka2HiveError as error:
        tell_error(error)
        raise typer.Exit(int(error.exit_code)) from error
