"""Every command that a message tells a person to type is one that the command line accepts, as it is printed.

The commands are collected from the texts of the code: all strings in backquotes that begin with `kafka2hive COMMAND`.
"""

import ast
import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from kafka2hive.cli.main import app
from kafka2hive.config.command_blanks import MAP, CommandBlanks
from kafka2hive.config.load import load_map
from tests.harness.cli_ledger import TABLE, invoke, pending_service
from tests.harness.mock_broker import Broker, plain_map

PACKAGE = Path(__file__).parents[2] / "kafka2hive"
FILE = "/warehouse/air.db/flights/dt=2013-01-17 10/a b.final"
VALUES = {
    "number": "0",
    "topic": "flights",
    "stable": "17",
    "position": "17",
    "self._command": "recover",
    "instruction.command": "pause",
    "_option(unfinished)": "--keep-data",
    "self._group": "kafka2hive-demo",
    "tp.topic": "flights",
    "tp.number": "0",
    "missing.end": "17",
    "offset": "17",
    "RECOVER": "kafka2hive recover",
    "ACCEPT_GAP": "kafka2hive recover --accept-gap",
}
"""What stands for an expression in a command; a path or a Hive partition has a blank, so that it must be quoted."""


def sample(node: ast.expr) -> str:
    text = ast.unparse(node)
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "shlex.quote":
        return shlex.quote(sample(node.args[0]))
    if text in VALUES:
        return VALUES[text]
    if re.search(r"(^|[._])table$|table\.name$|^base_name\(table_directory\)$", text):
        return TABLE
    if text.endswith((".final", "path")):
        return FILE if text.endswith("final") else "dt=2013-01-17 10"
    return f"<{text}>"


def literal(node: ast.JoinedStr, names: dict[str, str]) -> str:
    parts = []
    for part in node.values:
        if isinstance(part, ast.Constant):
            parts.append(str(part.value))
        elif isinstance(part, ast.FormattedValue):
            parts.append(names.get(ast.unparse(part.value)) or sample(part.value))
    return "".join(parts)


def texts(tree: ast.Module) -> Iterator[str]:
    """Yield every string but docstrings; a name that a function gives to an f-string is replaced where it is used."""
    remarks = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            if isinstance(node.value, ast.JoinedStr):
                names[node.targets[0].id] = literal(node.value, {})
            elif isinstance(node.value, ast.Call) and ast.unparse(node.value.func) == "shlex.quote":
                names[node.targets[0].id] = sample(node.value)
    inner = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if id(node) in remarks or id(node) in inner:
            continue
        if isinstance(node, ast.JoinedStr):
            yield literal(node, names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value.replace("%s", TABLE)


@cache
def commands_of_cli() -> dict[str, Any]:
    return dict(getattr(get_command(app), "commands", {}))


@cache
def shown() -> tuple[tuple[str, str], ...]:
    """Return each command in backquotes with the file that shows it."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        for text in texts(ast.parse(path.read_text())):
            for quoted in text.split("`")[1::2]:
                program, _, rest = quoted.partition(" ")
                if program == "kafka2hive" and rest.split(" ")[0] in commands_of_cli():
                    found[quoted] = str(path.relative_to(PACKAGE))
    return tuple(sorted(found.items()))


def mentions(command: str) -> bool:
    """Return whether the text only names a command, as in "type the same `kafka2hive reset` command again"."""
    return len(command.split(" ")) == 2 and command.split(" ")[1] not in ("warm", "demo")


TYPED = [command for command, _ in shown() if not mentions(command)]


@pytest.fixture(scope="module")
def shared_broker() -> Broker:
    broker = Broker()
    broker.produce("flights", 20)
    return broker


def parse(words: list[str]) -> None:
    """Parse a command line as the program does, without running the command."""
    command = commands_of_cli()[words[0]]
    rest = words[1:]
    while hasattr(command, "commands"):
        command, rest = command.commands[rest[0]], rest[1:]
    command.make_context(words[0], list(rest))


def test_there_are_many_commands_to_type() -> None:
    assert len(TYPED) > 30
    assert f"kafka2hive recover --table {TABLE} --accept-loss '{FILE}' -c MAP" in TYPED


@pytest.mark.parametrize("command", TYPED)
def test_a_shown_command_is_one_that_the_program_takes(command: str) -> None:
    assert not re.search("<.*>", command), "give the expression a value in VALUES"
    parse(shlex.split(command)[1:])


@pytest.mark.parametrize(
    "command", [command for command in TYPED if "recover" in command or "reset" in command]
)
def test_a_shown_repair_is_understood_by_its_command(
    command: str, tmp_path: Path, shared_broker: Broker
) -> None:
    """With `--plan`, so that it changes nothing. The plan may find that nothing is to be done; it is never a wrong usage."""
    service = pending_service(tmp_path, bootstrap=shared_broker.address)
    plain_map(service.map)
    blanks = CommandBlanks.of_map(load_map(str(service.map), {}), {})
    lost = service.files[0].final.removeprefix("file://")
    filled = blanks.fill(command).replace(shlex.quote(FILE), shlex.quote(lost))
    result = invoke(*shlex.split(filled)[1:], *(["--plan"] if "--plan" not in command else []))
    assert result.exit_code != 2 and "usage.no_such_file" not in result.output, result.output


def test_a_message_shows_commands_only_in_backquotes() -> None:
    """Text without backquotes would not be checked by this test, and pages would not show it as a command."""
    begin = re.compile(rf"kafka2hive ({'|'.join(commands_of_cli())}) (-|[A-Z])")
    for path in sorted(PACKAGE.rglob("*.py")):
        if path.parts[-2] in ("demo",) or path.name == "pack.py":
            continue
        for text in texts(ast.parse(path.read_text())):
            if text.count("`") % 2 == 0:
                bare = "".join(text.split("`")[::2])
                assert not begin.search(bare) or text.startswith(begin.search(bare)[0]), f"{path}: {text}"  # type: ignore[index]


def test_a_command_that_needs_the_map_names_it() -> None:
    """`-c MAP` is filled when the message is shown."""
    needs_map = {
        name
        for name, command in commands_of_cli().items()
        if any("--config" in parameter.opts for parameter in getattr(command, "params", ()))
    } | {"dead-letters", "offsets"}
    for command in TYPED:
        if command.split(" ")[1] in needs_map:
            assert command.endswith(MAP), command


@pytest.mark.parametrize(
    "tool", ["kafka-transactions", "kafka-consumer-groups", "kafka-topics", "kafka-configs"]
)
def test_a_tool_of_kafka_gets_the_brokers(tool: str) -> None:
    for path in sorted(PACKAGE.rglob("*.py")):
        for text in texts(ast.parse(path.read_text())):
            for quoted in text.split("`")[1::2]:
                if quoted.startswith(tool) and " -" in quoted:
                    assert quoted.startswith(f"{tool}.sh --bootstrap-server SERVERS "), f"{path}: {quoted}"
