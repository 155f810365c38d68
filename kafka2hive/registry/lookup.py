"""Schemas by id for the decoders of one process: from memory, then from the storage, then from the registry."""

import logging
import threading
import uuid
from collections import OrderedDict
from dataclasses import dataclass
from typing import Generic, TypeVar

from kafka2hive.config.keys import RegistryOptions
from kafka2hive.model.errors import SchemaRegistryUnavailable, TableError
from kafka2hive.model.writer_schema import SchemaId, WriterSchema
from kafka2hive.registry import port as errors
from kafka2hive.registry.client import connect_registry
from kafka2hive.registry.port import Registry, SameSchema
from kafka2hive.registry.schema_store import KeptSchemas, identity_of
from kafka2hive.storage.concurrency import SystemClock
from kafka2hive.storage.port import Clock, FileSystem

log = logging.getLogger(__name__)

MOST_REMEMBERED = 2_000
MOST_BYTES = 64 * 1024 * 1024
"""Limit in bytes of all schemas in memory together."""
UNKNOWN_SECONDS = 60.0
"""After this time, an unknown id is requested again, because it may have been registered meanwhile."""
MOST_UNKNOWN = 300
"""Limit of unknown ids within UNKNOWN_SECONDS.

A few wrong records do not have so many ids, and a request for each would take too long.
"""
MOST_CONFIRMED = 10
"""Limit of unknown ids within UNKNOWN_SECONDS that are requested twice, because a replica of the registry may lag behind."""
CONFIRM_SECONDS = 1.0
_OUTAGE_SECONDS = 5.0
_OUTAGE_TIMES = 2.0
"""After an outage, requests pause twice as long as the failed one took, but at least _OUTAGE_SECONDS."""
_COMPARE_PAUSE_SECONDS = 60.0
_COMPARE_PAUSE_TIMES = 10.0
"""After a failed comparison, comparisons pause ten times as long as it took, but at least _COMPARE_PAUSE_SECONDS. A hanging
registry then costs at most a tenth of a process's time."""

Key = TypeVar("Key")
Value = TypeVar("Value")


class Recent(Generic[Key, Value]):
    """A thread-safe LRU cache of at most `most` values and `most_bytes`; the newest value is always kept."""

    def __init__(self, most: int, most_bytes: int) -> None:
        self._most, self._most_bytes = most, most_bytes
        self._lock = threading.Lock()
        self._kept: OrderedDict[Key, tuple[Value, int]] = OrderedDict()
        self._bytes = 0

    def get(self, key: Key) -> Value | None:
        """Return the value of `key`, None if it was never put or is evicted."""
        with self._lock:
            if key not in self._kept:
                return None
            self._kept.move_to_end(key)
            return self._kept[key][0]

    def put(self, key: Key, value: Value, size: int) -> None:
        """Add a value of `size` bytes; the least recently used ones make room for it."""
        with self._lock:
            self._bytes += size - self._kept.pop(key, (None, 0))[1]
            self._kept[key] = value, size
            while len(self._kept) > 1 and (len(self._kept) > self._most or self._bytes > self._most_bytes):
                self._bytes -= self._kept.popitem(last=False)[1][1]

    def forget(self, key: Key) -> None:
        """Remove a key; a missing one is ignored."""
        with self._lock:
            self._bytes -= self._kept.pop(key, (None, 0))[1]


@dataclass(frozen=True, slots=True)
class _Known:
    """A schema in memory. From `compare_at` on (monotonic seconds), it must be compared with the registry's before its use."""

    schema: WriterSchema
    compare_at: float


class SchemaLookup:
    """The lookup of one process, an implementation of WriterSchemas. With `keeps` it writes new schemas to the storage.

    A kept schema is compared with the registry's before its first use in the process and again every `compare_seconds`,
    because a registry that was recreated may give the same ids to other schemas.
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
        self._outage: tuple[float, str] = (float("-inf"), "")

    def get(self, schema_id: SchemaId) -> WriterSchema | None:
        """Return the schema of an id, None if the registry answers that it has no such id.

        Raises SchemaRegistryUnavailable; for some seconds after an outage, it does so without a new request. Raises the other
        errors of registry/port.py, such as `registry.changed` if the registry's schema of this id differs from the kept one.
        """
        known = self._known.get(schema_id)
        if known is not None and self._clock.monotonic() < known.compare_at:
            return known.schema
        self._forget_unknown()
        if known is None and schema_id in self._unknown:
            return None
        before = known.schema if known is not None else self._kept.read(schema_id)
        if before is not None:
            return self._compare(schema_id, before)
        schema = self._ask(schema_id)
        if schema is None:
            return None
        if self._keeps and (other := self._kept.keep(schema_id, schema)) is not None:
            self._refuse_change(schema_id, other, schema)  # another process got a different answer
        return self._remember(schema_id, schema, self._compare_seconds)

    def _remember(self, schema_id: SchemaId, schema: WriterSchema, seconds: float) -> WriterSchema:
        """Put the schema into memory, due for a comparison after `seconds`, and return it."""
        self._known.put(schema_id, _Known(schema, self._clock.monotonic() + seconds), schema.bytes)
        return schema

    def _compare(self, schema_id: SchemaId, before: WriterSchema) -> WriterSchema:
        """Return `before`, which was kept or used, unless the registry has a different schema.

        If the registry fails or no longer has the id, `before` is used without a comparison. Raises `registry.changed`.
        """
        began = self._clock.monotonic()
        if began < self._not_compared_before:
            return self._remember(schema_id, before, self._not_compared_before - began)
        try:
            now = self._registry.schema(schema_id)
        except TableError as error:
            ended = self._clock.monotonic()
            pause = max(_COMPARE_PAUSE_SECONDS, _COMPARE_PAUSE_TIMES * (ended - began))
            self._not_compared_before = ended + pause
            log.warning("kept schemas are used without a comparison with the registry's schemas: %s", error)
            return self._remember(schema_id, before, pause)
        if now is None:
            log.warning(
                "the schema registry has no schema of id %s any more; the kept one is used", schema_id
            )
            return self._remember(schema_id, before, UNKNOWN_SECONDS)
        self._refuse_change(schema_id, before, now)
        return self._remember(schema_id, before, self._compare_seconds)

    def _refuse_change(self, schema_id: SchemaId, before: WriterSchema, now: WriterSchema) -> None:
        """Raise `registry.changed` if the schemas differ.

        The schema in memory is removed first, so that the next try reads the kept one.
        """
        if not self._same(before, now):
            self._known.forget(schema_id)
            raise errors.schema_changed(
                urls=self._urls, schema_id=schema_id, path=self._kept.path(schema_id), before=before, now=now
            )

    def _ask(self, schema_id: SchemaId) -> WriterSchema | None:
        until, why = self._outage
        began = self._clock.monotonic()
        if began < until:
            raise _unavailable(schema_id, why)
        if len(self._unknown) >= MOST_UNKNOWN:
            raise errors.too_many_unknown(self._urls, len(self._unknown))
        try:
            schema = self._confirm(schema_id)
        except SchemaRegistryUnavailable as error:
            ended = self._clock.monotonic()
            self._outage = (ended + max(_OUTAGE_SECONDS, _OUTAGE_TIMES * (ended - began)), error.message)
            raise _unavailable(schema_id, error.message) from error
        if schema is None:
            self._unknown[schema_id] = self._clock.monotonic()
        return schema

    def _confirm(self, schema_id: SchemaId) -> WriterSchema | None:
        """Request the schema. If the registry has none, request it once more after a pause (see MOST_CONFIRMED)."""
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


def schema_lookup(
    options: RegistryOptions, files: FileSystem, ledger_root: str, same: SameSchema, *, keeps: bool
) -> SchemaLookup:
    """Return the lookup of one process. It reads kept schemas below `ledger_root`, and writes there only with `keeps`."""
    kept = KeptSchemas(files, ledger_root, identity_of(options), lambda: uuid.uuid4().hex)
    return SchemaLookup(
        connect_registry(options),
        kept,
        SystemClock(),
        urls=options.url,
        same=same,
        compare_seconds=options.refresh_seconds,
        keeps=keeps,
    )
