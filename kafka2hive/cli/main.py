"""The entry point. Each command's imports are its own, so that those without Spark start in well under a second."""

import os
import sys
from pathlib import Path
from types import TracebackType
from typing import Annotated

import typer

from kafka2hive import __version__
from kafka2hive.cli import options
from kafka2hive.cli.commands import dead_letters
from kafka2hive.cli.options import Color, Json, Log, Map, exit_codes
from kafka2hive.observe.log import LogFormat


def _documents() -> str | None:
    """Where an installed package keeps its documents; a checkout has them beside it."""
    place = Path(sys.prefix) / "share" / "kafka2hive"
    return f"Documents, examples and the map's JSON schema: {place}" if place.is_dir() else None


app = typer.Typer(
    name="kafka2hive",
    help="Dump Kafka topics into Hive tables on HDFS, exactly once, with all state on HDFS.",
    epilog=_documents(),
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


app.add_typer(dead_letters.app, name="dead-letters")


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"kafka2hive {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and end.")
    ] = False,
) -> None:
    pass


@app.command(
    epilog=exit_codes(
        options.OK,
        options.USAGE,
        options.AWAY,
        options.BUG,
        options.OWNED,
        options.FENCED,
        options.ASIDE,
        options.STOP,
        options.CONFIG,
        options.ENDED,
    )
)
def run(
    config: Map,
    once: Annotated[bool, typer.Option("--once", help="Dump what Kafka holds now, then end (cron).")] = False,
    takeover: Annotated[
        bool, typer.Option("--takeover", help="Fence a live run that owns the tables.")
    ] = False,
    log_format: Log = LogFormat.AUTO,
) -> None:
    """Take the tables over, roll forward what is pending, then dump until stopped."""
    from kafka2hive.cli.commands.run import run_command

    raise typer.Exit(run_command(config, once, takeover, log_format))


@app.command(
    epilog=exit_codes(
        options.OK,
        options.USAGE,
        options.AWAY,
        options.BUG,
        options.OWNED,
        options.FENCED,
        options.ASIDE,
        options.STOP,
        options.CONFIG,
    )
)
def recover(
    config: Map,
    plan: Annotated[
        bool, typer.Option("--plan", help="Only show what would be done; touch nothing.")
    ] = False,
    takeover: Annotated[
        bool, typer.Option("--takeover", help="Fence a live run that owns the tables.")
    ] = False,
    table: Annotated[list[str] | None, typer.Option("--table", help="Only this table (repeatable).")] = None,
    accept_loss: Annotated[
        list[str] | None, typer.Option("--accept-loss", metavar="PATH", help="Go on without this lost file.")
    ] = None,
    refetch: Annotated[
        list[str] | None,
        typer.Option("--refetch", metavar="PATH", help="Dump this lost file's records again from Kafka."),
    ] = None,
    accept_gap: Annotated[
        list[str] | None,
        typer.Option(
            "--accept-gap",
            metavar="TOPIC:PARTITION",
            help="Record offsets that Kafka lost, and go on. TOPIC:* for all.",
        ),
    ] = None,
    forget_registration: Annotated[
        tuple[str, str] | None,
        typer.Option(
            "--forget-registration",
            metavar="TABLE PARTITION",
            help="Go on without telling Hive of a partition that it refuses. PARTITION as in dt=2013-01-17.",
        ),
    ] = None,
    accept_location: Annotated[
        list[str] | None,
        typer.Option(
            "--accept-location",
            metavar="TABLE",
            help="New files of this table go to the map's changed location (repeatable).",
        ),
    ] = None,
    rebuild_ledger: Annotated[
        str | None,
        typer.Option(
            "--rebuild-ledger", metavar="TABLE", help="Rebuild this table's lost ledger from its data files."
        ),
    ] = None,
    json: Json = False,
    color: Color = True,
    log_format: Log = LogFormat.AUTO,
) -> None:
    """Roll everything pending forward to .final and say where the next run resumes. No Spark, no JVM."""
    from kafka2hive.cli.commands.recover import parse_gaps, recover_command
    from kafka2hive.service.recover.forget import Registration
    from kafka2hive.service.recover.recover import RecoverOrder

    gaps = parse_gaps(accept_gap or ())
    tables, losses, again = tuple(table or ()), tuple(accept_loss or ()), tuple(refetch or ())
    forget = (Registration(*forget_registration),) if forget_registration else ()
    moved = tuple(accept_location or ())
    order = RecoverOrder(plan, takeover, tables, losses, again, gaps, rebuild_ledger, forget, moved)
    raise typer.Exit(recover_command(config, order, json, color, log_format))


@app.command(
    epilog=exit_codes(
        options.OK,
        options.USAGE,
        options.AWAY,
        options.OWNED,
        options.FENCED,
        options.STOP,
        options.CONFIG,
    )
)
def reset(
    config: Map,
    table: Annotated[str, typer.Option("--table", help="The table to start over.")],
    plan: Annotated[
        bool, typer.Option("--plan", help="Only show what would be done; touch nothing.")
    ] = False,
    keep_data: Annotated[
        bool, typer.Option("--keep-data", help="Visible files stay: what is read again is there twice.")
    ] = False,
    move_data: Annotated[
        bool, typer.Option("--move-data", help="Visible files are moved away, hidden from Hive.")
    ] = False,
    yes: Annotated[
        str | None,
        typer.Option("--yes", metavar="TABLE", help="The table's name again, instead of typing it."),
    ] = None,
    takeover: Annotated[
        bool, typer.Option("--takeover", help="Fence a live run that owns the table.")
    ] = False,
    json: Json = False,
    color: Color = True,
    log_format: Log = LogFormat.AUTO,
) -> None:
    """Start a table over: its ledger goes into the archive, the next run begins it anew. Nothing is deleted."""
    from kafka2hive.cli.commands.reset import check_confirmation, data_moves, reset_command
    from kafka2hive.service.recover.reset import ResetOrder

    moves = data_moves(keep_data, move_data)
    check_confirmation(yes, plan, json, table)
    order = ResetOrder(table, moves, plan, takeover)
    raise typer.Exit(reset_command(config, order, yes, json, color, log_format))


@app.command(
    epilog=exit_codes(
        options.OK,
        options.USAGE,
        options.AWAY,
        options.RETRYING,
        options.STOP,
        options.CONFIG,
        options.ENDED_WATCH,
    )
)
def status(
    config: Map,
    table: Annotated[list[str] | None, typer.Option("--table", help="Only this table (repeatable).")] = None,
    watch: Annotated[
        float | None,
        typer.Option(
            "--watch", metavar="SECONDS", min=0, help="Show it again every so many seconds, until Ctrl-C."
        ),
    ] = None,
    json: Json = False,
    color: Color = True,
    log_format: Log = LogFormat.AUTO,
) -> None:
    """Show state, position, lag, freshness, pending work, pending registrations, last epochs and owner of every table."""
    from kafka2hive.cli.commands.status import status_command

    raise typer.Exit(status_command(config, tuple(table or ()), watch, json, color, log_format))


@app.command(
    epilog=exit_codes(options.OK, options.USAGE, options.AWAY, options.ASIDE, options.STOP, options.CONFIG)
)
def init(config: Map, json: Json = False, color: Color = True, log_format: Log = LogFormat.AUTO) -> None:
    """Make the ledgers of the map's tables without starting a run."""
    from kafka2hive.cli.commands.init import init_command

    raise typer.Exit(init_command(config, json, color, log_format))


@app.command(epilog=exit_codes(options.OK, options.USAGE, options.AWAY, options.FOUND, options.CONFIG))
def verify(
    config: Map,
    contents: Annotated[
        bool, typer.Option("--contents", help="Also read every file back: checksum and row count.")
    ] = False,
    deep: Annotated[
        bool, typer.Option("--deep", help="Also decode Kafka's records again and compare every row.")
    ] = False,
    against: Annotated[
        str | None,
        typer.Option(
            "--against", metavar="DB.TABLE", help="Also compare with another dump of the same topics."
        ),
    ] = None,
    table: Annotated[list[str] | None, typer.Option("--table", help="Only this table (repeatable).")] = None,
    json: Json = False,
    color: Color = True,
    log_format: Log = LogFormat.AUTO,
) -> None:
    """Audit the dump: offsets without hole or overlap, every file there and whole, every row accounted for."""
    from kafka2hive.cli.commands.verify import verify_command
    from kafka2hive.service.audit.verify import VerifyOrder

    order = VerifyOrder(tuple(table or ()), contents, deep, against)
    raise typer.Exit(verify_command(config, order, json, color, log_format))


@app.command(epilog=exit_codes(options.OK, options.USAGE, options.AWAY, options.STOP, options.CONFIG))
def where(
    place: Annotated[
        str, typer.Argument(metavar="TOPIC-PARTITION@OFFSET", help="For example flights-3@12345.")
    ],
    config: Map,
    json: Json = False,
    color: Color = True,
    log_format: Log = LogFormat.AUTO,
) -> None:
    """Say in which epoch and in which files an offset lies, table by table."""
    from kafka2hive.cli.commands.verify import parse_place, where_command

    raise typer.Exit(where_command(config, parse_place(place), json, color, log_format))


@app.command(
    epilog=exit_codes(options.OK, options.USAGE, options.AWAY, options.REFUSED, options.WRONG_MAP_OR_WORLD)
)
def validate(
    config: Map,
    online: Annotated[
        bool,
        typer.Option(
            "--online", help="Ask Kafka, HDFS, Hive and Java, too, whether a run would work; dumps nothing."
        ),
    ] = False,
    json: Json = False,
    color: Color = True,
) -> None:
    """Check the map without any cluster and say what will be dumped where; --json: all of it, secrets hidden."""
    from kafka2hive.cli.commands.validate import validate_command

    raise typer.Exit(validate_command(config, json, color, online))


@app.command(
    epilog=exit_codes(
        "0 every flight is in Hive exactly once",
        "1 not so",
        "69 Java, flights or a service is missing",
        "130/143 ended by a signal",
    )
)
def demo(
    keep: Annotated[
        bool, typer.Option("--keep", help="Leave the directory with data and logs behind.")
    ] = False,
    directory: Annotated[
        Path | None, typer.Option("--directory", help="Where to work (default: a temporary directory).")
    ] = None,
    flights: Annotated[
        int | None,
        typer.Option("--flights", min=1000, help="How many flights to dump (default: all 336,776)."),
    ] = None,
    kafka_jars: Annotated[
        Path | None,
        typer.Option("--kafka-jars", help="Directory of Kafka's jars: a real broker instead of the mock."),
    ] = None,
) -> None:
    """Watch real flights go from Kafka through Spark into a Hive table, with a kill in the middle. Needs no cluster."""
    from kafka2hive.cli.commands.demo import demo_command

    raise typer.Exit(demo_command(directory, keep, flights, kafka_jars))


def _bug(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """What nothing caught: its stack for the report, and the exit code of a bug instead of Python's 1."""
    sys.__excepthook__(kind, error, trace)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(70)


def main() -> None:
    """The console script."""
    sys.excepthook = _bug
    try:
        app()
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
