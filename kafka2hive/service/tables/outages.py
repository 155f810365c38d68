"""Report services that do not answer a run: in the log when an outage begins and ends, in a metric, and in `status`."""

import logging
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from kafka2hive.model.errors import Kafka2HiveError, ServiceUnavailable
from kafka2hive.model.metastore import MetastoreUnavailable
from kafka2hive.model.text import duration, utc_text
from kafka2hive.observe.metrics import ServiceMetrics
from kafka2hive.service.tables.table_state import Table
from kafka2hive.storage.port import Clock

log = logging.getLogger(__name__)

SYSTEMS = {
    "kafka": "Kafka",
    "hive": "HiveServer2",
    "registry": "the schema registry",
    "storage": "the file system",
}
_OF_TABLES = {
    "kafka.unavailable": "kafka",
    "hive.unavailable": "hive",
    "hive.not_compared": "hive",
    "registry.unavailable": "registry",
    "storage.unavailable": "storage",
    "storage.outcome_unknown": "storage",
    "ledger.no_answer": "storage",
}
"""By error code: the system whose missing answer set a table aside."""
WARNED_BY = "outages"


@dataclass(frozen=True, slots=True)
class Outage:
    """An outage of one system. `began` is in monotonic seconds; `text` is shown by `status`."""

    began: float
    text: str


class OutageListener(Protocol):
    """Called after each planning with the systems that did not answer."""

    def __call__(self, away: Mapping[str, str], tables: Collection[Table]) -> None:
        """Handle the outages; `away` holds the reason for each system (see `systems_away`)."""
        ...


class OutageWatch:
    """Logs when an outage begins and ends, and shows it in metrics and `status`. One thread at a time may call it."""

    def __init__(self, metrics: ServiceMetrics, clock: Clock) -> None:
        self._metrics = metrics
        self._clock = clock
        self._outages: dict[str, Outage] = {}
        for system in SYSTEMS:
            metrics.observe_outage(system, away=False)

    def __call__(self, away: Mapping[str, str], tables: Collection[Table]) -> None:
        """Handle the outages (see OutageListener). Every table gets the warning, not only those that an error set aside."""
        for system in sorted(away.keys() - self._outages.keys()):
            since = utc_text(self._clock.epoch_ms() / 1000)
            text = f"{SYSTEMS[system]} has not answered since {since}: {away[system]}"
            self._outages[system] = Outage(self._clock.monotonic(), text)
            self._metrics.observe_outage(system, away=True)
            log.warning("%s does not answer; the run keeps asking: %s", SYSTEMS[system], away[system])
        for system in sorted(self._outages.keys() - away.keys()):
            seconds = self._clock.monotonic() - self._outages.pop(system).began
            self._metrics.observe_outage(system, away=False)
            log.info("%s answers again, after %s", SYSTEMS[system], duration(seconds))
        texts = tuple(outage.text for _, outage in sorted(self._outages.items()))
        for table in tables:
            table.warnings[WARNED_BY] = texts


def systems_away(
    planning: ServiceUnavailable | None, registering: MetastoreUnavailable | None, tables: Iterable[Table]
) -> dict[str, str]:
    """Return the reason for each system that does not answer, taken from errors of planning, registrations and tables."""
    away: dict[str, str] = {}
    for table in tables:
        if (aside := table.aside) is None:
            continue
        error = aside.error
        system = _OF_TABLES.get(error.code)
        if system is None and isinstance(error, ServiceUnavailable):
            system = _prefix(error)
        if system is not None:
            away.setdefault(system, error.message)
    if registering is not None:
        away["hive"] = str(registering)
    if planning is not None and (system := _prefix(planning)) is not None:
        away[system] = planning.message
    return away


def _prefix(error: Kafka2HiveError) -> str | None:
    """Return the system with whose name the error's code begins; None if it begins with another word."""
    system = error.code.partition(".")[0]
    return system if system in SYSTEMS else None
