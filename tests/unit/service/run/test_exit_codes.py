"""What a run ends with: an error before a signal, a STOP before tables that will be tried again."""

import signal
from collections.abc import Sequence
from pathlib import Path

import pytest

from kafka2hive.model.errors import (
    ExitCode,
    Fenced,
    Kafka2HiveError,
    ManualActionRequired,
    ServiceUnavailable,
    TableError,
)
from kafka2hive.service.run.result import exit_code, no_table_can_go_on
from tests.harness.epoch_loop import Kafka, make_loop_and_tables, make_wiring

STOP = ManualActionRequired("ledger.missing", "a file is missing", "restore it")
LATER = TableError("hive.columns", "no column b", "add it")
FENCED = Fenced("ledger.fenced", "another run has the table")
AWAY = ServiceUnavailable("kafka.unavailable", "nobody answers")


@pytest.mark.parametrize(
    ("error", "interrupted_by", "set_aside", "code"),
    [
        (None, None, [], ExitCode.DONE),
        (None, None, [LATER], ExitCode.SET_ASIDE),
        (None, None, [LATER, STOP], ExitCode.STOP),
        (None, None, [STOP, LATER], ExitCode.STOP),
        (None, signal.SIGTERM, [], ExitCode.TERMINATED),
        (None, signal.SIGINT, [STOP], ExitCode.INTERRUPTED),
        (FENCED, None, [STOP], ExitCode.FENCED),
        (FENCED, signal.SIGTERM, [], ExitCode.FENCED),
        (AWAY, signal.SIGINT, [LATER], ExitCode.UNAVAILABLE),
        (ValueError("a bug"), None, [], ExitCode.BUG),
        (ValueError("a bug"), signal.SIGTERM, [STOP], ExitCode.BUG),
    ],
)
def test_a_run_ends_with_the_code_of_the_worst_that_happened(
    error: Exception | None, interrupted_by: int | None, set_aside: Sequence[Kafka2HiveError], code: ExitCode
) -> None:
    assert exit_code(error, interrupted_by, set_aside) is code


def test_rows_that_hive_was_not_told_of_end_a_run_where_nothing_worse_does() -> None:
    assert exit_code(None, None, [], AWAY) is ExitCode.UNAVAILABLE
    assert exit_code(None, None, [LATER], AWAY) is ExitCode.SET_ASIDE
    assert exit_code(FENCED, None, [], AWAY) is ExitCode.FENCED
    assert exit_code(None, signal.SIGTERM, [], AWAY) is ExitCode.TERMINATED


def test_a_run_ends_when_every_table_waits_for_a_person_and_not_before(tmp_path: Path) -> None:
    _, owned_tables = make_loop_and_tables(make_wiring(tmp_path), Kafka(), once=False)
    tables = owned_tables.tables.values()
    first, second = tables
    assert not no_table_can_go_on(tables) and not no_table_can_go_on([])
    owned_tables.set_aside(first, STOP)
    assert not no_table_can_go_on(tables), "the other one is dumped"
    owned_tables.set_aside(second, LATER)
    assert not no_table_can_go_on(tables), "it is tried again by itself"
    owned_tables.set_aside(second, STOP)
    assert no_table_can_go_on(tables)
