"""Options and texts that several commands share."""

from typing import Annotated

import typer

from kafka2hive.observe.log import LogFormat

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


def exit_codes(*codes: str) -> str:
    """The last paragraph of a command's help."""
    return f"Exit codes: {', '.join(codes)}. All of them: docs/operations.md."


OK = "0 done"
USAGE = "2 wrong command line"
AWAY = "69 a service does not answer"
BUG = "70 a bug"
OWNED = "72 owned by a live run, nothing touched"
FENCED = "73 another run took over"
ASIDE = "75 done, but tables are set aside"
RETRYING = "75 a table is set aside and tried again"
ENDED_WATCH = "130 --watch was ended"
STOP = "76 a person must decide"
FOUND = "76 something is not as promised"
REFUSED = "75 --online: a right or room is missing"
WRONG_MAP_OR_WORLD = "78 the map is wrong, or does not fit what is there"
CONFIG = "78 the map is wrong"
ENDED = "130/143 ended by SIGINT/SIGTERM after a clean epoch"
