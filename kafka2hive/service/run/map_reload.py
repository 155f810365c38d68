"""A run takes another map without a restart: the difference is decided beside the epochs, and takes effect between two of them.

1. *Prepare*, in another thread, which changes nothing: read the map's file, compare it with the map that runs, and refuse what
   needs a restart or belongs to another live run.
2. *Settle*: a table that is to be removed gets no more records, and has some time to be registered in Hive.
3. *Apply*, between two epochs and under the loop's lock: removed and changed tables are released as at a clean end of a run,
   then the run routes topics by the new map, and takes added and changed tables over as at a start.
4. *Answer*, once the tables were tried.

A crash at any step leaves what a crash of the run leaves: the next start reads the map's file, and reads the ledgers.
"""

import logging
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from kafka2hive.config.difference import MapDifference, difference
from kafka2hive.config.keys import ServiceMap
from kafka2hive.config.load import load_text, read_map_text
from kafka2hive.config.machine import check_this_machine
from kafka2hive.config.yaml.document import SUBMITTED
from kafka2hive.ledger.inbox import PLAN, Order, ReloadMap
from kafka2hive.ledger.look import NoLedger, the_generation
from kafka2hive.model.errors import (
    AmbiguousOutcome,
    ConfigError,
    Kafka2HiveError,
    ManualActionRequired,
    OwnedByLiveRun,
    ServiceUnavailable,
    TableError,
    worst,
)
from kafka2hive.model.text import counted
from kafka2hive.service.containment import Containment, bug_in
from kafka2hive.service.process import process_name, process_of
from kafka2hive.service.run.owned_tables import OwnedTables
from kafka2hive.service.run.table_steps import TableSteps
from kafka2hive.service.tables.condition import (
    RELOAD_APPLIED,
    RELOAD_PLANNED,
    RELOAD_REFUSED,
    RELOAD_UNCHANGED,
    ReleasedTable,
    ReloadAnswer,
    ReloadReport,
    Trouble,
)
from kafka2hive.service.tables.live_stop import released_by_its_run
from kafka2hive.service.tables.table_state import Owned, Table
from kafka2hive.service.topics.kafka_view import KafkaView
from kafka2hive.service.topics.routes import topic_routes
from kafka2hive.service.wiring import Wiring
from kafka2hive.storage.port import StorageError

log = logging.getLogger(__name__)

SETTLE_SECONDS = 30.0
"""How long a table that is to be removed may wait until Hive has its partitions."""
MOST_ANSWERS = 8
SIGHUP = "SIGHUP"
"""Who asks, if nobody gave an order."""

Load = Callable[[], tuple[ServiceMap, str]]
"""Reads the map's file again: the checked map, and its text. Raises ConfigError."""
Beside = Callable[[Callable[[], None]], object]
"""Starts work that runs beside the epochs."""


@dataclass(frozen=True, slots=True)
class ReloadRequest:
    """Who asked for a reload, by which order (None: SIGHUP). With `is_plan`, nothing is to be changed."""

    given_by: str = SIGHUP
    order: Order | None = None
    fingerprint: str = ""
    is_plan: bool = False

    @staticmethod
    def of(order: Order) -> "ReloadRequest":
        assert isinstance(order.instruction, ReloadMap)
        instruction = order.instruction
        return ReloadRequest(order.given_by, order, instruction.map, instruction.mode == PLAN)

    @property
    def id(self) -> str:
        return "" if self.order is None else self.order.id


@dataclass(frozen=True, slots=True)
class PreparedReload:
    """The new map, None if it could not be read, and its difference; `refusal`: why the reload is refused."""

    map: ServiceMap | None = None
    difference: MapDifference = field(default_factory=MapDifference)
    refusal: Kafka2HiveError | None = None


@dataclass(slots=True)
class _UnderWay:
    """The request under way.

    `leaving` are tables that wait to be removed, until `settles_until` (monotonic seconds; None before that wait). `tables` are
    those that were added or changed; None before the reload is applied.
    """

    request: ReloadRequest
    prepared: PreparedReload | None = None
    leaving: frozenset[str] = frozenset()
    settles_until: float | None = None
    tables: frozenset[str] | None = None


class MapReload:
    """The reloads of one run: at most one at a time. All methods but `ask_by_signal` are called under the loop's lock.

    `load` and `beside` may be replaced before the first call. `tell` gets each answer.
    """

    def __init__(
        self, wiring: Wiring, kafka: KafkaView, owned_tables: OwnedTables, steps: TableSteps, *, once: bool
    ) -> None:
        self._wiring = wiring
        self._kafka = kafka
        self._owned_tables = owned_tables
        self._steps = steps
        self._once = once
        self._clock = wiring.ports.clock
        self.load: Load = lambda: _load_again(wiring.map)
        self.beside: Beside = lambda work: wiring.background.start("reload", work)
        self.tell: Callable[[ReloadAnswer], None] = lambda answer: None
        self.report = ReloadReport(wiring.map.fingerprint)
        """Any thread may read it."""
        self._signalled = False
        self._under_way: _UnderWay | None = None
        self._ended: list[Order] = []
        self._born_before: dict[str, frozenset[str]] = {}
        self._containment = Containment()

    def ask_by_signal(self) -> None:
        """Ask for a reload; any thread may call it. If one is under way, this one follows."""
        self._signalled = True

    @property
    def leaving(self) -> Collection[str]:
        """The tables of which no records are planned, because the map will not have them any more."""
        return () if self._under_way is None else self._under_way.leaving

    def born_later(self, table: Table) -> Collection[str]:
        """Return the topics that did not exist when the run, or the map with this table's present entry, first looked."""
        return self._kafka.born_later - self._born_before.get(table.name, frozenset())

    def note_orders(self, orders: Sequence[Order]) -> None:
        """Begin the request of an order or a signal, unless one is under way. A second order meanwhile is refused."""
        answered = {answer.order for answer in self.report.answers}
        for order in orders:
            under_way = self._under_way
            if order.id in answered:
                self._ended.append(order)  # its file could not be moved before
            elif under_way is None:
                self._begin(ReloadRequest.of(order))
            elif under_way.request.id != order.id:
                self._answer(
                    ReloadRequest.of(order),
                    PreparedReload(refusal=_second_reload(under_way.request)),
                    RELOAD_REFUSED,
                )
        if self._signalled and self._under_way is None:
            self._signalled = False
            self._begin(ReloadRequest())

    def ended(self) -> list[Order]:
        """Return the orders that were answered since the last call."""
        ended, self._ended = self._ended, []
        return ended

    def step(self) -> None:
        """Between two epochs: apply the reload that is prepared. Raises ServiceUnavailable (Kafka), which leaves it waiting."""
        under_way = self._under_way
        if under_way is None or (prepared := under_way.prepared) is None:
            return
        request = under_way.request
        if prepared.refusal is not None:
            self._answer(request, prepared, RELOAD_REFUSED)
        elif request.is_plan:
            self._answer(request, prepared, RELOAD_PLANNED)
        elif self._is_settled(under_way, prepared):
            self._apply(under_way, prepared)

    def conclude(self) -> None:
        """Answer a reload that was applied, once its tables were tried."""
        under_way = self._under_way
        if under_way is None or under_way.tables is None or under_way.prepared is None:
            return
        tables = self._owned_tables.tables
        of_reload = [tables[name] for name in sorted(under_way.tables) if name in tables]
        aside = [(table.name, table.aside.error) for table in of_reload if table.aside is not None]
        is_empty = under_way.prepared.difference.is_empty
        self._answer(
            under_way.request, under_way.prepared, RELOAD_UNCHANGED if is_empty else RELOAD_APPLIED, aside
        )

    def _begin(self, request: ReloadRequest) -> None:
        self._under_way = under_way = _UnderWay(request)
        log.info("%s asks for a reload of the map %s", request.given_by, self._wiring.map.path)
        if self._once:
            refusal = ConfigError(
                "reload.once",
                "a run of --once ends by itself: its map is not reloaded",
                "start it again with the new map",
            )
            under_way.prepared = PreparedReload(refusal=refusal)
            return

        def work() -> None:
            under_way.prepared = self._prepare(request)

        self.beside(work)

    def _prepare(self, request: ReloadRequest) -> PreparedReload:
        try:
            outcome = self._containment.attempt("a reload of the map", lambda: self._look(request))
        except (Kafka2HiveError, StorageError) as error:
            refusal = (
                error
                if isinstance(error, Kafka2HiveError)
                else ServiceUnavailable("storage.unavailable", f"the reload was not prepared: {error}")
            )
            return PreparedReload(refusal=refusal)
        if isinstance(outcome, Exception):
            return PreparedReload(refusal=bug_in("the map", outcome))
        return outcome[0]

    def _look(self, request: ReloadRequest) -> PreparedReload:
        """Read the map and judge it. Changes nothing. Raises ConfigError, ServiceUnavailable."""
        running = self._wiring.map
        new, text = self.load()
        if request.fingerprint not in ("", new.fingerprint):
            raise _other_file(running, new)
        found = difference(running, new, text)
        refusal = _restart_needed(new, found) if found.restart else self._owned_elsewhere(new)
        return PreparedReload(new, found, refusal)

    def _owned_elsewhere(self, new: ServiceMap) -> Kafka2HiveError | None:
        """Return an error if a live run owns a table that the new map adds; a start would end this run with it."""
        wiring = replace(self._wiring, map=new)
        routes = topic_routes(wiring, self._kafka.topics, self._owned_tables.read_topics())
        ownership = wiring.ownership_check(take_over=False, is_stopped=released_by_its_run(wiring))
        for table in routes.tables:
            if table.name in self._owned_tables.tables:
                continue
            try:
                ownership.check_owner(table.paths, table.location)
            except OwnedByLiveRun as owned:
                return OwnedByLiveRun(
                    "reload.owned",
                    f"{owned.message}: nothing was changed",
                    "remove the table from the other run's map first, or stop that run; then reload this map again",
                )
            except (NoLedger, ManualActionRequired, AmbiguousOutcome, TableError) as trouble:
                log.debug("%s: %s", table.name, trouble)  # it is raised again when the table starts
        return None

    def _is_settled(self, under_way: _UnderWay, prepared: PreparedReload) -> bool:
        """Return whether the tables to remove need no more time: Hive has their partitions, or does not take them."""
        now = self._clock.monotonic()
        if under_way.settles_until is None:
            under_way.settles_until = now + SETTLE_SECONDS
            under_way.leaving = self._fates(prepared)[0]
        if now >= under_way.settles_until:
            return True
        tables = [self._owned_tables.tables[name] for name in sorted(under_way.leaving)]
        waiting = [
            t.name for t in tables if t.aside is None and t.open_registrations - t.hive.refusals.keys()
        ]
        if waiting and self._wiring.map.hive is not None:
            log.debug("the reload waits until Hive has the partitions of %s", ", ".join(waiting))
            return False
        return True

    def _fates(self, prepared: PreparedReload) -> tuple[frozenset[str], frozenset[str]]:
        """Return the tables that the new map does not have any more, and those whose entries have changed."""
        assert prepared.map is not None
        tables = self._owned_tables.tables
        topics = set(self._kafka.topics)
        for table in tables.values():  # a topic that is gone has still made its table
            topics |= {*table.topics, *table.vanished, *_topics_read(table)}
        routes = topic_routes(
            replace(self._wiring, map=prepared.map), topics, self._owned_tables.read_topics()
        )
        rules = {table.name: table.rule for table in routes.tables}
        changed = (name for name, table in tables.items() if name in rules and rules[name] != table.rule)
        undecided = {conflict.table for conflict in routes.conflicts}
        return frozenset(tables.keys() - rules.keys() - undecided), frozenset(changed)

    def _apply(self, under_way: _UnderWay, prepared: PreparedReload) -> None:
        """Release the tables that leave or change, and route topics by the new map; `start_due` then takes the tables over."""
        assert prepared.map is not None
        topics = self._kafka.cluster(fresh=True).topics
        removed, changed = self._fates(prepared)
        before = self._owned_tables.tables
        leaving = [before[name] for name in sorted(removed | changed)]
        released = [*self.report.released]
        for table in leaving:
            released += self._release(table, is_removed=table.name in removed)
        self._wiring.adopt(prepared.map)
        self._owned_tables.drop(removed | changed)
        self._owned_tables.refresh(topics)
        new = frozenset(
            name for name, table in self._owned_tables.tables.items() if before.get(name) is not table
        )
        self._born_before |= dict.fromkeys(new, frozenset(self._kafka.born_later))
        under_way.tables = new
        kept = tuple(dict.fromkeys(each for each in released if each.table not in self._owned_tables.tables))
        self.report = replace(self.report, map=prepared.map.fingerprint, released=kept)
        self._owned_tables.new_round()
        log.info(
            "the map %s is in force: %s added or changed, %s removed",
            prepared.map.path,
            counted(len(new), "table"),
            counted(len(removed), "table"),
        )

    def _release(self, table: Table, *, is_removed: bool) -> list[ReleasedTable]:
        """Release a table, and return it with its generation if others may own it from now on."""
        generations = self._steps.attempt(table, self._generation) if is_removed else []
        self._steps.release(table)
        return [ReleasedTable(table.name, number) for number in generations if number is not None]

    def _generation(self, table: Table) -> int | None:
        """Return the number of the table's generation, None if this process does not own it."""
        if isinstance(owned := table.ownership, Owned):
            return owned.ledger.generation.number
        try:
            generation = the_generation(self._wiring.ports.files, table.paths)
        except NoLedger:
            return None
        me = process_name(self._wiring.processes.me())
        is_mine = generation.owner is not None and process_of(generation.owner) == me
        return generation.number if is_mine else None

    def _answer(
        self,
        request: ReloadRequest,
        prepared: PreparedReload,
        outcome: str,
        aside: Sequence[tuple[str, Kafka2HiveError]] = (),
    ) -> None:
        """Note the answer for the conditions and the log, and let the order leave the inbox."""
        found, new, refusal = prepared.difference, prepared.map, prepared.refusal
        codes = [refusal.exit_code] if refusal is not None else [error.exit_code for _, error in aside]
        answer = ReloadAnswer(
            order=request.id,
            given_by=request.given_by,
            at=self._clock.now(),
            outcome=outcome,
            map="" if new is None else new.fingerprint,
            added=found.added,
            changed=tuple((each.table, each.keys) for each in found.changed),
            removed=found.removed,
            keys=found.keys,
            restart=tuple(problem.render(new.path) for problem in found.restart) if new is not None else (),
            trouble=None if refusal is None else Trouble.of(refusal),
            aside=tuple((name, Trouble.of(error)) for name, error in aside),
            exit_code=int(worst(codes)),
        )
        if refusal is not None:
            log.error(
                "the reload that %s asked for is refused, and nothing was changed: %s",
                request.given_by,
                refusal,
            )
        else:
            log.info("the reload that %s asked for: %s", request.given_by, outcome_text(answer))
        self.report = replace(self.report, answers=(*self.report.answers, answer)[-MOST_ANSWERS:])
        if request.order is not None:
            self._ended.append(request.order)
        if self._under_way is not None and self._under_way.request is request:
            self._under_way = None
        self.tell(answer)


def outcome_text(answer: ReloadAnswer) -> str:
    """Return the outcome in one line, without the reasons of a refusal."""
    parts = [f"{word} {', '.join(names)}" for word, names in _named(answer).items() if names]
    return f"{answer.outcome}: {'; '.join(parts) or 'the maps have the same values'}"


def _named(answer: ReloadAnswer) -> Mapping[str, Sequence[str]]:
    return {
        "added": answer.added,
        "changed": [f"{table} ({', '.join(keys)})" for table, keys in answer.changed],
        "removed": answer.removed,
        "keys": answer.keys,
    }


def _topics_read(table: Table) -> frozenset[str]:
    state = table.last_state
    return frozenset() if state is None else state.topics


def _load_again(running: ServiceMap) -> tuple[ServiceMap, str]:
    from kafka2hive.service.validate.map_check import check_own_schemas

    text = read_map_text(running.path)
    new = load_text(text, running.path, os.environ)
    check_this_machine(new, os.environ)
    check_own_schemas(new)
    return new, text


def _restart_needed(new: ServiceMap, found: MapDifference) -> ConfigError:
    lines = "\n".join(problem.render(new.path) for problem in found.restart)
    count = counted(len(found.restart), "key")
    return ConfigError(
        "reload.needs_restart",
        f"{new.path} changes {count} that a reload cannot change:\n{lines}",
        "restart the run to apply the whole map, or undo these changes and reload the others",
    )


def _other_file(running: ServiceMap, new: ServiceMap) -> ConfigError:
    remedy = (
        "it was submitted with a copy of its map: end the application and submit it with the new map"
        if os.environ.get(SUBMITTED)
        else "copy the new map to that path on the run's host, then type the command again"
    )
    return ConfigError(
        "reload.other_file",
        f"the run reads its map from {running.path} on its own host, and that file differs from the one of this command"
        f" (fingerprint {new.fingerprint[:12]})",
        remedy,
    )


def _second_reload(first: ReloadRequest) -> ServiceUnavailable:
    return ServiceUnavailable(
        "reload.under_way",
        f"another reload is under way, for {first.given_by}{f' by order {first.id}' if first.id else ''}",
        "wait for its answer (`kafka2hive status -c MAP`), then type the command again",
    )
