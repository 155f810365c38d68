"""`recover --forget-registration`: give up the registration of a partition that Hive refuses. Pure."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from kafka2hive.ledger.owned_ledger import OwnedLedger
from kafka2hive.model.errors import ConfigError, ServiceUnavailable, TableError
from kafka2hive.model.files import HivePartition
from kafka2hive.model.snapshot import ForgottenRegistration, Snapshot
from kafka2hive.service.tables.ledgers import did_you_mean


@dataclass(frozen=True, slots=True)
class RegistrationOutcome:
    """The outcome of registering. `pending` are still not registered; `refusals` are Hive's errors for single partitions.

    `refused` is one of Hive's refusals, that of a whole table if Hive refused one; None if it refused nothing or did not
    answer.
    """

    pending: frozenset[HivePartition] = frozenset()
    refused: TableError | None = None
    refusals: Mapping[HivePartition, TableError] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Registration:
    """A Hive partition as an operator names it: the Hive table and the path, `dt=2013-01-17/hr=05`."""

    table: str
    path: str

    def __str__(self) -> str:
        return f"{self.table} {self.path}"

    def names(self, partition: HivePartition) -> bool:
        return (partition.table, partition.path) == (self.table, self.path)


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
    known = {p for state in states for p in (*state.unregistered, *(f.partition for f in state.forgotten))}
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
        "bring HiveServer2 back, then type `kafka2hive recover --forget-registration"
        f" {unanswered[0].table} {unanswered[0].path}` again",
    )
    return ForgetPlan(recorded, remaining, error)
