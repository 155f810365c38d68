"""`kafka2hive demo`: the whole path of a record on one machine."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from kafka2hive.cli.terminal.options import paragraph

EXIT_CODES = paragraph(
    "0 every flight is in Hive exactly once",
    "1 the flights in Hive differ",
    "69 Java, the flights or a service is missing",
    "130/143 ended by a signal",
)


def demo(
    keep: Annotated[bool, typer.Option("--keep", help="Keep the directory with data and logs.")] = False,
    directory: Annotated[
        Path | None, typer.Option("--directory", help="Where to work (default: a temporary directory).")
    ] = None,
    flights: Annotated[
        int | None,
        typer.Option("--flights", min=1000, help="How many flights to dump (default: all 336,776)."),
    ] = None,
    kafka_jars: Annotated[
        Path | None,
        typer.Option(
            "--kafka-jars", help="Directory of Kafka's jars: start a real broker instead of the mock."
        ),
    ] = None,
) -> None:
    """Watch real flights go from Kafka through Spark into a Hive table, with a kill in the middle. Needs no cluster."""
    from kafka2hive.cli.terminal.outcome import tell_error
    from kafka2hive.demo.steps import run_steps
    from kafka2hive.demo.workspace import Console, workspace
    from kafka2hive.model.errors import ExitCode, Kafka2HiveError, ServiceUnavailable
    from kafka2hive.model.metastore import MetastoreRefused, MetastoreUnavailable

    console = Console(sys.stdout)
    try:
        with workspace(directory, keep, console) as place:
            exact = run_steps(place, console, flights, kafka_jars)
    except Kafka2HiveError as error:
        tell_error(error)
        raise typer.Exit(int(error.exit_code)) from error
    except (MetastoreRefused, MetastoreUnavailable) as error:
        tell_error(ServiceUnavailable("demo.hive", f"Hive does not answer the demo's query: {error}"))
        raise typer.Exit(int(ExitCode.UNAVAILABLE)) from error
    except KeyboardInterrupt as error:
        raise typer.Exit(int(ExitCode.INTERRUPTED)) from error
    raise typer.Exit(0 if exact else 1)
