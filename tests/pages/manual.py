"""The manual page kafka2hive(1), in the macros of man(7), from what the commands say of themselves."""

import datetime
import re
from collections.abc import Iterator
from typing import Any

import typer.main

from kafka2hive import __version__
from kafka2hive.cli.main import app

_NAME = "kafka2hive"
_LAST = """\
.SH FILES
.I PREFIX/share/kafka2hive
holds the documents, example maps, systemd units and the map's JSON schema.
PREFIX is the environment that kafka2hive is installed in, for example
.IR /opt/kafka2hive .
.SH SEE ALSO
.I PREFIX/share/kafka2hive/docs/commands.md
shows examples of each command;
.I operations.md
explains errors and exit codes;
.I configuration.md
lists the keys of the map.
"""


def manual(day: datetime.date) -> str:
    """Return the page, dated `day`."""
    root: Any = typer.main.get_command(app)
    context = root.make_context(_NAME, [], resilient_parsing=True)
    commands = list(_leaves(root, context))
    return "".join(
        (
            f'.TH KAFKA2HIVE 1 "{day.isoformat()}" "kafka2hive {__version__}" "User Commands"\n',
            f".SH NAME\n{_NAME} \\- {_text(_lower(root.help.rstrip('.')))}\n",
            f".SH SYNOPSIS\n.B {_NAME}\n.I COMMAND\n.RI [ OPTION ]...\n",
            f".SH DESCRIPTION\n{_text(root.help)}\n",
            ".SH COMMANDS\n",
            *(_command(command, its_context) for command, its_context in commands),
            ".SH OPTIONS\n",
            *_parameters(root, context),
            ".SH ENVIRONMENT\n",
            *_variables(commands),
            _LAST,
        )
    )


def _leaves(group: Any, context: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every command that does something, with its context, in the order of `--help`."""
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        its_context = type(context)(command, info_name=name, parent=context)
        if hasattr(command, "list_commands"):
            if command.invoke_without_command:
                yield command, its_context
            yield from _leaves(command, its_context)
        else:
            yield command, its_context


def _command(command: Any, context: Any) -> str:
    usage = " ".join(command.collect_usage_pieces(context)[1:])
    heading = f".SS {_text(context.command_path)} {_text(usage)}".rstrip() + "\n"
    paragraphs = [text for text in (command.help, command.epilog) if text]
    body, *rest = (_text(" ".join(text.split())) for text in paragraphs)
    parameters = "".join(_parameters(command, context))
    return f"{heading}{body}\n{parameters}" + "".join(f".PP\n{text}\n" for text in rest)


def _parameters(command: Any, context: Any) -> Iterator[str]:
    for parameter in command.params:
        record = parameter.get_help_record(context)
        if record is not None:
            yield f".TP\n.B {_text(record[0])}\n{_text(record[1]) or 'This argument is required.'}\n"


def _variables(commands: list[tuple[Any, Any]]) -> Iterator[str]:
    options = {
        parameter.envvar: parameter.opts[0]
        for command, _context in commands
        for parameter in command.params
        if isinstance(parameter.envvar, str)
    }
    for variable, option in sorted(options.items()):
        yield f".TP\n.B {variable}\nThe default of {_text(option)}.\n"


def _text(text: str) -> str:
    """Return a paragraph whose characters mean nothing to roff: one sentence a line, hyphens as they are typed."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("`", "")
    lines = re.sub(r"(?<=[a-z)][.;]) (?=[A-Z])", "\n", text).split("\n")
    return "\n".join(f"\\&{line}" if line[:1] in (".", "'") else line for line in lines)


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]
