"""The condition of a table of a live run, and the text in which another process reads it. Advice, never a decision's base."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, assert_never

import orjson

from kafka2hive.model.errors import Kafka2HiveError

FORMAT = 1


@dataclass(frozen=True, slots=True)
class Trouble:
    """An error as it is told: its stable code, what happened, what to do."""

    code: str
    message: str
    remedy: str = ""

    @staticmethod
    def of(error: Kafka2HiveError) -> "Trouble":
        return Trouble(error.code, error.message, error.remedy)


@dataclass(frozen=True, slots=True)
class Serving:
    """The table is dumped."""

    name: ClassVar = "serving"


@dataclass(frozen=True, slots=True)
class Retrying:
    """The table is set aside; `next_try` is ISO 8601 UTC to the second, by the run's clock."""

    trouble: Trouble
    next_try: str
    name: ClassVar = "retrying"


@dataclass(frozen=True, slots=True)
class Stopped:
    """Manual intervention required: the table waits for the command in `trouble.remedy`."""

    trouble: Trouble
    name: ClassVar = "manual_intervention_required"


RunState = Serving | Retrying | Stopped


@dataclass(frozen=True, slots=True)
class TableCondition:
    """One table of a live run. `warnings` are texts that hold now and do not stop it."""

    table: str
    state: RunState
    warnings: tuple[str, ...] = ()


def encode(conditions: Iterable[TableCondition]) -> bytes:
    """All tables of a run as one JSON document; equal conditions give equal bytes."""
    tables = [_plain(condition) for condition in sorted(conditions, key=lambda c: c.table)]
    return orjson.dumps({"format": FORMAT, "tables": tables}, option=orjson.OPT_SORT_KEYS)


def decode(data: bytes) -> tuple[TableCondition, ...]:
    """Inverse of encode. Raises ValueError: half written, or not ours."""
    try:
        document = orjson.loads(data)
        if document["format"] != FORMAT:
            raise ValueError(f"conditions of format {document['format']}")
        tables = document["tables"]
        return tuple(TableCondition(one["table"], _state(one), tuple(one["warnings"])) for one in tables)
    except (KeyError, TypeError) as error:
        raise ValueError(f"not a run's conditions: {error}") from error


def _plain(condition: TableCondition) -> dict[str, object]:
    plain: dict[str, object] = {"table": condition.table, "warnings": list(condition.warnings)}
    match condition.state:
        case Serving():
            return plain | {"state": "serving"}
        case Retrying(trouble, next_try):
            return plain | {"state": "retrying", "next_try": next_try} | asdict(trouble)
        case Stopped(trouble):
            return plain | {"state": "stopped"} | asdict(trouble)
        case _:
            assert_never(condition.state)


def _state(plain: dict[str, Any]) -> RunState:
    kind = plain["state"]
    if kind == "serving":
        return Serving()
    trouble = Trouble(plain["code"], plain["message"], plain["remedy"])
    if kind == "retrying":
        return Retrying(trouble, plain["next_try"])
    if kind == "stopped":
        return Stopped(trouble)
    raise ValueError(f"a table is {kind}")
