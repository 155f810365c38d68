"""`kafka2hive explain`: what a code means, and what to do."""

from functools import partial
from typing import Annotated

import typer

from kafka2hive.cli.terminal import options
from kafka2hive.cli.terminal.options import Color, Json

EXIT_CODES = options.paragraph("0 done", "2 wrong command line", "78 there is no such code")


def explain(
    code: Annotated[
        str,
        typer.Argument(
            metavar="CODE",
            help="A code of a message (hive.login), a finding, a dead letter's reason, an exit code, or a family (hive).",
        ),
    ],
    json: Json = False,
    color: Color = True,
) -> None:
    """Explain a code: what happened, what the program does about it, and what to do. Needs no map."""
    from kafka2hive.cli.explain.catalogue import explain as look_up
    from kafka2hive.cli.render.explain import explain_document, render_explanations
    from kafka2hive.cli.terminal.outcome import show, tell_error
    from kafka2hive.model.errors import Kafka2HiveError

    try:
        found = look_up(code)
    except Kafka2HiveError as error:
        tell_error(error)
        raise typer.Exit(int(error.exit_code)) from error
    show(json, color, partial(explain_document, found), partial(render_explanations, found))
