"""Texts that others control (names, keys, errors of brokers) have no effect in terminals, logs, paths and SQL."""

import io
import json
import logging
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka2hive.cli.render.dead_letters import render_letters
from kafka2hive.cli.terminal.document import json_text
from kafka2hive.cli.terminal.outcome import say, tell_error
from kafka2hive.cli.terminal.screen import Screen, render
from kafka2hive.hive.hiveql import identifier, literal, partition_spec
from kafka2hive.model.errors import TableError
from kafka2hive.model.offsets import TopicPartition
from kafka2hive.model.paths.path import parse_partition_path, partition_path
from kafka2hive.model.text import printable, printable_coloured, printable_json
from kafka2hive.observe.log import LogFormat, configure
from kafka2hive.service.inspect.dead_letters import Letter, LetterPage
from kafka2hive.service.inspect.where import OffsetPlace
from tests.harness.cli_ledger import logging_kept

# Clear the screen, set the title, hide what follows, move up and overwrite, C1's own escape, text from right to left.
ATTACKS = ("\x1b[2J", "\x1b]0;owned\x07", "\x1b[8m", "\x1b[1A\r", "\x9b2J", "\u202etxt.exe", "\x7f\x08")
HARMFUL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


@pytest.mark.parametrize("attack", ATTACKS)
def test_no_text_of_others_commands_a_terminal(attack: str, capsys: pytest.CaptureFixture[str]) -> None:
    say(render(Screen(color=False), [f"topic {attack}"]))
    say(render(Screen(color=True), [f"topic {attack}"]))
    tell_error(TableError("x", f"broker says {attack}"))
    say(json_text({"topic": attack}))
    told = capsys.readouterr()
    assert not HARMFUL.search(told.out.replace("\n", "") + told.err)
    assert printable(attack) in told.err


def test_colours_of_our_own_stay(capsys: pytest.CaptureFixture[str]) -> None:
    from rich.text import Text

    coloured = render(Screen(color=True), [Text("late", style="bold yellow")])
    assert "\x1b[1;33m" in coloured
    say(coloured)
    assert capsys.readouterr().out.rstrip("\n") == coloured


def test_a_json_document_says_the_same_and_is_harmless() -> None:
    document: dict[str, object] = {"a": "".join(ATTACKS), "b": 'é"\\n'}
    assert json.loads(json_text(document)) == document
    assert not HARMFUL.search(json_text(document).replace("\n", ""))


@given(st.text())
def test_every_text_is_printable_and_keeps_what_does_no_harm(text: str) -> None:
    assert not HARMFUL.search(printable(text)) and printable(printable(text)) == printable(text)
    assert "\x1b" not in re.sub(r"\x1b\[[0-9;]*m", "", printable_coloured(text))
    assert json.loads(printable_json(json.dumps(text, ensure_ascii=False))) == text
    if not HARMFUL.search(text):
        assert printable(text) == printable_coloured(text) == text


@pytest.mark.parametrize("log_format", [LogFormat.HUMAN, LogFormat.JSON])
def test_no_message_commands_a_terminal_or_passes_for_another_line_of_the_log(log_format: LogFormat) -> None:
    out = io.StringIO()
    with logging_kept():
        configure(log_format, stream=out)
        logging.getLogger("kafka2hive.x").warning("topic %s", "".join(ATTACKS) + "\n08:00:00 all is well")
    told = out.getvalue()
    assert not HARMFUL.search(told.replace("\n", "")) and "\n08:00:00" not in told
    assert "all is well" in told


@given(st.text(min_size=1))
def test_every_value_of_a_bucket_is_one_directory_below_the_table_and_comes_back(value: str) -> None:
    path = partition_path((("dt", "2013-01-01"), ("who", value)))
    assert path.count("/") == 1 and all(part not in (".", "..") for part in path.split("/"))
    assert path.split("/")[1].startswith("who=") and "\0" not in path and "\n" not in path
    if value != "__HIVE_DEFAULT_PARTITION__":
        assert parse_partition_path(path) == (("dt", "2013-01-01"), ("who", value))


@given(st.text(min_size=1))
def test_no_value_leaves_its_quotes_in_sql(value: str) -> None:
    spec = partition_spec(partition_path((("dt", value),)))
    assert re.fullmatch(r"PARTITION \(`dt`='(?:[^'\\]|\\.)*'\)", spec, re.DOTALL), spec
    assert re.fullmatch(r"'(?:[^'\\]|\\.)*'", literal(value), re.DOTALL)
    assert re.fullmatch(r"`(?:[^`]|``)*`", identifier(value), re.DOTALL)


def test_a_key_and_a_header_of_a_dead_letter_are_shown_as_text_that_does_nothing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    hostile = "".join(ATTACKS)
    found = Letter(
        table="db.t",
        place=OffsetPlace(TopicPartition("t", 0), 1),
        epoch=1,
        reason="json.syntax",
        detail=hostile,
        timestamp=None,
        key=hostile.encode(),
        value=hostile.encode(),
        headers=((hostile, hostile.encode()),),
        file="f",
    )
    say(render_letters(LetterPage((found,)), Screen()))
    assert not HARMFUL.search(capsys.readouterr().out.replace("\n", ""))
