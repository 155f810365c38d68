"""Build the parts of a run, except Spark. They are built once, before anything is read or changed."""

from collections.abc import Callable
from dataclasses import dataclass

from kafka2hive.config.native_library import DecoderInUse, decoder_in_use
from kafka2hive.observe.metrics import ServiceMetrics
from kafka2hive.service.ownership import OwnershipCheck
from kafka2hive.service.run.completion import CompletionTracker
from kafka2hive.service.run.epochs import EpochLoop
from kafka2hive.service.run.hive_gate import hive_gate
from kafka2hive.service.run.inbox_watch import InboxWatch
from kafka2hive.service.run.owned_tables import OwnedTables
from kafka2hive.service.run.result import RunRequest
from kafka2hive.service.run.schema_evolution import registry_evolution
from kafka2hive.service.run.telemetry.lineage import LineageReporter
from kafka2hive.service.run.telemetry.liveness import Liveness
from kafka2hive.service.run.telemetry.metrics import EpochWatcher, GroupFollower
from kafka2hive.service.run.telemetry.records import (
    ChangedValuesWatch,
    DecoderWatch,
    FutureWatch,
    UnmappedFieldsWatch,
)
from kafka2hive.service.tables.hive_schemas import Catalogue
from kafka2hive.service.tables.kafka_view import KafkaView
from kafka2hive.service.tables.lost_ledger import LostLedgerCheck
from kafka2hive.service.tables.never_filled import ColumnWatch
from kafka2hive.service.tables.outages import OutageWatch
from kafka2hive.service.tables.registrar import NoRegistrar, Registrar
from kafka2hive.service.tables.report import Reporter
from kafka2hive.service.wiring import Wiring


@dataclass(frozen=True, slots=True, kw_only=True)
class RunParts:
    """The parts of one run. `follower` is None if the map writes no group offsets, `lineage` if it names no lineage server."""

    kafka: KafkaView
    ownership: OwnershipCheck
    owned_tables: OwnedTables
    registrar: Registrar | NoRegistrar
    metrics: ServiceMetrics
    watcher: EpochWatcher
    columns: ColumnWatch
    unmapped_fields: UnmappedFieldsWatch
    changed_values: ChangedValuesWatch
    follower: GroupFollower | None
    lineage: LineageReporter | None
    liveness: Liveness
    decoder: DecoderInUse

    def epoch_loop(self, wiring: Wiring, slots: Callable[[], int], once: bool) -> EpochLoop:
        """Build the epoch loop of the run; `slots` and `once` are as in EpochLoop."""
        outages = OutageWatch(self.metrics, wiring.ports.clock)
        reporter = Reporter(
            epochs=[
                self.watcher.epoch,
                self.columns,
                self.unmapped_fields,
                self.changed_values,
                DecoderWatch(self.decoder),
                FutureWatch(),
            ],
            starts=[self.watcher.started],
            outages=[outages],
            corrections=[self.watcher.locations_corrected],
            compactions=[self.watcher.compaction],
        )
        if self.follower is not None:
            reporter.epochs.append(self.follower)
        if self.lineage is not None:
            reporter.epochs.append(self.lineage)
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
    kafka, metastore = wiring.kafka(), wiring.hive()
    catalogue = Catalogue(service_map, metastore, wiring.ports.files)
    ownership = wiring.ownership_check(take_over=request.take_over)
    group = service_map.kafka.committed_group
    return RunParts(
        kafka=KafkaView(kafka, wiring.ports.clock),
        ownership=ownership,
        owned_tables=OwnedTables(
            _wiring=wiring,
            _ownership=ownership,
            _lost_ledger=LostLedgerCheck(kafka, group, wiring),
            _schemas=catalogue,
            completion=CompletionTracker(wiring.ports.clock, service_map.hive is not None),
            _gate=hive_gate(wiring, catalogue),
            evolution=registry_evolution(wiring),
        ),
        registrar=NoRegistrar()
        if metastore is None
        else Registrar(metastore, catalogue.ensure, wiring.background, wiring.ports.clock),
        metrics=metrics,
        watcher=EpochWatcher(metrics, wiring.ports.clock, service_map.hive is not None),
        columns=ColumnWatch(metrics),
        unmapped_fields=UnmappedFieldsWatch(metrics, wiring.ports.clock),
        changed_values=ChangedValuesWatch(metrics),
        follower=GroupFollower(kafka, group, wiring.background) if group else None,
        lineage=None
        if service_map.lineage is None
        else LineageReporter(wiring, service_map.lineage, metrics.observe_lineage, once=request.once),
        liveness=Liveness(wiring, wiring.new_owner(), str(decoder), metrics.health),
        decoder=decoder,
    )
