"""Schemas by id for the decoders of one process: from memory, else from the storage, else from the registry."""

from kafka2hive.model.errors import SchemaRegistryUnavailable
from kafka2hive.model.writer_schema import WriterSchema
from kafka2hive.registry import errors
from kafka2hive.registry.kept import KeptSchemas
from kafka2hive.registry.port import Registry
from kafka2hive.registry.recent import Recent
from kafka2hive.storage.port import Clock

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


class SchemaLookup:
    """See WriterSchemas. `keeps`: what the registry gives is written to the storage."""

    def __init__(
        self, registry: Registry, kept: KeptSchemas, clock: Clock, *, urls: str, keeps: bool = True
    ) -> None:
        self._registry = registry
        self._kept = kept
        self._clock = clock
        self._urls = urls
        self._keeps = keeps
        self._known = Recent[int, WriterSchema](MOST_REMEMBERED, MOST_BYTES)
        self._unknown: dict[int, float] = {}
        self._away: tuple[float, str] = (float("-inf"), "")

    def get(self, schema_id: int) -> WriterSchema | None:
        """None: there is no such id, for certain. A known id never asks the registry.

        Raises SchemaRegistryUnavailable (at once for a while after the last time), and the errors of registry/errors.py.
        """
        if (known := self._known.get(schema_id)) is not None:
            return known
        self._forget_unknown()
        if schema_id in self._unknown:
            return None
        kept = self._kept.read(schema_id)
        schema = kept or self._ask(schema_id)
        if schema is None:
            return None
        if kept is None and self._keeps:
            self._kept.keep(schema_id, schema)
        self._known.put(schema_id, schema, schema.bytes)
        return schema

    def _ask(self, schema_id: int) -> WriterSchema | None:
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

    def _confirmed(self, schema_id: int) -> WriterSchema | None:
        schema = self._registry.schema(schema_id)
        if schema is None and len(self._unknown) < MOST_CONFIRMED:
            self._clock.sleep(CONFIRM_SECONDS)
            schema = self._registry.schema(schema_id)
        return schema

    def _forget_unknown(self) -> None:
        old = self._clock.monotonic() - UNKNOWN_SECONDS
        while self._unknown and next(iter(self._unknown.values())) <= old:
            del self._unknown[next(iter(self._unknown))]


def _unavailable(schema_id: int, why: str) -> SchemaRegistryUnavailable:
    return SchemaRegistryUnavailable(
        f"schema {schema_id} is not known here, and {why}; its records wait in Kafka"
    )
