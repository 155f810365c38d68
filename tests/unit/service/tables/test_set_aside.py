"""A table that is set aside: how long it waits, and that it disturbs nobody."""

import math
from pathlib import Path

import pytest

from kafka2hive.model.errors import (
    ExitCode,
    Kafka2HiveError,
    ManualActionRequired,
    ServiceUnavailable,
    TableError,
)
from kafka2hive.service.tables.table_state import Table
from kafka2hive.service.topics.routes import routed_tables
from tests.harness.cli_ledger import wired


@pytest.fixture
def table(tmp_path: Path) -> Table:
    wiring = wired(tmp_path, "tables: [{table: air.flights, topics: [flights], format: raw}]")
    (only,) = routed_tables(wiring, ["flights"])
    return Table(only)


@pytest.mark.parametrize(
    ("error", "longest"),
    [(TableError("a.b", "no room"), 300.0), (ServiceUnavailable("a.b", "Kafka is away"), 30.0)],
)
def test_waits_double_up_to_the_longest_however_often_it_fails(
    table: Table, error: Kafka2HiveError, longest: float
) -> None:
    waits = [table.set_aside(error, 0.0).until for _ in range(2000)]
    assert waits[:3] == [5.0, 10.0, 20.0]
    assert waits[-1] == longest
    assert not table.needs_manual_action


def test_work_on_a_table_without_its_ledger_is_a_bug_that_names_it(table: Table) -> None:
    with pytest.raises(Kafka2HiveError) as refused:
        _ = table.owned
    assert (refused.value.code, refused.value.exit_code) == ("table.not_owned", ExitCode.BUG)
    assert refused.value.message == "air.flights is used without its ledger"
    assert refused.value.remedy == "please report this bug"


def test_a_stop_waits_for_a_person(table: Table) -> None:
    assert not table.needs_manual_action
    assert table.set_aside(ManualActionRequired("a.b", "impossible"), 0.0).until == math.inf
    assert table.needs_manual_action
