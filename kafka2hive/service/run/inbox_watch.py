"""The orders that a run takes from its service's inbox, between two epochs."""

import logging
import math
from collections.abc import Sequence
from typing import Protocol

from kafka2hive.ledger.inbox import Inbox, Misfit, Order, ReloadMap
from kafka2hive.ledger.look import NoLedger, look
from kafka2hive.model.errors import Kafka2HiveError
from kafka2hive.model.paths.ledger import order_name
from kafka2hive.service.chores.chores import Chores
from kafka2hive.service.chores.port import TableOwner
from kafka2hive.service.containment import Containment
from kafka2hive.service.orders.answers import answer_orders, split_long
from kafka2hive.service.tables.table_state import Owned, Table
from kafka2hive.service.wiring import Wiring
from kafka2hive.storage.port import StorageError

log = logging.getLogger(__name__)

LOOK_SECONDS = 5.0


class OrderSource(Protocol):
    """The source of a run's orders."""

    def take(self, owner: TableOwner, chores: Chores) -> None:
        """Answer the waiting orders; those that take many snapshots go to their chores. Raises the errors that end the run."""
        ...

    def reloads(self) -> Sequence[Order]:
        """Return the orders to reload the map that the last `take` has seen."""
        ...

    def done(self, order: Order) -> None:
        """Move an order that was answered out of the inbox."""
        ...


class NoInbox:
    """A run without orders."""

    def take(self, owner: TableOwner, chores: Chores) -> None:
        """Do nothing."""

    def reloads(self) -> Sequence[Order]:
        return ()

    def done(self, order: Order) -> None:
        """Do nothing."""


class InboxWatch:
    """The inbox of the service. A look every LOOK_SECONDS costs one listing.

    An order for a table of this service stays in the inbox while this run does not own the table's ledger.
    """

    def __init__(self, wiring: Wiring) -> None:
        self._wiring = wiring
        self._inbox = Inbox(wiring.ports, wiring.map.storage.ledger_root, wiring.map.service)
        self._clock = wiring.ports.clock
        self._looked_at = -math.inf
        self._unreadable = False
        self._reloads: tuple[Order, ...] = ()
        self._containment = Containment()

    def take(self, owner: TableOwner, chores: Chores) -> None:
        """Answer or begin the waiting orders, and reject files that are not orders. Must not be called in an epoch."""
        now = self._clock.monotonic()
        if now - self._looked_at < LOOK_SECONDS:
            return
        self._looked_at = now
        try:
            orders, misfits, unread = self._inbox.look()
        except StorageError as error:
            level = logging.DEBUG if self._unreadable else logging.WARNING
            log.log(level, "%s: orders cannot be read: %s", self._inbox.directory, error)
            self._unreadable = True
            return
        self._unreadable = False
        self._reloads = tuple(order for order in orders if isinstance(order.instruction, ReloadMap))
        orders = [order for order in orders if order not in self._reloads]
        waiting = unread | {order.id for order in orders}
        chores.keep(waiting)
        by_table: dict[str, list[Order]] = {}
        for order in orders:
            if order.table in owner.tables:
                by_table.setdefault(order.table, []).append(order)
            elif self._may_be_ours_or_buggy(order.table):
                log.debug("%s: order %s waits for a run that reads the table", order.table, order.id)
            else:
                text = f"the order is for {order.table}, which this service does not serve"
                misfits.append(Misfit(order_name(order.id), "order.no_table", text))
        for misfit in misfits:
            self._reject(misfit)

        def answer(table: Table) -> None:
            at_once, long = split_long(by_table[table.name], table.owned.state)
            answer_orders(
                self._inbox,
                at_once,
                lambda: table.owned.state,
                lambda order: owner.carry_out(table, order),
            )
            chores.begin(table, long, unread)

        with_orders = [owner.tables[name] for name in sorted(by_table)]
        owner.map_tables([table for table in with_orders if isinstance(table.ownership, Owned)], answer)

    def reloads(self) -> Sequence[Order]:
        return self._reloads

    def done(self, order: Order) -> None:
        """Move an order that was answered out of the inbox, and look again soon, because there may be more."""
        if self._inbox.move_to_done(order):
            self._reloads = tuple(each for each in self._reloads if each.id != order.id)
        self._looked_at = -math.inf

    def _may_be_ours_or_buggy(self, table: str) -> bool:
        looks = self._containment.attempt(table, lambda: self._may_be_ours(table))
        return isinstance(looks, Exception) or looks[0]

    def _may_be_ours(self, table: str) -> bool:
        """Return whether the table has a ledger of this service, so that another run of the service may take the order."""
        try:
            state = look(self._wiring.ports.files, self._wiring.paths(table)).state
        except NoLedger:
            return False
        except Kafka2HiveError:
            return True  # the next look may know more
        return state.service == self._wiring.map.service

    def _reject(self, misfit: Misfit) -> None:
        log.warning(
            "[%s] %s in %s: %s; nothing was done, the file is moved to rejected/",
            misfit.code,
            misfit.name,
            self._inbox.directory,
            misfit.message,
        )
        self._inbox.reject(misfit.name)
