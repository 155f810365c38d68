"""The manual page that a wheel installs is made of what the commands say of themselves."""

import datetime
import re
from typing import Any

import typer.main

from kafka2hive.cli.main import app
from tests.pages.manual import manual
from tests.pages.program_files import completion, program_files

WORD = re.compile(r"[a-z0-9-]+")
"""A word of a command; arguments have capitals."""
DAY = datetime.date(2026, 11, 27)


def plain(roff: str) -> str:
    """What a reader sees of it, without macros and layout."""
    lines = [line for line in roff.splitlines() if line not in (".TP", ".PP")]
    return " ".join(" ".join(lines).replace("\\-", "-").replace("\\&", "").replace("\\e", "\\").split())


def test_it_describes_every_command_and_every_option() -> None:
    page = manual(DAY)
    sections = {}
    for section in page.split("\n.SS ")[1:]:
        heading, _, rest = section.partition("\n")
        sections[" ".join(word for word in plain(heading).split() if WORD.fullmatch(word))] = plain(rest)
    root: Any = typer.main.get_command(app)
    commands: dict[str, Any] = dict(root.commands)
    for group in ("offsets", "dead-letters"):
        commands |= {f"{group} {name}": command for name, command in commands.pop(group).commands.items()}
    assert len(commands) > 20
    for name, command in commands.items():
        section = sections[f"kafka2hive {name}"]
        assert plain(command.help).replace("`", "") in section, name
        for parameter in command.params:
            for option in [o for o in parameter.opts if o.startswith("--")]:
                assert option in section, f"{name} {option}"
    assert "Exit codes: 0 done" in sections["kafka2hive run"]
    assert ".B KAFKA2HIVE_LOG_LEVEL\n" in page
    assert page.startswith('.TH KAFKA2HIVE 1 "2026-11-27" "kafka2hive ')


def test_no_line_of_text_is_taken_for_a_macro() -> None:
    macros = {".TH", ".SH", ".SS", ".TP", ".PP", ".B", ".I", ".IR", ".RI"}
    lines = manual(DAY).splitlines()
    assert {line.split(" ")[0] for line in lines if line.startswith((".", "'"))} <= macros
    assert "" not in lines, "an empty line is a fault of man(7)"


def test_each_shell_gets_its_own_script() -> None:
    files = program_files(DAY)
    assert {place.partition("/")[0] for place in files} == {"man", "bash", "zsh", "fish"}
    assert "complete -o default -F _kafka2hive_completion kafka2hive" in files["bash/kafka2hive"]
    assert files["zsh/_kafka2hive"].startswith("#compdef kafka2hive\n")
    assert completion("fish").startswith("complete --command kafka2hive")
