"""The help of every command fits a terminal of 80 columns, and shows the commands in groups."""

from typing import Any

import pytest
from typer.main import get_command

from kafka2hive.cli.main import app
from tests.harness.cli_ledger import invoke

WORDS_OF_ITS_OWN = {
    ("sample", "--table"): "the name that the drafted table gets",
    ("top", "--once"): "one frame, not one dump",
    ("certificate", "--wait"): "how long; submit waits as long as the application takes",
    ("counts", "--wait"): "how long, as for certificate",
    ("counts", "--from"): "a time, as for --to; the positions of another tool are a source",
    ("counts", "--against"): "a topic, which verify does not compare with",
}
"""Options with the name of another command's and another meaning, and why."""
EVERYWHERE = {"--log-format", "--log-level"}
GROUPS = ("Start", "Look", "Repair", "Set up")


def command_lines() -> list[tuple[str, ...]]:
    found: list[tuple[str, ...]] = [()]
    commands: dict[str, Any] = getattr(get_command(app), "commands", {})
    for name, command in commands.items():
        found += [(name, *below) for below in [(), *((one,) for one in getattr(command, "commands", {}))]]
    return found


@pytest.mark.parametrize("words", command_lines(), ids=" ".join)
def test_the_help_fits_80_columns(words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    result = invoke(*words, "--help")
    assert result.exit_code == 0
    assert [line for line in result.stdout.splitlines() if len(line) > 80] == []
    assert "…" not in result.stdout, "a text is cut"


def options_of(words: tuple[str, ...]) -> dict[str, tuple[object, ...]]:
    """Return the options of a command by their long names: all spellings, type, metavar, repeatable, help."""
    command: Any = get_command(app)
    for word in words:
        command = command.commands[word]
    return {
        next(name for name in one.opts if name.startswith("--")): (
            tuple(sorted([*one.opts, *one.secondary_opts])),
            str(one.type),
            one.metavar,
            one.multiple,
            one.help,
        )
        for one in command.params
        if one.param_type_name == "option"
    }


def test_options_of_one_name_are_alike_in_all_commands() -> None:
    """`--table` takes one table, or several where it chooses among them."""
    forms: dict[str, set[tuple[object, ...]]] = {}
    for words in command_lines():
        for name, form in options_of(words).items():
            if (" ".join(words), name) not in WORDS_OF_ITS_OWN:
                forms.setdefault(name, set()).add(form)
    tables = forms.pop("--table")
    assert {form[3] for form in tables} == {True, False} and len(tables) == 2
    assert {name: several for name, several in forms.items() if len(several) > 1} == {}


def test_every_command_with_a_map_can_say_more_or_less() -> None:
    lacking = {
        " ".join(words): EVERYWHERE - options.keys()
        for words in command_lines()
        if "--config" in (options := options_of(words)) and EVERYWHERE - options.keys()
    }
    assert lacking == {}


def test_the_commands_are_shown_in_groups_and_internal_ones_are_hidden() -> None:
    shown = invoke("--help").stdout
    places = [shown.index(f"─ {group} ─") for group in GROUPS]
    assert places == sorted(places)
    commands: dict[str, Any] = getattr(get_command(app), "commands", {})
    for name, command in commands.items():
        assert command.hidden == (name == "executor") and (f" {name} " in shown) != command.hidden, name
    assert "─ Commands ─" not in shown
