"""`size`: the sums as a person reads them, and what a wrong command line is told."""

from pathlib import Path

import pytest

from kafka2hive.cli.render.size import render_size
from kafka2hive.cli.terminal.screen import Screen
from kafka2hive.config.keys import Flush, Limits
from kafka2hive.service.sizing.model import RecordKind, TableLoad, cost_of
from tests.harness.program import command

SMALLEST = Path(__file__).parents[3] / "configs" / "smallest.yaml"


def shown(*loads: TableLoad) -> str:
    return render_size("air", cost_of(loads, Limits(), trigger_seconds=10.0), Limits(), Screen())


def test_the_sums_are_shown_with_each_table() -> None:
    told = command("size", SMALLEST, "--rate", "5000")
    assert told.code == 0
    assert "flights  5,000 records/s, 1.5 MB/s" in told.out
    assert "air.flights" in told.out and "60.0 s" in told.out and "1,440" in told.out
    assert "split the map" not in told.out and "limits.epoch_bytes" not in told.out


def test_a_map_that_is_too_large_for_one_service_is_to_be_split() -> None:
    often = TableLoad("a.{1}", 1, 300, RecordKind.JSON, Flush(interval_seconds=10.0), tables=5_000)
    assert "a.{1} x 5,000" in shown(often)
    assert "split the map into 4 services: publishing would take more than half of" in shown(often)


def test_epochs_that_would_be_full_too_soon_are_told() -> None:
    assert "set limits.epoch_bytes to 3.0 GB or more" in shown(
        TableLoad("a.b", 1e6, 300, RecordKind.JSON, Flush())
    )


def test_a_table_without_records_has_no_interval() -> None:
    (line,) = (
        line
        for line in shown(TableLoad("a.b", 0, 300, RecordKind.JSON, Flush())).splitlines()
        if "a.b" in line
    )
    assert line.split() == ["a.b", "0", "-", "0", "-"]


@pytest.mark.parametrize(
    ("arguments", "code", "why"),
    [
        ([], 2, "say how many records come"),
        (["--load", "air.flights"], 2, "is no load of a table"),
        (["--load", "air.x=5"], 78, "[usage.load] the map has no table air.x"),
        (["--rate", "-1"], 2, "--rate"),
    ],
)
def test_a_wrong_command_line_is_refused(arguments: list[str], code: int, why: str) -> None:
    told = command("size", SMALLEST, *arguments)
    assert told.code == code
    assert why in told.out + told.log
