"""Which ledgers there are below the root, and what others than one say; whether a table that was named is one of them."""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import chain
from typing import TypeVar

from kafka2hive.config.keys import TableRule
from kafka2hive.ledger.look import View, look
from kafka2hive.ledger.marker import refuse_vanished_ledger
from kafka2hive.ledger.take_over import NoLedger
from kafka2hive.model.errors import ConfigError, Kafka2HiveError, ManualActionRequired, ServiceUnavailable
from kafka2hive.model.paths.ledger import LedgerPaths
from kafka2hive.model.snapshot import Snapshot
from kafka2hive.service.wiring import Wiring
from kafka2hive.storage.port import Denied, StorageError, children

T = TypeVar("T")


def ledger_tables(wiring: Wiring) -> list[LedgerPaths]:
    """Every table with a ledger below the map's ledger root, sorted by name; none when nothing ran yet.

    Raises ServiceUnavailable.
    """
    ledgers = wiring.paths("").ledgers
    try:
        found = children(wiring.ports.files, ledgers)
    except StorageError as error:
        raise ServiceUnavailable(
            "storage.unavailable",
            f"listing {ledgers}: {error}",
            error.remedy or "is the NameNode up, and the uri in the map right?",
        ) from error
    return [wiring.paths(c.name) for c in found if c.is_directory and not c.name.startswith("init-")]


@dataclass(frozen=True, slots=True)
class UnreadableLedger:
    """A ledger that cannot be read, or a table that nothing can be said of, and why."""

    table: str
    error: Kafka2HiveError


def each_ledger(
    wiring: Wiring, ledgers: Iterable[LedgerPaths], work: Callable[[View], Iterable[T]]
) -> Iterator[T | UnreadableLedger]:
    """Look at one ledger after the other and give what `work` makes of it; nothing is read before it is asked for.

    An error is the result of that ledger alone; one that is gone by now is left out.
    """

    def one(paths: LedgerPaths) -> Iterator[T | UnreadableLedger]:
        return attempt(paths.table, lambda: work(look(wiring.ports.files, paths)))

    return chain.from_iterable(map(one, ledgers))


def attempt(table: str, work: Callable[[], Iterable[T]]) -> Iterator[T | UnreadableLedger]:
    """The results of `work`; what it raises is a result of this table, and NoLedger is none."""
    try:
        yield from work()
    except NoLedger:
        return
    except StorageError as error:
        remedy = error.remedy or "give the command again"
        yield UnreadableLedger(table, ServiceUnavailable("storage.unavailable", f"{table}: {error}", remedy))
    except Kafka2HiveError as error:
        yield UnreadableLedger(table, error)


def apart(found: Iterable[T | UnreadableLedger]) -> tuple[list[T], list[tuple[str, Kafka2HiveError]]]:
    """The results, and the errors by table."""
    results: list[T] = []
    errors: list[tuple[str, Kafka2HiveError]] = []
    for one in found:
        if isinstance(one, UnreadableLedger):
            errors.append((one.table, one.error))
        else:
            results.append(one)
    return results, errors


def readable(found: Iterable[T | UnreadableLedger]) -> Iterator[T]:
    """The results. Raises the first error there is among them."""
    for one in found:
        if isinstance(one, UnreadableLedger):
            raise one.error
        yield one


def other_ledgers(
    wiring: Wiring, table: str, first: Collection[str] = ()
) -> Iterator[Snapshot | UnreadableLedger]:
    """The state of every other ledger below the root than that of `table`; those of the tables in `first` come first.

    Their positions explain offsets of the consumer group, whatever service they are of: services may share a group.
    Nothing is read before it is asked for. Raises ServiceUnavailable, AmbiguousOutcome (no answer).
    """
    others = [paths for paths in ledger_tables(wiring) if paths.table != table]
    others.sort(key=lambda paths: paths.table not in first)
    for found in each_ledger(wiring, others, lambda view: [view.state]):
        if isinstance(found, UnreadableLedger):
            denied = isinstance(found.error.__cause__, Denied)
            if not (denied or isinstance(found.error, ManualActionRequired)):
                raise found.error
        yield found


def literal_rules(wiring: Wiring) -> dict[str, TableRule]:
    """The rules of the map that give one table each, by its name; those with a pattern are left out."""
    return {rule.table: rule for rule in wiring.map.tables if rule.pattern is None}


def vanished_ledgers(
    wiring: Wiring, wanted: Collection[str], there: set[str]
) -> list[tuple[str, Kafka2HiveError]]:
    """Tables named by the map (`wanted` empty: all) that have no ledger, though their directory says there was one."""
    errors: list[tuple[str, Kafka2HiveError]] = []
    for name, rule in literal_rules(wiring).items():
        if name in there or (wanted and name not in wanted):
            continue
        try:
            refuse_vanished_ledger(wiring.ports.files, rule.location, wiring.paths(name).table_directory)
        except Kafka2HiveError as error:
            errors.append((name, error))
    return errors


def unknown_tables(
    wiring: Wiring, named: Collection[str], there: Collection[str]
) -> list[tuple[str, ConfigError]]:
    """Those of the `named` tables that are neither in the map nor have a ledger (`there`): mistyped, most likely."""
    known = {*literal_rules(wiring), *there}
    return [(name, no_such_table(name, known)) for name in sorted(set(named) - known)]


def no_such_table(name: str, known: Collection[str]) -> ConfigError:
    return ConfigError(
        "usage.no_such_table", f"{name} is no table of the map and has no ledger", did_you_mean(name, known)
    )


def refuse_unknown(wanted: Collection[str], tables: Collection[str]) -> None:
    """For commands that need no ledger. Raises ConfigError: one of `wanted` is not among the map's tables."""
    for name in wanted:
        if name not in tables:
            raise ConfigError(
                "usage.no_such_table", f"{name} is no table of the map", did_you_mean(name, tables)
            )


def did_you_mean(name: str, known: Collection[str]) -> str:
    """What to do about a name that is not known: the nearest one, else all of them (the first ten)."""
    if near := get_close_matches(name, sorted(known), 1):
        return f"did you mean {near[0]}?"
    if not known:
        return "`kafka2hive status -c MAP` shows what there is"
    return "there is: " + ", ".join(sorted(known)[:10]) + (", ..." if len(known) > 10 else "")
