"""`compact` while a run is alive: the run gets an order, and the command shows what became of it."""

from dataclasses import replace
from pathlib import Path

import pytest

from kafka2hive.ledger.condition_files import ConditionFiles
from kafka2hive.ledger.heartbeat import Heartbeat, ProcessIdentity
from kafka2hive.ledger.look import look
from kafka2hive.model.errors import ExitCode, ServiceUnavailable, TableError
from kafka2hive.service.compaction.command import CompactRequest, CompactResult, compact
from kafka2hive.service.process import HostProcesses
from kafka2hive.service.run.inbox_watch import LOOK_SECONDS
from kafka2hive.service.run.telemetry.liveness import ConditionTeller
from tests.harness.cli_ledger import local
from tests.harness.clock import SkippedTime
from tests.harness.compacted_days import DAYS, NAME, Days


class Operator(HostProcesses):
    """The Processes port of a command that is not the run's process."""

    def me(self) -> ProcessIdentity:
        return replace(super().me(), pid=1)


class Operated(SkippedTime):
    """The clock of a command: while the command waits, a run beside it beats and works, unless it `has_ended`."""

    def __init__(self, days: Days) -> None:
        super().__init__()
        self.notes: list[str] = []
        self.days, self.has_ended = days, False
        wiring = days.wiring
        root, service = wiring.map.storage.ledger_root, wiring.map.service
        owner = days.table.owned.ledger.generation.owner
        assert owner is not None
        self.beat = Heartbeat(wiring.ports, root, service, owner, wiring.processes.me())
        self.teller = ConditionTeller(ConditionFiles(wiring.ports, root, service, owner), self)
        self.beat.send()

    def sleep(self, seconds: float) -> None:
        super().sleep(seconds)
        if self.has_ended:
            return
        self.beat.send()
        self.teller.note([self.days.table])
        self.teller.write()
        if self.days.loop.chores.taken_slots:
            self.days.runner.write()
        self.days.idle(LOOK_SECONDS)

    def compact(self) -> CompactResult:
        wiring = self.days.wiring
        wiring = replace(wiring, ports=replace(wiring.ports, clock=self), processes=Operator())
        return compact(wiring, CompactRequest(NAME), seconds=60, note=self.note)

    def note(self, text: str) -> None:
        self.notes.append(text)


def test_a_live_run_does_it_by_order_and_the_command_shows_what_became_of_each_partition(
    tmp_path: Path,
) -> None:
    days = Days(tmp_path, "share: 0")
    days.dump(DAYS[0], 3)
    days.dump(DAYS[1], 2)
    days.idle()
    days.dump("dt=2025-11-21")
    generation = days.table.owned.ledger.generation
    result = Operated(days).compact()
    assert [(p.partition.path, p.files, p.rows, p.length, p.written_files) for p in result.partitions] == [
        (DAYS[0], 3, 15, 12, 1),
        (DAYS[1], 2, 10, 8, 1),
        ("dt=2025-11-21", 1, 5, 0, 0),
    ]
    assert [p.waits for p in result.partitions] == ["", "", "it is not complete"]
    assert result.order is not None and result.order.kind == "compact"
    assert result.exit_code is ExitCode.DONE and days.table.owned.ledger.generation == generation


def test_what_failed_in_a_live_run_is_in_the_result(tmp_path: Path) -> None:
    days = Days(tmp_path, "share: 0")
    days.dump(DAYS[0])
    days.idle()
    (early,) = days.state.early
    local(f"{early.partition.location}/added").write_bytes(b"")
    (partition,) = Operated(days).compact().partitions
    assert isinstance(partition.error, TableError) and partition.error.code == "compact.sources"
    assert "verify" in partition.error.remedy


def test_the_command_says_why_the_run_waits(tmp_path: Path) -> None:
    days = Days(tmp_path, cores=1)
    days.dump(DAYS[0])
    days.idle()
    clock = Operated(days)
    with pytest.raises(ServiceUnavailable) as unanswered:
        clock.compact()
    assert unanswered.value.code == "order.unanswered"
    assert "Spark has a single core, which records need" in unanswered.value.message
    assert any(note.startswith("waiting: order ") for note in clock.notes)


class EndsAtTheOrder(Operated):
    """Its run ends when it gets an order."""

    def note(self, text: str) -> None:
        super().note(text)
        self.has_ended |= text.startswith("order compact for")


def test_if_the_run_ends_the_command_takes_the_order_back_and_does_it_itself(tmp_path: Path) -> None:
    days = Days(tmp_path)
    days.dump(DAYS[0])
    clock = EndsAtTheOrder(days)
    result = clock.compact()
    assert clock.notes[-1] == "the run has ended: this command compacts the remaining partitions"
    assert result.error is not None and result.error.code == "hive.not_compared", "this test has no Hive"
    assert days.inbox.look() == ([], [], set()) and days.recorded() == []
    assert look(days.files, days.wiring.paths(NAME)).generation != days.table.owned.ledger.generation
