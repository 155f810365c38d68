"""The registry's newest schemas of a table's subjects, asked for now and then."""

import logging
import threading

from kafka2hive.config.values import TableRule, TableSettings
from kafka2hive.model.errors import SchemaRegistryUnavailable, TableError
from kafka2hive.registry.port import Registry
from kafka2hive.service.evolution.written import Written, read_written
from kafka2hive.service.shared.wiring import Wiring
from kafka2hive.storage.port import Clock

log = logging.getLogger(__name__)


class NewestSchemas:
    """A registry that gives no answer is asked again after `refresh_seconds` only: records name their schemas themselves."""

    def __init__(self, registry: Registry, clock: Clock, refresh_seconds: float) -> None:
        self._registry = registry
        self._clock = clock
        self.refresh_seconds = refresh_seconds
        self._away_until = float("-inf")
        self._one_at_a_time = threading.Lock()

    def of(self, rule: TableRule, topics: tuple[str, ...], settings: TableSettings) -> list[Written]:
        """In the order of the topics; without those that the registry does not have, or does not give now."""
        found = []
        for subject in dict.fromkeys(rule.subject.replace("{topic}", topic) for topic in topics):
            if (written := self._newest(subject, settings)) is not None:
                found.append(written)
        return found

    def _newest(self, subject: str, settings: TableSettings) -> Written | None:
        with self._one_at_a_time:
            if self._clock.monotonic() < self._away_until:
                return None
            try:
                newest = self._registry.newest(subject)
            except TableError as error:
                if isinstance(error, SchemaRegistryUnavailable):
                    self._away_until = self._clock.monotonic() + self.refresh_seconds
                log.warning("the newest schemas are not known, what is known of them holds: %s", error)
                return None
        if newest is None:
            log.debug("%s: the schema registry has no subject %s", settings.table, subject)
            return None
        label = f"id {newest.schema_id}, version {newest.version} of {subject}"
        return read_written(label, newest.schema, None, settings)


def newest_schemas(wiring: Wiring) -> NewestSchemas | None:
    """None: the map has no registry. Connects to nothing yet."""
    options, registry = wiring.map.registry, wiring.registry()
    if options is None or registry is None:
        return None
    return NewestSchemas(registry, wiring.ports.clock, options.refresh_seconds)
