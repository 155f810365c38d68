"""A run takes another map between two epochs: tables come, change and go, and what cannot be is refused."""

from collections.abc import Callable
from pathlib import Path

import pytest

from kafka2hive.config.keys import ServiceMap
from kafka2hive.config.load import load_text
from kafka2hive.ledger.inbox import APPLY, PLAN, Inbox, PauseTable, ReloadMap, new_order
from kafka2hive.ledger.look import look
from kafka2hive.model.errors import ServiceUnavailable, TableError
from kafka2hive.model.files import HivePartition
from kafka2hive.model.offsets import OffsetRange, TopicPartition
from kafka2hive.service.run.inbox_watch import LOOK_SECONDS, InboxWatch
from kafka2hive.service.run.map_reload import SETTLE_SECONDS
from kafka2hive.service.run.telemetry.liveness import ConditionTeller
from kafka2hive.service.tables.condition import ReloadAnswer, decode, encode
from kafka2hive.service.tables.table_state import Owned, Table
from tests.harness.epoch_loop import (
    EARLY,
    LATE,
    AtOnce,
    Kafka,
    make_loop_and_tables,
    make_wiring,
    planned,
    run,
)

FLUSH_SECONDS = 60.0
OTHER = TopicPartition("other", 0)
EARLY_TABLE = "{table: air.early, topics: [early]}"
LATE_TABLE = "{table: air.late, topics: [late]}"
OTHER_TABLE = "{table: air.other, topics: [other]}"


class Unregistered(Table):
    """A table with a partition that Hive has not confirmed."""

    __slots__ = ()

    @property
    def open_registrations(self) -> frozenset[HivePartition]:
        return frozenset({HivePartition("air.late", "dt=2013-01-17", "file:///w/late/dt=2013-01-17")})


class Service:
    """A run of two tables, whose map's file a test writes."""

    def __init__(self, folder: Path, *, once: bool = False) -> None:
        self.kafka = Kafka()
        self.wiring = make_wiring(folder)
        self.file = folder / "map.yaml"
        self.first = self.file.read_text()
        self.head = self.first[: self.first.index("tables:")]
        self.inbox = Inbox(self.wiring.ports, self.wiring.map.storage.ledger_root, self.wiring.map.service)
        orders = InboxWatch(self.wiring)
        self.loop, self.tables = make_loop_and_tables(
            self.wiring, self.kafka, once=once, schemas=AtOnce(), orders=orders
        )
        self.reload = self.loop.reload
        self.reload.beside = lambda work: work()

    def write(self, *tables: str, head: str | None = None) -> ServiceMap:
        text = f"{self.head if head is None else head}tables: [{', '.join(tables)}]\n"
        self.file.write_text(text)
        return load_text(text, str(self.file), {})

    def give(self, mode: str = APPLY, fingerprint: str | None = None) -> str:
        """Put an order into the inbox, which the run sees at its next look."""
        if fingerprint is None:
            fingerprint = load_text(self.file.read_text(), "m", {}).fingerprint
        order = new_order(
            self.wiring.ports, self.wiring.map.service, "", "anna@etl1", ReloadMap(fingerprint, mode)
        )
        self.inbox.give(order)
        self.wiring.ports.clock.sleep(LOOK_SECONDS)
        return order.id

    def dump(self) -> list[OffsetRange]:
        epoch = self.loop.plan()
        if epoch is None:
            return []
        run(self.loop, epoch)
        return planned(epoch)

    def reloaded(self, *tables: str, head: str | None = None) -> ReloadAnswer:
        """Let the run take a map, and return its answer to the SIGHUP."""
        self.write(*tables, head=head)
        answers = len(self.reload.report.answers)
        self.reload.ask_by_signal()
        for _ in range(4):
            self.dump()
            if len(self.reload.report.answers) > answers:
                return self.reload.report.answers[-1]
        raise AssertionError("the run does not answer")

    def answer_to(self, order: str) -> ReloadAnswer:
        return next(answer for answer in self.reload.report.answers if answer.order == order)

    def generation(self, table: str) -> int:
        return look(self.wiring.ports.files, self.wiring.paths(table)).generation.number

    def is_in_inbox(self, order: str) -> bool:
        return order in {each.id for each in self.inbox.look()[0]}


@pytest.fixture
def service(tmp_path: Path) -> Service:
    service = Service(tmp_path)
    assert service.dump() == [OffsetRange(EARLY, 0, 7), OffsetRange(LATE, 0, 11)]
    return service


def test_an_added_table_is_read_and_the_others_stay_as_they_are(service: Service) -> None:
    service.kafka.ends[OTHER] = 3
    before = service.tables.tables["air.early"]
    service.write(EARLY_TABLE, LATE_TABLE, OTHER_TABLE)
    order = service.give()
    assert service.dump() == [] and service.dump() == [OffsetRange(OTHER, 0, 3)]
    answer = service.answer_to(order)
    assert (answer.outcome, answer.added, answer.changed, answer.removed) == (
        "applied",
        ("air.other",),
        (),
        (),
    )
    assert service.tables.tables["air.early"] is before and service.generation("air.early") == 1
    assert not service.is_in_inbox(order)
    assert service.reload.report.map == service.wiring.map.fingerprint == answer.map


def test_a_removed_table_is_read_no_more_and_its_ledger_stays(service: Service) -> None:
    positions = service.tables.tables["air.late"].owned.state.positions
    answer = service.reloaded(EARLY_TABLE)
    service.kafka.ends |= {EARLY: 9, LATE: 20}
    service.wiring.ports.clock.sleep(FLUSH_SECONDS)
    assert (answer.outcome, answer.removed) == ("applied", ("air.late",))
    assert service.dump() == [OffsetRange(EARLY, 7, 9)]
    assert "air.late" not in service.tables.tables and "air.late" not in service.loop.settings
    assert look(service.wiring.ports.files, service.wiring.paths("air.late")).state.positions == positions


def test_a_changed_table_is_taken_over_again_with_the_new_map(service: Service) -> None:
    new = "{table: air.late, topics: [late], columns: {value: binary, n: int}, format: json}"
    answer = service.reloaded(EARLY_TABLE, new)
    ((name, keys),) = answer.changed
    assert name == "air.late" and {"format", "columns.n"} <= set(keys)
    assert [column.name for column in service.loop.settings["air.late"].columns] == ["value", "n"]
    assert (service.generation("air.early"), service.generation("air.late")) == (1, 2)
    service.kafka.ends[LATE] = 12
    assert service.dump() == [OffsetRange(LATE, 11, 12)]


def test_a_table_that_is_removed_and_added_again_goes_on_where_it_was(service: Service) -> None:
    service.reloaded(EARLY_TABLE)
    service.kafka.ends[LATE] = 15
    assert [each.table for each in service.reload.report.released] == ["air.late"]
    assert service.reloaded(EARLY_TABLE, LATE_TABLE).added == ("air.late",)
    assert service.reload.report.released == ()
    state = service.tables.tables["air.late"].owned.state
    assert [(p.topic_partition, p.end) for p in state.positions] == [(LATE, 15)]


def test_a_changed_list_of_topics_begins_and_ends_as_at_a_restart(service: Service) -> None:
    service.kafka.ends[OTHER] = 3
    service.dump()
    service.reloaded(EARLY_TABLE, "{table: air.late, topics: [late, other], start: latest}")
    service.kafka.ends[OTHER] = 5
    service.kafka.ends[LATE] = 13
    assert service.dump() == [OffsetRange(LATE, 11, 13), OffsetRange(OTHER, 3, 5)], (
        "`other` exists when the new map begins, although it did not when the run began"
    )


def test_a_changed_limit_is_in_force_at_once(service: Service) -> None:
    service.kafka.ends[EARLY] = 20
    answer = service.reloaded(EARLY_TABLE, LATE_TABLE, head=f"limits: {{epoch_records: 4}}\n{service.head}")
    assert (answer.keys, service.wiring.map.limits.epoch_records) == (("limits.epoch_records",), 4)


def test_a_plan_changes_nothing(service: Service) -> None:
    before = dict(service.tables.tables)
    service.write(EARLY_TABLE)
    order = service.give(PLAN)
    service.dump(), service.dump(), service.dump()
    answer = service.answer_to(order)
    assert (answer.outcome, answer.removed, answer.exit_code) == ("planned", ("air.late",), 0)
    assert service.tables.tables == before and service.reload.report.map != answer.map


def refused(service: Service, code: str, exit_code: int, answer: ReloadAnswer) -> str:
    """Check that nothing was changed; return the message."""
    assert answer.trouble is not None, answer
    assert (answer.outcome, answer.trouble.code, answer.exit_code) == ("refused", code, exit_code)
    assert sorted(service.tables.tables) == ["air.early", "air.late"]
    assert all(isinstance(table.state, Owned) for table in service.tables.tables.values())
    assert {service.generation(name) for name in service.tables.tables} == {1}
    assert service.reload.report.map == load_text(service.first, "m", {}).fingerprint
    return answer.trouble.message


def test_a_key_that_needs_a_restart_refuses_the_whole_map(service: Service) -> None:
    answer = service.reloaded(EARLY_TABLE, head=f"trigger: 3s\n{service.head}")
    message = refused(service, "reload.needs_restart", 78, answer)
    assert f"{service.file}:1: trigger: needs a restart: Spark's query" in message
    assert answer.removed == ("air.late",), "the rest of the difference is shown"


def test_an_invalid_map_changes_nothing(service: Service) -> None:
    service.file.write_text(service.first.replace("topics: [late]", "topic: [late]"))
    service.reload.ask_by_signal()
    service.dump(), service.dump()
    (answer,) = service.reload.report.answers
    assert "topic" in refused(service, "config.invalid", 78, answer)
    assert service.dump() == [], "the run goes on"


def test_a_map_that_is_gone_changes_nothing(service: Service) -> None:
    service.file.unlink()
    service.reload.ask_by_signal()
    service.dump(), service.dump()
    refused(service, "config.unreadable", 78, service.reload.report.answers[0])


def test_another_file_than_the_runs_is_refused(service: Service) -> None:
    order = service.give(fingerprint="0" * 64)
    service.dump(), service.dump()
    refused(service, "reload.other_file", 78, service.answer_to(order))
    assert not service.is_in_inbox(order)


def test_a_second_order_during_a_reload_is_refused(service: Service) -> None:
    waiting: list[Callable[[], None]] = []
    service.reload.beside = waiting.append
    service.write(EARLY_TABLE)
    first = service.give()
    service.dump()
    second = service.give()
    service.dump()
    answer = service.answer_to(second)
    assert answer.trouble is not None and answer.trouble.code == "reload.under_way"
    assert "anna@etl1" in answer.trouble.message and answer.exit_code == 69
    waiting[0]()
    service.dump()
    assert service.answer_to(first).outcome == "applied"
    service.wiring.ports.clock.sleep(LOOK_SECONDS)
    service.dump()
    assert not service.is_in_inbox(first) and not service.is_in_inbox(second)


def test_a_signal_during_a_reload_is_followed_by_another_one(service: Service) -> None:
    waiting: list[Callable[[], None]] = []
    service.reload.beside = waiting.append
    service.reload.ask_by_signal()
    service.dump()
    service.reload.ask_by_signal()
    waiting[0]()
    service.dump(), service.dump()
    assert len(waiting) == 2


def test_a_run_that_ends_by_itself_reloads_nothing(tmp_path: Path) -> None:
    service = Service(tmp_path, once=True)
    service.reload.ask_by_signal()
    while service.dump():
        service.reload.ask_by_signal()
    assert service.reload.report.answers[0].trouble.code == "reload.once"  # type: ignore[union-attr]


def test_nothing_is_changed_while_kafka_does_not_answer(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The look at the topics comes before the first table is released."""
    service.write(EARLY_TABLE)
    service.reload.ask_by_signal()
    service.dump()

    def away() -> None:
        raise ServiceUnavailable("kafka.unavailable", "away")

    answering = service.kafka.cluster
    monkeypatch.setattr(service.kafka, "cluster", lambda *_: away())
    assert service.loop.plan() is None and service.loop.no_plan is not None
    assert "air.late" in service.tables.tables and service.reload.report.answers == ()
    monkeypatch.setattr(service.kafka, "cluster", answering)
    service.dump()
    assert "air.late" not in service.tables.tables
    report = service.reload.report
    assert [answer.outcome for answer in report.answers] == ["applied"]


def test_a_signal_during_a_reload_is_followed_after_it(service: Service) -> None:
    held: list[Callable[[], None]] = []
    service.reload.beside = held.append
    service.reload.ask_by_signal()
    service.dump()
    assert len(held) == 1
    service.reload.ask_by_signal()
    service.dump()
    assert len(held) == 1, "one at a time"
    held.pop()()
    service.dump()
    service.dump()
    assert len(held) == 1 and len(service.reload.report.answers) == 1


def test_an_added_table_that_cannot_start_is_told_and_the_others_go_on(service: Service) -> None:
    service.kafka.ends[OTHER] = 3
    wrong = TableError("hive.no_table", "air.other does not exist", "create it")

    class Refusing(AtOnce):
        def resolve(self, table):  # type: ignore[no-untyped-def]
            if table.name == "air.other":
                raise wrong
            return super().resolve(table)

    service.tables._schemas = Refusing()
    answer = service.reloaded(EARLY_TABLE, LATE_TABLE, OTHER_TABLE)
    assert (answer.outcome, answer.exit_code) == ("applied", 75)
    assert [(table, error.code) for table, error in answer.aside] == [("air.other", "hive.no_table")]


def test_a_removed_table_gets_no_records_while_it_waits_for_hive(service: Service) -> None:
    head = f'hive: {{url: "hive://127.0.0.1:1"}}\n{service.head}'
    service.wiring.adopt(service.write(EARLY_TABLE, LATE_TABLE, head=head))
    late = service.tables.tables["air.late"]
    late.__class__ = Unregistered
    service.wiring.ports.clock.sleep(FLUSH_SECONDS)
    service.write(EARLY_TABLE, head=head)
    service.reload.ask_by_signal()
    service.dump()
    service.kafka.ends |= {EARLY: 9, LATE: 15}
    assert service.dump() == [OffsetRange(EARLY, 7, 9)], "late gets no more records, early does"
    assert "air.late" in service.tables.tables and service.reload.report.answers == ()
    late.__class__ = Table
    service.dump()
    assert "air.late" not in service.tables.tables


def test_hive_that_does_not_answer_delays_a_removal_only_for_a_while(service: Service) -> None:
    head = f'hive: {{url: "hive://127.0.0.1:1"}}\n{service.head}'
    service.wiring.adopt(service.write(EARLY_TABLE, LATE_TABLE, head=head))
    service.tables.tables["air.late"].__class__ = Unregistered
    service.write(EARLY_TABLE, head=head)
    service.reload.ask_by_signal()
    service.dump(), service.dump()
    service.wiring.ports.clock.sleep(SETTLE_SECONDS)
    service.dump()
    assert "air.late" not in service.tables.tables


def test_the_answers_reach_other_processes(service: Service) -> None:
    service.reloaded(EARLY_TABLE)
    service.reloaded(EARLY_TABLE, head=f"trigger: 3s\n{service.head}")

    class Written:
        def show(self, text: bytes) -> None:
            self.text = text

    written = Written()
    teller = ConditionTeller(written, service.wiring.ports.clock, "f")  # type: ignore[arg-type]
    teller.note([], reload=service.reload.report)
    teller.write()
    conditions = decode(written.text)
    assert conditions.reloads == service.reload.report.answers and len(conditions.reloads) == 2
    assert conditions.released == service.reload.report.released and conditions.released
    assert conditions.map == service.reload.report.map and decode(encode(conditions)) == conditions


def test_orders_to_tables_are_answered_beside_a_reload(service: Service) -> None:
    pause = new_order(service.wiring.ports, service.wiring.map.service, "air.early", "anna", PauseTable())
    service.inbox.give(pause)
    service.reloaded(EARLY_TABLE)
    service.wiring.ports.clock.sleep(LOOK_SECONDS)
    service.dump()
    assert service.tables.tables["air.early"].owned.state.paused is not None
