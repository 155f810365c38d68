"""The file of an order and the line that records it: first the line, then the move, and neither of them twice."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from kafka2hive.ledger.inbox import (
    CompactPartitions,
    GiveUpRegistration,
    Inbox,
    Instruction,
    Order,
    PauseTable,
    ReplayLetters,
    ResumeTable,
    new_order,
)
from kafka2hive.ledger.init import init
from kafka2hive.ledger.look import look
from kafka2hive.model.errors import AmbiguousOutcome
from kafka2hive.model.snapshot import MOST_ORDERS, RecordedOrder, Snapshot
from kafka2hive.service.orders.answers import answer_orders, split_long
from kafka2hive.service.orders.delivery import carry_out_waiting
from kafka2hive.service.wiring import Wiring
from kafka2hive.storage.port import Denied
from tests.harness.cli_ledger import local, wired
from tests.harness.values import snapshot

FIRST, SECOND = "air.first", "air.second"
TABLES = f"""\
defaults: {{start: earliest, format: raw}}
tables: [{{table: {FIRST}, topics: [first]}}, {{table: {SECOND}, topics: [second]}}]
"""


class Scene:
    """A service without a run. `fails` are the verbs that its file system refuses in the inbox."""

    def __init__(self, folder: Path) -> None:
        self.wiring: Wiring = wired(folder, TABLES)
        for rule in self.wiring.map.tables:
            init(self.wiring.ports, self.wiring.paths(rule.table), self.wiring.map.service, rule.location)
        self.inbox = self._inbox()
        self.published: list[str] = []
        self.state: Snapshot = snapshot()

    def _inbox(self) -> Inbox:
        return Inbox(self.wiring.ports, self.wiring.map.storage.ledger_root, self.wiring.map.service)

    def give(self, table: str = FIRST, instruction: Instruction | None = None) -> Order:
        given = new_order(
            self.wiring.ports, self.wiring.map.service, table, "anna", instruction or PauseTable()
        )
        order = replace(given, given_at=f"2026-11-25T08:00:{len(self.waiting()):02d}Z")
        self.inbox.give(order)
        return order

    def waiting(self) -> list[str]:
        return [order.id for order in self.inbox.look()[0]]

    def done(self) -> list[str]:
        directory = local(f"{self.inbox.directory}/done")
        return sorted(path.stem for path in directory.iterdir()) if directory.exists() else []

    def record(self, order: Order) -> None:
        """What an owner does: a snapshot with the order's line. The file must be in the inbox still."""
        assert order.id in self.waiting()
        self.published.append(order.id)
        line = recorded(order)
        self.state = replace(self.state, orders=(*self.state.orders, line)[-MOST_ORDERS:])

    def answer(self, orders: Sequence[Order]) -> None:
        answer_orders(self.inbox, orders, lambda: self.state, self.record)

    def refuse_renames(self) -> None:
        real = self.wiring.ports.files

        class Refusing:
            def rename(self, source: str, target: str) -> None:
                if "/inbox/" in target:
                    raise Denied(target, "no permission")
                real.rename(source, target)

            def __getattr__(self, name: str) -> object:
                return getattr(real, name)

        ports = replace(self.wiring.ports, files=Refusing())  # type: ignore[arg-type]
        self.wiring = replace(self.wiring, ports=ports)
        self.inbox = self._inbox()


def recorded(order: Order) -> RecordedOrder:
    return RecordedOrder(
        id=order.id,
        kind=order.instruction.kind,
        given_by=order.given_by,
        given_at=order.given_at,
        done_at="2026-11-25T09:00:00Z",
        epoch=2,
        result="done",
    )


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path)


def test_an_order_is_recorded_once_and_its_file_is_moved_after_that(scene: Scene) -> None:
    orders = [scene.give(), scene.give(instruction=ResumeTable())]
    scene.answer(orders)
    assert scene.published == [order.id for order in orders]
    assert scene.waiting() == [] and scene.done() == sorted(scene.published)


def test_an_order_whose_line_is_not_committed_stays_in_the_inbox(scene: Scene) -> None:
    orders = [scene.give(), scene.give()]

    def fail(order: Order) -> None:
        raise AmbiguousOutcome("ledger.no_answer", "no answer")

    with pytest.raises(AmbiguousOutcome):
        answer_orders(scene.inbox, orders, lambda: scene.state, fail)
    assert scene.waiting() == [order.id for order in orders] and scene.done() == []


def test_an_order_that_a_snapshot_records_is_moved_and_not_done_again(scene: Scene) -> None:
    order = scene.give()
    scene.state = replace(scene.state, orders=(recorded(order),))
    scene.answer([order])
    assert scene.published == [] and scene.done() == [order.id]


def test_orders_behind_a_file_that_cannot_be_moved_wait(scene: Scene) -> None:
    """Otherwise a snapshot, which lists the last orders only, would forget that this one was done."""
    orders = [scene.give(), scene.give()]
    scene.refuse_renames()
    for _ in range(2):
        scene.answer(orders)
    assert scene.published == [orders[0].id] and len(scene.waiting()) == 2


def test_a_long_order_is_answered_at_once_only_if_its_end_is_recorded(scene: Scene) -> None:
    long = [scene.give(instruction=each) for each in (CompactPartitions(), ReplayLetters("", "", "x"))]
    short = scene.give()
    assert split_long([*long, short], scene.state) == ([short], long)
    scene.state = replace(scene.state, orders=(recorded(long[0]),))
    assert split_long([*long, short], scene.state) == ([long[0], short], [long[1]])


def test_a_command_answers_the_orders_of_its_table_that_need_no_run(scene: Scene) -> None:
    mine, other = scene.give(FIRST), scene.give(SECOND)
    left = [
        scene.give(FIRST, each)
        for each in (CompactPartitions(), ReplayLetters("", "", "x"), GiveUpRegistration(FIRST, "dt=1"))
    ]
    carry_out_waiting(scene.wiring, scene.wiring.paths(FIRST), lambda: None)
    states = [look(scene.wiring.ports.files, scene.wiring.paths(table)).state for table in (FIRST, SECOND)]
    assert [[line.id for line in state.orders] for state in states] == [[mine.id], []]
    assert states[0].paused is not None and states[1].paused is None
    assert set(scene.waiting()) == {other.id, *(order.id for order in left)} and scene.done() == [mine.id]
    epoch = states[0].epoch
    carry_out_waiting(scene.wiring, scene.wiring.paths(FIRST), lambda: None)
    assert look(scene.wiring.ports.files, scene.wiring.paths(FIRST)).state.epoch == epoch
