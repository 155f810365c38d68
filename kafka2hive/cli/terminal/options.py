"""Options, help texts and exit codes that several commands share, and arguments with a grammar of their own."""

import re
from collections.abc import Callable
from typing import Annotated, TypeVar

import typer

from kafka2hive.model.errors import ConfigError
from kafka2hive.observe.log import LogFormat, LogLevel

Map = Annotated[
    str,
    typer.Option(
        "--config", "-c", metavar="MAP", envvar="KAFKA2HIVE_CONFIG", help="The YAML map of topics to tables."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")]
Color = Annotated[
    bool, typer.Option("--color/--no-color", help="Colours on a terminal (NO_COLOR is heeded, too).")
]
Log = Annotated[
    LogFormat,
    typer.Option(
        "--log-format", help="Standard error: text on a terminal and JSON otherwise, or always one."
    ),
]
Level = Annotated[
    LogLevel | None,
    typer.Option(
        "--log-level",
        envvar="KAFKA2HIVE_LOG_LEVEL",
        help="Least level that is logged; debug: every change of a file, too.",
    ),
]
AuditLog = Annotated[
    str | None,
    typer.Option(
        "--audit-log",
        metavar="FILE",
        envvar="KAFKA2HIVE_AUDIT_LOG",
        help="Append every change of a file, as JSON lines.",
    ),
]
Tables = Annotated[list[str] | None, typer.Option("--table", help="Only this table (repeatable).")]
KafkaTimeout = Annotated[
    float,
    typer.Option(
        "--kafka-timeout",
        metavar="SECONDS",
        min=1,
        help="How long Kafka may take to answer what is asked of it, all in all.",
    ),
]
KAFKA_SECONDS = 5.0
Plan = Annotated[bool, typer.Option("--plan", help="Only show what would be done; touch nothing.")]
Takeover = Annotated[bool, typer.Option("--takeover", help="Fence a live run that owns the tables.")]

PLACE = "TOPIC-PARTITION@OFFSET"
PLACE_HELP = "For example flights-3@12345."

BUG = "70 a bug"
OWNED = "72 owned by a live run, nothing touched"
FENCED = "73 another run took over"
SET_ASIDE = "75 done, but tables are set aside"
RETRYING = "75 a table is set aside and tried again"
UNREADABLE = "75 a table cannot be read"
REFUSED = "75 --online: a right or room is missing"
STOP = "76 manual intervention required"
FOUND = "76 something is not as promised"
CONFIG_OR_CLUSTER = "78 the map is wrong, or does not fit what is there"
WATCH_ENDED = "130/143 --watch was ended by SIGINT/SIGTERM"
ENDED = "130/143 ended by SIGINT/SIGTERM after a finished epoch"
_COMMON = ("0 done", "2 wrong command line", "69 a service does not answer")


def exit_codes(*codes: str, config: str = "78 the map is wrong") -> str:
    """The last paragraph of a command's help: the codes that every command has, and its own."""
    return paragraph(*sorted((*_COMMON, *codes, config), key=lambda code: int(re.split("[ /]", code)[0])))


def paragraph(*codes: str) -> str:
    return f"Exit codes: {', '.join(codes)}. All of them: docs/operations.md."


Value = TypeVar("Value")


def parsed(parse: Callable[[str], Value], text: str, option: str) -> Value:
    """What `parse` makes of an option's text. Raises typer.BadParameter."""
    try:
        return parse(text)
    except ConfigError as error:
        raise typer.BadParameter(f"{error.message}; {error.remedy}", param_hint=option) from error
