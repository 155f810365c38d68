"""Build the parts of a run, except Spark. They are built once, before anything is read or changed."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from kafka2hive.config.keys import NewsReceiver
from kafka2hive.config.native_library import DecoderInUse, decoder_in_use
from kafka2hive.hive.port import Hive
from kafka2hive.kafka.clusters import Clusters
from kafka2hive.ledger.condition_files import read_conditions, read_outcomes
from kafka2hive.observe.metrics import ServiceMetrics
from kafka2hive.service.hive.registrar import NoRegistrar, Registrar
from kafka2hive.service.hive.schemas import Catalogue
from kafka2hive.service.hive.table_looks import TableLooks
from kafka2hive.service.news.http import HttpReceiver
from kafka2hive.service.news.outbox import NoNews, Outbox, Receiver
from kafka2hive.service.news.topic import TopicReceiver
from kafka2hive.service.ownership import OwnershipCheck
from kafka2hive.service.run.completion import CompletionTracker
from kafka2hive.service.run.epochs import EpochLoop
from kafka2hive.service.run.hive_gate import hive_gate
from kafka2hive.service.run.inbox_watch import InboxWatch
from kafka2hive.service.run.outages import OutageWatch, system_of_cluster
from kafka2hive.service.run.owned_tables import OwnedTables
from kafka2hive.service.run.result import RunListener, RunRequest
from kafka2hive.service.run.schema_evolution import registry_evolution
from kafka2hive.service.run.telemetry.liveness import Liveness
from kafka2hive.service.run.telemetry.metrics import EpochWatcher, GroupFollower
from kafka2hive.service.run.telemetry.objectives import newest_attainments
from kafka2hive.service.run.telemetry.probe import (
    SILENT_SECONDS,
    Probe,
    hive_question,
    kafka_question,
    registry_question,
)
from kafka2hive.service.run.telemetry.records import (
    BrokenRulesWatch,
    ChangedValuesWatch,
    DecoderWatch,
    FutureWatch,
    UnmappedFieldsWatch,
)
from kafka2hive.service.start.lost_ledger import LostLedgerCheck
from kafka2hive.service.tables.attainment import Attainment
from kafka2hive.service.tables.condition import decode
from kafka2hive.service.tables.live_stop import released_by_its_run
from kafka2hive.service.tables.never_filled import ColumnWatch
from kafka2hive.service.tables.report import Reporter
from kafka2hive.service.topics.kafka_view import KafkaView
from kafka2hive.service.wiring import Wiring


@dataclass(frozen=True, slots=True, kw_only=True)
class RunParts:
    """The parts of one run. `follower` is None if the map writes no group offsets."""

    kafka: KafkaView
    ownership: OwnershipCheck
    owned_tables: OwnedTables
    registrar: Registrar | NoRegistrar
    news: Outbox | NoNews
    metrics: ServiceMetrics
    watcher: EpochWatcher
    columns: ColumnWatch
    unmapped_fields: UnmappedFieldsWatch
    changed_values: ChangedValuesWatch
    follower: GroupFollower | None
    listeners: Sequence[RunListener]
    liveness: Liveness
    outages: OutageWatch
    probes: Mapping[str, Probe]
    decoder: DecoderInUse

    def epoch_loop(self, wiring: Wiring, slots: Callable[[], int], once: bool) -> EpochLoop:
        """Build the epoch loop of the run; `slots` and `once` are as in EpochLoop."""
        reporter = Reporter(
            epochs=[
                self.watcher.epoch,
                self.columns,
                self.unmapped_fields,
                self.changed_values,
                DecoderWatch(self.decoder),
                FutureWatch(),
                BrokenRulesWatch(self.metrics),
            ],
            starts=[self.watcher.started],
            corrections=[self.watcher.locations_corrected],
            lapses=[self.watcher.registrations_lapsed],
            compactions=[self.watcher.compaction],
            losses=[self.watcher.file_missing],
        )
        if self.follower is not None:
            reporter.epochs.append(self.follower)
        reporter.epochs.extend(self.listeners)
        return EpochLoop(
            wiring=wiring,
            kafka=self.kafka,
            owned_tables=self.owned_tables,
            registrar=self.registrar,
            reporter=reporter,
            slots=slots,
            once=once,
            orders=InboxWatch(wiring),
        )


def assemble(wiring: Wiring, request: RunRequest) -> RunParts:
    """Build the parts of a run. An adapter connects only when it is first used."""
    service_map = wiring.map
    metrics = ServiceMetrics(service_map.service)
    decoder = decoder_in_use()
    metrics.observe_decoder(decoder.version, is_compiled=decoder.is_compiled)
    clusters, metastore = wiring.clusters(), wiring.hive()
    kafka = clusters or wiring.kafka()
    view = KafkaView(kafka, wiring.ports.clock)
    catalogue = Catalogue(service_map, metastore, wiring.ports.files)
    ownership = wiring.ownership_check(take_over=request.take_over, is_stopped=released_by_its_run(wiring))
    group = service_map.kafka.committed_group
    probes = _probes(wiring, view, clusters, metastore)
    if clusters is not None:
        clusters.silence = lambda name: probes[system_of_cluster(name)].silence
    news = _news(wiring, metrics)
    return RunParts(
        kafka=view,
        ownership=ownership,
        owned_tables=OwnedTables(
            _wiring=wiring,
            _ownership=ownership,
            _lost_ledger=LostLedgerCheck(kafka, group, wiring),
            _schemas=catalogue,
            completion=CompletionTracker(wiring.ports.clock, service_map.hive is not None),
            _gate=hive_gate(wiring, catalogue),
            evolution=registry_evolution(wiring),
            news=news,
        ),
        news=news,
        registrar=NoRegistrar()
        if metastore is None
        else Registrar(
            metastore=metastore,
            ensure=catalogue.ensure,
            background=wiring.background,
            clock=wiring.ports.clock,
            tables=TableLooks(catalogue, metastore.tables, wiring.ports.clock),
            close=metastore.close,
        ),
        metrics=metrics,
        watcher=EpochWatcher(
            metrics, wiring.ports.clock, service_map.hive is not None, _earlier_attainments(wiring)
        ),
        columns=ColumnWatch(metrics, wiring.ports.files),
        unmapped_fields=UnmappedFieldsWatch(metrics, wiring.ports.clock),
        changed_values=ChangedValuesWatch(metrics),
        follower=GroupFollower(kafka, group, wiring.background) if group else None,
        listeners=[listen(wiring, metrics, request.once) for listen in request.tools.listeners],
        liveness=Liveness(wiring, wiring.new_owner(), str(decoder), metrics.health),
        outages=OutageWatch(metrics, wiring.ports.clock, dict(service_map.kafka_clusters)),
        probes=probes,
        decoder=decoder,
    )


def _news(wiring: Wiring, metrics: ServiceMetrics) -> Outbox | NoNews:
    """Return the outbox of the map's receivers."""
    if not wiring.map.news:
        return NoNews()
    return Outbox(
        [_receiver(wiring, options) for options in wiring.map.news],
        wiring.ports.files,
        wiring.background,
        wiring.ports.clock,
        has_hive=wiring.map.hive is not None,
        watcher=metrics.news,
    )


def _receiver(wiring: Wiring, options: NewsReceiver) -> Receiver:
    if options.url is not None:
        return HttpReceiver(options, options.url)
    assert options.topic is not None
    return TopicReceiver(options, options.topic, wiring.producer())


def _earlier_attainments(wiring: Wiring) -> dict[str, Attainment]:
    """Return what earlier runs reported of the tables' objectives, nothing if no table of the map has one."""
    if all(rule.objective is None for rule in wiring.map.tables):
        return {}
    ports, root, service = wiring.ports, wiring.map.storage.ledger_root, wiring.map.service
    conditions = read_conditions(ports, root, service, decode)
    outcomes = read_outcomes(ports, root, service, decode)
    return newest_attainments([*conditions.values(), *outcomes.values()])


def _probes(
    wiring: Wiring, kafka: KafkaView, clusters: Clusters | None, hive: Hive | None
) -> dict[str, Probe]:
    """Return a probe for each system but the storage, which the heartbeats ask."""
    names = wiring.map.clusters
    questions = {
        system_of_cluster(name): kafka_question(partial(wiring.kafka_cluster, name, SILENT_SECONDS))
        for name in names
    }
    elsewhere: dict[str, Callable[[], float]] = {"kafka": lambda: kafka.answered_at}
    if clusters is not None:
        elsewhere = {
            system_of_cluster(name): partial(clusters.answered_at.__getitem__, name) for name in names
        }
    if hive is not None:
        questions["hive"] = hive_question(hive)
    if (registry := wiring.registry()) is not None:
        questions["registry"] = registry_question(registry)
    return {
        system: Probe(
            f"{system}-probe",
            ask,
            background=wiring.background,
            clock=wiring.ports.clock,
            answered_elsewhere=elsewhere.get(system, lambda: -math.inf),
        )
        for system, ask in questions.items()
    }
