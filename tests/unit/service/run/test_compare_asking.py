"""Questions to Hive: nobody waits for a silent server, and what it answers late is not lost."""

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest

from kafka2hive.model.errors import TableError
from kafka2hive.service.run.hive_questions import (
    Agreement,
    Answer,
    Ask,
    Disagreement,
    HiveQuestions,
    NoAnswer,
    Question,
)
from kafka2hive.storage.concurrency import DaemonThreads, SystemClock
from tests.simulation.clock import SimulatedClock

LONG = 60.0


class Server:
    """Answers by the table's name; hangs while `hanging` is set."""

    def __init__(self, answers: dict[str, Answer] | None = None) -> None:
        self.answers = answers or {}
        self.hanging = threading.Event()
        self.go_on = threading.Event()
        self.reached = threading.Semaphore(0)
        self.asked: list[str] = []
        self.sessions = 0

    @contextmanager
    def session(self) -> Iterator[Ask]:
        self.sessions += 1
        yield self._ask

    def _ask(self, question: Question) -> Answer:
        self.asked.append(question.table)
        self.reached.release()
        if self.hanging.is_set():
            assert self.go_on.wait(LONG)
        return self.answers.get(question.table, Agreement())


class Turns:
    """The Background port without threads: who waits lets those started have their turn, and where that is none, time passes."""

    def __init__(self) -> None:
        self.clock = SimulatedClock()
        self.hangs = False
        self._started: list[Callable[[], None]] = []

    def start(self, name: str, work: Callable[[], None]) -> "Turns":
        self._started.append(work)
        return self

    def join(self, timeout: float | None = None) -> None:
        while self._started:
            self._started.pop(0)()

    def condition(self) -> "Turns":
        return self

    def __enter__(self) -> bool:
        return True

    def __exit__(self, *_: object) -> None:
        """Nobody else wants it."""

    def notify_all(self) -> None:
        """Who waits looks by itself."""

    def wait_for(self, predicate: Callable[[], bool], timeout: float | None = None) -> bool:
        if not self.hangs:
            self.join()
        if not predicate():
            self.clock.sleep(timeout or 0.0)
        return predicate()


def asking_of(
    open_ask: Callable[[], AbstractContextManager[Ask]], *, threads: int, longest_silence: float
) -> HiveQuestions:
    return HiveQuestions(
        open_ask, DaemonThreads(), SystemClock(), threads=threads, longest_silence=longest_silence
    )


def q(table: str) -> Question:
    return Question(table, conform=False)


def test_a_thousand_tables_are_asked_for_once_each_in_a_few_sessions() -> None:
    server = Server()
    asking = asking_of(server.session, threads=4, longest_silence=LONG)
    tables = [f"d.t{n}" for n in range(1000)]
    found: list[Answer] = []
    askers = [
        threading.Thread(target=lambda part=part: found.extend(asking.answer(q(t)) for t in part))
        for part in (tables[n::8] for n in range(8))
    ]
    for asker in askers:
        asker.start()
    for asker in askers:
        asker.join()
    assert found == [Agreement()] * 1000
    assert sorted(server.asked) == sorted(tables) and server.sessions <= 4


def test_once_the_server_was_silent_nobody_waits_for_it_again() -> None:
    server = Server()
    server.hanging.set()
    asking = asking_of(server.session, threads=2, longest_silence=0.0)
    assert isinstance(asking.answer(q("d.a")), NoAnswer)
    patient = asking_of(server.session, threads=2, longest_silence=LONG)
    first = threading.Thread(target=patient.answer, args=(q("d.b"),))
    first.start()
    assert server.reached.acquire(timeout=LONG)
    patient._silence = NoAnswer("silent")  # as after the patience; the test must not wait a minute for it
    assert [patient.answer(q(f"d.{n}")) for n in range(50)] == [NoAnswer("silent")] * 50
    server.go_on.set()
    first.join()


def test_questions_wait_by_the_clock_and_the_threads_of_the_wiring() -> None:
    turns, server = Turns(), Server()
    asking = HiveQuestions(server.session, turns, turns.clock, threads=2, longest_silence=5.0)
    assert asking.answer(q("d.a")) == Agreement()
    turns.hangs, began = True, turns.clock.monotonic()
    silent = NoAnswer("Hive has not answered for 5 s")
    assert asking.answer(q("d.b")) == silent and turns.clock.monotonic() - began == 5.0
    assert asking.answer(q("d.c")) == silent and turns.clock.monotonic() - began == 5.0, "not waited for"
    turns.hangs = False
    turns.join()
    assert [asking.answer(q(f"d.{name}")) for name in "bc"] == [Agreement()] * 2
    assert server.asked == ["d.a", "d.b", "d.c"]


def test_a_late_answer_is_there_for_the_next_who_asks() -> None:
    server = Server()
    server.hanging.set()
    asking = asking_of(server.session, threads=1, longest_silence=0.0)
    assert isinstance(asking.answer(q("d.a")), NoAnswer)
    server.hanging.clear()
    server.go_on.set()
    while isinstance(answer := asking.answer(q("d.a")), NoAnswer):
        pass
    assert answer == Agreement()
    assert set(server.asked) == {"d.a"}


def test_after_an_outage_the_rest_is_not_asked_for_and_an_answer_ends_the_silence() -> None:
    away = NoAnswer("connection refused")
    server = Server({"d.a": away})
    asking = asking_of(server.session, threads=1, longest_silence=LONG)
    assert asking.answer(q("d.a")) == away
    told = NoAnswer("asked about d.a: connection refused")
    assert asking.answer(q("d.b")) == told, "not waited for, or the outage is told as that of d.b"
    while asking.answer(q("d.b")) == told:
        pass
    assert asking.answer(q("d.c")) == Agreement(), "waited for again"


def test_a_statement_that_failed_for_one_table_is_no_answer_to_another() -> None:
    failed = NoAnswer("JDODataStoreException in: CREATE DATABASE d", alone=True)
    server = Server({"d.a": failed})
    server.hanging.set()
    asking = asking_of(server.session, threads=1, longest_silence=LONG)
    answers: dict[str, Answer] = {}
    threads = [
        threading.Thread(target=lambda name=name: answers.update({name: asking.answer(q(name))}))
        for name in ("d.a", "d.b", "d.c")
    ]
    threads[0].start()
    assert server.reached.acquire(timeout=LONG)
    for thread in threads[1:]:
        thread.start()
    server.hanging.clear()
    server.go_on.set()
    for thread in threads:
        thread.join(LONG)
    assert answers == {"d.a": failed, "d.b": Agreement(), "d.c": Agreement()}
    assert asking.answer(q("d.d")) == Agreement()


def test_a_refusal_that_nobody_waited_for_is_asked_for_again() -> None:
    differs = Disagreement(TableError("hive.format", "text"))
    server = Server({"d.a": differs})
    server.hanging.set()
    asking = asking_of(server.session, threads=1, longest_silence=0.0)
    assert isinstance(asking.answer(q("d.a")), NoAnswer)
    server.hanging.clear()
    server.go_on.set()
    while asking.answer(q("d.b")) != Agreement():
        pass  # one thread asks: it has the refusal of d.a by now
    server.answers.clear()
    while isinstance(answer := asking.answer(q("d.a")), NoAnswer):
        pass
    assert answer == Agreement()


@pytest.mark.parametrize("under_way", [True, False])
def test_an_agreement_from_before_a_refusal_is_asked_for_again(under_way: bool) -> None:
    server = Server()
    server.hanging.set()
    asking = asking_of(server.session, threads=1, longest_silence=0.0)
    assert isinstance(asking.answer(q("d.a")), NoAnswer)
    assert server.reached.acquire(timeout=LONG)
    if under_way:
        asking.forget("d.a")
    server.hanging.clear()
    server.go_on.set()
    while asking.answer(q("d.b")) != Agreement():
        pass  # one thread asks: it has the agreement of d.a by now
    if not under_way:
        asking.forget("d.a")
    while asking.answer(q("d.a")) != Agreement():
        pass
    assert server.asked.count("d.a") == 2


def test_a_bug_in_an_ask_leaves_nobody_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[object] = []
    monkeypatch.setattr(threading, "excepthook", lambda what: told.append(what.exc_value))

    class Broken(Server):
        def _ask(self, question: Question) -> Answer:
            raise RuntimeError(f"a bug at {question.table}")

    asking = asking_of(Broken().session, threads=1, longest_silence=LONG)
    assert asking.answer(q("d.a")) == NoAnswer("asking about d.a failed")
    for thread in threading.enumerate():
        if thread.name == "ask-hive":
            thread.join()
    assert [str(error) for error in told] == ["a bug at d.a"]
