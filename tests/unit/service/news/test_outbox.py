"""The outbox of a run with threads: dead receivers delay nothing, rejections stop one table, and the end of a run waits."""

from collections.abc import Callable

import pytest

from kafka2hive.ledger.news import News
from kafka2hive.ledger.owned_ledger import OwnedLedger
from kafka2hive.model.files import HivePartition
from kafka2hive.model.paths.ledger import Generation, LedgerPaths
from kafka2hive.model.snapshot import Certificate, NewsProgress, Snapshot
from kafka2hive.service.news.outbox import LONGEST_WAIT, NotTaken, Outbox
from kafka2hive.service.tables.table_state import MapTable, Owned, Table
from kafka2hive.storage.concurrency import DaemonThreads
from kafka2hive.storage.local import LocalFileSystem
from tests.harness.clock import SkippedTime
from tests.harness.values import snapshot
from tests.simulation.chore_caller import table_rule


class Box:
    """A receiver that keeps what it is told, unless `refuses` returns an error."""

    def __init__(self, name: str, since: int | None = None) -> None:
        self.name, self.since = name, since
        self.told: list[str] = []
        self.refuses: Callable[[News], NotTaken | None] = lambda news: None

    def wants(self, table: str) -> bool:
        return True

    def tell(self, news: News) -> None:
        if (error := self.refuses(news)) is not None:
            raise error
        self.told.append(f"{news.table} {news.epoch}")

    def close(self) -> None: ...


def dead(news: News) -> NotTaken:
    return NotTaken("news.no_answer", "it is dead", "wait")


class Story:
    """Tables of one generation, whose epochs each certify a partition."""

    def __init__(self, *boxes: Box, has_hive: bool = False) -> None:
        self.clock = SkippedTime()
        self.outbox = Outbox(boxes, LocalFileSystem(), DaemonThreads(), self.clock, has_hive=has_hive)
        self.tables: dict[str, Table] = {}

    def epoch(
        self, name: str, number: int, *, in_place: bool = True, told: tuple[NewsProgress, ...] = ()
    ) -> Table:
        home = HivePartition(name, f"n={number}", f"file:///w/{name}/n={number}")
        certificate = Certificate(
            partition=home, since=1, files=1, rows=1, through="-", policy="p", success_file=""
        )
        state: Snapshot = snapshot(
            table=name, epoch=number, certificates=(certificate,), told=told, unregistered=(home,)
        )
        paths = LedgerPaths("file:///k", name)
        certified = frozenset({home} if in_place else ())
        ledger = OwnedLedger(paths, Generation(1, "now", "me"), state, certified=certified)
        rule = table_rule()
        table = self.tables.setdefault(name, Table(MapTable(rule, paths, topics=())))
        table.state = Owned(ledger, rule.settings(rule.columns), admitted=True)
        self.outbox.watch(table)
        return table

    def tell(self, box: Box) -> None:
        while self.outbox.tell_next(box.name):
            pass


def test_a_new_receiver_begins_with_the_next_epoch_and_a_known_one_where_it_was() -> None:
    box, known = Box("new"), Box("known")
    story = Story(box, known)
    story.epoch("a", 4, told=(NewsProgress("known", 3),))
    table = story.epoch("a", 5, told=(NewsProgress("known", 3),))
    story.tell(box)
    story.tell(known)
    assert box.told == ["a 5"] and known.told == ["a 4", "a 5"]
    assert story.outbox.progress(table) == (NewsProgress("new", 5), NewsProgress("known", 5))


def test_a_dead_receiver_delays_no_other_and_is_named_until_it_answers() -> None:
    box, silent = Box("box"), Box("silent")
    silent.refuses = dead
    story = Story(box, silent)
    for number in (1, 2, 3):
        story.epoch("a", number)
    story.tell(box)
    story.tell(silent)
    assert box.told == ["a 2", "a 3"] and silent.told == []
    (text,) = story.outbox.warnings()
    assert "silent" in text and "2 known ones" in text and "[news.no_answer]" in text
    silent.refuses = lambda news: None
    story.tell(silent)
    assert silent.told == [], "it waits before the next try"
    story.clock.seconds += LONGEST_WAIT
    story.tell(silent)
    assert silent.told == ["a 2", "a 3"] and story.outbox.warnings() == ()


def test_what_a_receiver_rejects_stops_the_news_of_that_table_only() -> None:
    box = Box("box")
    box.refuses = lambda news: (
        NotTaken("news.rejected", "no", "mend it", of_table=True) if news.table == "a" else None
    )
    story = Story(box)
    for name in ("a", "b"):
        story.epoch(name, 1)
        story.epoch(name, 2)
    story.tell(box)
    assert box.told == ["b 2"]
    assert "[news.rejected]" in story.outbox.warnings()[0]


def test_a_certificate_waits_until_it_is_in_place_and_hive_has_its_partition() -> None:
    box = Box("box")
    story = Story(box, has_hive=True)
    story.epoch("a", 1)
    table = story.epoch("a", 2, in_place=False)
    story.tell(box)
    assert box.told == [], "it is not in place"
    story.epoch("a", 2)
    story.tell(box)
    assert box.told == [], "Hive does not have it"
    table.state = Owned(
        table.owned.ledger, table.owned.settings, registered=table.owned.ledger.pending_registrations
    )
    story.outbox.watch(table)
    story.tell(box)
    assert box.told == ["a 2"]


def test_an_idle_table_records_what_was_told_after_a_while_or_at_the_end() -> None:
    box = Box("box")
    story = Story(box)
    story.epoch("a", 1)
    table = story.epoch("a", 2)
    assert not story.outbox.is_unrecorded(table, ending=True)
    story.tell(box)
    assert story.outbox.is_unrecorded(table, ending=True) and not story.outbox.is_unrecorded(table)
    story.clock.seconds += 10
    assert story.outbox.is_unrecorded(table)
    story.epoch("a", 3, told=(NewsProgress("box", 2),))
    assert not story.outbox.is_unrecorded(table, ending=True)


@pytest.mark.timeout(60)
def test_the_end_of_a_run_waits_for_receivers_that_answer() -> None:
    box, silent = Box("box"), Box("silent")
    silent.refuses = dead
    story = Story(box, silent)
    story.epoch("a", 1)
    story.outbox.start()
    for number in range(2, 30):
        story.epoch("a", number)
    assert not story.outbox.settle(30), "one of them is dead"
    assert box.told == [f"a {number}" for number in range(2, 30)]
    story.outbox.end(30)


def test_a_table_that_is_forgotten_is_told_no_more() -> None:
    box = Box("box")
    story = Story(box)
    story.epoch("a", 1)
    table = story.epoch("a", 2)
    story.outbox.forget(table)
    story.tell(box)
    assert box.told == [] and story.outbox.progress(table) is None
