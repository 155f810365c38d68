"""The check whether a live run has stopped a table that it owns; a command may repair such a table during the run."""

from collections.abc import Callable

from kafka2hive.ledger.condition_files import read_conditions
from kafka2hive.ledger.heartbeat import LiveOwner
from kafka2hive.ledger.look import View
from kafka2hive.model.paths.ledger import Generation
from kafka2hive.service.process import process_of
from kafka2hive.service.tables.condition import Stopped, decode
from kafka2hive.service.wiring import Wiring


def stopped_by_its_run(wiring: Wiring) -> Callable[[LiveOwner, View], bool]:
    """Return the predicate `is_stopped` for an OwnershipCheck. It reads hints; a wrong hint could only fence a run."""

    def is_stopped(live: LiveOwner, view: View) -> bool:
        owner = view.generation.owner
        if live.repairs or owner is None:
            return False
        runs = read_conditions(wiring.ports, wiring.map.storage.ledger_root, live.service, decode)
        conditions = [
            run.of(view.paths.table) for name, run in runs.items() if process_of(name) == process_of(owner)
        ]
        return any(c is not None and is_stop_of(c.state, view.generation) for c in conditions)

    return is_stopped


def is_stop_of(state: object, generation: Generation) -> bool:
    """Return whether the table was stopped after this take-over. An earlier stop has ended with the take-over.

    If the run made the generation, both times are by the run's clock, to the second.
    """
    return (
        isinstance(state, Stopped)
        and state.since != ""
        and digits_of(state.since) >= digits_of(generation.started or "")
    )


def digits_of(time: str) -> str:
    """Return the digits of a time, which are the same for `2026-11-21T08:12:00Z` and `20261121T081200Z`."""
    return "".join(filter(str.isdigit, time))
