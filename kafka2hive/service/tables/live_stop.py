"""The checks whether a live run has stopped or released a table that it owns.

A command may repair a stopped table during the run. A released table, which a reload has removed from the run's map, may be
taken over by anybody.
"""

from collections.abc import Callable

from kafka2hive.ledger.condition_files import read_conditions
from kafka2hive.ledger.heartbeat import LiveOwner
from kafka2hive.ledger.look import View
from kafka2hive.model.paths.ledger import Generation
from kafka2hive.service.process import process_of
from kafka2hive.service.tables.condition import ReleasedTable, RunConditions, Stopped, decode
from kafka2hive.service.wiring import Wiring


def stopped_by_its_run(wiring: Wiring) -> Callable[[LiveOwner, View], bool]:
    """Return the predicate `is_stopped` for an OwnershipCheck. It reads hints; a wrong hint could only fence a run."""

    def is_stopped(live: LiveOwner, view: View) -> bool:
        runs = _runs_of(wiring, live, view.generation.owner)
        conditions = [run.of(view.paths.table) for run in runs]
        return any(c is not None and is_stop_of(c.state, view.generation) for c in conditions) or any(
            is_released(run, view) for run in runs
        )

    return is_stopped


def released_by_its_run(wiring: Wiring) -> Callable[[LiveOwner, View], bool]:
    """Return the predicate of an OwnershipCheck that lets only released tables be taken over. It reads hints, as above."""

    def is_free(live: LiveOwner, view: View) -> bool:
        return any(is_released(run, view) for run in _runs_of(wiring, live, view.generation.owner))

    return is_free


def is_released(run: RunConditions, view: View) -> bool:
    """Return whether the run has released the table since it took over this generation."""
    return ReleasedTable(view.paths.table, view.generation.number) in run.released


def _runs_of(wiring: Wiring, live: LiveOwner, owner: str | None) -> list[RunConditions]:
    """Return what the process of `owner` reports, for the service of its heartbeat; nothing if it repairs the table."""
    if live.repairs or owner is None:
        return []
    runs = read_conditions(wiring.ports, wiring.map.storage.ledger_root, live.service, decode)
    return [run for name, run in runs.items() if process_of(name) == process_of(owner)]


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
