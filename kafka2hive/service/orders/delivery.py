"""Give an order to the owner of a table, and wait for its answer. If no run is alive, this process carries it out itself.

Both ways are one path: the order is put into the inbox, and whoever owns the table answers the orders in it.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from kafka2hive.ledger.condition_files import read_conditions
from kafka2hive.ledger.epoch import publish
from kafka2hive.ledger.inbox import (
    CompactPartitions,
    GiveUpRegistration,
    Inbox,
    Instruction,
    LongInstruction,
    Order,
    new_order,
)
from kafka2hive.ledger.look import look
from kafka2hive.ledger.start import StartRequest, start
from kafka2hive.model.errors import (
    AmbiguousOutcome,
    ConfigError,
    Fenced,
    Kafka2HiveError,
    OwnedByLiveRun,
    ServiceUnavailable,
    TableError,
    TakeOverLost,
)
from kafka2hive.model.paths.ledger import LedgerPaths, order_name
from kafka2hive.model.snapshot import RecordedOrder, Snapshot
from kafka2hive.model.text import counted
from kafka2hive.service.orders.answers import answer_orders, change_for, find_recorded
from kafka2hive.service.process import user_name
from kafka2hive.service.repair_heartbeat import RepairHeartbeat
from kafka2hive.service.tables.condition import decode
from kafka2hive.service.tables.ledgers import ledger_tables, require_table
from kafka2hive.service.tables.live_stop import stopped_by_its_run
from kafka2hive.service.wiring import Wiring
from kafka2hive.storage.port import StorageError

ANSWER_SECONDS = 120.0
"""How long a command waits for the owner: an epoch that is under way is finished first."""
_LOOK_SECONDS = 1.0
_OWNER_SECONDS = 15.0
"""How often to check again whether a run is alive."""

_MOST_ORDERS = 2
"""Maximum number of orders of one command with a long instruction: if a run ends before it answers, the next gets a new order."""

_LEFT_TO_A_RUN = (GiveUpRegistration, LongInstruction)
"""Instructions that only a run carries out: the first needs Hive's answers, the others many snapshots."""


T = TypeVar("T")
Note = Callable[[str], None]
"""Gets lines of progress."""


class NoLiveRun(Exception):
    """No run is alive that could carry out the order; the order was withdrawn."""


@dataclass(frozen=True, slots=True)
class OrderAnswer:
    """An order that was carried out: the owner's `record`, and the snapshot `state` of that time or later."""

    order: Order
    record: RecordedOrder
    state: Snapshot


def order_of_user(wiring: Wiring, table: str, instruction: Instruction) -> Order:
    """Return a new order of this process's user, which is in no inbox yet."""
    return new_order(
        ports=wiring.ports,
        service=wiring.map.service,
        table=table,
        given_by=user_name(),
        instruction=instruction,
    )


def give_order(
    wiring: Wiring,
    table: str,
    instruction: Instruction,
    *,
    seconds: float = ANSWER_SECONDS,
    note: Note = lambda text: None,
) -> OrderAnswer:
    """Give the order and return the owner's answer. `note` gets lines of progress.

    A crash leaves an order that the table's next owner carries out, once. Raises ConfigError (no such table, an order that the
    owner refuses), ServiceUnavailable (`order.unanswered`: it waits in the inbox; or the file system does not answer),
    ManualActionRequired (no run is alive, and the ledger cannot be taken over), TableError, AmbiguousOutcome; for a long
    instruction also NoLiveRun.
    """
    paths = _known_table(wiring, table)
    inbox = Inbox(wiring.ports, wiring.map.storage.ledger_root, wiring.map.service)
    order = order_of_user(wiring, table, instruction)
    path = inbox.give(order)
    note(f"order {instruction.kind} for {table} is given: {path}")
    try:
        with wiring.progress.work(f"wait until the run has done order {order.id}"):
            return _await_answer(wiring, inbox, paths, order, path=path, seconds=seconds, note=note)
    except KeyboardInterrupt:
        note(
            f"the order stays in {path}, and the table's owner carries it out; delete that file to withdraw it"
        )
        raise


def _await_answer(
    wiring: Wiring, inbox: Inbox, paths: LedgerPaths, order: Order, *, path: str, seconds: float, note: Note
) -> OrderAnswer:
    """Return the owner's answer to the order in the file `path`. Raises what give_order does."""
    table, instruction, clock = order.table, order.instruction, wiring.ports.clock
    until, look_for_owner_at, why_waiting = clock.monotonic() + seconds, -math.inf, ""
    while True:
        if (answer := _answer(wiring, inbox, paths, order)) is not None:
            return answer
        if (now := clock.monotonic()) >= until:
            raise ServiceUnavailable(
                "order.unanswered",
                f"{table}: no owner has answered order {order.id} ({instruction.kind}) within {seconds:.0f} s: {why_waiting}",
                f"nothing is lost: the order waits in {path}, and the table's owner carries it out when it can;"
                " `kafka2hive status -c MAP` shows the owner; delete that file to withdraw the order",
            )
        if now >= look_for_owner_at:
            try:
                with RepairHeartbeat(wiring) as heartbeat:
                    carry_out_waiting(wiring, paths, heartbeat.begin)
                if isinstance(instruction, LongInstruction):
                    _withdraw(wiring=wiring, inbox=inbox, paths=paths, order=order, instruction=instruction)
            except (OwnedByLiveRun, TakeOverLost, Fenced, TableError) as error:
                why_waiting = _reason_of_the_run(wiring, order) or error.message
                note(f"waiting: {why_waiting}")
            except Kafka2HiveError:
                note(f"the order stays in {path}; delete that file to withdraw it")
                raise
            look_for_owner_at = clock.monotonic() + _OWNER_SECONDS
        else:
            clock.sleep(_LOOK_SECONDS)


def here_or_by_order(here: Callable[[], T], by_order: Callable[[], T], note: Note) -> T:
    """Return the result of `here`, or of `by_order` if a run is alive. If the run ends before it answers, begin again.

    `here` must raise OwnedByLiveRun before it changes anything if a run is alive; `by_order` gives an order with a long
    instruction. `note` gets lines of progress. Raises OwnedByLiveRun if one run after another has come and gone.
    """
    for _ in range(_MOST_ORDERS):
        try:
            return here()
        except OwnedByLiveRun as alive:
            note(f"a run is alive, so it gets an order: {alive.message}")
        try:
            return by_order()
        except NoLiveRun as withdrawn:
            note(str(withdrawn))
    return here()


def _reason_of_the_run(wiring: Wiring, order: Order) -> str:
    """Return why the run says that the order waits; empty if it does not say so."""
    root, service = wiring.map.storage.ledger_root, wiring.map.service
    runs = read_conditions(wiring.ports, root, service, decode).values()
    conditions = [condition for run in runs if (condition := run.of(order.table)) is not None]
    return next((text for each in conditions for text in each.warnings if order.id in text), "")


def _withdraw(
    wiring: Wiring, inbox: Inbox, paths: LedgerPaths, order: Order, instruction: LongInstruction
) -> None:
    """Take the order out of the inbox unless its answer is recorded. Raises NoLiveRun, AmbiguousOutcome (it may stay)."""
    state = look(wiring.ports.files, paths).state
    if find_recorded(state, order.id) is not None:
        return
    if not inbox.reject(order_name(order.id)):
        raise AmbiguousOutcome(
            "order.no_answer",
            f"{order.table}: order {order.id} cannot be removed from {inbox.directory}",
            f"type `kafka2hive {instruction.command} --table {order.table} -c MAP` again",
        )
    if isinstance(instruction, CompactPartitions):
        raise NoLiveRun("the run has ended: this command compacts the remaining partitions")
    running = state.replaying
    replaced = running.files if running is not None and running.order == order.id else 0
    raise NoLiveRun(
        f"the run has ended after it replaced {counted(replaced, 'file')} for the order:"
        " this command replays the remaining files, and counts only those"
    )


def _known_table(wiring: Wiring, table: str) -> LedgerPaths:
    """Return the paths of a table of this service that has a ledger. Raises ConfigError, and what reading the ledger raises."""
    present = {paths.table: paths for paths in ledger_tables(wiring)}
    require_table(wiring, table, present)
    if table not in present:
        raise ConfigError(
            "order.no_ledger",
            f"{table} has no ledger yet, so no order can be given for it: nothing was changed",
            "type `kafka2hive init -c MAP`, which creates the ledgers of the map's tables",
        )
    state = look(wiring.ports.files, present[table]).state
    if state.service != wiring.map.service:
        raise ConfigError(
            "order.other_service",
            f"{table} belongs to service {state.service}, but the map is for {wiring.map.service}: nothing was changed",
            f"give the command with the map of {state.service}",
        )
    return present[table]


def _answer(wiring: Wiring, inbox: Inbox, paths: LedgerPaths, order: Order) -> OrderAnswer | None:
    """Return the owner's answer if the ledger has it. Raises ConfigError or ServiceUnavailable if nothing was done."""
    try:
        is_rejected = inbox.is_rejected(order.id)
        state = look(wiring.ports.files, paths).state
    except AmbiguousOutcome:
        return None  # the next look may have an answer
    record = find_recorded(state, order.id)
    if record is None and is_rejected:
        raise ConfigError(
            "order.rejected",
            f"a run rejected order {order.id} ({order.instruction.kind}) for {order.table}: nothing was done",
            "the run's log says why: it may be of an older version, or was started with another map",
        )
    if record is None:
        return None
    if not record.is_done:
        raise _refusal(record)
    return OrderAnswer(order, record, state)


def _refusal(record: RecordedOrder) -> Kafka2HiveError:
    """Return the error that the owner recorded."""
    code, message, remedy = parse_error(record.result)
    is_usage = code.startswith("usage.") or code in (
        "order.other_map",
        "sql.needs_spark",
        "compact.not_in_map",
    )
    kind = ConfigError if is_usage else ServiceUnavailable
    return kind(code, message, remedy)


def parse_error(text: str) -> tuple[str, str, str]:
    """Return code, message and remedy of an error in an order's result: `[code] message` and perhaps a line with the remedy."""
    text, _, remedy = text.partition("\n  what to do: ")
    code, _, message = text.removeprefix("[").partition("] ")
    return code, message, remedy


def carry_out_waiting(wiring: Wiring, paths: LedgerPaths, announce: Callable[[], None]) -> None:
    """Take the table over as `recover` does, and answer its waiting orders, if no run is alive. `announce`: see recover_table.

    Orders that need Hive's answers or decode records are left to a run. Raises OwnedByLiveRun, TakeOverLost, Fenced,
    TableError (another command is at work), and what a start raises.
    """
    ports, service = wiring.ports, wiring.map.service
    ownership = wiring.ownership_check(take_over=False, is_stopped=stopped_by_its_run(wiring))
    inbox = Inbox(ports, wiring.map.storage.ledger_root, service)

    check, keep = ownership.taking_over(paths, None, announce), wiring.map.limits.keep_snapshots
    owned = start(ports, StartRequest(paths, check=check, owners=wiring.command_owners, keep=keep)).owned

    def record(order: Order) -> None:
        nonlocal owned
        owned = publish(ports, owned, change_for(order, owned, ports.clock.now()), service).owned

    try:
        waiting, _, _ = inbox.look()
    except StorageError as error:
        raise AmbiguousOutcome(
            "order.no_answer",
            f"listing {inbox.directory}: {error}",
            "give the order again when the file system answers; `kafka2hive status -c MAP` shows whether it was carried out",
        ) from error
    orders = [o for o in waiting if o.table == paths.table and not isinstance(o.instruction, _LEFT_TO_A_RUN)]
    answer_orders(inbox, orders, lambda: owned.state, record)
