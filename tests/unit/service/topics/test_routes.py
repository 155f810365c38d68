"""The tables and conflicts that a command's `--table` selects."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from kafka2hive.config.route import RouteConflict
from kafka2hive.model.errors import ConfigError
from kafka2hive.service.topics.routes import TopicRoutes, routed_tables
from tests.harness.cli_ledger import wired

MAP = """
tables:
  - {table: air.flights, topics: [flights], format: raw}
  - {table: air.weather, topics: [weather], format: raw}
"""
CONFLICTS = (
    RouteConflict("a.b", "air.a_b", 3, "two topics", "rename one"),
    RouteConflict("c.d", "air.c_d", 3, "two topics", "rename one"),
)


@pytest.fixture
def routes(tmp_path: Path) -> TopicRoutes:
    tables = routed_tables(wired(tmp_path, MAP.strip()), ["flights", "weather"])
    return TopicRoutes(tuple(tables), CONFLICTS)


@pytest.mark.parametrize(
    ("wanted", "tables", "conflicts"),
    [
        ([], ["air.flights", "air.weather"], ["air.a_b", "air.c_d"]),
        (["air.weather"], ["air.weather"], []),
        (["air.a_b", "air.flights"], ["air.flights"], ["air.a_b"]),
        (["air.dead_letters"], [], []),
    ],
)
def test_only_what_is_named_is_selected_and_everything_if_nothing_is(
    routes: TopicRoutes, wanted: Sequence[str], tables: Sequence[str], conflicts: Sequence[str]
) -> None:
    selection = routes.select(wanted, "air.dead_letters")
    assert [table.name for table in selection.tables] == tables
    assert [conflict.table for conflict in selection.conflicts] == conflicts


def test_a_name_that_is_neither_a_table_nor_a_conflict_is_refused(routes: TopicRoutes) -> None:
    with pytest.raises(ConfigError, match="is not in the map") as refused:
        routes.select(["air.flights", "air.wether"])
    assert (refused.value.code, refused.value.remedy) == (
        "usage.no_such_table",
        "did you mean air.weather?",
    )
