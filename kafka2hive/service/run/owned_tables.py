"""The tables of a run: each table is routed, taken over, admitted, published and set aside separately from the others."""

import logging
import math
from collections.abc import Callable, Collection, Container
from dataclasses import dataclass, field, replace

from kafka2hive.config.keys import TableSettings
from kafka2hive.config.route import RouteConflict
from kafka2hive.hive.description import PURGE_PROPERTY, is_same_creation
from kafka2hive.ledger.certify import certify
from kafka2hive.ledger.cleanup import clean_up, delete_uncommitted
from kafka2hive.ledger.epoch import Publication, publish
from kafka2hive.ledger.inbox import Order
from kafka2hive.ledger.look import NoLedger
from kafka2hive.ledger.owned_ledger import OwnedLedger, list_own_directory
from kafka2hive.ledger.snapshot.change import Change, RegistrationUpdate
from kafka2hive.ledger.start import StartRequest, StartResult, start
from kafka2hive.model.errors import (
    AmbiguousOutcome,
    Kafka2HiveError,
    ManualActionRequired,
    ServiceUnavailable,
    TableError,
)
from kafka2hive.model.files import HivePartition
from kafka2hive.model.paths.ledger import Generation
from kafka2hive.model.snapshot import ORDER_DONE, ComparedTable
from kafka2hive.model.text import counted
from kafka2hive.service.containment import Containment
from kafka2hive.service.hive.lapsed import created_again, lapsed_partitions
from kafka2hive.service.hive.registrar import RefusedByHive
from kafka2hive.service.hive.schemas import Schemas
from kafka2hive.service.hive.table_looks import TableGone
from kafka2hive.service.news.outbox import NoNews, Outbox
from kafka2hive.service.orders.answers import change_for
from kafka2hive.service.ownership import OwnershipCheck
from kafka2hive.service.run.completion import CompletionTracker
from kafka2hive.service.run.hive_gate import Gate
from kafka2hive.service.run.outages import system_of
from kafka2hive.service.run.schema_evolution import Evolution
from kafka2hive.service.start.lost_ledger import LostLedgerCheck, begin_ledger
from kafka2hive.service.tables.report import TablePublication, TableStart
from kafka2hive.service.tables.table_state import MapTable, Owned, SetAside, Table, Unowned
from kafka2hive.service.topics.routes import TopicRoutes, tell_missing, topic_routes
from kafka2hive.service.wiring import Wiring

log = logging.getLogger(__name__)

CLEANUP_EPOCHS = 20
MOST_WARNINGS = 5
DECIDE_SECONDS = 15.0
"""How often to check whether a table that two topics claim has a ledger by now."""


def _no_select(table: TableSettings) -> None:
    """Accept every table, because the map has no table with SQL."""


@dataclass(slots=True, eq=False)
class OwnedTables:
    """The tables of a run. Calls for one table must not overlap.

    - `completion` decides which partitions are complete.
    - `_gate` decides whether Hive's table matches the map.
    - `evolution` decides which columns a table needs.
    - `news` knows what the receivers were told; it is handed what each table's ledger says.
    - `check_select` raises TableError if Spark cannot make a table's rows. It must be set before the first take-over.
    """

    _wiring: Wiring
    _ownership: OwnershipCheck
    _lost_ledger: LostLedgerCheck
    _schemas: Schemas
    completion: CompletionTracker
    _gate: Gate = Gate()  # noqa: RUF009  this class is stateless
    evolution: Evolution = Evolution()  # noqa: RUF009  this class is stateless
    news: Outbox | NoNews = NoNews()  # noqa: RUF009  this class is stateless
    check_select: Callable[[TableSettings], None] = field(default=_no_select, init=False)
    tables: dict[str, Table] = field(default_factory=dict, init=False)
    conflicts: tuple[RouteConflict, ...] = field(default=(), init=False)
    _topics: frozenset[str] | None = field(default=None, init=False)
    _routes_due_at: float = field(default=-math.inf, init=False)
    _listed: dict[str, set[str]] = field(default_factory=dict, init=False)
    _told_missing: frozenset[tuple[str, str]] = field(default=frozenset(), init=False)
    _undecided: frozenset[str] = field(default=frozenset(), init=False)
    _logged: set[str] = field(default_factory=set, init=False)
    _group_compared: set[str] = field(default_factory=set, init=False)
    _refusals_elsewhere: dict[HivePartition, TableError] = field(default_factory=dict, init=False)
    _given_up: frozenset[HivePartition] = field(default=frozenset(), init=False)

    def refresh(self, topics: Collection[str]) -> None:
        """Route the topics that exist now: add new tables, and give known tables their new topics. Takes no table over.

        A topic whose table already reads other topics is listed in `conflicts` and is not read. If several topics claim a
        table without a ledger, the conflict is checked again from time to time, because another run may create the ledger.
        """
        if self._now() < self._routes_due_at and self._topics == frozenset(topics):
            return
        routes = topic_routes(self._wiring, topics, self.read_topics())
        listed_before = {(name, topic) for name, listed in self._listed.items() for topic in listed}
        self._told_missing = tell_missing(routes.tables, self._told_missing | listed_before)
        self._topics = frozenset(topics)
        for table in routes.tables:
            known = self.tables.get(table.name)
            if known is None or (known.rule != table.rule and known.last_state is None):
                self.tables[table.name] = Table(table)
                self._group_compared.discard(table.name)
            else:
                rule = table.rule if known.rule == table.rule else known.rule  # its line may have moved
                known.in_map = replace(known.in_map, rule=rule, topics=table.topics, missing=table.missing)
        self._note_conflicts(routes)
        self._note_vanished()
        undecided = DECIDE_SECONDS if self._undecided else math.inf
        self._routes_due_at = self._now() + (undecided if routes.complete else 0)

    def _note_vanished(self) -> None:
        """Note topics of tables that Kafka no longer lists, because they were deleted or a broker's metadata are old."""
        topics = self._topics or frozenset()
        for name, table in self.tables.items():
            listed = self._listed.setdefault(name, set())
            listed |= topics.intersection(table.topics)
            before, table.vanished = table.vanished, tuple(sorted(listed - topics))
            for topic in sorted(set(table.vanished) - set(before)):
                log.warning("%s: topic %s is not in Kafka any more", name, topic)

    def read_topics(self) -> dict[str, frozenset[str]]:
        """Return the topics of each table whose ledger is known: those of its positions, or those that it will read first."""
        read: dict[str, frozenset[str]] = {}
        for name, table in list(self.tables.items()):
            if (state := table.last_state) is not None:
                read[name] = state.topics or frozenset((*table.topics, *table.in_map.missing))
        return read

    def _note_conflicts(self, routes: TopicRoutes) -> None:
        """Log new conflicts, and warn their tables. A table that several topics claim reads nothing until its ledger exists."""
        self.conflicts = routes.conflicts
        for conflict in routes.conflicts:
            log.log(
                logging.DEBUG if str(conflict.error) in self._logged else logging.ERROR, "%s", conflict.error
            )
            self._logged.add(str(conflict.error))
        served = {table.name for table in routes.tables}
        self._undecided = frozenset(c.table for c in routes.conflicts) - served
        for name, table in self.tables.items():
            errors = [conflict.error for conflict in routes.conflicts if conflict.table == name]
            messages = [f"{error.message}; what to do: {error.remedy}" for error in errors]
            table.warnings["routes"] = tuple(messages)
            if name in self._undecided:
                table.in_map = replace(table.in_map, topics=(), missing=())

    def drop(self, names: Collection[str]) -> None:
        """Forget these tables, whose entries in the map a reload has changed or removed; `refresh` adds them by the new map.

        The ledgers must have been released. Other threads may look at the tables meanwhile.
        """
        self.tables = {name: table for name, table in self.tables.items() if name not in names}
        for name in names:
            self._listed.pop(name, None)
            self._group_compared.discard(name)
            self._schemas.forget(name)
            self._gate.forget(name)
            self.evolution.forget(name)
            self._ownership.noticed.pop(name, None)
        self._told_missing = frozenset(pair for pair in self._told_missing if pair[0] not in names)
        self._routes_due_at = -math.inf

    def routed_by(self, topics: Collection[str]) -> bool:
        """Return whether the tables were last routed for exactly these topics."""
        return self._topics == frozenset(topics)

    def check_all(self) -> None:
        """Check the owner of every table before the first table is fenced.

        Raises OwnedByLiveRun. A table's other errors are raised again when the table starts.
        """
        containment = Containment()

        def check(table: Table) -> None:
            try:
                self._ownership.check(table.paths, table.location)
            except (NoLedger, ManualActionRequired, AmbiguousOutcome, TableError) as trouble:
                log.debug("%s: %s", table.name, trouble)

        def look(table: Table) -> None:
            containment.attempt(table.name, lambda: check(table))

        self._wiring.side_by_side.map(look, self.tables.values())

    def due(self) -> list[Table]:
        """Return the tables to take over or admit: those that are not held by this run and not waiting.

        If one of them must be taken over, a new round of starts begins.
        """
        now = self._now()
        due = [t for t in self.tables.values() if not t.is_held and not t.is_waiting(now)]
        if any(isinstance(t.ownership, Unowned) for t in due):
            self.new_round()
        return due

    @property
    def noticed(self) -> dict[str, Generation]:
        """The generation of each table at the newest check before a take-over."""
        return self._ownership.noticed

    def new_round(self) -> None:
        """Begin a round of starts: watch owners' heartbeats again, so that a run that started meanwhile is not fenced."""
        self._lost_ledger.new_round()
        self._ownership.look_again()

    def serving(self) -> list[Table]:
        now = self._now()
        return [t for t in self.tables.values() if t.serves(now)]

    def set_aside(self, table: Table, error: Kafka2HiveError, until: str | None = None) -> None:
        """Set a table aside and log it. If no retry will follow, `until` is the text that replaces the wait in the log."""
        known = table.aside is not None and str(table.aside.error) == str(error)
        aside = table.set_aside(error, self._now())
        until = until or f"for {aside.until - self._now():.0f} s"
        if aside.needs_manual_action:
            until = "until it is repaired; this run takes it up then, without a restart"
        level = logging.DEBUG if known else logging.ERROR
        log.log(level, "%s is set aside %s: %s", table.name, until, error)

    def end_waits(self, system: str) -> None:
        """Let the tables that wait for this system be tried at once, because it answers again."""
        for table in self.set_aside_tables():
            if (aside := table.aside) is not None and system_of(aside.error, table.cluster) == system:
                table.state = replace(aside, until=min(aside.until, self._now()))

    def keep_aside(self, table: Table, aside: SetAside) -> None:
        """Set a table aside again that serves since a moment ago, for the same reason: it has no time left to do its work."""
        table.state = replace(aside, ownership=table.ownership)

    def end_trial(self, table: Table) -> None:
        """Let a table serve again that had failed and that no error keeps from its work any more.

        Raises Fenced, StateUnknown (the storage does not answer).
        """
        list_own_directory(self._wiring.ports.files, table.owned.ledger)
        self._log_end(table)
        table.end_trial()

    def _log_end(self, table: Table) -> None:
        if table.aside is not None:
            log.info("%s goes on: [%s] has ended", table.name, table.aside.error.code)

    def note_refusal(self, refused: RefusedByHive) -> None:
        """Handle a refusal by Hive: set the table aside. Its committed epochs stay valid."""
        if refused.partitions and refused.partitions <= self._given_up:
            return  # an operator gave them up while the registrar asked Hive for them
        self._schemas.doubt(refused.table)
        self._gate.differs(refused.table, refused.error)
        table = self.tables.get(refused.table)
        if table is None:
            log.log(
                logging.DEBUG if str(refused.error) in self._logged else logging.ERROR, "%s", refused.error
            )
            self._logged.add(str(refused.error))
            self._refusals_elsewhere.update(dict.fromkeys(refused.partitions, refused.error))
            return
        if not refused.partitions:
            self._revoke(table)
        table.hive = table.hive.after_refusal(refused.partitions, refused.error)
        if not table.is_waiting(self._now()):
            self.set_aside(table, refused.error)

    def note_registered(self, partitions: frozenset[HivePartition], table: Table) -> None:
        """Handle partitions that Hive has confirmed. If the table waited only for them, it serves again."""
        if confirmed := partitions & table.open_registrations:
            table.ownership = replace(table.owned, registered=table.owned.registered | confirmed)
        self._drop_refusals(table, partitions, confirmed)
        if confirmed:
            self.news.watch(table)

    def note_registered_elsewhere(self, partitions: frozenset[HivePartition]) -> None:
        """Forget refusals of confirmed partitions whose Hive tables are not tables of this run."""
        for partition in partitions & self._refusals_elsewhere.keys():
            del self._refusals_elsewhere[partition]

    def _drop_refusals(
        self, table: Table, partitions: frozenset[HivePartition], confirmed: frozenset[HivePartition]
    ) -> None:
        before, aside = table.hive.refusals, table.aside
        table.hive = table.hive.after_registration(partitions, confirmed)
        if aside is None or not any(aside.error is error for error in before.values()):
            return
        if table.hive.refusals:
            table.state = replace(aside, error=next(iter(table.hive.refusals.values())))
        else:
            log.info("%s goes on: Hive no longer refuses any of its partitions", table.name)
            table.state = table.ownership

    def publish(self, table: Table, change: Change) -> TablePublication:
        """Publish one change of one table: draft, commit, promote, finalise.

        If Hive's table does not match the map, raises before the commit. An error in a later step drops the table's ledger
        from memory (R0). A crash leaves the old state, or a committed snapshot that the next start rolls forward.
        """
        self._refuse_what_hive_refuses(table, change)
        completeness = self.completion.ask(table, change)
        owned = table.owned
        read_through = self.completion.read_through_after(table, change)
        compared = self._gate.agreed(table)
        lapsed = self._lapsed(table, compared)
        change = replace(change, compared=compared, lapsed=lapsed, completeness=completeness)
        change = replace(change, told=self.news.progress(table))
        published = self._commit(table, owned, change)
        self._log_end(table)
        table.state = replace(owned, ledger=published.owned, registered=frozenset())
        table.failures, table.is_on_trial = 0, False
        self.completion.note_commit(table, read_through)
        self.news.watch(table)
        return TablePublication(table.name, published.moves, table.owned.state, table.open_registrations)

    def _lapsed(self, table: Table, compared: tuple[ComparedTable, ...]) -> frozenset[HivePartition]:
        """Return the partitions to register again if a Hive table was dropped and created again (R12), and warn of it.

        The same snapshot records the new table, so a crash before the commit leaves the work to the next start.
        """
        state = table.owned.state
        again = created_again(state, compared)
        if not again:
            return frozenset()
        ports, service_map = self._wiring.ports, self._wiring.map
        lapsed = lapsed_partitions(
            ports=ports, service_map=service_map, rule=table.rule, state=state, tables=again
        )
        for name in again:
            count = sum(partition.table == name for partition in lapsed)
            text = (
                f"Hive's table {name} was dropped and created again since the ledger recorded it:"
                f" {counted(count, 'partition')} of {table.name} with files are registered again"
            )
            log.warning("%s", text)
            self._warn_of_hive(table, text)
        table.hive = table.hive.after_lapse(lapsed)
        return lapsed

    def note_gone(self, gone: TableGone) -> None:
        """Log and warn that Hive did not have a table that it had before in this run."""
        text = f"Hive had no table {gone.table} any more at {self._wiring.ports.clock.now()}"
        text += (
            ": it was created again" if gone.is_created else ", and the map does not let kafka2hive create it"
        )
        if gone.other:
            text += (
                f". {gone.other} has its location, as after ALTER TABLE .. RENAME, so both show the files of partitions that"
                f" both have: name {gone.other} in the map instead, or drop it (first SET TBLPROPERTIES"
                f" ('{PURGE_PROPERTY}'='false'), or Hive deletes the files)"
            )
        log.warning("%s", text)
        if (table := self.tables.get(gone.table)) is not None:
            self._warn_of_hive(table, text)

    def _warn_of_hive(self, table: Table, text: str) -> None:
        """Let `status` show the text until the run ends."""
        earlier = table.warnings.get("hive_table", ())
        table.warnings["hive_table"] = tuple(dict.fromkeys((*earlier, text)))[-MOST_WARNINGS:]

    def _commit(self, table: Table, owned: Owned, change: Change) -> Publication:
        published = None
        try:
            published = publish(self._wiring.ports, owned.ledger, change, self._wiring.map.service)
        finally:
            if published is None:
                self.forget(table)
        return published

    def carry_out(self, table: Table, order: Order, result: str = ORDER_DONE) -> frozenset[HivePartition]:
        """Commit the snapshot that records an order. Hive's table is not checked first, because the snapshot is without data.

        Returns the registrations that were given up. A table that was set aside only because of them serves again; any other
        table stays set aside.
        """
        owned = table.owned
        refusals = {**self._refusals_elsewhere, **table.hive.refusals}
        now = self._wiring.ports.clock.now()
        change = change_for(order, owned.ledger, now, owned.registered, refusals=refusals, result=result)
        change = replace(change, told=self.news.progress(table))
        published = self._commit(table, owned, change)
        table.ownership = replace(owned, ledger=published.owned, registered=frozenset())
        self.completion.note_certificates(table)
        (record,) = change.orders
        log.info("%s: order %s of %s: %s", table.name, record.kind, record.given_by, record.result)
        forgotten = change.forgotten if isinstance(change, RegistrationUpdate) else ()
        given_up = frozenset(registration.partition for registration in forgotten)
        self._given_up |= given_up
        self._drop_refusals(table, given_up, frozenset())
        self.news.watch(table)
        return given_up

    def forget(self, table: Table) -> None:
        """Drop a table's ledger from memory; its next start reads it again (rule R0)."""
        table.forget()
        self.news.forget(table)

    def certify_again(self, table: Table) -> bool:
        """Repeat R10 if certificates of the newest snapshot are missing. An idle table may not have a next snapshot for long.

        Return whether that was so: withheld partitions may then be registered.
        """
        owned = table.owned
        if len(owned.ledger.certified) == len(owned.state.certificates):
            return False
        table.ownership = replace(owned, ledger=certify(self._wiring.ports, owned.ledger))
        self.completion.note_certificates(table)
        self.news.watch(table)
        return True

    def clean_up(self, table: Table) -> None:
        """Do R9 every CLEANUP_EPOCHS epochs, so that a long run keeps its directories short and deletes orphans."""
        ledger, keep = table.owned.ledger, self._wiring.map.limits.keep_snapshots
        if ledger.state.epoch % CLEANUP_EPOCHS == 0:
            clean_up(self._wiring.ports, ledger, table.location, keep, units_since=table.units_since)

    def delete_uncommitted(self, table: Table, ledger: OwnedLedger, staged: Container[str] = ()) -> None:
        """Do R9 after an epoch of `ledger` whose tasks have ended; its files stay if its commit was tried.

        `staged` has the paths of the files in the tasks' manifests.
        """
        deleted = delete_uncommitted(
            self._wiring.ports, ledger, table.location, staged, units_since=table.units_since
        )
        if deleted:
            log.info(
                "%s: deleted %s of an epoch that was not committed",
                table.name,
                counted(deleted, "staged file"),
            )

    def newly_compared(self, table: Table) -> bool:
        """Return whether the ledger still lacks a comparison with Hive that this run has made."""
        recorded = {each.table: each for each in table.owned.state.compared}
        return any(
            each != (known := recorded.get(each.table))
            or (each.created and not known.created)
            or not is_same_creation(each.created, known.created)
            for each in self._gate.agreed(table)
        )

    def set_aside_tables(self) -> list[Table]:
        return [t for t in self.tables.values() if t.aside is not None]

    def troubles(self) -> tuple[tuple[str, Kafka2HiveError], ...]:
        """Return the errors of tables that are set aside and of topics that are not read, each with its table's name."""
        aside = tuple((t.name, aside.error) for t in self.tables.values() if (aside := t.aside) is not None)
        return aside + tuple((conflict.table, conflict.error) for conflict in self.conflicts)

    def _refuse_what_hive_refuses(self, table: Table, change: Change) -> None:
        for error in table.hive.refusals.values():
            raise error
        try:
            self._gate.check(table, change)
        except (TableError, ServiceUnavailable):
            self._revoke(table)
            raise

    def _revoke(self, table: Table) -> None:
        if isinstance(owned := table.ownership, Owned):
            table.ownership = replace(owned, admitted=False)

    def resolve(self, table: Table) -> TableSettings:
        """Return an owned table's settings with the columns of its ledger. Hive's table is compared before the next commit."""
        table.in_map = replace(table.in_map, added=table.owned.state.added)
        settings = self._schemas.resolve(table.in_map)
        table.ownership = replace(table.owned, settings=settings, admitted=False)
        return settings

    def admit(self, table: Table) -> None:
        """Let an owned table commit if Hive's table matches the map. Raises what `Gate.admit` raises."""
        self._gate.admit(table)
        table.state = replace(table.owned, admitted=True)

    def take_over(self, table: Table) -> TableStart:
        """Take the table over and roll it forward; first create its ledger if it is missing.

        After a crash, the next start does the rest. Raises what `start` and `resolve` raise; OwnedByLiveRun, TakeOverLost and
        Fenced end the run.
        """
        self._refuse_undecided(table)
        settings = self._schemas.resolve(table.in_map)
        self.check_select(settings)  # before the take-over: a table whose rows cannot be made is left alone
        request = StartRequest(
            table.paths,
            check=lambda: self._generation_to_take(table),
            owners=self._wiring.owners,
            location=table.location,
            keep=self._wiring.map.limits.keep_snapshots,
        )
        try:
            started = start(self._wiring.ports, request)
        except NoLedger:
            # before the ledger: if Hive's table does not match, neither a ledger nor a marker is created
            self._gate.admit(table)
            begin_ledger(self._wiring, self._lost_ledger, table.in_map, self._all_in_map())
            started = self._start_new_ledger(request)
        table.ownership = Owned(started.owned, settings)
        self.completion.note_take_over(table)
        self.news.watch(table)
        table.record_sizes.learn(started.owned.state.accounts)
        if started.owned.state.topics - {*table.topics, *table.in_map.missing}:
            self._routes_due_at = -math.inf  # another run may have decided which topics the table reads
        if started.owned.state.added != table.in_map.added:
            settings = self.resolve(table)
        self._schemas.remember_ledger(table.name, started.owned.state.ledger_id)
        owned, was_pending = started.owned, started.rolled_forward is not None
        done = (
            f"rolled {counted(started.moves.created, 'file')} forward" if was_pending else "nothing pending"
        )
        log.info(
            "%s: generation %d, epoch %d, %s", table.name, owned.generation.number, owned.state.epoch, done
        )
        return TableStart(table.name, settings, started.moves, table.open_registrations)

    def _refuse_undecided(self, table: Table) -> None:
        """Raise the conflict of a table that several topics claim, so that its ledger is not created."""
        for conflict in self.conflicts:
            if conflict.table == table.name and table.name in self._undecided:
                raise conflict.error

    def _generation_to_take(self, table: Table) -> Generation:
        """Return the generation to take over, after checks that no live process owns it and that the ledger is not outdated.

        The consumer group is compared only at a table's first start in this run, because later this run sets the group's
        offsets itself.
        """
        generation = self._ownership.check(table.paths, table.location)
        if table.name not in self._group_compared:
            self._lost_ledger.refuse_older_ledger(table.in_map, self._all_in_map())
            self._group_compared.add(table.name)
        return generation

    def _start_new_ledger(self, request: StartRequest) -> StartResult:
        try:
            return start(self._wiring.ports, request)
        except NoLedger as error:
            raise AmbiguousOutcome(
                "ledger.not_made", f"{error} does not exist, though this run created it a moment ago"
            ) from error

    def _all_in_map(self) -> list[MapTable]:
        return [table.in_map for table in self.tables.values()]

    def _now(self) -> float:
        return self._wiring.ports.clock.monotonic()
