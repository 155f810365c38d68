"""What judges a soak: growth of a run, and files that an earlier check has read."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from tests.oracle.exact import Inexact
from tests.oracle.tree import LocalTree
from tests.services.produce import Place
from tests.soak.checks import Newer
from tests.soak.many_tables import assert_prefix, payload
from tests.soak.report import POINTS, SETTLED_SECONDS, Piece, growths, report, slower
from tests.soak.samples import Epoch, Sample

FIRST = Sample(
    at=0, run=0, age=0, driver_mb=100, jvm_mb=500, workers_mb=300, threads=80, descriptors=200, connections=9,
    epochs=0, ledger_files=50, ledger_kb=70,
)  # fmt: skip


def an_hour(run: int = 0, threads_more: float = 0.0) -> list[Sample]:
    """A run's samples, whose threads become more with each."""
    return [
        replace(FIRST, at=10.0 * n, age=10.0 * n, run=run, threads=80 + int(n * threads_more))
        for n in range(360)
    ]


def test_a_run_that_holds_ever_more_threads_has_grown_and_a_steady_one_has_not() -> None:
    assert all(growth.is_allowed for growth in growths(an_hour()))
    grown = [growth for growth in growths(an_hour(threads_more=1)) if not growth.is_allowed]
    assert [(growth.name, growth.run) for growth in grown] == [("threads", 0)]


def test_a_run_that_has_just_settled_is_not_judged() -> None:
    young = [sample for sample in an_hour(threads_more=5) if sample.age < SETTLED_SECONDS + 200]
    assert growths(young) == []


def test_the_report_has_pieces_faults_growth_and_short_charts() -> None:
    pieces = [
        Piece("2026-11-28T10:00", 7, 3600, 1_000_000, 6, 1, 900, 12.5, "exact", {"broker_killed": 3}, {"broker_killed": 4.2}),
        Piece("2026-11-28T12:00", 8),
    ]  # fmt: skip
    text = report(pieces, [[*an_hour(), *an_hour(run=1, threads_more=0.01)], []])
    assert "| 1 | 2026-11-28T10:00 | 1.00 | 7 | 1,000,000 | 900 | 3 | 2 | 6 | 12.5 | exact |" in text
    assert "| 2 | 2026-11-28T12:00 | 0.00 | 8 | 0 | 0 | 0 | 1 | 0 | 0.0 | not ended |" in text
    assert "| broker_killed | 3 | 4.2 |" in text
    assert "| 1 | 1 | 1.00 | 100 → 100 | 500 → 500 | 300 → 300 | 80 → 83 |" in text
    charts = [line for line in text.splitlines() if line.startswith("  line [")]
    assert len(charts) == 6 and all(line.count(",") < POINTS for line in charts)


def an_epoch(tables: int, seconds: float) -> Epoch:
    return Epoch(0, tables, 9, seconds, {"tasks": seconds}, 600.0, 300.0)


def test_epochs_are_slower_if_a_table_takes_more_of_the_last_large_ones_than_of_the_first() -> None:
    small, first = an_epoch(1, 0.3), an_epoch(200, 60)
    steady = [first, *(an_epoch(200, 2) for _ in range(6)), small, small]
    assert slower(steady) == "" and slower([first, small]) == ""
    assert "30.0 ms of an epoch, 10.0 ms" in slower([*steady, an_epoch(200, 6), an_epoch(200, 6)])
    piece = Piece("2026-11-28T10:00", 7, figures={"records": 5}, epoch_figures=steady)
    assert "Epochs: 10.0 → 10.0 ms for a table" in report([piece], [[]])


def test_a_table_shows_a_prefix_of_what_kafka_has_each_record_once() -> None:
    place, name = ("many-0000", 3), "many.t0000"
    rows: Counter[tuple[Place, bytes | None]] = Counter(
        {((*place, offset), payload(*place, offset)): 1 for offset in range(4)}
    )
    assert_prefix(name, rows, {place: 4}, {place: 4})
    assert_prefix(name, rows, {}, {place: 9})
    with pytest.raises(Inexact, match=r"has 4 records .* its ledger had 5"):
        assert_prefix(name, rows, {place: 5}, {place: 9})
    with pytest.raises(Inexact, match="offset 3"):
        assert_prefix(name, rows, {}, {place: 3})
    with pytest.raises(Inexact, match="2 times"):
        assert_prefix(name, rows + rows, {}, {place: 9})
    with pytest.raises(Inexact, match="offset 1"):
        assert_prefix(name, Counter([((*place, 1), payload(*place, 0))]), {}, {place: 9})


def test_a_file_that_was_read_is_not_read_again_and_must_stay(tmp_path: Path) -> None:
    table = f"file://{tmp_path}/t"
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "a.final").write_bytes(b"12")
    tree = Newer(LocalTree(), {f"{table}/a.final": 2})
    (tmp_path / "t" / "b.final").write_bytes(b"1")
    assert tree.files(table) == {f"{table}/b.final": 1}
    (tmp_path / "t" / "c.final").write_bytes(b"1")
    assert tree.files(table) == {f"{table}/b.final": 1}, "listed again"
    (tmp_path / "t" / "a.final").write_bytes(b"123")
    with pytest.raises(Inexact, match=r"gone or changed.*a\.final"):
        Newer(LocalTree(), tree.known).files(table)
