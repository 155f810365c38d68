"""`kafka2hive retain` takes a table over, and does once what a run's retention does between its epochs."""

import logging
from dataclasses import dataclass, field, replace
from functools import partial

from kafka2hive.config.keys import TableRule
from kafka2hive.ledger.look import View
from kafka2hive.ledger.owned_ledger import OwnedLedger
from kafka2hive.ledger.retention import MOST_DROPPED, Removal
from kafka2hive.model.errors import ConfigError, ExitCode, Kafka2HiveError, ServiceUnavailable, TableError
from kafka2hive.model.files import HivePartition
from kafka2hive.model.metastore import Partitions
from kafka2hive.model.progress import Advance
from kafka2hive.service.chores.command_owner import CommandOwner, LooksOfCommand
from kafka2hive.service.hive.dropped import DropLookResult
from kafka2hive.service.retention.chore import RetentionChore
from kafka2hive.service.retention.expired import ExpiredPartition, ExpiredPeriods
from kafka2hive.service.start.takeover import Announce, TablesInHive, known_ledger, on_ledger, take_over
from kafka2hive.service.tables.ledgers import (
    UnreadableLedger,
    literal_rules,
    no_answer_about,
)
from kafka2hive.service.wiring import Wiring

log = logging.getLogger(__name__)

_NO_ROOM = f"{MOST_DROPPED} partitions are dropped at a time: repeat the command when their files are deleted"


@dataclass(frozen=True, slots=True)
class RetainRequest:
    """The options of `retain`. `take_over`: a live owner is fenced."""

    table: str
    plan_only: bool = False
    take_over: bool = False


@dataclass(frozen=True, slots=True)
class RetainResult:
    """What has expired. `expired_before`: periods that ended by then have expired (ISO-8601 UTC; "" if none has).

    `partitions`: the expired partitions that were not dropped before. `dropping`: the dropped partitions that have files, or
    that Hive may have. `deleted`: the number of files that this command deleted. `refused`: why Hive does not drop a partition.
    """

    table: str
    expired_before: str = ""
    partitions: tuple[ExpiredPartition, ...] = ()
    dropping: tuple[HivePartition, ...] = ()
    cleared: tuple[HivePartition, ...] = ()
    deleted: int = 0
    foreign: tuple[str, ...] = ()
    refused: tuple[tuple[HivePartition, str], ...] = ()
    error: Kafka2HiveError | None = None

    @property
    def exit_code(self) -> ExitCode:
        if self.error is not None and not isinstance(self.error, TableError):
            return self.error.exit_code
        return ExitCode.SET_ASIDE if self.error is not None or self.refused or self.foreign else ExitCode.DONE


def retain(wiring: Wiring, request: RetainRequest) -> RetainResult:
    """Drop what has expired, or with `plan_only` say what would be dropped. Raises ServiceUnavailable, ConfigError.

    A crash leaves partitions that are recorded as dropped; the next call drops them from Hive and deletes their files.
    """
    paths = known_ledger(wiring, request.table)
    rule = literal_rules(wiring).get(request.table)
    if rule is not None and rule.retain is None:
        raise _not_in_map(request.table)
    result = on_ledger(wiring, paths, partial(_retain, wiring, request))
    if isinstance(result, UnreadableLedger):
        return RetainResult(request.table, error=result.error)
    return result or RetainResult(request.table)


def _not_in_map(table: str) -> ConfigError:
    return ConfigError(
        "retain.not_in_map",
        f"{table} has no `retain` in the map: its partitions stay forever",
        "give the table `retain`, such as `retain: 400d`",
    )


def _retain(wiring: Wiring, request: RetainRequest, view: View, announce: Announce) -> RetainResult:
    in_hive = TablesInHive(wiring, f"retain --table {request.table}")
    route = in_hive.tables.by_name.get(request.table)
    if route is None or route.rule.retain is None:
        raise _not_in_map(request.table)
    rule = route.rule
    if request.plan_only:
        planned = ExpiredPeriods.of(wiring, rule, view.state)
        return RetainResult(
            request.table,
            planned.before_text,
            planned.partitions,
            tuple(each.partition for each in view.state.dropped),
        )
    ownership = wiring.ownership_check(take_over=request.take_over)
    owned = take_over(wiring, view.paths, rule.location, ownership, announce=announce)
    with wiring.progress.work(f"drop expired partitions of {request.table}") as advance:
        return _drop(wiring=wiring, metastore=in_hive.metastore, rule=rule, owned=owned, advance=advance)


@dataclass(slots=True)
class _RetainReport:
    """What the chore says of the table."""

    advance: Advance
    before: str = ""
    partitions: tuple[ExpiredPartition, ...] = ()
    cleared: list[HivePartition] = field(default_factory=list)
    deleted: int = 0
    foreign: list[str] = field(default_factory=list)
    errors: list[Kafka2HiveError] = field(default_factory=list)
    location: str = ""

    def listed(self, table: str, expired: ExpiredPeriods, dropped: frozenset[HivePartition]) -> None:
        self.before = expired.before_text
        self.partitions = tuple(
            each if each.waits or each.partition in dropped else replace(each, waits=_NO_ROOM)
            for each in expired.partitions
        )
        for path, why in expired.unreadable:
            log.warning("%s: what has expired in %s is not known: %s", table, path, why)

    def not_listed(self, table: str, error: ServiceUnavailable) -> None:
        self.errors.append(error)

    def removed(self, table: str, removal: Removal) -> None:
        self.cleared += removal.cleared
        self.deleted += removal.files
        self.foreign += removal.foreign
        self.advance(partitions=len(removal.cleared), files=removal.files)
        if removal.error is not None:
            self.errors.append(no_answer_about(self.location, removal.error))


def _drop(
    wiring: Wiring, metastore: Partitions | None, rule: TableRule, owned: OwnedLedger, advance: Advance
) -> RetainResult:
    """Let the chore of a run do all that it can do now, each look in Hive followed by a step (E2 to E4)."""
    owner = CommandOwner(wiring.ports, rule, owned)
    table, outcome = owner.table, _RetainReport(advance, location=owned.state.location)
    looks = LooksOfCommand(metastore, wiring.ports.clock)
    chore = RetentionChore(wiring, owner, looks, [outcome])
    refused = dict[HivePartition, str]()
    chore.ask(table)
    is_done = False
    while not is_done:
        epoch = table.owned.state.epoch
        chore.step(is_idle=True)
        chore.watch(table)
        answers = looks.look()
        for answer in answers:
            chore.note(answer)
            if isinstance(answer, DropLookResult):
                refused |= answer.look.refused
        is_idle = not answers and looks.is_done
        is_done = is_idle and (table.owned.state.epoch == epoch or not chore.has_work(table))
    if looks.outage is not None:
        outcome.errors.insert(0, looks.outage.to_error(f"{table.name}: {looks.outage}"))
    return RetainResult(
        table=table.name,
        expired_before=outcome.before,
        partitions=outcome.partitions,
        dropping=tuple(each.partition for each in table.owned.state.dropped),
        cleared=tuple(sorted(outcome.cleared)),
        deleted=outcome.deleted,
        foreign=tuple(outcome.foreign),
        refused=tuple(sorted(refused.items())),
        error=next(iter(outcome.errors), None),
    )
