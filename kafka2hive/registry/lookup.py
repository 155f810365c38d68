"""Schemas by id for the decoders of one process: from memory, else from the storage, else from the registry."""

import logging
import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import Generic, TypeVar

from kafka2hive.model.errors import SchemaRegistryUnavailable, TableError
from kafka2hive.model.writer_schema import SchemaId, WriterSchema
from kafka2hive.registry import errors
from kafka2hive.registry.port import Registry, SameSchema
from kafka2hive.registry.schema_store import KeptSchemas
from kafka2hive.storage.port import Clock

Key = TypeVar("Key")
Value = TypeVar("Value")


class Recent(Generic[Key, Value]):
    """At most `most` values of at most `most_bytes` together, and always the one that came last. Any thread may use it."""

    def __init__(self, most: int, most_bytes: int) -> None:
        self._most, self._most_bytes = most, most_bytes
        self._lock = threading.Lock()
        self._kept: OrderedDict[Key, tuple[Value, int]] = OrderedDict()
        self._bytes = 0

    def get(self, key: Key) -> Value | None:
        """None: it never came, or was not used for long."""
        with self._lock:
            if key not in self._kept:
                return None
            self._kept.move_to_end(key)
            return self._kept[key][0]

    def put(self, key: Key, value: Value, size: int) -> None:
        """`size` in bytes. What was not used for longest makes room for it."""
        with self._lock:
            self._bytes += size - self._kept.pop(key, (None, 0))[1]
            self._kept[key] = value, size
            while len(self._kept) > 1 and (len(self._kept) > self._most or self._bytes > self._most_bytes):
                self._bytes -= self._kept.popitem(last=False)[1][1]

    def forget(self, key: Key) -> None:
        """Nothing where it is not there."""
        with self._lock:
            self._bytes -= self._kept.pop(key, (None, 0))[1]


log = logging.getLogger(__name__)

MOST_REMEMBERED = 2_000
MOST_BYTES = 64 * 1024 * 1024
"""Of all remembered schemas together."""
UNKNOWN_SECONDS = 60.0
"""An unknown id is asked for again after this time: it may have been registered."""
MOST_UNKNOWN = 300
"""Within that time. More are no mistakes of single records, and asking for each would take for ever."""
MOST_CONFIRMED = 10
"""Unknown ids within that time that are asked for twice: a registry's replica may be behind the producer's."""
CONFIRM_SECONDS = 1.0
_AWAY_SECONDS = 5.0
_AWAY_TIMES = 2.0
_COMPARE_AWAY_SECONDS = 60.0
_COMPARE_AWAY_TIMES = 10.0
"""A registry that hangs may cost a process that has all schemas a tenth of its time, not more."""


@dataclass(frozen=True, slots=True)
class _Known:
    """`compare_at`: when the registry is asked whether it still says the same."""

    schema: WriterSchema
    compare_at: float


class SchemaLookup:
    """See WriterSchemas. `keeps`: what the registry gives is written to the storage.

    A kept schema is compared with the registry's before its first use in the process, and again after `compare_seconds`:
    a registry that was set up anew gives the same ids to other schemas.
    """

    def __init__(
        self,
        registry: Registry,
        kept: KeptSchemas,
        clock: Clock,
        *,
        urls: str,
        same: SameSchema,
        compare_seconds: float,
        keeps: bool = True,
    ) -> None:
        self._registry = registry
        self._kept = kept
        self._clock = clock
        self._urls = urls
        self._same = same
        self._compare_seconds = compare_seconds
        self._keeps = keeps
        self._known = Recent[SchemaId, _Known](MOST_REMEMBERED, MOST_BYTES)
        self._not_compared_before = float("-inf")
        self._unknown: dict[SchemaId, float] = {}
        self._away: tuple[float, str] = (float("-inf"), "")

    def get(self, schema_id: SchemaId) -> WriterSchema | None:
        """None: there is no such id, for certain.

        Raises SchemaRegistryUnavailable (at once for a while after the last time), and the errors of registry/errors.py:
        `registry.changed` where the registry has another schema of this id than the one that is kept.
        """
        known = self._known.get(schema_id)
        if known is not None and self._clock.monotonic() < known.compare_at:
            return known.schema
        self._forget_unknown()
        if known is None and schema_id in self._unknown:
            return None
        before = known.schema if known is not None else self._kept.read(schema_id)
        if before is not None:
            return self._compared(schema_id, before)
        schema = self._ask(schema_id)
        if schema is None:
            return None
        if self._keeps and (other := self._kept.keep(schema_id, schema)) is not None:
            self._refuse_change(schema_id, other, schema)  # another process was told otherwise
        return self._remember(schema_id, schema, self._compare_seconds)

    def _remember(self, schema_id: SchemaId, schema: WriterSchema, seconds: float) -> WriterSchema:
        self._known.put(schema_id, _Known(schema, self._clock.monotonic() + seconds), schema.bytes)
        return schema

    def _compared(self, schema_id: SchemaId, before: WriterSchema) -> WriterSchema:
        """`before`, which is kept or was used, unless the registry answers with another schema."""
        began = self._clock.monotonic()
        if began < self._not_compared_before:
            return self._remember(schema_id, before, self._not_compared_before - began)
        try:
            now = self._registry.schema(schema_id)
        except TableError as error:
            ended = self._clock.monotonic()
            pause = max(_COMPARE_AWAY_SECONDS, _COMPARE_AWAY_TIMES * (ended - began))
            self._not_compared_before = ended + pause
            log.warning("kept schemas are used without comparing them with the registry's: %s", error)
            return self._remember(schema_id, before, pause)
        if now is None:
            log.warning(
                "the schema registry has no schema of id %s any more; the kept one is used", schema_id
            )
            return self._remember(schema_id, before, UNKNOWN_SECONDS)
        self._refuse_change(schema_id, before, now)
        return self._remember(schema_id, before, self._compare_seconds)

    def _refuse_change(self, schema_id: SchemaId, before: WriterSchema, now: WriterSchema) -> None:
        """Forgets the schema before it raises: the next try reads what is kept then."""
        if not self._same(before, now):
            self._known.forget(schema_id)
            raise errors.changed(
                urls=self._urls, schema_id=schema_id, path=self._kept.path(schema_id), before=before, now=now
            )

    def _ask(self, schema_id: SchemaId) -> WriterSchema | None:
        until, why = self._away
        began = self._clock.monotonic()
        if began < until:
            raise _unavailable(schema_id, why)
        if len(self._unknown) >= MOST_UNKNOWN:
            raise errors.too_many_unknown(self._urls, len(self._unknown))
        try:
            schema = self._confirmed(schema_id)
        except SchemaRegistryUnavailable as error:
            ended = self._clock.monotonic()
            self._away = (ended + max(_AWAY_SECONDS, _AWAY_TIMES * (ended - began)), error.message)
            raise _unavailable(schema_id, error.message) from error
        if schema is None:
            self._unknown[schema_id] = self._clock.monotonic()
        return schema

    def _confirmed(self, schema_id: SchemaId) -> WriterSchema | None:
        schema = self._registry.schema(schema_id)
        if schema is None and len(self._unknown) < MOST_CONFIRMED:
            self._clock.sleep(CONFIRM_SECONDS)
            schema = self._registry.schema(schema_id)
        return schema

    def _forget_unknown(self) -> None:
        old = self._clock.monotonic() - UNKNOWN_SECONDS
        while self._unknown and next(iter(self._unknown.values())) <= old:
            del self._unknown[next(iter(self._unknown))]


def _unavailable(schema_id: SchemaId, why: str) -> SchemaRegistryUnavailable:
    return SchemaRegistryUnavailable(
        f"schema {schema_id} is not known here, and {why}; its records wait in Kafka"
    )
