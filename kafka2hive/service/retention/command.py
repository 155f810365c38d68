"""`kafka2hive retain`: drops expired Hive partitions and deletes their files. The table's service must be stopped."""

from dataclasses import dataclass, replace
from functools import partial

from kafka2hive.config.keys import TableRule
from kafka2hive.ledger.epoch import publish
from kafka2hive.ledger.look import View
from kafka2hive.ledger.owned_ledger import OwnedLedger
from kafka2hive.ledger.retention import MOST_DROPPED, Retention
from kafka2hive.ledger.snapshot.change import Expiry
from kafka2hive.model.errors import ConfigError, ExitCode, Kafka2HiveError, TableError
from kafka2hive.model.files import HivePartition
from kafka2hive.model.metastore import PartitionDropper
from kafka2hive.service.retention.expired import ExpiredPartition, ExpiredPeriods, success_files
from kafka2hive.service.tables.ledgers import (
    UnreadableLedger,
    literal_rules,
    no_answer_about,
)
from kafka2hive.service.tables.takeover import Announce, TablesInHive, known_ledger, on_ledger, take_over
from kafka2hive.service.wiring import Wiring

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
    return _drop(wiring, in_hive.metastore, rule, owned)


def _drop(
    wiring: Wiring, metastore: PartitionDropper | None, rule: TableRule, owned: OwnedLedger
) -> RetainResult:
    """Record what has expired (E2), drop it from Hive (E3), and delete files whose time is over (E4)."""
    table = owned.state.table

    def commit(change: Expiry) -> OwnedLedger:
        return publish(wiring.ports, work.owned, change).owned

    now = wiring.ports.clock.epoch_ms() / 1000
    work = Retention(wiring.ports, owned, commit, success_files(rule), has_hive=metastore is not None)
    expired = ExpiredPeriods.of(wiring, rule, owned.state, owned.certified)
    dropped = work.expire(expired.before_ms, (e.partition for e in expired.partitions if not e.waits), now)
    looks = () if metastore is None else work.drop(metastore, lambda: wiring.ports.clock.epoch_ms() / 1000)
    absent = work.never_in_hive.union(*(look.gone for look in looks))
    deletion = work.delete(absent, now)
    outages = [look.outage.to_error(f"{table}: {look.outage}") for look in looks if look.outage is not None]
    failure = None if deletion.error is None else no_answer_about(owned.state.location, deletion.error)
    return RetainResult(
        table=table,
        expired_before=expired.before_text,
        partitions=tuple(
            each if each.waits or each.partition in dropped else replace(each, waits=_NO_ROOM)
            for each in expired.partitions
        ),
        dropping=tuple(each.partition for each in work.owned.state.dropped),
        cleared=deletion.cleared,
        deleted=deletion.files,
        foreign=deletion.foreign,
        refused=tuple(sorted((home, why) for look in looks for home, why in look.refused.items())),
        error=next(iter(outages), failure),
    )
