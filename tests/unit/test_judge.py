"""`--takeover` is meant for whoever owned a table when the run began, and for nobody who comes later."""

from collections.abc import Collection
from pathlib import Path

import pytest

from kafka2hive.config.load import load_map
from kafka2hive.ledger.init import init
from kafka2hive.ledger.take_over import take_over
from kafka2hive.model.errors import OwnedByLiveRun
from kafka2hive.service import judge as module
from kafka2hive.service.identity import new_uuid
from kafka2hive.service.judge import Judge
from kafka2hive.service.wiring import Wiring, wire
from tests.unit.cli_ledger import TABLE, write_map

ME, FIRST, LATER = "here-1", "there-2", "there-3"


@pytest.fixture
def wiring(tmp_path: Path) -> Wiring:
    wiring = wire(load_map(str(write_map(tmp_path)), {}))
    init(wiring.ports, wiring.paths(TABLE), wiring.map.service, wiring.map.tables[0].location)
    return wiring


@pytest.fixture
def alive(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Processes that beat."""
    beating: set[str] = set()

    def live_owners(*_: object) -> Collection[str]:
        return [f"{process}-{new_uuid()}" for process in beating]

    monkeypatch.setattr(module, "live_owners", live_owners)
    return beating


def own(wiring: Wiring, process: str) -> None:
    take_over(wiring.ports, wiring.paths(TABLE), f"{process}-{new_uuid()}", None)


def make_judge(wiring: Wiring, take_over: bool) -> Judge:
    return Judge(wiring.ports, wiring.map.storage.ledger_root, wiring.processes, ME, take_over)


def owner_judged(judge: Judge, wiring: Wiring) -> str:
    judge.look_again()
    return (judge.judge(wiring.paths(TABLE), None).owner or "").rsplit("-", 1)[0]


def test_a_live_owner_is_respected_without_takeover(wiring: Wiring, alive: set[str]) -> None:
    own(wiring, FIRST)
    alive.add(FIRST)
    with pytest.raises(OwnedByLiveRun):
        owner_judged(make_judge(wiring, take_over=False), wiring)


def test_who_owned_a_table_at_the_start_is_fenced_then_and_at_every_retry(
    wiring: Wiring, alive: set[str]
) -> None:
    own(wiring, FIRST)
    alive.add(FIRST)
    judge = make_judge(wiring, take_over=True)
    assert owner_judged(judge, wiring) == FIRST
    judge.end_take_over()
    assert owner_judged(judge, wiring) == FIRST, (
        "the table failed at its first try, the fenced run still beats"
    )


def test_who_comes_later_is_respected(wiring: Wiring, alive: set[str]) -> None:
    own(wiring, FIRST)
    alive |= {FIRST, LATER}
    judge = make_judge(wiring, take_over=True)
    owner_judged(judge, wiring)
    judge.end_take_over()
    own(wiring, LATER)
    with pytest.raises(OwnedByLiveRun):
        owner_judged(judge, wiring)
    alive.discard(LATER)
    assert owner_judged(judge, wiring) == LATER, "dead by now"
    own(wiring, ME)
    assert owner_judged(judge, wiring) == ME
