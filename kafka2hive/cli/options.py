"""Options that several commands share."""

from typing import Annotated

import typer

Map = Annotated[
    str, typer.Option("--config", "-c", metavar="MAP", envvar="KAFKA2HIVE_CONFIG", help="The YAML map of topics to tables.")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")]
Color = Annotated[bool, typer.Option("--color/--no-color", help="Colours on a terminal.")]
Log = Annotated[str, typer.Option("--log-format", help="auto (text on a terminal, else JSON), human or json.")]
