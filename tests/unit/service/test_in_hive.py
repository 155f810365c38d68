"""A partition that Hive has is not said to be missing there, only because it got more files and is registered again."""

from pathlib import Path

from kafka2hive.model.errors import TableError
from kafka2hive.model.files import HivePartition
from kafka2hive.observe.metrics import ServiceMetrics
from kafka2hive.service.hive.registrar import RefusedByHive, RegisteredInHive
from kafka2hive.service.inspect.status import partitions_in_hive
from kafka2hive.service.run.telemetry.metrics import EpochWatcher
from tests.harness.epoch_loop import (
    AtOnce,
    HiveAnswers,
    Kafka,
    make_loop_and_tables,
    make_wiring,
    next_epoch,
    run,
)
from tests.harness.values import snapshot
from tests.unit.service.owned_table import restate

DAY, NEW = (HivePartition("air.early", f"dt={n}", f"file:///w/dt={n}") for n in (1, 2))


def test_the_newest_snapshots_say_which_pending_partition_hive_has() -> None:
    busy = [snapshot(epoch=n, unregistered=(DAY,), registered=(DAY,)) for n in (3, 2)]
    assert partitions_in_hive(busy) == {DAY}
    assert partitions_in_hive([snapshot(epoch=2, unregistered=(DAY, NEW), registered=())]) == set()
    slow = snapshot(epoch=4, unregistered=(DAY, NEW))
    assert partitions_in_hive([slow, *busy]) == {DAY}, "its second registration takes longer than an epoch"
    dropped = snapshot(epoch=4, unregistered=(DAY,), lapsed=(DAY,), registered=(DAY,))
    assert partitions_in_hive([dropped, *busy]) == set(), "its table was dropped and created again"
    again = snapshot(epoch=5, unregistered=(DAY,), registered=(DAY,))
    assert partitions_in_hive([again, dropped, *busy]) == {DAY}


def test_the_metric_counts_a_partition_until_hive_has_it_first(tmp_path: Path) -> None:
    registrar, wiring = HiveAnswers(), make_wiring(tmp_path)
    loop, tables = make_loop_and_tables(wiring, Kafka(), False, registrar, schemas=AtOnce())
    run(loop, next_epoch(loop))
    early, metrics = tables.tables["air.early"], ServiceMetrics("demo")
    watcher = EpochWatcher(metrics, wiring.ports.clock, hive=True)

    def counted() -> float | None:
        watcher.idle([early])
        names = {"table": "air.early"}
        return metrics.registry.get_sample_value("kafka2hive_unregistered_partitions", names)

    restate(early, unregistered=(DAY,))
    assert counted() == 1
    registrar.events = [RegisteredInHive(frozenset({DAY}))]
    loop.plan()
    assert counted() == 0
    restate(early, unregistered=(DAY, NEW))
    assert counted() == 1, "only the new one"
    refusal = RefusedByHive("air.early", TableError("hive.misplaced", "elsewhere"), frozenset({DAY}))
    registrar.events = [refusal]
    loop.plan()
    assert counted() == 2
