"""The outbox of a run: which news each receiver is told next, and how far it has taken them (N3 to N6 of docs/protocol.md).

The ledger is the outbox; this module only remembers where each receiver is. The epoch loop hands over what it has published
and never waits; one thread for each receiver tells it the news. A receiver that does not take them is tried again with waits
that double, and delays neither epochs nor other receivers.
"""

import logging
import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from kafka2hive.ledger.history import finals_after
from kafka2hive.ledger.news import News, NewsKind, news_of, news_of_history
from kafka2hive.ledger.owned_ledger import OwnedLedger
from kafka2hive.model.errors import Kafka2HiveError
from kafka2hive.model.snapshot import NewsProgress, Snapshot
from kafka2hive.model.text import counted
from kafka2hive.service.containment import Containment
from kafka2hive.service.tables.table_state import Owned, Table
from kafka2hive.storage.port import Background, Clock, FileSystem, NotFound, StorageError, Thread

log = logging.getLogger(__name__)

MOST_RECENT = 100
"""Epochs with news that are remembered for each table; a receiver that is further behind reads the ledger's history."""
MOST_READ = 100
"""Snapshots of a history that are read at a time."""
RECORD_SECONDS = 10.0
"""How long an idle table waits until it records what was told."""
FIRST_WAIT, LONGEST_WAIT = 1.0, 300.0
MOST_OFTEN = 0.1
"""Seconds between two tries of a thread, also if a bug says that something is always due."""


class NotTaken(Exception):
    """The receiver did not take the news. With `of_table` it takes others, so only this table's news wait."""

    def __init__(self, code: str, message: str, remedy: str, *, of_table: bool = False) -> None:
        super().__init__(message)
        self.code, self.message, self.remedy, self.of_table = code, message, remedy, of_table

    def __str__(self) -> str:
        return f"[{self.code}] {self.message}; what to do: {self.remedy}"


class Receiver(Protocol):
    """Somebody who is told what happens to tables. `since` is the first epoch that a new receiver is told; None: the next."""

    name: str
    since: int | None

    def wants(self, table: str) -> bool: ...

    def tell(self, news: News) -> None:
        """Tell the receiver one piece of news, and return once it has taken it. Raises NotTaken."""
        ...

    def close(self) -> None: ...


class Watcher(Protocol):
    """Is told what becomes of the news of a receiver; it must not wait."""

    def note_taken(self, receiver: str) -> None: ...

    def note_failure(self, receiver: str, code: str) -> None: ...

    def note_waiting(self, receiver: str, news: int, seconds: float) -> None: ...


class NoWatcher:
    def note_taken(self, receiver: str) -> None: ...

    def note_failure(self, receiver: str, code: str) -> None: ...

    def note_waiting(self, receiver: str, news: int, seconds: float) -> None: ...


@dataclass(slots=True)
class TableNews:
    """The news of a table's epochs above `known_after` up to the newest one; `pending` are partitions that Hive may lack."""

    ledger: OwnedLedger
    known_after: int
    most_recent: int
    recent: dict[int, tuple[News, ...]] = field(default_factory=dict)
    pending: frozenset[tuple[str, str]] = frozenset()

    @staticmethod
    def begin(ledger: OwnedLedger, most_recent: int) -> "TableNews":
        """Begin with the newest epoch."""
        news = TableNews(ledger, ledger.state.epoch - 1, most_recent)
        news._note(ledger.state.epoch, news_of(ledger.state))
        return news

    def take(self, ledger: OwnedLedger) -> None:
        """Take what was published, or certified again, since the last call."""
        before, state = self.ledger, ledger.state
        if state.epoch == before.state.epoch + 1:
            unwritten = frozenset(state.reopened) - before.certified
            self._note(before.state.epoch, news_of(before.state, unwritten))
        elif state.epoch != before.state.epoch:
            self.known_after, self.recent = state.epoch - 1, {}
        if state.epoch != before.state.epoch:
            self._note(state.epoch, news_of(state))
        self.ledger = ledger

    def _note(self, epoch: int, news: tuple[News, ...]) -> None:
        if epoch <= self.known_after:
            return
        self.recent.pop(epoch, None)
        if news:
            self.recent[epoch] = news
        if len(self.recent) > self.most_recent:
            self.forget(min(self.recent))

    def forget(self, through: int) -> None:
        """Forget the news of the epochs up to `through`."""
        self.known_after = max(self.known_after, through)
        for epoch in [epoch for epoch in self.recent if epoch <= through]:
            del self.recent[epoch]

    def is_ready(self, news: News) -> bool:
        """Return whether the news may be told: a certificate is in place, and Hive has its partition (N3)."""
        if news.kind is not NewsKind.COMPLETE or news.partition is None:
            return True
        if news.epoch == self.ledger.state.epoch and news.partition not in self.ledger.certified:
            return False  # the next snapshot says what becomes of it
        return news.partition.name not in self.pending


@dataclass(frozen=True, slots=True)
class Failure:
    """Why news were not taken, since when, how often, and until when they wait (monotonic seconds)."""

    error: NotTaken
    since: float
    times: int
    wait_until: float

    @staticmethod
    def after(known: "Failure | None", error: NotTaken, now: float) -> "Failure":
        times = 0 if known is None else known.times
        wait = min(FIRST_WAIT * 2 ** min(times, 10), LONGEST_WAIT)
        return Failure(error, now if known is None else known.since, times + 1, now + wait)


Epoch = tuple[int, tuple[News, ...]]
"""An epoch and its news; all epochs between it and the one before it have no news."""


@dataclass(slots=True)
class Place:
    """How far one receiver has taken the news of one table: all of the epochs up to `through`, and those `done` of the next one.

    `told` is the newest epoch whose news it took, 0 before the first; `told_at` when it took the first that are not recorded.
    """

    through: int
    done: set[str] = field(default_factory=set)
    told: int = 0
    told_at: float = math.inf
    history: deque[Epoch] = field(default_factory=deque)
    failure: Failure | None = None

    def next_epoch(self, news: TableNews) -> Epoch | None:
        """Return the next epoch with news; None if there is none, or if the history must be read first."""
        while self.history and self.history[0][0] <= self.through:
            self.history.popleft()
        if self.history:
            return self.history[0]
        if self.through < news.known_after:
            return None
        return next((each for each in sorted(news.recent.items()) if each[0] > self.through), None)

    def finish(self, epoch: int, now: float) -> None:
        """Note that there are no more news of this epoch."""
        self.through = epoch
        if self.done:
            self.told, self.told_at = epoch, min(self.told_at, now)
            self.done = set()


@dataclass(slots=True)
class _Receiver:
    """What is known of one receiver. `due` are the tables to look at."""

    port: Receiver
    places: dict[str, Place] = field(default_factory=dict)
    due: dict[str, None] = field(default_factory=dict)
    failure: Failure | None = None
    thread: Thread | None = None

    @property
    def failures(self) -> list[Failure]:
        own = [] if self.failure is None else [self.failure]
        return own + [place.failure for place in self.places.values() if place.failure is not None]

    def wait_until(self, table: str) -> float:
        of_table = self.places[table].failure
        return max(
            (each.wait_until for each in (self.failure, of_table) if each is not None), default=-math.inf
        )


class NoNews:
    """For maps without receivers: nobody is told anything, and the ledgers forget the receivers of earlier maps."""

    def start(self) -> None: ...

    def watch(self, table: Table) -> None: ...

    def forget(self, table: Table) -> None: ...

    def progress(self, table: Table) -> tuple[NewsProgress, ...]:
        return ()

    def is_unrecorded(self, table: Table, *, ending: bool = False) -> bool:
        return False

    def settle(self, seconds: float) -> bool:
        return True

    def end(self, seconds: float) -> None: ...

    def warnings(self) -> tuple[str, ...]:
        return ()

    def report(self) -> None: ...


class Outbox:
    """The news of a run's tables. The epoch loop calls it under its lock; `tell_next` runs in the receivers' threads.

    With `has_hive`, the news of a certificate waits until Hive has the partition.
    """

    most_recent, most_read = MOST_RECENT, MOST_READ

    def __init__(
        self,
        receivers: Sequence[Receiver],
        files: FileSystem,
        background: Background,
        clock: Clock,
        *,
        has_hive: bool,
        watcher: Watcher | None = None,
    ) -> None:
        self._receivers = {receiver.name: _Receiver(receiver) for receiver in receivers}
        self._tables: dict[str, TableNews] = {}
        self._files = files
        self._background = background
        self._clock = clock
        self._has_hive = has_hive
        self._watcher = watcher or NoWatcher()
        self._condition = background.condition()
        self._containment = Containment()
        self._changes = 0
        self._ending = False

    # the epoch loop's side

    def start(self) -> None:
        for receiver in self._receivers.values():
            work = partial(self._work, receiver)
            receiver.thread = self._background.start(f"news {receiver.port.name}", work)

    def watch(self, table: Table) -> None:
        """Hand over what the table's ledger says: after a take-over, a commit, and answers of Hive. Never waits."""
        ownership = table.ownership
        if not self._receivers or not isinstance(ownership, Owned) or ownership.ledger.pending:
            return
        ledger, name = ownership.ledger, table.name
        with self._condition:
            news = self._tables.get(name)
            if news is None or news.ledger.generation != ledger.generation:
                news = self._tables[name] = TableNews.begin(ledger, self.most_recent)
                for receiver in self._receivers.values():
                    self._begin(receiver, name, ledger.state)
            news.take(ledger)
            news.pending = (
                frozenset(each.name for each in table.not_in_hive) if self._has_hive else frozenset()
            )
            recorded = {each.receiver: each.through for each in ledger.state.told}
            through = ledger.state.epoch
            for receiver in self._receivers.values():
                if (place := receiver.places.get(name)) is None:
                    continue
                receiver.due[name] = None
                through = min(through, place.through)
                if recorded.get(receiver.port.name, -1) >= place.told:
                    place.told_at = math.inf
            news.forget(through)
            self._changes += 1
            self._condition.notify_all()

    def _begin(self, receiver: _Receiver, table: str, state: Snapshot) -> None:
        """Begin where the ledger says that the receiver is; a new one begins with the next epoch, or with `since` (N4)."""
        port = receiver.port
        if not port.wants(table):
            receiver.places.pop(table, None)
            return
        since = state.epoch + 1 if port.since is None else min(port.since, state.epoch + 1)
        known = (each.through for each in state.told if each.receiver == port.name)
        receiver.places[table] = Place(next(known, since - 1))

    def forget(self, table: Table) -> None:
        """Tell nothing more of a table whose ledger was dropped from memory (R0)."""
        with self._condition:
            self._tables.pop(table.name, None)
            for receiver in self._receivers.values():
                receiver.places.pop(table.name, None)
                receiver.due.pop(table.name, None)

    def progress(self, table: Table) -> tuple[NewsProgress, ...] | None:
        """Return what the table's next snapshot says of the receivers; None leaves it as it is (N4)."""
        with self._condition:
            if table.name not in self._tables and self._receivers:
                return None
            return tuple(
                NewsProgress(name, receiver.places[table.name].through)
                for name, receiver in self._receivers.items()
                if table.name in receiver.places
            )

    def is_unrecorded(self, table: Table, *, ending: bool = False) -> bool:
        """Return whether an idle table should record what was told: after RECORD_SECONDS, or if the run is ending."""
        before = math.inf if ending else self._clock.monotonic() - RECORD_SECONDS
        with self._condition:
            places = [receiver.places.get(table.name) for receiver in self._receivers.values()]
            return any(
                place is not None and place.told_at < math.inf and place.told_at <= before for place in places
            )

    def settle(self, seconds: float) -> bool:
        """Wait until the receivers have taken all news, except those that do not answer. Return whether all have."""
        with self._condition:
            self._condition.wait_for(self._is_settled, seconds)
            return not any(receiver.due for receiver in self._receivers.values())

    def _is_settled(self) -> bool:
        return not any(
            receiver.wait_until(table) == -math.inf
            for receiver in self._receivers.values()
            for table in receiver.due
        )

    def end(self, seconds: float) -> None:
        """Stop the threads. What was not taken is told by the next run."""
        with self._condition:
            self._ending = True
            self._condition.notify_all()
        for receiver in self._receivers.values():
            if receiver.thread is not None:
                receiver.thread.join(seconds)
            receiver.port.close()

    def warnings(self) -> tuple[str, ...]:
        """Return a text for each receiver that does not take the news."""
        with self._condition:
            now = self._clock.monotonic()
            return tuple(
                f"receiver {name} of news has not taken {counted(self._waiting(receiver), 'known one')} for"
                f" {now - worst.since:.0f} s, and the tables go on: {worst.error}"
                for name, receiver in self._receivers.items()
                if (worst := min(receiver.failures, key=lambda each: each.since, default=None)) is not None
            )

    def report(self) -> None:
        """Tell the watcher how many news wait, and for how long their receivers have not taken any."""
        with self._condition:
            now = self._clock.monotonic()
            for name, receiver in self._receivers.items():
                since = min((each.since for each in receiver.failures), default=now)
                self._watcher.note_waiting(name, self._waiting(receiver), now - since)

    def _waiting(self, receiver: _Receiver) -> int:
        """Return how many of the remembered news the receiver has not taken. The caller must hold the condition."""
        return sum(
            len(found)
            for table, place in receiver.places.items()
            for epoch, found in self._tables[table].recent.items()
            if epoch > place.through
        )

    # the receivers' side

    def _work(self, receiver: _Receiver) -> None:
        while not self._ending:
            changes = self._changes
            self._containment.attempt(f"news for {receiver.port.name}", partial(self._tell_all, receiver))
            with self._condition:
                wait = partial(self._is_awake, changes)
                self._condition.wait_for(wait, max(MOST_OFTEN, min(self._pause(receiver), LONGEST_WAIT)))

    def _is_awake(self, changes: int) -> bool:
        return self._ending or self._changes > changes

    def _tell_all(self, receiver: _Receiver) -> None:
        while not self._ending and self._tell_next(receiver):
            pass

    def _pause(self, receiver: _Receiver) -> float:
        """Return for how long nothing is due, unless the loop hands something over. The caller must hold the condition."""
        if not receiver.due:
            return LONGEST_WAIT
        return min(map(receiver.wait_until, receiver.due)) - self._clock.monotonic()

    def tell_next(self, name: str) -> bool:
        """Tell the receiver the next piece of news, or read more of a history for it. Return whether there may be more now."""
        return self._tell_next(self._receivers[name])

    def _tell_next(self, receiver: _Receiver) -> bool:
        with self._condition:
            choice = self._choose(receiver)
        if choice is None:
            return False
        place, table, news = choice
        if news is None:
            return self._read_history(receiver, place, table)
        try:
            receiver.port.tell(news)
        except NotTaken as error:
            self._note_failure(receiver, place, error)
            return error.of_table
        with self._condition:
            self._note_told(receiver, place, news)
        self._watcher.note_taken(receiver.port.name)
        return True

    def _choose(self, receiver: _Receiver) -> tuple[Place, TableNews, News | None] | None:
        """Return what to do next: tell a piece of news, or read a history (None). The caller must hold the condition."""
        now = self._clock.monotonic()
        for name in list(receiver.due):
            place, table = receiver.places[name], self._tables[name]
            if now < receiver.wait_until(name):
                continue
            while (epoch := place.next_epoch(table)) is not None:
                news = next((each for each in epoch[1] if each.id not in place.done), None)
                if news is not None:
                    break
                place.finish(epoch[0], now)
            else:
                if place.through < table.known_after:
                    return place, table, None
                place.through = table.ledger.state.epoch
                news = None
            if news is not None and table.is_ready(news):
                return place, table, news
            del receiver.due[name]  # until the loop hands the table over again
        self._condition.notify_all()
        return None

    def _read_history(self, receiver: _Receiver, place: Place, table: TableNews) -> bool:
        """Read the next snapshots of the history, and the one after them, which says what became of their certificates (N5)."""
        ledger, after = table.ledger, place.through
        most = min(self.most_read, table.known_after - after) + 1
        try:
            snapshots = finals_after(self._files, ledger.paths, ledger.directory, after=after, most=most)
            if not snapshots:
                raise NotFound(f"{ledger.directory} has no snapshot after epoch {after}")
        except (StorageError, Kafka2HiveError) as error:
            remedy = "nothing: it is tried again"
            unread = NotTaken(
                "news.history", f"{ledger.paths.table}: its history: {error}", remedy, of_table=True
            )
            self._note_failure(receiver, place, unread)
            return True
        with self._condition:
            place.failure = None
            place.history.extend((news[0].epoch, news) for news in news_of_history(after, snapshots) if news)
            place.history.append((snapshots[-1].epoch - 1, ()))
        return True

    def _note_failure(self, receiver: _Receiver, place: Place, error: NotTaken) -> None:
        name, now = receiver.port.name, self._clock.monotonic()
        self._watcher.note_failure(name, error.code)
        with self._condition:
            if error.code not in {each.error.code for each in receiver.failures}:
                log.warning("receiver %s of news: %s; the news wait, and the tables go on", name, error)
            if error.of_table:
                place.failure = Failure.after(place.failure, error, now)
            else:
                receiver.failure = Failure.after(receiver.failure, error, now)
            self._condition.notify_all()

    def _note_told(self, receiver: _Receiver, place: Place, news: News) -> None:
        """Note that the receiver has taken the news. The caller must hold the condition."""
        if receiver.failure is not None or place.failure is not None:
            log.info("receiver %s takes news of %s again", receiver.port.name, news.table)
        receiver.failure = place.failure = None
        place.done.add(news.id)
