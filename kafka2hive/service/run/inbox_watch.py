"""The orders that a run takes from its service's inbox, between two epochs."""

import logging
import math
from typing import Protocol

from kafka2hive.ledger.inbox import Inbox, Misfit, Order
from kafka2hive.ledger.look import NoLedger, look
from kafka2hive.model.errors import Kafka2HiveError
from kafka2hive.model.paths.ledger import order_name
from kafka2hive.service.orders.answers import answer_orders, next_compaction, next_replay, split_long
from kafka2hive.service.run.compaction import Compactions
from kafka2hive.service.run.owned_tables import OwnedTables
from kafka2hive.service.run.replay_orders import Replays
from kafka2hive.service.run.table_steps import TableSteps
from kafka2hive.service.tables.table_state import Owned, Table
from kafka2hive.service.wiring import Wiring
from kafka2hive.storage.port import StorageError

log = logging.getLogger(__name__)

LOOK_SECONDS = 5.0


class OrderSource(Protocol):
    """The source of a run's orders."""

    def take(
        self, owned_tables: OwnedTables, steps: TableSteps, replays: Replays, compactions: Compactions
    ) -> None:
        """Answer the waiting orders, and begin those that take many snapshots. Raises the errors that end the run."""
        ...

    def done(self, order: Order) -> None:
        """Move an order that a snapshot records out of the inbox."""
        ...


class NoInbox:
    """A run without orders."""

    def take(
        self, owned_tables: OwnedTables, steps: TableSteps, replays: Replays, compactions: Compactions
    ) -> None:
        """Do nothing."""

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

    def take(
        self, owned_tables: OwnedTables, steps: TableSteps, replays: Replays, compactions: Compactions
    ) -> None:
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
        waiting = unread | {order.id for order in orders}
        replays.keep(waiting)
        compactions.keep(waiting)
        by_table: dict[str, list[Order]] = {}
        for order in orders:
            if order.table in owned_tables.tables:
                by_table.setdefault(order.table, []).append(order)
            elif self._may_be_ours(order.table):
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
                lambda order: steps.carry_out(table, order),
            )
            if (first := next_replay(long, unread, table.owned.state)) is not None:
                replays.begin(table, first)
            if (compaction := next_compaction(long)) is not None:
                compactions.begin(table, compaction)

        with_orders = [owned_tables.tables[name] for name in sorted(by_table)]
        steps.map_tables([table for table in with_orders if isinstance(table.ownership, Owned)], answer)

    def done(self, order: Order) -> None:
        """Move an order that a snapshot records out of the inbox, and look again soon, because the table may have more."""
        self._inbox.move_to_done(order)
        self._looked_at = -math.inf

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
