"""A live run replays dead letters by order: one batch, then the table's records, then the next batch; counted truly."""

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from kafka2hive.ledger.inbox import Inbox, Instruction, PauseTable, ReplayLetters, new_order
from kafka2hive.model.errors import TableError
from kafka2hive.model.files import DataFile, FileKind, HivePartition
from kafka2hive.model.offsets import OffsetAccounting, RangeAccounting
from kafka2hive.model.paths.ledger import is_draft_name
from kafka2hive.model.paths.path import base_name
from kafka2hive.model.paths.table_directory import DataFileName, bucket_slug, ledger_tag, staging_directory
from kafka2hive.model.snapshot import Snapshot
from kafka2hive.plan.contract import LETTERS_MISSING, PlannedEpoch, TableFailure, TableManifest, TableTask
from kafka2hive.service.replay.letter_files import ReplayCounts, rules_digest
from kafka2hive.service.run.inbox_watch import LOOK_SECONDS, InboxWatch
from kafka2hive.storage.local import LocalFileSystem, LocalWriter
from kafka2hive.storage.port import NoRoom, Unavailable
from tests.harness.epoch_loop import EARLY, LATE, AtOnce, Kafka, make_loop_and_tables, make_wiring
from tests.harness.task_files import delivered_as
from tests.unit.service.owned_table import restate

TABLE = "air.late"
PLACE = HivePartition("air.once_dead_letters", f"source_table={TABLE}/dt=2026-01-01", "")


@dataclass
class Tasks:
    """What tasks make: of records one file of letters, of letters rows, unless `stay` has their file."""

    folder: Path
    stay: int = 0
    failure: TableFailure | None = None

    def manifest(self, index: int, task: TableTask) -> TableManifest:
        manifest = TableManifest(
            table=task.table, task=index, generation=task.generation, epoch=task.epoch, chosen=1
        )
        if task.replay is None:
            kind, count = FileKind.DEAD_LETTER, sum(map(len, task.ranges))
            account = OffsetAccounting(read=count, dead_lettered=count)
        else:
            kind, count = FileKind.DATA, task.replay.rows
            account = OffsetAccounting(read=count, written=count)
            if self.failure is not None:
                return replace(manifest, failure=self.failure)
            if self.stay:
                self.stay -= 1
                account = OffsetAccounting(read=count, dead_lettered=count)
                return replace(manifest, accounts=(RangeAccounting(index, task.ranges[0], account),))
        file = self._staged(index, task, kind, count)
        accounts = tuple(RangeAccounting(index, r, account) for r in task.ranges[:1])
        return replace(manifest, files=(file,), accounts=accounts, delivered=delivered_as(accounts))

    def _staged(self, index: int, task: TableTask, kind: FileKind, rows: int) -> DataFile:
        warehouse = f"file://{self.folder}/warehouse"
        home = f"{warehouse}/air.db/late"
        place = HivePartition(task.table, "dt=1", f"{home}/dt=1")
        if kind is FileKind.DEAD_LETTER:
            path = PLACE.path.replace(TABLE, task.table)
            place = HivePartition(PLACE.table, path, f"{warehouse}/dead/{path}")
        name = DataFileName(
            slug=bucket_slug(place.path),
            task=index,
            ledger=ledger_tag(task.ledger_id),
            generation=task.generation,
            epoch=task.epoch,
            uuid=f"{index:032x}",
            extension="parquet",
        )
        staged = f"{staging_directory(home)}/{name.in_state('pending')}"
        local = Path(staged.removeprefix("file://"))
        local.parent.mkdir(parents=True, exist_ok=True)
        local.write_bytes(b"letters")
        return DataFile(
            kind=kind,
            staged=staged,
            final=f"{place.location}/{name.in_state('final')}",
            hive_partition=place,
            length=7,
            rows=rows,
            checksum="crc32:00000000",
            task=index,
            ranges=task.ranges,
        )


class Storage(LocalFileSystem):
    """A file system that cannot read the paths with `unreadable` in them; `reads` are by file name.

    While it is full, no snapshot can be written.
    """

    def __init__(self) -> None:
        super().__init__()
        self.unreadable: str | None = None
        self.is_full = False
        self.reads = Counter[str]()
        self.slow: Callable[[], None] = lambda: None

    def create(self, path: str) -> LocalWriter:
        if self.is_full and is_draft_name(base_name(path)):
            raise NoRoom(path, "quota exceeded")
        return super().create(path)

    def read(self, path: str) -> bytes:
        self.reads[Path(path).name] += 1
        self.slow()
        if self.unreadable is not None and self.unreadable in path:
            raise Unavailable(f"{path}: no answer")
        return super().read(path)


class Service:
    """A run of two tables, whose map makes letters of all records until it is changed."""

    def __init__(
        self, folder: Path, *, slots: int = 2, once: bool = False, retain_days: int | None = None
    ) -> None:
        self.kafka, self.tasks = Kafka(), Tasks(folder)
        self.wiring, self.storage = make_wiring(folder), Storage()
        self.wiring = replace(self.wiring, ports=replace(self.wiring.ports, files=self.storage))
        retain = None if retain_days is None else 86_400.0 * retain_days
        rules = tuple(replace(rule, dead_letter_share=1.0, retain=retain) for rule in self.wiring.map.tables)
        letters = replace(self.wiring.map.dead_letters, location=f"file://{folder}/warehouse/dead")
        self.wiring = replace(self.wiring, map=replace(self.wiring.map, tables=rules, dead_letters=letters))
        self.inbox = Inbox(self.wiring.ports, self.wiring.map.storage.ledger_root, self.wiring.map.service)
        self.loop, self.tables = make_loop_and_tables(
            self.wiring,
            self.kafka,
            once=once,
            schemas=AtOnce(),
            orders=InboxWatch(self.wiring),
            slots=lambda: slots,
        )

    def give(self, instruction: Instruction | None = None, table: str = TABLE) -> str:
        rules = rules_digest(self.tables.tables[table].rule, self.wiring.map)
        order = new_order(
            self.wiring.ports,
            self.wiring.map.service,
            table,
            "anna@etl1",
            instruction or ReplayLetters("", "", rules),
        )
        self.inbox.give(order)
        self.wiring.ports.clock.sleep(LOOK_SECONDS)
        return order.id

    @property
    def state(self) -> Snapshot:
        return self.tables.tables[TABLE].owned.state

    def plan(self) -> PlannedEpoch | None:
        self.wiring.ports.clock.sleep(600)  # the flush interval is over
        return self.loop.plan()

    def dump(self, epoch: PlannedEpoch | None = None) -> list[TableTask]:
        """Do an epoch and return its tasks."""
        epoch = epoch or self.plan()
        if epoch is None:
            return []
        manifests = [self.tasks.manifest(p.index, t) for p in epoch.tasks for t in p.tables]
        self.loop.on_epoch(epoch.number, manifests)
        return [t for p in epoch.tasks for t in p.tables]

    def letters(self, files: int) -> "Service":
        """Dump so many files of letters into the table."""
        for _ in range(files):
            self.kafka.ends[LATE] += 3
            assert [t.table for t in self.dump() if t.table == TABLE]
        return self

    @property
    def answer(self) -> ReplayCounts:
        return ReplayCounts.parse(self.state.orders[-1].result)


def of_letters(tasks: list[TableTask]) -> list[str]:
    return [task.table for task in tasks if task.replay is not None]


@pytest.fixture
def service(tmp_path: Path) -> Service:
    return Service(tmp_path).letters(5)


def test_a_batch_of_letters_takes_turns_with_the_records_of_its_table_and_holds_up_no_other(
    service: Service,
) -> None:
    order_id = service.give()
    seen = []
    for _ in range(6):
        service.kafka.ends[EARLY] += 1
        service.kafka.ends[LATE] += 1
        tasks = service.dump()
        assert "air.early" in [task.table for task in tasks]
        late = [task for task in tasks if task.table == TABLE]
        seen.append([task.replay is not None for task in late])
    assert seen == [[True, True], [False], [True, True], [False], [True], [False]]
    assert (service.answer.files, service.answer.account.read, service.answer.account.written) == (5, 26, 26)
    assert service.state.replaying is None
    assert (service.state.orders[-1].id, service.state.orders[-1].given_by) == (order_id, "anna@etl1")
    assert service.inbox.look() == ([], [], set())


def test_what_a_killed_run_has_replayed_is_counted_and_not_done_again(
    service: Service, tmp_path: Path
) -> None:
    service.give()
    service.tasks.stay = 1
    assert len(of_letters(service.dump())) == 2
    running = service.state.replaying
    assert running is not None and (running.files, running.through) == (1, service.state.epoch - 1)
    again = Service(tmp_path)
    again.kafka.ends = dict(service.kafka.ends)
    again.tasks.stay = 1
    tasks = []
    while batch := of_letters(again.dump()):
        tasks += batch
    assert len(tasks) == 4
    assert (again.answer.files, again.answer.unchanged) == (4, 1)
    assert again.answer.account.read == again.answer.account.written
    assert again.inbox.look() == ([], [], set())


def test_letters_of_later_epochs_are_no_part_of_the_order(service: Service) -> None:
    service.give()
    epochs = 0
    while service.state.replaying is not None or not service.state.orders:
        service.kafka.ends[LATE] += 1
        service.dump()
        epochs += 1
        assert epochs < 20, "it runs after the letters of the stream"
    assert service.answer.files == 5


def test_a_run_that_goes_on_with_an_order_leaves_out_letters_that_came_since(
    service: Service, tmp_path: Path
) -> None:
    service.give()
    assert len(of_letters(service.dump())) == 2
    service.kafka.ends[LATE] += 1
    assert of_letters(service.dump()) == [], "the stream's next records, which are letters, too"
    again = Service(tmp_path)
    again.kafka.ends = dict(service.kafka.ends)
    while of_letters(again.dump()):
        pass
    assert again.answer.files == 5


def test_a_run_of_once_ends_when_the_order_is_done(tmp_path: Path) -> None:
    Service(tmp_path).letters(3)
    once = Service(tmp_path, once=True)
    once.kafka.ends[LATE] += 9
    once.give()
    once.give()
    while once.dump():
        pass
    assert [each.kind for each in once.state.orders] == ["replay", "replay"]
    first = ReplayCounts.parse(once.state.orders[0].result)
    assert (first.files, once.answer.files) == (3, 0)
    assert once.inbox.look() == ([], [], set())


def test_a_run_with_other_rules_for_the_table_refuses(service: Service) -> None:
    epoch = service.state.epoch
    service.give(ReplayLetters("", "", "another digest"))
    assert service.dump() == []
    assert service.state.orders[-1].result.startswith("[order.other_map]")
    assert "restart the run with the new map" in service.state.orders[-1].result
    assert service.state.epoch == epoch + 1 and service.inbox.look() == ([], [], set())


def test_a_run_with_other_rules_says_what_an_earlier_run_has_done(service: Service, tmp_path: Path) -> None:
    service.give()
    assert of_letters(service.dump())
    again = Service(tmp_path)
    again.kafka.ends = dict(service.kafka.ends)
    table = again.tables.tables[TABLE]
    table.in_map = replace(table.in_map, rule=replace(table.rule, format="json"))
    assert of_letters(again.dump()) == []
    assert "the order ends after 2 files with 17 letters" in again.state.orders[-1].result
    assert again.state.orders[-1].result.startswith("[order.other_map]") and again.state.replaying is None


def test_rules_differ_by_what_makes_a_row_and_not_by_where_the_table_begins(service: Service) -> None:
    rule = service.tables.tables[TABLE].rule
    digest = rules_digest(rule, service.wiring.map)
    assert digest == rules_digest(replace(rule, line=rule.line + 7, topics=("x",)), service.wiring.map)
    assert digest != rules_digest(replace(rule, format="json"), service.wiring.map)
    dead = replace(service.wiring.map.dead_letters, location="file:///elsewhere")
    assert digest != rules_digest(rule, replace(service.wiring.map, dead_letters=dead))


def test_files_that_are_not_there_are_named_and_the_order_goes_on(
    service: Service, caplog: pytest.LogCaptureFixture
) -> None:
    service.tasks.failure = TableFailure(LETTERS_MISSING, "is not there")
    service.give()
    while service.dump():
        pass
    answer = service.answer
    assert (answer.files, answer.not_read_files, len(answer.not_read)) == (0, 5, 3)
    assert answer.not_read[0][1] == "is not there" and caplog.text.count("were not read: is not there") == 5


def test_a_failure_ends_the_order_and_not_the_table(service: Service) -> None:
    service.give()
    assert of_letters(service.dump())
    service.tasks.failure = TableFailure("task.storage", "no room")
    assert of_letters(service.dump())
    result = service.state.orders[-1].result
    assert result.startswith("[task.storage] no room (2 files with 17 letters replayed before)")
    assert service.tables.tables[TABLE].aside is None and service.state.replaying is None
    assert service.dump() == [] and service.inbox.look() == ([], [], set())


def test_letters_whose_tasks_die_are_tried_alone_and_blame_no_other_table(service: Service) -> None:
    service.give()
    service.kafka.ends[EARLY] += 1
    epoch = service.plan()
    assert epoch is not None
    service.loop.on_failed(epoch.number, "a worker died")
    service.kafka.ends[EARLY] += 1
    alone = service.plan()
    assert alone is not None
    assert [[t.table for t in p.tables] for p in alone.tasks] == [
        [TABLE]
    ] * 2  # of 5 files, as many as there are slots
    service.loop.on_failed(alone.number, "a worker died")
    assert service.state.orders[-1].result.startswith("[task.killed]")
    service.kafka.ends[LATE] += 1
    assert {t.table for t in service.dump()} == {"air.early", TABLE}
    assert [t for t in service.tables.tables.values() if t.aside is not None] == []


def test_letters_that_must_be_alone_are_so_once(service: Service) -> None:
    service.give()
    service.kafka.ends[EARLY] += 1
    epoch = service.plan()
    assert epoch is not None
    service.loop.on_failed(epoch.number, "a worker died")
    seen = []
    for _ in range(5):
        service.kafka.ends[EARLY] += 1
        service.kafka.ends[LATE] += 1
        seen.append({(task.table, task.replay is not None) for task in service.dump()})
    early, records, letters = ("air.early", False), (TABLE, False), (TABLE, True)
    assert seen == [{letters}, {early, records}, {early, letters}, {early, records}, {early, letters}]


def test_letters_that_were_alone_by_chance_are_tried_once_more(service: Service) -> None:
    service.give()
    for _ in range(2):
        assert service.state.orders == ()
        epoch = service.plan()
        assert epoch is not None
        assert {t.table for p in epoch.tasks for t in p.tables} == {TABLE}
        service.loop.on_failed(epoch.number, "a worker died")
    assert service.state.orders[-1].result.startswith("[task.killed]")


@pytest.mark.parametrize("code", ["storage.unavailable", "storage.outcome_unknown"])
def test_an_outage_of_the_storage_holds_up_an_order_and_the_table_reads_on(
    service: Service, code: str
) -> None:
    service.give()
    assert of_letters(service.dump())
    service.tasks.failure = TableFailure(code, "a DataNode does not answer")
    for _ in range(3):
        assert of_letters(service.dump())
        assert service.state.orders == () and service.tables.tables[TABLE].aside is not None
        service.kafka.ends[LATE] += 1
        assert [task.replay for task in service.dump() if task.table == TABLE] == [None]
    service.tasks.failure = None
    while of_letters(service.dump()):
        pass
    assert (service.answer.files, service.answer.account.read) == (5, 26)


def test_letters_that_must_be_alone_stay_so_after_an_outage(service: Service) -> None:
    service.give()
    service.kafka.ends[EARLY] += 1
    epoch = service.plan()
    assert epoch is not None
    service.loop.on_failed(epoch.number, "a worker died")
    service.tasks.failure = TableFailure("storage.unavailable", "a DataNode does not answer")
    seen = []
    for _ in range(3):
        service.kafka.ends[EARLY] += 1
        seen.append({(task.table, task.replay is not None) for task in service.dump()})
        service.tasks.failure = None
    letters, records = {(TABLE, True)}, {("air.early", False)}
    assert seen == [letters, records, letters]


def test_an_order_ends_if_the_storage_never_answers_for_a_file(service: Service) -> None:
    service.give()
    service.tasks.failure = TableFailure("storage.unavailable", "no DataNode has block 7")
    tries = 0
    while of_letters(service.dump()):
        tries += 1
    assert tries == 10
    assert service.state.orders[-1].result.startswith("[storage.unavailable] no DataNode has block 7")
    assert service.tables.tables[TABLE].serves(service.wiring.ports.clock.monotonic())


def test_an_order_whose_file_is_deleted_ends_where_it_is(service: Service, tmp_path: Path) -> None:
    order_id = service.give()
    assert of_letters(service.dump())
    (tmp_path / f"kafka2hive/inbox/once/{order_id}.json").unlink()
    service.wiring.ports.clock.sleep(LOOK_SECONDS)
    assert service.dump() == [] and service.state.orders == ()


def test_an_order_that_cannot_be_read_for_a_while_is_not_withdrawn(service: Service) -> None:
    first = service.give()
    assert len(of_letters(service.dump())) == 2
    second = service.give()
    service.storage.unreadable = first
    assert len(of_letters(service.dump())) == 2
    running = service.state.replaying
    assert running is not None and (running.order, running.files) == (first, 4)
    service.storage.unreadable = None
    while service.dump():
        pass
    assert [each.id for each in service.state.orders] == [first, second]
    assert ReplayCounts.parse(service.state.orders[0].result).files == 5


def test_a_search_goes_on_where_the_storage_did_not_answer(service: Service) -> None:
    newest = service.state.epoch
    service.give()
    service.storage.unreadable = "/e000003."
    service.storage.reads.clear()
    for _ in range(4):
        assert of_letters(service.dump()) == [] and service.tables.tables[TABLE].aside is None
    service.storage.unreadable = None
    while service.dump():
        pass
    assert service.answer.files == 5
    reads = [service.storage.reads[f"e{epoch:06d}.final"] for epoch in range(newest + 1)]
    assert reads[3:] == [5, 5, *[1] * (newest - 4)] and reads[:3] == [1, 1, 1]


@pytest.mark.parametrize("is_busy", [False, True])
def test_a_long_search_takes_more_time_if_nothing_else_is_due(service: Service, is_busy: bool) -> None:
    service.letters(15)
    service.give()
    service.storage.slow = lambda: service.wiring.ports.clock.sleep(0.2)
    plans, tasks = 0, list[TableTask]()
    while not of_letters(tasks):
        service.kafka.ends[EARLY] += is_busy
        tasks = service.dump()
        plans += 1
        assert plans < 20
    assert plans > 5 if is_busy else plans == 2


def test_the_next_run_begins_with_the_order_that_is_under_way(service: Service, tmp_path: Path) -> None:
    first = service.give()
    assert len(of_letters(service.dump())) == 2
    service.wiring.ports.clock.sleep(-3600)  # the clock of whoever gives the next one is slow
    second = service.give()
    again = Service(tmp_path)
    again.kafka.ends = dict(service.kafka.ends)
    again.storage.unreadable = first
    assert of_letters(again.dump()) == []
    again.storage.unreadable = None
    while again.dump():
        pass
    assert [each.id for each in again.state.orders] == [first, second]
    counts = [ReplayCounts.parse(each.result).files for each in again.state.orders]
    assert counts == [5, 0]


def test_a_pause_is_done_beside_a_replay_which_goes_on(service: Service) -> None:
    service.give()
    assert of_letters(service.dump())
    service.give(PauseTable())
    service.kafka.ends[LATE] += 1
    while of_letters(service.dump()):
        pass
    assert [each.kind for each in service.state.orders] == ["pause", "replay"]
    assert service.answer.files == 5 and service.state.paused is not None


def test_a_table_that_is_set_aside_replays_when_it_serves_again(service: Service) -> None:
    table = service.tables.tables[TABLE]
    service.tables.set_aside(table, TableError("hive.columns", "differs"))
    table.failures = 9
    service.tables.set_aside(table, TableError("hive.columns", "differs"))
    service.give()
    assert service.loop.plan() is None
    assert of_letters(service.dump())


def test_the_result_of_an_order_is_read_as_it_was_written(service: Service) -> None:
    service.give()
    while service.dump():
        pass
    result = service.state.orders[-1].result
    assert service.answer.result == result
    assert json.loads(result.removeprefix("done "))["letters"] == 26


def test_what_the_run_cannot_do_is_refused_by_name(service: Service) -> None:
    table = service.tables.tables[TABLE]
    rules = rules_digest(table.rule, service.wiring.map)
    service.give(ReplayLetters("", "yesterday", rules))
    assert service.dump() == []
    assert service.state.orders[-1].result.startswith("[usage.since] --since yesterday")
    table.in_map = replace(table.in_map, rule=replace(table.rule, sql="select * from records"))
    service.give()
    assert service.dump() == []
    assert service.state.orders[-1].result.startswith("[sql.needs_spark]")
    assert service.inbox.look() == ([], [], set())


def test_letters_whose_day_expires_between_two_batches_are_not_replayed_any_more(tmp_path: Path) -> None:
    service = Service(tmp_path, retain_days=10).letters(5)
    service.give()
    assert len(of_letters(service.dump())) == 2
    table, clock = service.tables.tables[TABLE], service.wiring.ports.clock
    day_end_ms = 1_767_312_000_000  # 2026-01-02
    now_ms = day_end_ms + 10 * 86_400_000
    clock.sleep(now_ms / 1000 - clock.epoch_ms() / 1000)
    restate(table, newest_ms=now_ms)
    assert of_letters(service.dump()) == []
    assert [line.partition.path for line in service.state.dropped] == [PLACE.path]
    assert (service.answer.files, service.state.replaying) == (2, None)


@pytest.mark.parametrize("is_refused", [False, True])
def test_an_order_whose_end_is_not_committed_stays_in_the_inbox(tmp_path: Path, is_refused: bool) -> None:
    service = Service(tmp_path).letters(0 if not is_refused else 1)
    service.storage.is_full = True
    order_id = service.give(ReplayLetters("", "", "another digest") if is_refused else None)
    for _ in range(2):
        service.plan()
    (waiting,), _, _ = service.inbox.look()
    assert waiting.id == order_id, "nobody may take it for done"
    service.storage.is_full = False
    for _ in range(3):
        service.plan()
    assert [each.id for each in service.state.orders] == [order_id]
    assert service.inbox.look() == ([], [], set())
