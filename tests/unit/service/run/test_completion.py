"""Up to when a table has read all that Kafka held, and what its snapshots say of complete partitions because of it."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from kafka2hive.config.keys import Bucketing, TableRule, TableSettings
from kafka2hive.config.keys import CompletionOptions as Options
from kafka2hive.kafka.port import ClusterView, TopicView, Watermark
from kafka2hive.kafka.positions import Logs
from kafka2hive.ledger.owned_ledger import OwnedLedger
from kafka2hive.ledger.snapshot.change import Completeness, DataEpoch, NoTracking, RegistrationUpdate
from kafka2hive.model.errors import TableError
from kafka2hive.model.files import HivePartition
from kafka2hive.model.offsets import OffsetAccounting, OffsetRange, Position, RangeAccounting, TopicPartition
from kafka2hive.model.paths.ledger import Generation, LedgerPaths
from kafka2hive.model.snapshot import Certificate, ForgottenRegistration, OpenPartition, Tracking
from kafka2hive.service.run.completion import ASK_SECONDS, CompletionTracker
from kafka2hive.service.tables.read_through import Ends, ReadThrough
from kafka2hive.service.tables.table_state import HiveAnswers, MapTable, Table, Unowned
from tests.harness import epoch_loop
from tests.harness.cli_ledger import local, wired
from tests.harness.clock import SkippedTime
from tests.harness.values import snapshot
from tests.simulation.service.maps import rule_of
from tests.unit.service.owned_table import own, restate

A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)
T1, T2, T3 = 1_000_000, 2_000_000, 3_000_000
"""Milliseconds at which Kafka's logs were looked at; T1 is 1970-01-01T00:16:40Z."""
DAYS = ("dt=2026-11-20", "dt=2026-11-21")


@dataclass
class Policy:
    """Says that all partitions are complete that it is told to; knows what it was asked."""

    yes: set[str] = field(default_factory=set)
    error: TableError | None = None
    asked: list[tuple[list[str], int]] = field(default_factory=list)
    name: str = "by hand"

    def of(self, rule: TableRule, table: str) -> "Policy":
        return self

    def complete(self, partitions: Sequence[OpenPartition], through_ms: int) -> frozenset[HivePartition]:
        self.asked.append(([each.partition.path for each in partitions], through_ms))
        if self.error is not None:
            raise self.error
        return frozenset(each.partition for each in partitions if each.partition.path in self.yes)


class Story:
    """One table of topics a (two partitions) and b, which has read nothing yet, and a Completion."""

    def __init__(self, waits_for_hive: bool = False, **rule: Any) -> None:
        self.clock, self.policy = SkippedTime(), Policy()
        self.completion = CompletionTracker(self.clock, waits_for_hive, self.policy.of)
        known = {"topics": ("a", "b"), "completion": Options(), "bucketing": Bucketing()}
        rule_of_table = replace(rule_of("d.t", ("a", "b")), **{**known, **rule})
        self.table = Table(MapTable(rule_of_table, PATHS, ("a", "b")))
        own(self.table, OwnedLedger(PATHS, Generation(1, "now", "me"), snapshot()))
        self.stands({A0: 0, A1: 0, B0: 0})

    def stands(self, positions: Mapping[TopicPartition, int]) -> None:
        """The newest snapshot has these positions."""
        restate(self.table, positions=tuple(Position(tp, 0, end) for tp, end in positions.items()))

    def opens(self, *paths: str) -> None:
        restate(self.table, open=tuple(map(opened, paths)))

    def looks(
        self, ends: Mapping[TopicPartition, int], at_ms: int, there: Sequence[TopicPartition] = ()
    ) -> None:
        """Kafka has `there` (the same, when not given), and answers for `ends`."""
        self.completion.note_ends(self.table, logs(ends, there or tuple(ends)), at_ms)

    def through(self) -> int | None:
        return self.completion.read_through_after(self.table, None).through_ms

    def due(self, ending: bool = False) -> set[str]:
        """What is complete in a snapshot without files."""
        said = self.completion.ask_for_news(self.table, ending)
        return complete(said) if said is not None else set()

    def said(self) -> Completeness:
        """What the next snapshot says of it."""
        said = self.completion.ask(self.table, RegistrationUpdate())
        assert isinstance(said, Completeness)
        return said

    @property
    def warnings(self) -> list[str]:
        return [text for texts in self.table.warnings.values() for text in texts]


PATHS = LedgerPaths("file:///l", "d.t")


def through_of(table: Table) -> int | None:
    """What this run knows."""
    return table.completion.read_through.through_ms


def opened(path: str) -> OpenPartition:
    place = HivePartition("d.t", path, f"file:///w/{path}")
    return OpenPartition(partition=place, since=1, opened_at="2026-11-22T00:00:00Z", files=1, rows=2)


def complete(said: Completeness | NoTracking) -> set[str]:
    assert isinstance(said, Completeness)
    return {each.path for each in said.complete}


def logs(ends: Mapping[TopicPartition, int], there: Sequence[TopicPartition]) -> Logs:
    numbers: dict[str, list[int]] = {}
    for tp in there:
        numbers.setdefault(tp.topic, []).append(tp.number)
    topics = {name: TopicView(name, f"id-{name}", tuple(found)) for name, found in numbers.items()}
    latest = {tp: Watermark(end) for tp, end in ends.items()}
    return Logs(ClusterView("c", topics), dict.fromkeys(latest, Watermark(0)), latest, latest)


def moves(**ends: tuple[TopicPartition, int, int]) -> DataEpoch:
    """An epoch that reads these."""
    accounts = tuple(
        RangeAccounting(
            0, OffsetRange(tp, begin, end), OffsetAccounting(read=end - begin, tombstones=end - begin)
        )
        for tp, begin, end in ends.values()
    )
    return DataEpoch(files=(), accounts=accounts)


def test_all_is_read_through_the_look_whose_ends_the_ledger_has() -> None:
    story = Story()
    story.looks({A0: 5, A1: 0, B0: 2}, T1)
    assert story.through() is None
    story.stands({A0: 5, A1: 0, B0: 1})
    assert story.through() is None
    story.stands({A0: 5, A1: 0, B0: 2})
    assert story.through() == T1
    story.looks({A0: 5, A1: 0, B0: 2}, T2)
    assert story.through() == T2
    story.looks({A0: 6, A1: 0, B0: 2}, T3)
    assert story.through() == T2
    story.stands({A0: 9, A1: 0, B0: 2})
    assert story.through() == T3


def test_topic_partitions_that_do_not_answer_are_not_taken_for_read() -> None:
    story = Story()
    story.stands({A0: 5, A1: 5, B0: 5})
    everything = (A0, A1, B0)
    story.looks({A0: 5, B0: 5}, T1, everything)
    story.looks({}, T1, everything)
    assert story.through() is None and story.warnings == []
    story.looks({A0: 5, A1: 5, B0: 5}, T2, everything)
    story.looks({A0: 5, A1: 5}, T3, everything)
    assert story.through() == T2


def test_a_topic_partition_without_a_position_has_to_be_read_first() -> None:
    story = Story()
    story.stands({A0: 5, B0: 5})
    story.looks({A0: 5, A1: 3, B0: 5}, T1)
    assert story.through() is None
    story.looks({A0: 5, A1: 3, B0: 5}, T2)
    story.stands({A0: 5, A1: 3, B0: 5})
    assert story.through() == T1


@pytest.mark.parametrize("gone", [(A0, A1), (A0, B0)], ids=["a topic", "a partition of a recreated topic"])
def test_what_the_map_names_and_kafka_has_lost_is_a_warning_and_no_time_goes_on(
    gone: tuple[Any, Any],
) -> None:
    story = Story()
    story.stands({A0: 5, A1: 5, B0: 5})
    story.looks({A0: 5, A1: 5, B0: 5}, T1)
    story.looks(dict.fromkeys(gone, 5), T2)
    assert story.through() == T1
    (warning,) = story.warnings
    assert warning.startswith("no partition becomes complete: ")
    assert f"{'b' if B0 not in gone else 'a'} no longer exists in Kafka" in warning
    story.looks({A0: 5, A1: 5, B0: 5}, T3)
    assert story.through() == T3 and story.warnings == []


def test_a_topic_that_was_listed_and_never_begun_may_hold_records_though_it_is_not_listed_now() -> None:
    story = Story()
    story.stands({A0: 5, A1: 5})
    story.looks({A0: 5, A1: 5}, T1)
    story.table.vanished = ("b",)
    story.looks({A0: 5, A1: 5}, T2)
    assert story.through() == T1 and "b no longer exists in Kafka" in story.warnings[0]
    story.table.vanished = ()
    story.looks({A0: 5, A1: 5}, T3)
    assert story.through() == T3 and story.warnings == []


def test_a_topic_that_the_map_no_longer_names_does_not_matter() -> None:
    story = Story(topics=("a",))
    story.table.in_map = replace(story.table.in_map, topics=("a",))
    story.stands({A0: 5, A1: 5, B0: 3})
    story.looks({A0: 5, A1: 5}, T1)
    assert story.through() == T1 and story.warnings == []


def test_of_a_pattern_matters_what_it_would_take_as_a_whole() -> None:
    story = Story(topics=(), pattern="[a-m]")
    story.table.in_map = replace(story.table.in_map, topics=("a",))
    longer = TopicPartition("ab", 0)
    story.stands({A0: 5, A1: 5, TopicPartition("z", 0): 1, longer: 1})
    story.looks({A0: 5, A1: 5}, T1)
    assert story.through() == T1 and story.warnings == []
    story.stands({A0: 5, A1: 5, B0: 1})
    story.looks({A0: 5, A1: 5}, T2)
    assert story.through() == T1
    assert "b no longer exists in Kafka" in story.warnings[0]


def test_producers_that_run_ahead_do_not_keep_a_target_from_being_reached() -> None:
    story = Story()
    for look in range(1, 10):
        story.looks({A0: 10 * look, A1: 0, B0: 0}, T1 + look)
        story.stands({A0: 10 * look - 5, A1: 0, B0: 0})  # always a little behind
    assert story.through() == T1 + 7
    assert (
        ReadThrough().with_target(Ends(T1, {A0: 5})).with_target(Ends(T2, {A0: 9})).after({A0: 5}).through_ms
        == T1
    )


def test_a_target_that_a_log_does_not_reach_any_more_is_given_up() -> None:
    for later in ({A0: 4, A1: 0, B0: 9}, {A0: 4, A1: 0}):
        story = Story()
        story.looks({A0: 9, A1: 0, B0: 7}, T1)
        story.stands({A0: 4, A1: 0})
        story.looks(later, T2)
        story.stands({A0: 4, A1: 0, B0: 9})
        assert story.through() == T2


def test_what_an_epoch_reads_counts_in_its_own_snapshot_and_not_before_it_is_committed() -> None:
    story = Story()
    story.opens(*DAYS)
    story.policy.yes = {DAYS[0]}
    story.looks({A0: 5, A1: 0, B0: 0}, T1)
    assert story.due() == set() and story.policy.asked == []
    part, whole = moves(a=(A0, 0, 4)), moves(a=(A0, 0, 2), again=(A0, 2, 5))
    assert story.completion.ask(story.table, part) == Completeness()
    said = story.completion.ask(story.table, whole)
    assert isinstance(said, Completeness)
    assert (said.through, complete(said), said.policy) == ("1970-01-01T00:16:40Z", {DAYS[0]}, "by hand")
    assert story.policy.asked == [([*DAYS], T1)]
    # that commit failed, or is under way
    assert story.through() is None and through_of(story.table) is None
    story.clock.seconds += ASK_SECONDS
    assert story.due() == set() and story.said() == Completeness()


def test_a_partition_that_hive_was_not_told_of_waits() -> None:
    for waits in (True, False):
        story = read(Story(waits_for_hive=waits))
        first, second = (opened(path).partition for path in DAYS)
        restate(story.table, unregistered=(first, second))
        story.table.ownership = replace(story.table.owned, registered=frozenset({second}))
        assert story.due() == ({DAYS[1]} if waits else set(DAYS))


def test_a_partition_that_hive_has_taken_once_does_not_wait_for_each_later_file() -> None:
    """Steady late records would postpone its certificate for ever."""
    story = read(Story(waits_for_hive=True))
    first, second = (opened(path).partition for path in DAYS)
    restate(story.table, unregistered=(first, second))
    story.table.hive = HiveAnswers(confirmed=frozenset({first}))
    assert story.due() == {DAYS[0]}


def test_a_certificate_names_no_later_time_than_the_look() -> None:
    story = Story()
    story.looks({A0: 0, A1: 0, B0: 0}, T1 + 999)
    assert story.said().through == "1970-01-01T00:16:40Z"


def test_a_partition_whose_registration_was_given_up_is_never_complete() -> None:
    given_up = ForgottenRegistration(
        partition=opened(DAYS[0]).partition, reason="?", accepted_by="me", accepted_at="now", epoch=1
    )
    for waits in (True, False):
        story = read(Story(waits_for_hive=waits))
        restate(story.table, forgotten=(given_up,))
        assert story.due() == ({DAYS[1]} if waits else set(DAYS))


def read(story: Story) -> Story:
    """All is read through T1, and both days are open; the policy says that they are complete."""
    story.looks({A0: 0, A1: 0, B0: 0}, T1)
    story.opens(*DAYS)
    story.policy.yes = set(DAYS)
    return story


def test_the_policy_is_asked_every_ten_seconds_and_at_the_end() -> None:
    story = read(Story())
    story.policy.yes = set()
    for _ in range(100):
        assert story.due() == set()
        story.said()  # a commit
        story.clock.seconds += 0.25
    assert len(story.policy.asked) == 3  # at 0, 10 and 20 s
    story.policy.yes = set(DAYS)
    assert story.due() == set()
    assert story.due(ending=True) == set(DAYS)
    assert len(story.policy.asked) == 4


def test_what_is_due_is_what_is_committed_and_the_policy_is_not_asked_again() -> None:
    story = read(Story())
    due = story.completion.ask_for_news(story.table, ending=False)
    assert isinstance(due, Completeness) and due.complete
    assert story.completion.ask(story.table, RegistrationUpdate(completeness=due)) is due
    assert due.success_file == "_SUCCESS" and due.policy == "by hand"
    assert len(story.policy.asked) == 1
    none = read(Story(completion=replace(Options(), success_file=None)))
    assert none.said().success_file == ""


def test_a_policy_that_fails_is_a_warning_and_data_go_on_without_a_certificate() -> None:
    story = read(Story())
    story.policy.error = TableError("plugin.failed", "no calendar", "wait")
    assert story.due() == set()
    (warning,) = story.warnings
    assert warning.startswith("no partition becomes complete: ") and "no calendar" in warning
    story.clock.seconds += ASK_SECONDS
    said = story.completion.ask(story.table, moves(a=(A0, 0, 5)))
    assert said == Completeness(through="1970-01-01T00:16:40Z", success_file="_SUCCESS")
    assert story.table.aside is None and len(story.warnings) == 1
    story.policy.error = None
    story.clock.seconds += ASK_SECONDS
    assert story.due() == set(DAYS) and story.warnings == []


def test_a_policy_that_cannot_be_made_is_tried_again() -> None:
    story = read(Story())
    tries: list[str] = []

    def make(rule: TableRule, table: str) -> Policy:
        tries.append(table)
        if len(tries) < 3:
            raise TableError("plugin.missing", "no package", "install it")
        return story.policy

    story.completion = CompletionTracker(story.clock, False, make)
    for expected in (set[str](), set[str](), set(DAYS), set(DAYS)):
        assert story.due() == expected
        assert len(story.warnings) == (0 if expected else 1)
        story.clock.seconds += ASK_SECONDS
    assert tries == ["d.t"] * 3


def test_a_table_that_does_not_ask_says_so_once() -> None:
    story = Story(completion=None)
    story.looks({A0: 0, A1: 0, B0: 0}, T1)
    assert story.through() is None
    assert story.completion.ask_for_news(story.table, ending=True) is None
    assert story.completion.ask(story.table, RegistrationUpdate()) is None
    restate(story.table, tracking=Tracking(1))
    assert story.completion.ask_for_news(story.table, ending=False) == NoTracking()
    assert story.completion.ask(story.table, RegistrationUpdate()) == NoTracking()


def loop_of(folder: Path, kafka: epoch_loop.Kafka, early: str, **more: Any) -> tuple[Any, Any, Policy]:
    """Tables air.early and air.late; the first asks which partitions are complete."""
    tables = (
        "defaults: {start: earliest, format: raw}\n"
        f"tables: [{{table: air.early, {early}, completion: {{}}}}, {{table: air.late, topics: [late]}}]"
    )
    real = wired(folder, tables, service="once")
    wiring = replace(real, ports=replace(real.ports, clock=epoch_loop.Clock()))
    loop, owned_tables = epoch_loop.make_loop_and_tables(wiring, kafka, once=False, **more)
    policy = Policy()
    owned_tables.completion = CompletionTracker(wiring.ports.clock, False, policy.of)
    return loop, owned_tables, policy


def test_a_run_counts_as_read_what_its_ledger_has(tmp_path: Path) -> None:
    loop, owned_tables, policy = loop_of(tmp_path, epoch_loop.Kafka(), "topics: [early]")
    table = owned_tables.tables["air.early"]
    epoch = epoch_loop.next_epoch(loop)
    assert through_of(table) is None and policy.asked == []
    epoch_loop.run(loop, epoch)
    (asked,) = policy.asked
    assert asked == ([], epoch_loop.Clock().epoch_ms())
    assert through_of(table) == asked[1]
    assert table.owned.state.tracking == Tracking(1, "2025-11-21T08:00:00Z")


def test_a_commit_that_fails_leaves_nothing_that_counts_as_read(tmp_path: Path) -> None:
    loop, owned_tables, _ = loop_of(tmp_path, epoch_loop.Kafka(), "topics: [early]")
    table = owned_tables.tables["air.early"]
    epoch = epoch_loop.next_epoch(loop)
    files = owned_tables._wiring.ports.files
    full = replace(owned_tables._wiring.ports, files=epoch_loop.FullForDrafts(files))
    wiring, owned_tables._wiring = owned_tables._wiring, replace(owned_tables._wiring, ports=full)
    epoch_loop.run(loop, epoch)
    assert isinstance(table.ownership, Unowned)
    owned_tables._wiring = wiring
    wiring.ports.clock.seconds += 300
    again = epoch_loop.next_epoch(loop)
    assert through_of(table) is None
    epoch_loop.run(loop, again)
    assert through_of(table) is not None


def test_a_certificate_that_was_not_written_is_tried_again_though_nothing_else_comes(tmp_path: Path) -> None:
    loop, owned_tables, _ = loop_of(
        tmp_path, epoch_loop.Kafka(), "topics: [early]", schemas=epoch_loop.AtOnce()
    )
    table, clock = owned_tables.tables["air.early"], owned_tables._wiring.ports.clock
    while (epoch := loop.plan()) is not None:
        epoch_loop.run(loop, epoch)
    place = HivePartition(table.name, DAYS[0], f"{table.location}/{DAYS[0]}")
    failed = Certificate(partition=place, since=1, files=1, rows=2, through="", policy="", success_file="")
    restate(table, certificates=(failed,))
    known = table.owned.state.epoch
    clock.seconds += 2 * ASK_SECONDS
    assert loop.plan() is None
    assert (
        table.completion.uncertified == {place.path}
        and "could not be written" in table.warnings["certificates"][0]
    )
    local(place.location).mkdir(parents=True)
    clock.seconds += ASK_SECONDS / 2
    assert loop.plan() is None and table.completion.uncertified
    clock.seconds += ASK_SECONDS
    assert loop.plan() is None
    assert [child.name for child in local(place.location).iterdir()] == [
        f"_kafka2hive_complete-{table.owned.state.ledger_id[:8]}-g000001-e{known:06d}.json"
    ]
    assert table.completion.uncertified == set() and table.warnings["certificates"] == ()
    assert table.owned.state.epoch == known


def test_an_idle_table_whose_certificates_cannot_be_written_comes_to_rest(tmp_path: Path) -> None:
    """A partition that becomes complete takes the others along; otherwise both would take turns, each with a snapshot."""
    loop, owned_tables, policy = loop_of(
        tmp_path, epoch_loop.Kafka(), "topics: [early]", schemas=epoch_loop.AtOnce()
    )
    table, clock = owned_tables.tables["air.early"], owned_tables._wiring.ports.clock
    while (epoch := loop.plan()) is not None:
        epoch_loop.run(loop, epoch)
    places = [HivePartition(table.name, day, f"{table.location}/{day}") for day in DAYS]
    policy.yes = set(DAYS)
    counts = {"since": 1, "files": 1, "rows": 2}
    failed = Certificate(partition=places[0], through="", policy="", success_file="", **counts)
    waits = OpenPartition(partition=places[1], opened_at="2025-11-21T08:00:00Z", **counts)
    restate(table, certificates=(failed,), open=(waits,))
    known = table.owned.state.epoch
    for _ in range(20):
        clock.seconds += 2 * ASK_SECONDS
        assert loop.plan() is None
    newest = table.owned.state
    assert newest.epoch == known + 1
    assert {entry.partition for entry in newest.certificates} == set(places) and not newest.open
    assert table.completion.uncertified == {place.path for place in places}


def test_a_topic_that_came_while_tables_were_taken_over_is_not_taken_for_read(tmp_path: Path) -> None:
    kafka, new = epoch_loop.Kafka(), TopicPartition("early2", 0)

    class SlowSchemas(epoch_loop.Schemas):
        """The second try for air.late takes longer than metadata are kept; meanwhile another topic comes."""

        def resolve(self, table: MapTable) -> TableSettings:
            if self.tries.count("air.late") == 1 and table.name == "air.late":
                clock.seconds += 20
                kafka.ends[new] = 3
            return super().resolve(table)

    loop, owned_tables, _ = loop_of(tmp_path, kafka, "pattern: 'early.*'", schemas=SlowSchemas())
    clock = owned_tables._wiring.ports.clock
    table = owned_tables.tables["air.early"]
    epoch_loop.run(loop, epoch_loop.next_epoch(loop))
    before = through_of(table)
    clock.seconds += 6
    born_ms = clock.epoch_ms()
    epoch = loop.plan()
    assert new in kafka.ends
    if epoch is not None:
        epoch_loop.run(loop, epoch)
    assert table.owned.state.position(new) is None
    assert before is not None and through_of(table) == before < born_ms
    for _ in range(4):
        clock.seconds += 20
        if (epoch := loop.plan()) is not None:
            epoch_loop.run(loop, epoch)
    position = table.owned.state.position(new)
    assert position is not None and position.end == 3
    after = through_of(table)
    assert after is not None and after > born_ms


def test_metadata_that_are_renewed_after_a_look_do_not_make_its_ends_newer(tmp_path: Path) -> None:
    class Slow(epoch_loop.Kafka):
        """When `slow`, ends take longer to arrive than metadata are kept, and records come meanwhile."""

        slow = False

        def high_watermarks(self, wanted: Collection[TopicPartition]) -> dict[TopicPartition, Watermark]:
            answer = dict(super().high_watermarks(wanted))
            if self.slow:
                clock.seconds += 20
                self.ends[epoch_loop.EARLY] += 2
            return answer

    kafka = Slow()
    loop, owned_tables, _ = loop_of(tmp_path, kafka, "topics: [early]", schemas=epoch_loop.AtOnce())
    table, clock = owned_tables.tables["air.early"], owned_tables._wiring.ports.clock
    while (epoch := loop.plan()) is not None:
        epoch_loop.run(loop, epoch)
    owned_tables.set_aside(owned_tables.tables["air.late"], TableError("hive.refused", "later"))
    clock.seconds += 20
    kafka.slow, began_ms = True, clock.epoch_ms()
    assert loop.plan() is None
    assert clock.epoch_ms() > began_ms and through_of(table) == began_ms


def test_what_waits_behind_an_open_transaction_is_not_read() -> None:
    story = Story()
    seen = logs({A0: 5, A1: 0, B0: 2}, (A0, A1, B0))
    story.stands({A0: 5, A1: 0, B0: 2})
    story.completion.note_ends(story.table, replace(seen, high={**seen.latest, A0: Watermark(10)}), T1)
    assert story.through() is None
    story.stands({A0: 10, A1: 0, B0: 2})
    assert story.through() == T1


def test_with_the_map_of_another_day_an_idle_table_withholds_nothing_any_more() -> None:
    """What waits for its certificate is known to Hive only then, so it needs not be registered to become complete."""
    waiting = HivePartition("d.t", DAYS[0], f"file:///w/{DAYS[0]}")
    story = Story(waits_for_hive=True, register="complete")
    story.looks({A0: 0, A1: 0, B0: 0}, T1)
    story.opens(DAYS[0])
    restate(story.table, withheld=(waiting,))
    assert story.completion.ask_for_news(story.table, ending=False) is None, "it waits on"
    story.policy.yes = {DAYS[0]}
    story.clock.sleep(ASK_SECONDS)
    assert story.due() == {DAYS[0]}
    assert story.said().withholds
    rule = replace(story.table.rule, register="first")
    story.table.in_map = replace(story.table.in_map, rule=rule)
    story.policy.yes = set()
    story.policy.yes = {DAYS[0]}
    story.clock.sleep(ASK_SECONDS)
    said = story.completion.ask_for_news(story.table, ending=False)
    assert isinstance(said, Completeness) and not said.withholds
    assert not said.complete, "Hive must have it first, now"
    restate(story.table, withheld=())
    assert story.completion.ask_for_news(story.table, ending=False) is None
