"""The ledgers below the map's ledger root: list them, read them one by one, and check names from a command line."""

import logging
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import chain
from typing import TypeVar

from kafka2hive.config.keys import TableRule
from kafka2hive.ledger.location import refuse_vanished_ledger
from kafka2hive.ledger.look import NoLedger, View, look
from kafka2hive.model.errors import ConfigError, Kafka2HiveError, ManualActionRequired, ServiceUnavailable
from kafka2hive.model.paths.ledger import LedgerPaths
from kafka2hive.model.progress import Advance
from kafka2hive.model.snapshot import Snapshot
from kafka2hive.service.wiring import Wiring
from kafka2hive.storage.port import Denied, StorageError, children

log = logging.getLogger(__name__)

T = TypeVar("T")


def ledger_tables(wiring: Wiring) -> list[LedgerPaths]:
    """Return every ledger below the map's ledger root, sorted by table; empty before the first run.

    Raises ServiceUnavailable.
    """
    ledgers = wiring.paths("").ledgers
    try:
        directories = children(wiring.ports.files, ledgers)
    except StorageError as error:
        raise ServiceUnavailable(
            "storage.unavailable",
            f"listing {ledgers}: {error}",
            error.remedy or "check that the NameNode is up, and that the map's storage uri is right",
        ) from error
    return [wiring.paths(c.name) for c in directories if c.is_directory and not c.name.startswith("init-")]


@dataclass(frozen=True, slots=True)
class UnreadableLedger:
    """The error of a table whose ledger could not be read, or on whose ledger the work failed."""

    table: str
    error: Kafka2HiveError


def each_ledger(
    wiring: Wiring,
    ledgers: Iterable[LedgerPaths],
    work: Callable[[View], Iterable[T]],
    advance: Advance = lambda **_: None,
) -> Iterator[T | UnreadableLedger]:
    """Look at one ledger after the other and yield the results of `work`. A ledger is read only when its result is taken.

    An error becomes the result of its ledger; a ledger that was removed after the listing is skipped. `advance` counts tables.
    """

    def results(paths: LedgerPaths) -> Iterator[T | UnreadableLedger]:
        yield from attempt(paths.table, lambda: work(look(wiring.ports.files, paths)))
        advance(tables=1)

    return chain.from_iterable(map(results, ledgers))


def attempt(table: str, work: Callable[[], Iterable[T]]) -> Iterator[T | UnreadableLedger]:
    """Yield the results of `work`. An error of `work` is yielded as an UnreadableLedger; NoLedger ends the results."""
    try:
        yield from work()
    except NoLedger:
        return
    except StorageError as error:
        yield UnreadableLedger(table, no_answer_about(table, error))
    except Kafka2HiveError as error:
        yield UnreadableLedger(table, error)


def no_answer_about(subject: str, error: StorageError) -> ServiceUnavailable:
    """Return the error of a command that got no answer from the file system about `subject`."""
    remedy = (
        error.remedy or "check that the file system answers, then type the same `kafka2hive` command again"
    )
    return ServiceUnavailable("storage.unavailable", f"{subject}: {error}", remedy)


def apart(results: Iterable[T | UnreadableLedger]) -> tuple[list[T], list[tuple[str, Kafka2HiveError]]]:
    """Return the results, and the errors with their tables' names."""
    successes: list[T] = []
    errors: list[tuple[str, Kafka2HiveError]] = []
    for result in results:
        if isinstance(result, UnreadableLedger):
            errors.append((result.table, result.error))
        else:
            successes.append(result)
    return successes, errors


def known_states(wiring: Wiring, ledgers: Iterable[LedgerPaths]) -> list[Snapshot]:
    """Return the states of the readable ledgers; the errors of unreadable ones go to the debug log."""
    states, errors = apart(each_ledger(wiring, ledgers, lambda view: [view.state]))
    for table, error in errors:
        log.debug("%s: %s", table, error)
    return states


def readable(results: Iterable[T | UnreadableLedger]) -> Iterator[T]:
    """Yield the results. Raises the first error among them."""
    for result in results:
        if isinstance(result, UnreadableLedger):
            raise result.error
        yield result


def other_ledgers(
    wiring: Wiring, table: str, first: Collection[str] = ()
) -> Iterator[Snapshot | UnreadableLedger]:
    """Yield the state of every ledger below the root except that of `table`, beginning with the tables in `first`.

    It includes ledgers of other services, because services may share a consumer group, and each ledger's positions explain
    offsets of the group. A ledger is read only when its state is taken. Raises ServiceUnavailable, AmbiguousOutcome (no answer).
    """
    others = [paths for paths in ledger_tables(wiring) if paths.table != table]
    others.sort(key=lambda paths: paths.table not in first)
    for state in each_ledger(wiring, others, lambda view: [view.state]):
        if isinstance(state, UnreadableLedger):
            denied = isinstance(state.error.__cause__, Denied)
            if not (denied or isinstance(state.error, ManualActionRequired)):
                raise state.error
        yield state


def literal_rules(wiring: Wiring) -> dict[str, TableRule]:
    """Return the rules without a pattern, by table name."""
    return {rule.table: rule for rule in wiring.map.tables if rule.pattern is None}


def vanished_ledgers(
    wiring: Wiring, tables: Collection[str], present: set[str]
) -> list[tuple[str, Kafka2HiveError]]:
    """Return errors for tables of the map whose owner marker exists, but whose ledger is gone.

    `present` are the tables with ledgers; `tables`, if not empty, are the only tables to check.
    """
    errors: list[tuple[str, Kafka2HiveError]] = []
    for name, rule in literal_rules(wiring).items():
        if name in present or (tables and name not in tables):
            continue
        try:
            refuse_vanished_ledger(wiring.ports.files, rule.location, wiring.paths(name).table_directory)
        except Kafka2HiveError as error:
            errors.append((name, error))
    return errors


def unknown_tables(
    wiring: Wiring, named: Collection[str], present: Collection[str]
) -> list[tuple[str, ConfigError]]:
    """Return errors for `named` tables that are neither in the map nor in `present`, the tables with ledgers."""
    known = {*literal_rules(wiring), *present}
    return [(name, no_such_table(name, known)) for name in sorted(set(named) - known)]


def require_table(wiring: Wiring, name: str, present: Collection[str]) -> None:
    """Raise ConfigError for an unknown table, ManualActionRequired (`ledger.vanished`) for one whose ledger is gone.

    `present` are the tables with ledgers.
    """
    for _, error in unknown_tables(wiring, (name,), present):
        raise error
    refuse_lost_ledgers(wiring, (name,), present)


def refuse_lost_ledgers(wiring: Wiring, tables: Collection[str], present: Collection[str]) -> None:
    """Raise ManualActionRequired (`ledger.vanished`) for the first table of the map whose ledger is gone.

    `present` are the tables with ledgers; `tables`, if not empty, are the only tables to check.
    """
    for _, error in vanished_ledgers(wiring, tables, set(present)):
        raise error


def no_such_table(name: str, known: Collection[str]) -> ConfigError:
    return ConfigError(
        "usage.no_such_table",
        f"{name} is not in the map and does not have a ledger",
        did_you_mean(name, known),
    )


def refuse_unknown(named: Collection[str], tables: Collection[str]) -> None:
    """Raise ConfigError if one of the `named` tables is not among `tables`, which are the map's."""
    for name in named:
        if name not in tables:
            raise ConfigError("usage.no_such_table", f"{name} is not in the map", did_you_mean(name, tables))


def did_you_mean(name: str, known: Collection[str]) -> str:
    """Return the remedy for an unknown name: the most similar known name, or the first ten known names."""
    if near := get_close_matches(name, sorted(known), 1):
        return f"did you mean {near[0]}?"
    if not known:
        return "`kafka2hive status -c MAP` shows the known names"
    return "known names: " + ", ".join(sorted(known)[:10]) + (", ..." if len(known) > 10 else "")
