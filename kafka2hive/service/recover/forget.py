"""`recover --forget-registration`: give up the registration of a partition that Hive refuses, here or by a live run."""

import shlex
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from kafka2hive.ledger.inbox import GiveUpRegistration
from kafka2hive.ledger.look import View
from kafka2hive.ledger.owned_ledger import OwnedLedger
from kafka2hive.model.errors import ConfigError, Kafka2HiveError, OwnedByLiveRun, ServiceUnavailable
from kafka2hive.model.files import HivePartition
from kafka2hive.model.snapshot import ForgottenRegistration, Snapshot
from kafka2hive.service.orders.delivery import give_order
from kafka2hive.service.recover.result import (
    RecoveredTable,
    RecoverRequest,
    RecoverResult,
    Recovery,
    Registration,
)
from kafka2hive.service.start.takeover import RegistrationOutcome
from kafka2hive.service.tables.ledgers import UnreadableLedger, did_you_mean, each_ledger, ledger_tables
from kafka2hive.service.tables.live_stop import stopped_by_its_run
from kafka2hive.service.wiring import Wiring


@dataclass(frozen=True, slots=True)
class ForgetPlan:
    """The registrations to give up, and the outcome for the others.

    `error`: Hive did not answer about a named registration, so it cannot be given up.
    """

    recorded: tuple[ForgottenRegistration, ...]
    outcome: RegistrationOutcome
    error: ServiceUnavailable | None


def refuse_unknown_registrations(states: Iterable[Snapshot], named: Collection[Registration]) -> None:
    """Raise ConfigError if a named registration is not pending in any of the ledgers and was not given up before."""
    known = {p for state in states for p in (*_pending(state), *(f.partition for f in state.forgotten))}
    for registration in named:
        if not any(map(registration.names, known)):
            paths = {p.path for p in known if p.table == registration.table}
            raise ConfigError(
                "usage.no_such_registration",
                f"{registration} is not a pending registration of any ledger here: nothing was changed",
                did_you_mean(registration.path, paths),
            )


def forget(
    owned: OwnedLedger, outcome: RegistrationOutcome, named: Collection[Registration], now: str
) -> ForgetPlan:
    """Decide which `named` registrations to give up: only those that Hive has just refused."""
    named_pending = {p for p in outcome.pending if any(r.names(p) for r in named)}
    given_up = sorted(named_pending & outcome.refusals.keys())
    recorded = tuple(
        ForgottenRegistration(
            partition=p,
            reason=outcome.refusals[p].message,
            accepted_by=owned.generation.owner or "init",
            accepted_at=now,
            epoch=owned.next_epoch,
        )
        for p in given_up
    )
    refusals = {p: error for p, error in outcome.refusals.items() if p not in given_up}
    refused = outcome.refused
    if refused in outcome.refusals.values():
        refused = next(iter(refusals.values()), None)
    remaining = RegistrationOutcome(outcome.pending - set(given_up), refused, refusals)
    unanswered = sorted(named_pending - set(given_up))
    if not unanswered or refused is not None:
        return ForgetPlan(recorded, remaining, None)
    error = ServiceUnavailable(
        "hive.not_refused",
        f"{owned.paths.table}: Hive did not answer about the registration of {unanswered[0].table} {unanswered[0].path};"
        " only a registration that Hive refuses can be given up",
        "bring HiveServer2 or the metastore back, then type `kafka2hive recover --forget-registration"
        f" {unanswered[0].table} {shlex.quote(unanswered[0].path)} -c MAP` again",
    )
    return ForgetPlan(recorded, remaining, error)


def order_to_forget(wiring: Wiring, request: RecoverRequest) -> RecoverResult | None:
    """Let live runs give up the registrations that `recover` names, and return the outcome.

    Returns None if the request asks for more, or if no live run owns the tables: then `recover` does it itself.
    """
    if request != RecoverRequest(tables=request.tables, forget=request.forget) or not request.forget:
        return None
    views = [view for view in _views(wiring, request.tables) if _names_pending(request, view)]
    if not views or not all(_owner_is_alive(wiring, view) for view in views):
        return None
    return RecoverResult(tuple(_order_forgetting(wiring, view, request) for view in views))


def _views(wiring: Wiring, tables: Collection[str]) -> list[View]:
    ledgers = [paths for paths in ledger_tables(wiring) if not tables or paths.table in tables]
    views = each_ledger(wiring, ledgers, lambda view: [view])
    return [v for v in views if not isinstance(v, UnreadableLedger) and v.state.service == wiring.map.service]


def _names_pending(request: RecoverRequest, view: View) -> bool:
    return any(each.names(partition) for each in request.forget for partition in _pending(view.state))


def _pending(state: Snapshot) -> tuple[HivePartition, ...]:
    """Return the partitions that Hive may have refused."""
    return (*state.unregistered, *state.withheld_until_certified)


def _owner_is_alive(wiring: Wiring, view: View) -> bool:
    """Return whether a live run owns the table and has not stopped it; a stopped table is repaired while the run is alive."""
    try:
        ownership = wiring.ownership_check(take_over=False, is_stopped=stopped_by_its_run(wiring))
        ownership.check_owner(view.paths, None)
    except OwnedByLiveRun:
        return True
    except Kafka2HiveError:
        return False
    return False


def _order_forgetting(wiring: Wiring, view: View, request: RecoverRequest) -> RecoveredTable:
    table, state, error = view.paths.table, view.state, None
    try:
        for each in request.forget:
            state = give_order(wiring, table, GiveUpRegistration(each.table, each.path)).state
    except Kafka2HiveError as refusal:
        error = refusal
    return RecoveredTable(
        table,
        Recovery.ORDERED,
        generation=view.generation.name,
        epoch=state.epoch,
        unregistered=len(state.unregistered),
        forgotten=tuple(
            f.partition for f in state.forgotten if any(e.names(f.partition) for e in request.forget)
        ),
        resumes_at=state.positions,
        error=error,
    )
