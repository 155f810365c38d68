"""What a shell is offered after --table, without a cluster; tests/integration/test_release.py asks real shells."""

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import typer.main

from kafka2hive.cli.main import app
from kafka2hive.cli.terminal.options import complete_tables

MAP = """\
service: demo
kafka: {bootstrap.servers: "kafka:9092", sasl.password: "${NOBODY_HAS_SET_THIS}"}
tables:
  - {table: air.flights, topics: [flights]}
  - {table: air.delays, topics: [delays]}
  - {table: "air.by_{1}", topics: /by-(.*)/}
  - {topics: [nameless]}
"""


def offered(config: object, incomplete: str = "") -> list[str]:
    context: Any = SimpleNamespace(params={"config": config})
    return complete_tables(context, incomplete)


def test_the_tables_of_the_map_are_offered_whose_names_are_literal(tmp_path: Path) -> None:
    path = tmp_path / "map.yaml"
    path.write_text(MAP)
    assert offered(str(path)) == ["air.flights", "air.delays"]
    assert offered(str(path), "air.d") == ["air.delays"]
    assert offered(str(path), "sea.") == []


@pytest.mark.parametrize(
    "text", ["", "tables", "tables: 5", "tables: [1, x]", "a: b: c", "tables: &a [*a]", "\x00"]
)
def test_a_map_that_is_wrong_offers_nothing(tmp_path: Path, text: str) -> None:
    path = tmp_path / "map.yaml"
    path.write_text(text)
    assert offered(str(path)) == []


def test_a_map_that_cannot_be_read_offers_nothing(tmp_path: Path) -> None:
    (tmp_path / "latin.yaml").write_bytes(b"tables: [{table: fl\xfcge}]")
    for config in (str(tmp_path / "latin.yaml"), str(tmp_path), str(tmp_path / "none.yaml"), "", None):
        assert offered(config) == []


def test_every_option_for_a_table_of_the_map_offers_the_tables() -> None:
    """All but `sample`, whose map is only drafted."""
    root: Any = typer.main.get_command(app)
    commands = {name: command for name, command in root.commands.items() if name != "sample"}
    for group in ("dead-letters", "offsets"):
        commands |= {f"{group} {name}": command for name, command in commands.pop(group).commands.items()}
    without = [
        name
        for name, command in commands.items()
        for parameter in command.params
        if "--table" in parameter.opts and parameter._custom_shell_complete is None
    ]
    assert without == []


def test_the_program_answers_the_shell_from_the_map_in_the_environment(tmp_path: Path) -> None:
    path = tmp_path / "map.yaml"
    path.write_text(MAP)
    asked = {
        "COMP_WORDS": "kafka2hive status --table air.",
        "COMP_CWORD": "3",
        "KAFKA2HIVE_CONFIG": str(path),
    }
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "from kafka2hive.cli.main import main; import sys; sys.argv = ['kafka2hive']; main()",
        ],
        env={**os.environ, **asked, "_KAFKA2HIVE_COMPLETE": "complete_bash"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout.split(), done.stderr) == (["air.flights", "air.delays"], "")
