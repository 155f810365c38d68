"""Names and paths in the output of a command are not broken, in a pipe and on a narrow terminal."""

import pytest

from kafka2hive.cli.terminal.screen import Screen, grid, render

NAME = "a_database_with_a_long_name.a_table_whose_name_is_longer_than_most_names_of_tables_are_and_may_be"
WORDS = "some words that wrap between words on a terminal of eighty columns, as they always did"


@pytest.mark.parametrize("screen", [Screen(), Screen(80), Screen(40)], ids=["pipe", "80", "40"])
def test_no_name_in_a_table_is_broken(screen: Screen) -> None:
    table = grid("table", "what", "path")
    table.add_row(NAME, WORDS, f"hdfs://nameservice/warehouse/{NAME}/dt=2013-01-01")
    text = render(screen, [table])
    assert f"{NAME} " in text and f"hdfs://nameservice/warehouse/{NAME}/dt=2013-01-01" in text


def test_a_row_is_one_line_where_there_is_no_terminal() -> None:
    table = grid("table", "what")
    table.add_row(NAME, WORDS)
    assert render(Screen(), [table]).splitlines()[-1] == f"{NAME}   {WORDS}"


def test_words_wrap_on_a_terminal() -> None:
    table = grid("what")
    table.add_row(WORDS)
    assert max(map(len, render(Screen(40), [table]).splitlines())) <= 40
