"""Questions to Hive. A few threads ask them, so that callers do not wait long for a server that does not answer."""

from collections import deque
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from kafka2hive.model.errors import TableError
from kafka2hive.model.metastore import HiveLoginRefused, TooManySessions
from kafka2hive.storage.port import Background, Clock

_LINGER_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Agreement:
    """Hive's table matches the map. If `is_current` is false, the table must still be created or altered.

    `missing` are the partitions of the question that Hive lacks.
    """

    is_current: bool = True
    missing: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Disagreement:
    """Hive's table does not match the map, so tables that write to it must not commit."""

    error: TableError


@dataclass(frozen=True, slots=True)
class NoAnswer:
    """Hive is unreachable, or has not answered yet. `refused` is set if Hive refuses the login or a further session.

    `alone` says that only the statement of this question failed, so that other questions may still succeed.
    """

    why: str
    refused: HiveLoginRefused | TooManySessions | None = None
    alone: bool = False


Answer = Agreement | Disagreement | NoAnswer


@dataclass(frozen=True, slots=True)
class Question:
    """A question about one table. With `conform` a missing table is created and columns are added if the map allows it.

    With `partitions` it is about these partitions of the table only (see compare_partitions).
    """

    table: str
    conform: bool
    partitions: tuple[str, ...] = ()


Ask = Callable[[Question], Answer]


@dataclass(slots=True, eq=False)
class _Reply:
    """The reply to one question; `answer` is None until Hive has answered."""

    answer: Answer | None = None


class HiveQuestions:
    """Asks questions in up to `threads` threads. `open_ask` opens one thread's session; a request has its own time limit.

    A question is asked once, however many callers wait for it. After the server was silent for `longest_silence` seconds,
    or a request failed for a reason that affects all questions, callers get NoAnswer at once until the server has answered
    something. Questions are still asked in the background, and a caller that repeats one later gets the answer.
    """

    def __init__(
        self,
        open_ask: Callable[[], AbstractContextManager[Ask]],
        background: Background,
        clock: Clock,
        *,
        threads: int,
        longest_silence: float,
    ) -> None:
        self._open_ask = open_ask
        self._background = background
        self._clock = clock
        self._longest_silence = longest_silence
        self._threads_left = threads
        self._condition = background.condition()
        self._queue: deque[tuple[Question, _Reply]] = deque()
        self._replies: dict[Question, _Reply] = {}
        self._since = 0.0  # monotonic seconds of the last answer, or of the first question after a pause
        self._silence: NoAnswer | None = None  # what callers get while the server is silent

    def answer(self, question: Question) -> Answer:
        """Return Hive's answer, or NoAnswer at once while the server is known to be silent."""
        with self._condition:
            reply = self._ask(question)
            while reply.answer is None:
                seconds_left = self._since + self._longest_silence - self._clock.monotonic()
                if self._silence is None and seconds_left <= 0:
                    self._silence = NoAnswer(f"Hive has not answered for {self._longest_silence:g} s")
                if self._silence is not None:
                    return self._silence
                self._condition.wait_for(
                    lambda: reply.answer is not None or self._silence is not None, seconds_left
                )
            if self._replies.get(question) is reply:
                del self._replies[question]
            return reply.answer

    def announce(self, questions: Sequence[Question]) -> None:
        """Ask questions whose answers will be wanted at once, so that all threads work on them."""
        with self._condition:
            for question in questions:
                self._ask(question)

    def forget(self, table: str) -> None:
        """Drop answers and open questions about a table that has meanwhile been found to differ."""
        with self._condition:
            for question in [question for question in self._replies if question.table == table]:
                del self._replies[question]

    def _ask(self, question: Question) -> _Reply:
        """Return the reply of a question under way, or of an Agreement that was not read yet; otherwise ask anew."""
        reply = self._replies.get(question)
        if reply is not None and (reply.answer is None or isinstance(reply.answer, Agreement)):
            return reply
        if all(entry.answer is not None for entry in self._replies.values()):
            self._since = self._clock.monotonic()
        self._replies[question] = reply = _Reply()
        self._queue.append((question, reply))
        self._condition.notify_all()
        if self._threads_left:
            self._threads_left -= 1
            self._background.start("ask-hive", self._work)
        return reply

    def _work(self) -> None:
        try:
            with self._open_ask() as ask:
                while (request := self._next()) is not None:
                    question, reply = request
                    answer: Answer = NoAnswer(f"asking about {question.table} failed")
                    try:
                        answer = ask(question)
                    finally:  # also after a bug, because callers must not wait for ever
                        with self._condition:
                            self._answered(question, reply, answer)
        except BaseException:  # whatever ends this thread, a new thread may take its place
            with self._condition:
                self._threads_left += 1
            raise

    def _next(self) -> tuple[Question, _Reply] | None:
        """Return the next question. After _LINGER_SECONDS without a question return None, which ends the thread."""
        with self._condition:
            if not self._condition.wait_for(lambda: bool(self._queue), _LINGER_SECONDS):
                self._threads_left += 1
                return None
            return self._queue.popleft()

    def _answered(self, question: Question, reply: _Reply, answer: Answer) -> None:
        reply.answer = answer
        if isinstance(answer, NoAnswer) and not answer.alone:
            self._silence = NoAnswer(f"asked about {question.table}: {answer.why}", answer.refused)
            for _, other in self._queue:
                other.answer = self._silence
            self._queue.clear()
        else:
            self._silence = None
            self._since = self._clock.monotonic()
        self._condition.notify_all()
