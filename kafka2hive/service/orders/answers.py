"""An operator's orders to a table, and the changes that carry them out; for a run, and for a command without a live run."""

import shlex
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import assert_never

from kafka2hive.ledger.inbox import (
    CompactPartitions,
    GiveUpRegistration,
    Inbox,
    LongInstruction,
    Order,
    PauseTable,
    ReloadMap,
    ReplayLetters,
    ResumeTable,
)
from kafka2hive.ledger.owned_ledger import OwnedLedger
from kafka2hive.ledger.snapshot.change import Change, PauseUpdate, RegistrationUpdate
from kafka2hive.model.errors import ConfigError, Kafka2HiveError, ServiceUnavailable, TableError
from kafka2hive.model.files import HivePartition
from kafka2hive.model.snapshot import ORDER_DONE, ForgottenRegistration, Pause, RecordedOrder, Snapshot
from kafka2hive.service.tables.ledgers import did_you_mean


def answer_orders(
    inbox: Inbox,
    orders: Iterable[Order],
    state: Callable[[], Snapshot],
    publish: Callable[[Order], object],
) -> None:
    """Answer the orders to one table, in turn: `publish` the snapshot that records an order, then move its file to `done/`.

    A crash in between leaves the file; then the next owner finds the order's id in the snapshot. If a file cannot be moved, the
    remaining orders wait, so that a snapshot needs to list only the last orders. A long instruction comes here only after its
    answer is recorded (split_long). Raises what `publish` raises.
    """
    for order in orders:
        if find_recorded(state(), order.id) is None:
            publish(order)
        if not inbox.move_to_done(order):
            return


def split_long(orders: Iterable[Order], state: Snapshot) -> tuple[list[Order], list[Order]]:
    """Return the orders for `answer_orders`, and the unanswered ones with long instructions."""
    split: tuple[list[Order], list[Order]] = [], []
    for order in orders:
        takes_many = isinstance(order.instruction, LongInstruction) and find_recorded(state, order.id) is None
        split[takes_many].append(order)
    return split


def next_replay(replays: Iterable[Order], unread: Collection[str], state: Snapshot) -> Order | None:
    """Return the replay to do next: first the replay under way (`state.replaying`). None while its file is `unread`."""
    running = "" if state.replaying is None else state.replaying.order
    if running in unread:
        return None
    return min(replays, key=lambda order: order.id != running, default=None)


def find_recorded(state: Snapshot, order_id: str) -> RecordedOrder | None:
    return next((record for record in state.orders if record.id == order_id), None)


def change_for(
    order: Order,
    owned: OwnedLedger,
    now: str,
    registered: frozenset[HivePartition] = frozenset(),
    refusals: Mapping[HivePartition, TableError] | None = None,
    result: str = ORDER_DONE,
) -> Change:
    """Return the change whose snapshot carries the order out, or records why the order is refused. Pure.

    `registered` are pending registrations that Hive has confirmed since the newest snapshot, `refusals` Hive's latest refusals.
    `result` is the result of a long instruction, whose work earlier epochs have done.
    """
    done = (_record(order, owned, now, ORDER_DONE),)
    match order.instruction:
        case PauseTable():
            pause = owned.state.paused or Pause(
                since=now, by=order.given_by, order=order.id, epoch=owned.next_epoch
            )
            return PauseUpdate(paused=pause, orders=done, registered=registered)
        case ResumeTable():
            return PauseUpdate(paused=None, orders=done, registered=registered)
        case GiveUpRegistration():
            try:
                given_up = _given_up(
                    order=order,
                    named=order.instruction,
                    owned=owned,
                    now=now,
                    registered=registered,
                    refusals=refusals or {},
                )
            except Kafka2HiveError as error:
                return RegistrationUpdate(
                    orders=(_record(order, owned, now, str(error)),), registered=registered
                )
            return RegistrationUpdate(forgotten=given_up, orders=done, registered=registered)
        case ReplayLetters() | CompactPartitions() | ReloadMap():  # the last never comes here
            return RegistrationUpdate(orders=(_record(order, owned, now, result),), registered=registered)
        case _:
            assert_never(order.instruction)


def _record(order: Order, owned: OwnedLedger, now: str, result: str) -> RecordedOrder:
    return RecordedOrder(
        id=order.id,
        kind=order.instruction.kind,
        given_by=order.given_by,
        given_at=order.given_at,
        done_at=now,
        epoch=owned.next_epoch,
        result=result,
    )


def _given_up(
    order: Order,
    named: GiveUpRegistration,
    owned: OwnedLedger,
    now: str,
    registered: frozenset[HivePartition],
    refusals: Mapping[HivePartition, TableError],
) -> tuple[ForgottenRegistration, ...]:
    """Return the registrations to give up, all of which Hive refuses. Raises ConfigError, ServiceUnavailable."""
    state, place = owned.state, (named.hive_table, named.partition)
    pending = [p for p in sorted(owned.pending_registrations) if p.name == place and p not in registered]
    if not pending:
        if any((f.partition.table, f.partition.path) == place for f in state.forgotten):
            return ()
        raise ConfigError(
            "usage.no_such_registration",
            f"{state.table} has no pending registration of {named.hive_table} {named.partition}: nothing was changed",
            did_you_mean(
                named.partition, {p.path for p in state.unregistered if p.table == named.hive_table}
            ),
        )
    if not_refused := [p for p in pending if p not in refusals]:
        raise ServiceUnavailable(
            "hive.not_refused",
            f"{state.table}: Hive has not refused the registration of {not_refused[0].table} {not_refused[0].path};"
            " only a refused registration can be given up",
            "see what `kafka2hive status -c MAP` says about Hive, then type `kafka2hive recover --forget-registration"
            f" {not_refused[0].table} {shlex.quote(not_refused[0].path)} -c MAP` again",
        )
    return tuple(
        ForgottenRegistration(
            partition=p,
            reason=refusals[p].message,
            accepted_by=order.given_by,
            accepted_at=now,
            epoch=owned.next_epoch,
        )
        for p in pending
    )
