"""The gate before a table's commits: Hive's table must match the map before anything is committed.

`hive_gate` builds the gate that asks the map's HiveServer2.
"""

import logging
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import assert_never

from kafka2hive.hive.port import Tables
from kafka2hive.ledger.snapshot.change import Change, DataEpoch, Replay
from kafka2hive.model.errors import ConfigError, ServiceUnavailable, TableError
from kafka2hive.model.metastore import (
    HiveLoginRefused,
    MetastoreUnavailable,
    StatementFailed,
    TooManySessions,
)
from kafka2hive.model.snapshot import ComparedTable
from kafka2hive.service.hive.partitions import (
    DESCRIBED_AT_ONCE,
    ComparedPartitions,
    compare_partitions,
    slices,
)
from kafka2hive.service.hive.schemas import Catalogue, TableChanges
from kafka2hive.service.run.hive_questions import (
    Agreement,
    Answer,
    Ask,
    Disagreement,
    HiveQuestions,
    NoAnswer,
    Question,
)
from kafka2hive.service.tables.table_state import Owned, Table
from kafka2hive.service.wiring import Wiring

log = logging.getLogger(__name__)

SESSIONS = 4
PATIENCE_SECONDS = 15.0  # a busy HiveServer2 takes some seconds for a statement


class Gate:
    """The gate of a map without Hive: it compares nothing.

    A gate is called before a table's ledger is made, after a table is taken over, and before each of its commits.
    """

    def admit(self, table: Table) -> None:
        """Check that the table may be taken over, or commit.

        Raises TableError (Hive's table does not match the map), ServiceUnavailable (never compared, and Hive is unreachable).
        """

    def check(self, table: Table, change: Change) -> None:
        """Check that `change` may be committed. Raises what `admit` raises; then the caller must not commit."""

    def agreed(self, table: Table) -> tuple[ComparedTable, ...]:
        """Return this table and the dead-letter table as far as they matched Hive's in this run. Does not ask Hive."""
        return ()

    def differs(self, hive_table: str, error: TableError) -> None:
        """Note that Hive has refused this table; it is compared again before the next commit."""

    def forget(self, hive_table: str) -> None:
        """Forget all about a table, as a new run would: its map has changed."""


@dataclass(slots=True, eq=False)
class HiveGate(Gate):
    """The gate that compares each table with Hive's.

    `_spec` returns a table as the map requires it. `_answer` asks Hive, and `_forget` drops earlier answers about a table (see
    HiveQuestions).

    A table that matches is compared once per run, and each of its partitions before it gets its first file of the run. If
    Hive does not answer, a table is admitted only if its ledger records a comparison of the same spec, and Hive has not
    refused the table or one of the partitions in this run. The dead-letter table is compared, too, but only tables whose
    epochs held dead letters wait for the result. `_announce` takes questions that will be asked next.
    """

    _spec: Callable[[str], ComparedTable]
    _answer: Callable[[Question], Answer]
    _forget: Callable[[str], None]
    _dead_letters: str
    _announce: Callable[[Sequence[Question]], None] = lambda _: None
    _agreed: dict[str, ComparedTable] = field(default_factory=dict, init=False)
    _refused: dict[str, TableError] = field(default_factory=dict, init=False)
    _with_letters: set[str] = field(default_factory=set, init=False)
    _compared_dead_letters: bool = field(default=False, init=False)
    _partitions: ComparedPartitions = field(default_factory=ComparedPartitions, init=False)
    _contradictions: dict[str, "_Contradiction"] = field(default_factory=dict, init=False)

    def admit(self, table: Table) -> None:
        """Admit a table. Before it has a ledger, Hive is only asked; afterwards a missing Hive table is created."""
        self._require(table, table.name, conform=isinstance(table.ownership, Owned))
        if table.name in self._with_letters:
            self._require(table, self._dead_letters, conform=True)
        elif self._dead_letters not in {**self._agreed, **self._refused}:
            self._compare_dead_letters(was_compared=self._dead_letters in {c.table for c in _recorded(table)})
        if known := self._contradictions.get(table.name):
            self._require_partitions(table, known.table, known.paths)

    def check(self, table: Table, change: Change) -> None:
        self._require(table, table.name, conform=True)
        files = change.files if isinstance(change, DataEpoch | Replay) else ()
        partitions: dict[str, set[str]] = {}
        for file in files:
            partitions.setdefault(file.hive_partition.table, set()).add(file.hive_partition.path)
        if self._dead_letters in partitions:
            self._with_letters.add(table.name)
            self._require(table, self._dead_letters, conform=True)
        for name, paths in partitions.items():
            self._require_partitions(table, name, paths - {""})

    def agreed(self, table: Table) -> tuple[ComparedTable, ...]:
        agreed = (self._agreed[name] for name in (table.name, self._dead_letters) if name in self._agreed)
        return tuple(replace(each, created=self._spec(each.table).created) for each in agreed)

    def differs(self, hive_table: str, error: TableError) -> None:
        self._agreed.pop(hive_table, None)
        self._refused[hive_table] = error
        self._forget(hive_table)

    def forget(self, hive_table: str) -> None:
        self._agreed.pop(hive_table, None)
        self._refused.pop(hive_table, None)
        self._contradictions.pop(hive_table, None)
        self._with_letters.discard(hive_table)
        self._partitions.forget(hive_table)
        self._forget(hive_table)

    def _require(self, table: Table, name: str, *, conform: bool) -> None:
        spec = self._spec(name)
        if self._agreed.get(name) == spec:
            return
        self._partitions.forget(name)
        answer = self._answer(Question(name, conform))
        match answer:
            case Agreement(is_current):
                self._refused.pop(name, None)
                if is_current:
                    self._agreed[name] = spec
            case Disagreement(error):
                self.differs(name, error)
                raise error
            case NoAnswer():
                if name in self._refused:
                    raise self._refused[name]
                if spec not in _recorded(table):
                    raise _not_compared(table, name, answer)
            case _:
                assert_never(answer)

    def _require_partitions(self, table: Table, name: str, paths: Collection[str]) -> None:
        unknown = self._partitions.unknown(name, paths)
        if len(unknown) > DESCRIBED_AT_ONCE:
            missing = self._agreement(table, Question(name, conform=False, partitions=tuple(unknown))).missing
            self._partitions.add(name, missing)
            unknown = [path for path in unknown if path not in missing]
        questions = [Question(name, conform=False, partitions=tuple(part)) for part in slices(unknown)]
        self._announce(questions)
        for question in questions:
            if self._agreement(table, question).is_current:
                self._partitions.add(name, question.partitions)
        self._contradictions.pop(table.name, None)

    def _agreement(self, table: Table, question: Question) -> Agreement:
        """Return the agreement about partitions; one that is not current if Hive does not answer and need not."""
        match answer := self._answer(question):
            case Agreement():
                return answer
            case Disagreement(error):
                self._contradictions[table.name] = _Contradiction(question.table, question.partitions, error)
                self._forget(question.table)
                raise error
            case NoAnswer():
                if known := self._contradictions.get(table.name):
                    raise known.error
                if self._spec(question.table) not in _recorded(table):
                    raise _not_compared(table, question.table, answer)
                return Agreement(is_current=False)
            case _:
                assert_never(answer)

    def _compare_dead_letters(self, *, was_compared: bool) -> None:
        """Compare the dead-letter table before there are dead letters, so that ledgers can record it and errors show early.

        If the table is missing and a ledger says that Hive had it (`was_compared`), it is created again, because it may have
        letters. Otherwise it does not count as matching: somebody may create a different one before the first dead letter.
        """
        if self._compared_dead_letters and not was_compared:
            return
        name = self._dead_letters
        answer = self._answer(Question(name, conform=was_compared))
        if isinstance(answer, Agreement):
            self._compared_dead_letters = True
            if answer.is_current:
                self._agreed[name] = self._spec(name)
        elif isinstance(answer, Disagreement) and str(self._refused.get(name)) != str(answer.error):
            self._refused[name] = answer.error
            log.error("no dead letter can be committed: %s", answer.error)


@dataclass(frozen=True, slots=True)
class _Contradiction:
    """Partitions of a Hive table of which one contradicts the map, as the `error` says."""

    table: str
    paths: tuple[str, ...]
    error: TableError


def hive_gate(wiring: Wiring, catalogue: Catalogue) -> Gate:
    """Build the gate of a map. It asks Hive in up to SESSIONS sessions, which connect at the first question."""
    if wiring.map.hive is None:
        return Gate()
    questions = HiveQuestions(
        lambda: asker(wiring.tables_in_hive, catalogue),
        wiring.background,
        wiring.ports.clock,
        threads=SESSIONS,
        longest_silence=PATIENCE_SECONDS,
    )
    return HiveGate(
        _spec=catalogue.spec,
        _answer=questions.answer,
        _forget=questions.forget,
        _dead_letters=wiring.map.dead_letters.table,
        _announce=questions.announce,
    )


@contextmanager
def asker(connect: Callable[[], Tables], catalogue: Catalogue) -> Iterator[Ask]:
    """Return a context with a function that asks Hive over one connection, which is closed at the end of the context."""
    tables = connect()
    try:
        yield lambda question: ask_hive(tables, catalogue, question)
    finally:
        tables.close()


def ask_hive(tables: Tables, catalogue: Catalogue, question: Question) -> Answer:
    """Compare one table of the map, or partitions of it, with Hive's, and make the table match if `question.conform`.

    Errors become answers.
    """
    try:
        if question.partitions:
            spec = catalogue.expected(question.table)
            return Agreement(missing=compare_partitions(tables, spec, question.partitions))
        ask = catalogue.conform if question.conform else catalogue.compare
        comparison = ask(tables, question.table)
    except (HiveLoginRefused, TooManySessions) as error:
        return NoAnswer(str(error), error)
    except StatementFailed as error:
        return NoAnswer(str(error), alone=True)
    except (MetastoreUnavailable, ConfigError) as error:
        return NoAnswer(str(error))
    except TableError as error:
        return Disagreement(error)
    return Agreement(is_current=not isinstance(comparison, TableChanges))


def _recorded(table: Table) -> Collection[ComparedTable]:
    owned = table.ownership
    return owned.state.compared if isinstance(owned, Owned) else ()


def _not_compared(table: Table, name: str, answer: NoAnswer) -> ServiceUnavailable | TableError:
    which = "" if name == table.name else f" {name}, which takes the dead letters,"
    text = (
        f"{table.name}: Hive's table{which} must be compared with the map before the first commit, but cannot be:"
        f" {answer.why}"
    )
    if answer.refused is not None:
        return answer.refused.to_error(text)
    if answer.alone:
        return TableError("hive.refused", text, "do what Hive's message asks for")
    return ServiceUnavailable(
        "hive.not_compared",
        text,
        "bring HiveServer2 or the metastore back; the run tries the table again by itself",
    )
