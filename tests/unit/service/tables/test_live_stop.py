"""A command may take a table from a live run only if that run has stopped it since its own, newest take-over."""

from dataclasses import replace
from pathlib import Path

import pytest

from kafka2hive.ledger.condition_files import ConditionFiles
from kafka2hive.ledger.heartbeat import LiveOwner, ProcessIdentity
from kafka2hive.ledger.look import View
from kafka2hive.model.errors import ManualActionRequired, TableError
from kafka2hive.model.paths.ledger import Generation
from kafka2hive.service.process import new_uuid, owner_name
from kafka2hive.service.tables.condition import (
    Retrying,
    RunConditions,
    RunState,
    Serving,
    Stopped,
    TableCondition,
    Trouble,
    encode,
)
from kafka2hive.service.tables.live_stop import is_stop_of, stopped_by_its_run
from kafka2hive.service.wiring import Wiring
from tests.harness.cli_ledger import TABLE, wired
from tests.harness.values import view_of

RUN = ProcessIdentity("there", "boot", 2, 1, "pid:[1]")
OTHER = replace(RUN, pid=3)
TROUBLE = Trouble.of(ManualActionRequired("ledger.missing", "gone", "recover"))
BEFORE, TAKEN, AFTER = "2026-11-21T08:11:59Z", "20261121T081200Z", "2026-11-21T08:12:01Z"


@pytest.fixture
def wiring(tmp_path: Path) -> Wiring:
    tables = f"tables: [{{table: {TABLE}, topics: [flights], start: earliest, format: raw}}]"
    return wired(tmp_path, tables)


def view(owner: str) -> View:
    generation = Generation.parse(f"g000008.{TAKEN}-{owner}")
    assert generation is not None
    return replace(view_of("g000001.init", table=TABLE), generation=generation)


def say(wiring: Wiring, process: ProcessIdentity, state: RunState, table: str = TABLE) -> None:
    root, service = wiring.map.storage.ledger_root, wiring.map.service
    files = ConditionFiles(wiring.ports, root, service, owner_name(process, new_uuid()))
    files.show(encode(RunConditions((TableCondition(table, state),))))


def live(wiring: Wiring, *, repairs: bool = False) -> LiveOwner:
    return LiveOwner(wiring.map.service, repairs)


@pytest.mark.parametrize(
    ("since", "is_stop"),
    [(BEFORE, False), ("2026-11-21T08:12:00Z", True), (AFTER, True), ("", False)],
)
def test_a_stop_that_came_before_the_newest_take_over_has_ended_with_it(
    wiring: Wiring, since: str, is_stop: bool
) -> None:
    owner = owner_name(RUN, new_uuid())
    say(wiring, RUN, Stopped(TROUBLE, since))
    assert stopped_by_its_run(wiring)(live(wiring), view(owner)) is is_stop
    assert is_stop_of(Stopped(TROUBLE, since), view(owner).generation) is is_stop


@pytest.mark.parametrize("state", [Serving(), Retrying(Trouble.of(TableError("hive.x", "y")), AFTER, AFTER)])
def test_a_table_that_its_run_serves_or_tries_again_is_not_stopped(wiring: Wiring, state: RunState) -> None:
    say(wiring, RUN, state)
    assert not stopped_by_its_run(wiring)(live(wiring), view(owner_name(RUN, new_uuid())))


def test_only_what_the_owner_says_of_this_table_counts(wiring: Wiring) -> None:
    owner = owner_name(RUN, new_uuid())
    say(wiring, OTHER, Stopped(TROUBLE, AFTER))
    say(wiring, RUN, Stopped(TROUBLE, AFTER), "air.another")
    assert not stopped_by_its_run(wiring)(live(wiring), view(owner))
    assert stopped_by_its_run(wiring)(live(wiring), view(owner_name(OTHER, new_uuid())))


def test_a_command_that_repairs_the_table_has_not_stopped_it(wiring: Wiring) -> None:
    owner = owner_name(RUN, new_uuid())
    say(wiring, RUN, Stopped(TROUBLE, AFTER))
    assert not stopped_by_its_run(wiring)(live(wiring, repairs=True), view(owner))
