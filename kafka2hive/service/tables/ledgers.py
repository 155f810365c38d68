"""The ledgers below the map's ledger root: listed, read one by one, and compared with the names that a command was given."""

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
            error.remedy or "is the NameNode up, and the uri in the map right?",
        ) from error
    return [wiring.paths(c.name) for c in directories if c.is_directory and not c.name.startswith("init-")]


@dataclass(frozen=True, slots=True)
class UnreadableLedger:
    """The error with which reading a table's ledger, or the work on it, failed."""

    table: str
    error: Kafka2HiveError


def each_ledger(
    wiring: Wiring, ledgers: Iterable[LedgerPaths], work: Callable[[View], Iterable[T]]
) -> Iterator[T | UnreadableLedger]:
    """Look at one ledger after the other and yield the results of `work`; each is read only when it is needed.

    An error becomes the result of its ledger; a ledger that was removed after the listing is skipped.
    """

    def one(paths: LedgerPaths) -> Iterator[T | UnreadableLedger]:
        return attempt(paths.table, lambda: work(look(wiring.ports.files, paths)))

    return chain.from_iterable(map(one, ledgers))


def attempt(table: str, work: Callable[[], Iterable[T]]) -> Iterator[T | UnreadableLedger]:
    """Yield the results of `work`. An error that it raises is yielded as the table's result, except NoLedger, which ends it."""
    try:
        yield from work()
    except NoLedger:
        return
    except StorageError as error:
        yield UnreadableLedger(table, no_answer_about(table, error))
    except Kafka2HiveError as error:
        yield UnreadableLedger(table, error)


def no_answer_about(subject: str, error: StorageError) -> ServiceUnavailable:
    """Return the error of a command whose question about `subject` the file system did not answer."""
    remedy = error.remedy or "give the command again"
    return ServiceUnavailable("storage.unavailable", f"{subject}: {error}", remedy)


def apart(results: Iterable[T | UnreadableLedger]) -> tuple[list[T], list[tuple[str, Kafka2HiveError]]]:
    """Separate the results from the errors, which come with their tables' names."""
    successes: list[T] = []
    errors: list[tuple[str, Kafka2HiveError]] = []
    for one in results:
        if isinstance(one, UnreadableLedger):
            errors.append((one.table, one.error))
        else:
            successes.append(one)
    return successes, errors


def known_states(wiring: Wiring, ledgers: Iterable[LedgerPaths]) -> list[Snapshot]:
    """Return the states of the ledgers that can be read; the errors of the others go to the debug log."""
    states, errors = apart(each_ledger(wiring, ledgers, lambda view: [view.state]))
    for table, error in errors:
        log.debug("%s: %s", table, error)
    return states


def readable(results: Iterable[T | UnreadableLedger]) -> Iterator[T]:
    """Yield the results. Raises the first error among them."""
    for one in results:
        if isinstance(one, UnreadableLedger):
            raise one.error
        yield one


def other_ledgers(
    wiring: Wiring, table: str, first: Collection[str] = ()
) -> Iterator[Snapshot | UnreadableLedger]:
    """Yield the state of every ledger below the root except that of `table`, beginning with the tables in `first`.

    Their positions explain offsets of the consumer group, whatever service they belong to: services may share a group.
    Each ledger is read only when it is needed. Raises ServiceUnavailable, AmbiguousOutcome (no answer).
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
    """Return the rules without a pattern, by the name of their table."""
    return {rule.table: rule for rule in wiring.map.tables if rule.pattern is None}


def vanished_ledgers(
    wiring: Wiring, wanted: Collection[str], present: set[str]
) -> list[tuple[str, Kafka2HiveError]]:
    """Return errors for the map's tables (or those in `wanted`) that have an owner marker, but no ledger any more."""
    errors: list[tuple[str, Kafka2HiveError]] = []
    for name, rule in literal_rules(wiring).items():
        if name in present or (wanted and name not in wanted):
            continue
        try:
            refuse_vanished_ledger(wiring.ports.files, rule.location, wiring.paths(name).table_directory)
        except Kafka2HiveError as error:
            errors.append((name, error))
    return errors


def unknown_tables(
    wiring: Wiring, named: Collection[str], present: Collection[str]
) -> list[tuple[str, ConfigError]]:
    """Return errors for `named` tables that are not in the map and not among `present`, which have ledgers: probably mistyped."""
    known = {*literal_rules(wiring), *present}
    return [(name, no_such_table(name, known)) for name in sorted(set(named) - known)]


def no_such_table(name: str, known: Collection[str]) -> ConfigError:
    return ConfigError(
        "usage.no_such_table", f"{name} is no table of the map and has no ledger", did_you_mean(name, known)
    )


def refuse_unknown(wanted: Collection[str], tables: Collection[str]) -> None:
    """Raise ConfigError if one of `wanted` is not among `tables`, the map's; for commands that need no ledger."""
    for name in wanted:
        if name not in tables:
            raise ConfigError(
                "usage.no_such_table", f"{name} is no table of the map", did_you_mean(name, tables)
            )


def did_you_mean(name: str, known: Collection[str]) -> str:
    """Return the remedy for an unknown name: the most similar known name, otherwise the first ten."""
    if near := get_close_matches(name, sorted(known), 1):
        return f"did you mean {near[0]}?"
    if not known:
        return "`kafka2hive status -c MAP` shows what there is"
    return "there is: " + ", ".join(sorted(known)[:10]) + (", ..." if len(known) > 10 else "")
