"""The check before a take-over: whether a table may be taken over now (docs/protocol.md).

It runs before the take-over fences the owner, because a start that fences a healthy owner and then fails would stop the table.
"""

from collections.abc import Callable

from kafka2hive.ledger.heartbeat import LiveOwner, Processes, live_owners
from kafka2hive.ledger.location import read_marker, refuse_changed_location
from kafka2hive.ledger.look import View, look
from kafka2hive.ledger.ports import Ports
from kafka2hive.ledger.repair.older_ledger import refuse_older_ledger
from kafka2hive.model.errors import AmbiguousOutcome, ManualActionRequired, OwnedByLiveRun, TableError
from kafka2hive.model.paths.ledger import Generation, LedgerPaths
from kafka2hive.service.process import process_name, process_of, shown_process
from kafka2hive.storage.port import StorageError


class OwnershipCheck:
    """Decides whether a table may be taken over. It watches each owner's heartbeat once, and remembers whether it was live.

    A table that this process already owns passes. With `take_over`, the checks accept every live owner that they meet before
    `end_take_over`; its other tables may be taken over later, too. A repair passes `is_stopped`: it returns whether a live
    run has stopped the table, which may then be taken over.
    """

    def __init__(
        self,
        ports: Ports,
        root: str,
        processes: Processes,
        *,
        take_over: bool,
        is_stopped: Callable[[LiveOwner, View], bool] = lambda live, view: False,
    ) -> None:
        self._ports = ports
        self._root = root
        self._processes = processes
        self._me = process_name(processes.me())
        self._take_over = take_over
        self._to_fence: set[str] = set()
        self._is_stopped = is_stopped
        self._live: dict[str, LiveOwner | None] = {}
        self.noticed: dict[str, Generation] = {}
        """The generation of each table at its newest check, even if the check failed."""

    def check(self, paths: LedgerPaths, location: str | None) -> Generation:
        """Return the generation that may be taken over now. Changes nothing.

        Raises NoLedger, OwnedByLiveRun, TableError (a command is repairing the table), AmbiguousOutcome, and
        ManualActionRequired (the ledger is damaged, impossible or older than the table's files, another ledger feeds the
        table, or the ledger's files are not in `location`).
        """
        view = self.check_owner(paths, location)
        refuse_older_ledger(self._ports, view, location or view.state.location)
        return view.generation

    def taking_over(
        self, paths: LedgerPaths, location: str | None, announce: Callable[[], None]
    ) -> Callable[[], Generation]:
        """Return the check of a take-over: `check`, then `announce`, which gives this process a heartbeat."""

        def check() -> Generation:
            generation = self.check(paths, location)
            announce()
            return generation

        return check

    def check_owner(self, paths: LedgerPaths, location: str | None) -> View:
        """Check as `check` does, but also accept a ledger that is older than the table's files."""
        self.noticed.pop(paths.table, None)
        view = look(self._ports.files, paths, lambda generation: self._notice(paths, generation))
        if location is not None:
            refuse_changed_location(view.state, location)
        self.check_marker(view, location or view.state.location)
        owner = view.generation.owner
        if owner is None or (process := process_of(owner)) == self._me:
            return view
        if self._take_over:
            self._to_fence.add(process)
        if process in self._to_fence:
            return view
        live = self._live_owner(process)
        if live is None or self._is_stopped(live, view):
            return view
        who = f"{shown_process(owner)} of service {live.service} since {view.generation.started}"
        if live.repairs:
            raise TableError(
                "ledger.repair_under_way",
                f"{paths.table} is being repaired by a command that is alive: {who}",
                "wait until the command has ended: then a run takes the table over again; if the command hangs, end it",
            )
        raise OwnedByLiveRun(
            "ledger.owned",
            f"{paths.table} is owned by a live run: {who}",
            "stop that run first; or fence it with --takeover"
            f" (this table alone: `kafka2hive recover --takeover --table {paths.table} -c MAP`)",
        )

    def _notice(self, paths: LedgerPaths, generation: Generation) -> None:
        self.noticed[paths.table] = generation

    def end_take_over(self) -> None:
        """End the time in which `take_over` accepts new live owners, because the start is over."""
        self._take_over = False

    def look_again(self) -> None:
        """Forget which owners were live: the next check watches heartbeats again."""
        self._live.clear()

    def _live_owner(self, process: str) -> LiveOwner | None:
        """Return the live owner with this process name, from the heartbeats of all services; None if the process is dead."""
        if process not in self._live:
            owners = live_owners(
                self._ports, self._root, self._processes, lambda _, owner: process_of(owner) == process
            )
            self._live[process] = next(iter(owners.values()), None)
        return self._live[process]

    def check_marker(self, view: View, location: str) -> None:
        """Check that no other ledger feeds the location. Raises ManualActionRequired, AmbiguousOutcome."""
        try:
            marker = read_marker(self._ports.files, location)
        except StorageError as error:
            raise AmbiguousOutcome(
                "ledger.no_answer", f"reading the owner marker of {location}: {error}"
            ) from error
        if marker is not None and marker != view.state.ledger_id:
            raise ManualActionRequired(
                "marker.foreign",
                f"ledger {marker} feeds the table at {location}, not ledger {view.state.ledger_id} of {view.paths.table}",
                "two ledgers must never feed one table: change the location of one of the tables",
            )
