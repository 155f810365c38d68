"""Options, help and exit codes that several commands share, and the parsing of structured arguments."""

import re
from collections.abc import Callable
from typing import Annotated, TypeVar

import typer

from kafka2hive.model.errors import ConfigError
from kafka2hive.observe.log import LogFormat, LogLevel


def complete_tables(context: typer.Context, incomplete: str) -> list[str]:
    """Return the tables of the command line's map that begin with `incomplete`, for a shell to offer.

    The list is empty if the map cannot be read. Variables stay unresolved, because a shell seldom has the service's secrets.
    Names that depend on a topic's name (`{1}`) are left out, because they can be made only from Kafka's topics.
    """
    from pathlib import Path

    from kafka2hive.config.rules.table_options import GROUP
    from kafka2hive.config.yaml.document import read_document
    from kafka2hive.config.yaml.problems import Problems

    try:
        text = Path(context.params.get("config") or "").expanduser().read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return []
    document = read_document(text, Problems())
    tables = document.get("tables") if isinstance(document, dict) else None
    if not isinstance(tables, list):
        return []
    names = [str(table["table"]) for table in tables if isinstance(table, dict) and table.get("table")]
    return [name for name in names if name.startswith(incomplete) and not GROUP.search(name)]


Map = Annotated[
    str,
    typer.Option(
        "--config", "-c", metavar="MAP", envvar="KAFKA2HIVE_CONFIG", help="The YAML map of topics to tables."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")]
Color = Annotated[
    bool,
    typer.Option("--color/--no-color", help="Colour the output on a terminal (off if NO_COLOR is set)."),
]
Log = Annotated[
    LogFormat,
    typer.Option(
        "--log-format",
        metavar="FORMAT",
        help="Format of the log on standard error: human, json, or auto: human on a terminal, otherwise json.",
    ),
]
Level = Annotated[
    LogLevel | None,
    typer.Option(
        "--log-level",
        envvar="KAFKA2HIVE_LOG_LEVEL",
        show_envvar=False,
        metavar="LEVEL",
        help="Lowest level to log: debug (also every change to the file system), info, warning, error."
        " Default: KAFKA2HIVE_LOG_LEVEL",
    ),
]
AuditLog = Annotated[
    str | None,
    typer.Option(
        "--audit-log",
        metavar="FILE",
        envvar="KAFKA2HIVE_AUDIT_LOG",
        show_envvar=False,
        help="Append every change to the file system to FILE, as JSON lines. Default: KAFKA2HIVE_AUDIT_LOG",
    ),
]
Tables = Annotated[
    list[str] | None,
    typer.Option(
        "--table", metavar="DB.TABLE", autocompletion=complete_tables, help="Only this table (repeatable)."
    ),
]
OneTable = Annotated[
    str, typer.Option("--table", metavar="DB.TABLE", autocompletion=complete_tables, help="The table.")
]
Timeout = Annotated[
    str, typer.Option("--timeout", metavar="DURATION", help="How long to wait for a live run, e.g. 10m.")
]
Output = Annotated[
    str,
    typer.Option(
        "--output", "-o", metavar="FILE", help="The file, replaced if it exists; - for standard output."
    ),
]
Records = Annotated[
    int, typer.Option("--records", "-n", metavar="N", min=1, max=10_000, help="How many records to read.")
]
Limit = Annotated[int, typer.Option("--limit", metavar="N", min=1, help="How many to show at most.")]
Once = Annotated[bool, typer.Option("--once", help="Dump what Kafka holds now, then end (for cron).")]
KafkaTimeout = Annotated[
    float,
    typer.Option(
        "--kafka-timeout",
        metavar="SECONDS",
        min=1,
        help="How long all requests to Kafka may take together.",
    ),
]
KAFKA_SECONDS = 5.0
STORAGE_SECONDS = 20.0
"""How long a command that shows a state waits for HDFS (see HdfsFileSystem)."""
Plan = Annotated[bool, typer.Option("--plan", help="Only show what would be done; change nothing.")]
Takeover = Annotated[bool, typer.Option("--takeover", help="Fence a live run that owns the tables.")]

PLACE = "TOPIC-PARTITION@OFFSET"
PLACE_HELP = "For example flights-3@12345."

BUG = "70 a bug"
OWNED = "72 owned by a live run, nothing changed"
FENCED = "73 another run took over"
SET_ASIDE = "75 done, but tables are set aside"
RETRYING = "75 a table is set aside and retried"
UNREADABLE = "75 a table cannot be read"
NO_ACCESS = "75 --online: a permission or free space is missing"
STOP = "76 manual intervention required"
FINDINGS = "76 the audit has findings"
CONFIG_OR_CLUSTER = "78 the map is wrong, or does not fit the cluster"
WATCH_SIGNAL = "130/143 --watch was ended by SIGINT/SIGTERM"
SIGNAL = "130/143 ended by SIGINT/SIGTERM after a finished epoch"
_COMMON = ("0 done", "2 wrong command line", "69 a service does not answer")


def exit_codes(*codes: str, config: str = "78 the map is wrong") -> str:
    """Return the last paragraph of a command's help: `codes`, `config` and the exit codes of all commands, ascending."""
    return paragraph(*sorted((*_COMMON, *codes, config), key=lambda code: int(re.split("[ /]", code)[0])))


def paragraph(*codes: str) -> str:
    """Return the last paragraph of a command's help with exactly these exit codes."""
    return f"Exit codes: {', '.join(codes)}. All of them: docs/operations.md."


def level(chosen: LogLevel | None, default: int) -> int:
    """Return the lowest level to log, as a number of the standard library."""
    return default if chosen is None else chosen.number


Value = TypeVar("Value")


def parse_seconds(text: str, option: str) -> float:
    """Return the seconds of an option such as 10m. Raises typer.BadParameter."""
    from kafka2hive.config.keys.units import parse_duration

    try:
        return parse_duration(text)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint=option) from error


def parse_option(parse: Callable[[str], Value], text: str, option: str) -> Value:
    """Return the value that `parse` reads from the text of an option. Raises typer.BadParameter if `parse` raises ConfigError."""
    try:
        return parse(text)
    except ConfigError as error:
        raise typer.BadParameter(f"{error.message}; {error.remedy}", param_hint=option) from error
