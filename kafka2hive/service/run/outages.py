"""Report services that do not answer a run: in the log when an outage begins and ends, in a metric, and in `status`."""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from kafka2hive.model.errors import Kafka2HiveError, ServiceUnavailable
from kafka2hive.model.metastore import HiveLoginRefused, MetastoreUnavailable, TooManySessions
from kafka2hive.model.offsets import CLUSTER_END, name_in_kafka, shown_cluster, topic_of
from kafka2hive.model.text import duration, utc_text
from kafka2hive.observe.metrics import ServiceMetrics
from kafka2hive.service.tables.table_state import Table
from kafka2hive.storage.port import Clock

log = logging.getLogger(__name__)

SYSTEMS = {
    "kafka": "Kafka",
    "hive": "Hive",
    "registry": "the schema registry",
    "storage": "the file system",
}
REMEDIES = {
    "kafka": "bring the brokers back; `kafka2hive doctor -c MAP` asks all services",
    "hive": "bring HiveServer2 or the metastore back; nothing is lost meanwhile: registrations wait in the ledgers",
    "registry": "bring the schema registry back, or correct `registry.url` in the map",
    "storage": "bring HDFS back; `kafka2hive doctor -c MAP` asks all services",
}
_OF_TABLES = {
    "kafka.unavailable": "kafka",
    "kafka.stalled": "kafka",
    "hive.unavailable": "hive",
    "hive.not_compared": "hive",
    "registry.unavailable": "registry",
    "storage.unavailable": "storage",
    "storage.outcome_unknown": "storage",
    "ledger.no_answer": "storage",
}
"""By error code: the system whose missing answer set a table aside."""

_REFUSALS = frozenset((HiveLoginRefused.code, TooManySessions.code))
"""Codes of errors with which a system answers, but refuses the run."""


def system_of_cluster(cluster: str) -> str:
    """Return the name of a Kafka cluster among the systems: `kafka`, or `kafka/east` for one of the map's `kafka_clusters`."""
    return topic_of("kafka", cluster) if cluster else "kafka"


def is_kafka(system: str) -> bool:
    """Return whether the system is a Kafka cluster."""
    return _kind(system) == "kafka"


def shown_system(system: str) -> str:
    """Return how texts name the system."""
    return shown_cluster(name_in_kafka(system)) if CLUSTER_END in system else SYSTEMS[system]


@dataclass(frozen=True, slots=True)
class Absence:
    """Why a system is of no use to the run. `refuses`: it answers, but refuses the run."""

    reason: str
    refuses: bool = False


@dataclass(frozen=True, slots=True)
class Outage:
    """An outage of one system. `began` is in monotonic seconds; `text` is shown by `status`, `end` logged when it ends."""

    began: float
    text: str
    end: str


class OutageWatch:
    """Logs when an outage begins and ends, and shows it in metrics and `status`. One thread at a time may call it."""

    def __init__(self, metrics: ServiceMetrics, clock: Clock, clusters: Iterable[str] = ()) -> None:
        """`clusters` are the names of the map's `kafka_clusters`."""
        self._metrics = metrics
        self._clock = clock
        self._outages: dict[str, Outage] = {}
        self.texts: Mapping[str, str] = {}
        """A text for each system, which `status` shows; any thread may read it."""
        for system in (*SYSTEMS, *map(system_of_cluster, clusters)):
            metrics.observe_outage(system, away=False)

    def __call__(self, away: Mapping[str, Absence]) -> None:
        """Compare with the last call; `away` holds the systems that are of no use now (see `systems_away`)."""
        for system in sorted(away.keys() - self._outages.keys()):
            since = utc_text(self._clock.epoch_ms() / 1000)
            refuses, reason = away[system].refuses, away[system].reason
            past, present, end = (
                ("has refused this run", "refuses this run", "accepts this run again")
                if refuses
                else ("has not answered", "does not answer", "answers again")
            )
            text = f"{shown_system(system)} {past} since {since}: {reason}; what to do: {REMEDIES[_kind(system)]}"
            self._outages[system] = Outage(self._clock.monotonic(), text, end)
            self._metrics.observe_outage(system, away=True)
            log.warning("%s %s; the run keeps asking: %s", shown_system(system), present, reason)
        for system in sorted(self._outages.keys() - away.keys()):
            outage = self._outages.pop(system)
            self._metrics.observe_outage(system, away=False)
            log.info(
                "%s %s, after %s",
                shown_system(system),
                outage.end,
                duration(self._clock.monotonic() - outage.began),
            )
        self.texts = {system: outage.text for system, outage in sorted(self._outages.items())}


def systems_away(
    planning: ServiceUnavailable | None,
    registering: MetastoreUnavailable | None,
    tables: Iterable[Table],
    silences: Mapping[str, str | None] = MappingProxyType({}),
) -> dict[str, Absence]:
    """Return the systems that do not answer or refuse the run, by errors of planning, registrations and tables.

    `silences` has the reason why a system does not answer the questions that are asked whatever the run waits for.
    """
    away = {system: Absence(why) for system, why in silences.items() if why is not None}
    for table in tables:
        if (aside := table.aside) is None:
            continue
        error, system = aside.error, system_of(aside.error, table.cluster)
        if system is not None:
            away.setdefault(system, Absence(error.message, error.code in _REFUSALS))
    if registering is not None:
        away["hive"] = Absence(str(registering), registering.code in _REFUSALS)
    if planning is not None and (system := _prefix(planning)) is not None:
        away[system] = Absence(planning.message)
    return away


def system_of(error: Kafka2HiveError, cluster: str = "") -> str | None:
    """Return the system whose missing answer the error of a table of this cluster tells; None for any other error."""
    system = _OF_TABLES.get(error.code)
    if system is None and isinstance(error, ServiceUnavailable):
        system = _prefix(error)
    return system_of_cluster(cluster) if system == "kafka" else system


def _kind(system: str) -> str:
    """Return the system without the name of a cluster."""
    return system.partition(CLUSTER_END)[0]


def _prefix(error: Kafka2HiveError) -> str | None:
    """Return the system with whose name the error's code begins; None if it begins with another word."""
    system = error.code.partition(".")[0]
    return system if system in SYSTEMS else None
