"""The conditions of a run's tables, and the JSON by which other processes read them. They are hints without guarantee."""

from dataclasses import asdict, dataclass
from typing import Any, ClassVar, assert_never

import orjson

from kafka2hive.model.errors import ExitCode, Kafka2HiveError
from kafka2hive.model.text import utc_text
from kafka2hive.service.tables.attainment import Attainment, attainment_of, plain_attainment

FORMAT = 1
BUG = "bug"


@dataclass(frozen=True, slots=True)
class Trouble:
    """An error for display: its stable code, its message and its remedy."""

    code: str
    message: str
    remedy: str = ""

    @staticmethod
    def of(error: Exception) -> "Trouble":
        """Convert an error. An error that is not a Kafka2HiveError is a bug."""
        if isinstance(error, Kafka2HiveError):
            return Trouble(error.code, error.message, error.remedy)
        return Trouble(
            BUG, f"{type(error).__name__}: {error}", "look at the run's log; please report this bug"
        )


@dataclass(frozen=True, slots=True)
class Serving:
    """The table is dumped."""

    name: ClassVar = "serving"


@dataclass(frozen=True, slots=True)
class Retrying:
    """The table is set aside since the time `since`, and tried again at `next_try`, which is empty while it is being tried.

    Both are ISO 8601 UTC to the second, by the run's clock; `since` is empty if unknown.
    """

    trouble: Trouble
    next_try: str
    since: str = ""
    name: ClassVar = "retrying"

    def due_at(self, now: float) -> str:
        """Return the time of the next try; empty if it has come. `now` is in Unix seconds."""
        return self.next_try if self.next_try > utc_text(now) else ""


@dataclass(frozen=True, slots=True)
class Stopped:
    """Manual intervention is required: the table waits for the command in `trouble.remedy`.

    `since` is ISO 8601 UTC to the second, by the run's clock; empty if unknown.
    """

    trouble: Trouble
    since: str = ""
    name: ClassVar = "manual_intervention_required"


RunState = Serving | Retrying | Stopped


def since_of(state: object) -> str:
    """Return the time since which a table is set aside or stopped; empty for other states, or if it is unknown."""
    return state.since if isinstance(state, Retrying | Stopped) else ""


@dataclass(frozen=True, slots=True)
class TableCondition:
    """The condition of one table of a run. `warnings` are present problems that do not stop the table.

    `attainment` is None if the map has no objective for the table.
    """

    table: str
    state: RunState
    warnings: tuple[str, ...] = ()
    attainment: Attainment | None = None


@dataclass(frozen=True, slots=True)
class RunEnd:
    """How a run ended; `trouble` is the error that ended it, or an error that concerns all tables."""

    exit_code: int
    trouble: Trouble | None = None


RELOAD_PLANNED, RELOAD_APPLIED, RELOAD_UNCHANGED = "planned", "applied", "unchanged"
RELOAD_REFUSED = "refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReloadAnswer:
    """What a run did about one request to reload its map, at the time `at` (ISO 8601 UTC, by the run's clock).

    `order` is the order's id, "" for a SIGHUP. `outcome` is one of the constants RELOAD_*. `map` is the fingerprint of the map
    that was read, "" if it could not be. `changed` has the changed keys by table, `restart` the lines about keys that need a
    restart. `aside` are the added and changed tables that were set aside since.
    """

    order: str
    given_by: str
    at: str
    outcome: str
    map: str = ""
    added: tuple[str, ...] = ()
    changed: tuple[tuple[str, tuple[str, ...]], ...] = ()
    removed: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    restart: tuple[str, ...] = ()
    trouble: Trouble | None = None
    aside: tuple[tuple[str, Trouble], ...] = ()
    exit_code: int = 0


@dataclass(frozen=True, slots=True)
class ReleasedTable:
    """A table that a reload has removed from its run, which owned it with the generation of this number."""

    table: str
    generation: int


@dataclass(frozen=True, slots=True)
class ReloadReport:
    """The fingerprint of the `map` that a run has now, its newest `answers`, and the tables that it has `released`."""

    map: str = ""
    answers: tuple[ReloadAnswer, ...] = ()
    released: tuple[ReleasedTable, ...] = ()


@dataclass(frozen=True, slots=True)
class RunConditions:
    """The conditions of all tables of a run, unchanged since `at` (ISO 8601 UTC to the second, by the run's clock).

    - `end`: how the run ended; None while it runs.
    - `most_tasks`: the maximum number of tasks in an epoch now; None before the first plan.
    - `map`: the fingerprint of the run's map; empty for a run of an older version.
    - `reloads`: the newest answers to requests to reload the map, the last one at the end.
    - `released`: the tables that reloads have removed from the run.
    - `decoder`: the decoder of the run's driver; empty for a run of an older version.
    - `warnings`: present problems that concern all tables.
    """

    tables: tuple[TableCondition, ...]
    at: str = ""
    end: RunEnd | None = None
    most_tasks: int | None = None
    map: str = ""
    decoder: str = ""
    warnings: tuple[str, ...] = ()
    reloads: tuple[ReloadAnswer, ...] = ()
    released: tuple[ReleasedTable, ...] = ()

    @property
    def was_fenced(self) -> bool:
        """Whether the run ended because another run took its tables over."""
        return self.end is not None and self.end.exit_code == ExitCode.FENCED

    def of(self, table: str) -> TableCondition | None:
        return next((condition for condition in self.tables if condition.table == table), None)


def encode(run: RunConditions) -> bytes:
    """Return one JSON document. Equal conditions give equal bytes; the order of the tables does not matter."""
    tables = [_plain(condition) for condition in sorted(run.tables, key=lambda c: c.table)]
    end = None if run.end is None else asdict(run.end)
    document = {
        "format": FORMAT,
        "at": run.at,
        "end": end,
        "most_tasks": run.most_tasks,
        "map": run.map,
        "decoder": run.decoder,
        "warnings": list(run.warnings),
        "reloads": [asdict(answer) for answer in run.reloads],
        "released": [asdict(table) for table in run.released],
        "tables": tables,
    }
    return orjson.dumps(document, option=orjson.OPT_SORT_KEYS)


def decode(data: bytes) -> RunConditions:
    """Parse the document of `encode`. Raises ValueError if it is incomplete or of another format."""
    try:
        document = orjson.loads(data)
        if document["format"] != FORMAT:
            raise ValueError(f"conditions of format {document['format']}")
        tables = document["tables"]
        return RunConditions(
            tables=tuple(
                TableCondition(
                    condition["table"],
                    _state(condition),
                    tuple(condition["warnings"]),
                    attainment_of(plain) if (plain := condition.get("objective")) else None,
                )
                for condition in tables
            ),
            at=document.get("at", ""),  # older versions do not write it
            end=_end(document.get("end")),
            most_tasks=document.get("most_tasks"),
            map=str(document.get("map", "")),
            decoder=document.get("decoder", ""),
            warnings=tuple(document.get("warnings", ())),
            reloads=tuple(map(_reload, document.get("reloads", ()))),
            released=tuple(ReleasedTable(**plain) for plain in document.get("released", ())),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"not a run's conditions: {error}") from error


def _reload(plain: dict[str, Any]) -> ReloadAnswer:
    names = {name: tuple(plain[name]) for name in ("added", "removed", "keys", "restart")}
    trouble = plain["trouble"]
    return ReloadAnswer(
        **plain
        | names
        | {
            "changed": tuple((table, tuple(keys)) for table, keys in plain["changed"]),
            "trouble": None if trouble is None else Trouble(**trouble),
            "aside": tuple((table, Trouble(**error)) for table, error in plain["aside"]),
        }
    )


def _end(plain: dict[str, Any] | None) -> RunEnd | None:
    if plain is None:
        return None
    trouble = plain["trouble"]
    return RunEnd(plain["exit_code"], None if trouble is None else Trouble(**trouble))


def _plain(condition: TableCondition) -> dict[str, object]:
    plain: dict[str, object] = {"table": condition.table, "warnings": list(condition.warnings)}
    if condition.attainment is not None:
        plain["objective"] = plain_attainment(condition.attainment)
    match condition.state:
        case Serving():
            return plain | {"state": "serving"}
        case Retrying(trouble, next_try, since):
            return plain | {"state": "retrying", "next_try": next_try, "since": since} | asdict(trouble)
        case Stopped(trouble, since):
            return plain | {"state": "stopped", "since": since} | asdict(trouble)
        case _:
            assert_never(condition.state)


def _state(plain: dict[str, Any]) -> RunState:
    kind = plain["state"]
    if kind == "serving":
        return Serving()
    trouble = Trouble(plain["code"], plain["message"], plain["remedy"])
    if kind == "retrying":
        return Retrying(trouble, plain["next_try"], plain.get("since", ""))
    if kind == "stopped":
        return Stopped(trouble, plain.get("since", ""))
    raise ValueError(f"a table is {kind}")
