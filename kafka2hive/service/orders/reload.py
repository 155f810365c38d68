"""Ask the live run of a service to reload its map, or what a reload would change, and wait for the answer.

The answer comes in the run's conditions, because it concerns no single table.
"""

from kafka2hive.ledger.condition_files import read_conditions
from kafka2hive.ledger.heartbeat import live_owners
from kafka2hive.ledger.inbox import APPLY, PLAN, Inbox, ReloadMap
from kafka2hive.model.errors import AmbiguousOutcome, ConfigError, ServiceUnavailable
from kafka2hive.service.orders.delivery import Note, order_of_user
from kafka2hive.service.tables.condition import ReloadAnswer, decode
from kafka2hive.service.wiring import Wiring

ANSWER_SECONDS = 180.0
"""How long a command waits: an epoch that is under way ends first, and removed tables are registered in Hive."""
_LOOK_SECONDS = 1.0
_OWNER_SECONDS = 30.0


def ask_for_reload(
    wiring: Wiring, *, is_plan: bool, seconds: float = ANSWER_SECONDS, note: Note = lambda text: None
) -> ReloadAnswer:
    """Return the run's answer. With `is_plan`, the run changes nothing.

    A crash leaves an order that a run of the service answers; a run that was started later has the new map anyway. Raises
    ServiceUnavailable (`reload.no_run`; `reload.unanswered`: the order waits in the inbox), ConfigError (the run is of an
    older version), TableError (no permission), AmbiguousOutcome.
    """
    root, service = wiring.map.storage.ledger_root, wiring.map.service
    _require_live_run(wiring)
    inbox = Inbox(wiring.ports, root, service)
    mode = PLAN if is_plan else APPLY
    order = order_of_user(wiring, "", ReloadMap(wiring.map.fingerprint, mode))
    path = inbox.give(order)
    note(f"order reload ({mode}) is given: {path}")
    try:
        with wiring.progress.work(f"wait until the run has done order {order.id}"):
            return _await_answer(wiring, inbox, order.id, path=path, seconds=seconds)
    except KeyboardInterrupt:
        note(f"the order stays in {path}, and the run carries it out; delete that file to withdraw it")
        raise


def _await_answer(wiring: Wiring, inbox: Inbox, order_id: str, *, path: str, seconds: float) -> ReloadAnswer:
    root, service, clock = wiring.map.storage.ledger_root, wiring.map.service, wiring.ports.clock
    until, look_for_run_at = clock.monotonic() + seconds, clock.monotonic() + _OWNER_SECONDS
    while True:
        runs = read_conditions(wiring.ports, root, service, decode).values()
        answers = (answer for run in runs for answer in run.reloads if answer.order == order_id)
        if (answer := next(answers, None)) is not None:
            return answer
        if _is_rejected(inbox, order_id):
            raise ConfigError(
                "order.rejected",
                f"the run rejected order {order_id} (reload): nothing was changed",
                "it is of an older version, which cannot reload its map: restart it",
            )
        now = clock.monotonic()
        if now >= until:
            raise ServiceUnavailable(
                "reload.unanswered",
                f"no run of service {service} has answered order {order_id} (reload) within {seconds:.0f} s",
                f"nothing is lost: the order waits in {path}, and the run carries it out between two epochs;"
                " `kafka2hive status -c MAP` shows what the run waits for; delete that file to withdraw the order",
            )
        if now >= look_for_run_at:
            _require_live_run(wiring)
            look_for_run_at = now + _OWNER_SECONDS
        clock.sleep(_LOOK_SECONDS)


def _is_rejected(inbox: Inbox, order_id: str) -> bool:
    try:
        return inbox.is_rejected(order_id)
    except AmbiguousOutcome:
        return False  # the next look may have an answer


def _require_live_run(wiring: Wiring) -> None:
    """Raise ServiceUnavailable unless a run of the service has a heartbeat that changes."""
    root, service = wiring.map.storage.ledger_root, wiring.map.service
    live = live_owners(wiring.ports, root, wiring.processes, lambda sender, _: sender == service)
    if all(owner.repairs for owner in live.values()):
        raise ServiceUnavailable(
            "reload.no_run",
            f"no run of service {service} is alive, so there is nothing to reload",
            "start the run: it reads the map's file as it is; `kafka2hive validate -c MAP` checks the file",
        )
