"""Whether a live run has stopped a table that it owns: then a command may repair the table beside that run."""

from collections.abc import Callable

from kafka2hive.ledger.condition_files import read_conditions
from kafka2hive.ledger.heartbeat import LiveOwner
from kafka2hive.ledger.look import View
from kafka2hive.model.paths.ledger import Generation
from kafka2hive.service.process import process_of
from kafka2hive.service.tables.condition import Stopped, decode
from kafka2hive.service.wiring import Wiring


def stopped_by_its_run(wiring: Wiring) -> Callable[[LiveOwner, View], bool]:
    """For an OwnershipCheck. What the run says is advice: an owner that is replaced by mistake is fenced."""

    def is_left(live: LiveOwner, view: View) -> bool:
        owner = view.generation.owner
        if live.repairs or owner is None:
            return False
        said = read_conditions(wiring.ports, wiring.map.storage.ledger_root, live.service, decode)
        conditions = [
            run.of(view.paths.table) for by, run in said.items() if process_of(by) == process_of(owner)
        ]
        return any(c is not None and is_stop_of(c.state, view.generation) for c in conditions)

    return is_left


def is_stop_of(state: object, generation: Generation) -> bool:
    """The stop came after that take-over; not before it, as when a run has taken the table up again since.

    Both times are by the clock of the run where the run has made the generation, to the second.
    """
    return (
        isinstance(state, Stopped)
        and state.since != ""
        and digits_of(state.since) >= digits_of(generation.started or "")
    )


def digits_of(time: str) -> str:
    """`2026-11-21T08:12:00Z` and `20261121T081200Z` alike."""
    return "".join(filter(str.isdigit, time))
