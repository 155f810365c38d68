"""Twenty thousand schedules of the production ledger code, and the proof that they are what they claim to be."""

import os
import subprocess
import sys
from collections.abc import Callable

import pytest

from tests.conftest import SAID
from tests.simulation.campaign import run_campaign
from tests.simulation.coverage import CASES, never_happened
from tests.simulation.kinds import KINDS
from tests.simulation.schedule import run_schedule, without_logs
from tests.simulation.trace import run_traced

SCHEDULES = 20_000
PROCESSES = 2


@pytest.mark.timeout(1200)
def test_every_record_is_visible_exactly_once_after_every_schedule(
    record_property: Callable[[str, object], None],
) -> None:
    tally = run_campaign(first=0, schedules=SCHEDULES, jobs=PROCESSES)
    cases = ", ".join(f"{case} {tally.count[case]}" for case in CASES["ledger"])
    record_property(SAID, f"ledger: {tally.schedules} schedules, {tally.steps} calls; {cases}")
    assert tally.violations == {}, "replay: scripts/simulate --seed SEED --schedules 1 --trace"
    assert tally.schedules == SCHEDULES
    assert never_happened(tally.count) == []


@pytest.mark.timeout(1200)
@pytest.mark.parametrize(("kind", "schedules"), [("service", 1_500), ("damage", 800)])
def test_every_promise_of_whole_services_holds_after_every_schedule(
    kind: str, schedules: int, record_property: Callable[[str, object], None]
) -> None:
    tally = run_campaign(first=0, schedules=schedules, jobs=PROCESSES, kind=kind)
    cases = ", ".join(f"{case} {tally.count[case]}" for case in CASES[kind])
    record_property(SAID, f"{kind}: {tally.schedules} schedules, {tally.steps} calls; {cases}")
    assert tally.violations == {}, f"replay: scripts/simulate --kind {kind} --seed SEED --schedules 1 --trace"
    assert tally.schedules == schedules
    assert never_happened(tally.count, kind) == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_seed_gives_the_same_schedule_every_time(kind: str) -> None:
    first: list[str] = []
    second: list[str] = []
    run_traced(11, first.append, kind=kind)
    run_traced(11, second.append, kind=kind)
    assert first == second
    assert len(first) > 100


def test_tracing_a_schedule_does_not_change_it() -> None:
    with without_logs():
        plain = run_schedule(12)
        traced = run_schedule(12, trace=lambda line: None)
    assert (plain.steps, plain.count, plain.violation) == (traced.steps, traced.count, traced.violation)


@pytest.mark.parametrize("kind", KINDS)
def test_a_schedule_does_not_depend_on_the_order_of_hashes(kind: str) -> None:
    command = [
        sys.executable,
        "-m",
        "tests.simulation.command",
        "--kind",
        kind,
        "--seed",
        "13",
        "--schedules",
        "3" if kind == "ledger" else "1",
        "--trace",
    ]
    traces = {
        subprocess.run(
            command, env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(traces) == 1


def test_other_seeds_give_other_schedules() -> None:
    with without_logs():
        outcomes = [run_schedule(seed) for seed in range(5)]
    assert len({outcome.steps for outcome in outcomes}) > 1
    assert len({str(sorted(outcome.count.items())) for outcome in outcomes}) == 5
