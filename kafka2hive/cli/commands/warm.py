"""`kafka2hive warm`: the archive of Java classes that makes `run` start faster."""

import typer

from kafka2hive.cli.terminal import options

EXIT_CODES = options.paragraph(
    "0 done", "2 wrong command line", "69 Java is missing, or Spark does not start"
)


def warm() -> None:
    """Create the archive of Java classes that halves the start-up cost of `run`; once per version of Java and Spark."""
    import logging

    from kafka2hive.cli.terminal.outcome import say, tell_error
    from kafka2hive.model.errors import Kafka2HiveError
    from kafka2hive.observe.log import LogFormat, configure
    from kafka2hive.spark.archive_maker import make_archive

    configure(LogFormat.AUTO, logging.WARNING, [])
    try:
        file, made = make_archive()
    except Kafka2HiveError as error:
        tell_error(error)
        raise typer.Exit(int(error.exit_code)) from error
    say(f"{'created' if made else 'already exists:'} {file}")
