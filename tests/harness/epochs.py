"""Epochs of a real map without Spark: the task's own code in this process, the ledger's own code around it."""

from pathlib import Path

from kafka2hive.config.load import load_map
from kafka2hive.kafka.client import KafkaAdmin
from kafka2hive.ledger.epoch import publish
from kafka2hive.ledger.init import init
from kafka2hive.ledger.look import look
from kafka2hive.ledger.owned_ledger import OwnedLedger
from kafka2hive.ledger.snapshot.change import DataEpoch, FirstPositions
from kafka2hive.ledger.start import Owners, StartRequest, start
from kafka2hive.model.offsets import OffsetRange, Position
from kafka2hive.plan.contract import TableTask, TaskPlan
from kafka2hive.service.hive.schemas import MapTables
from kafka2hive.service.wiring import Wiring, wire
from kafka2hive.task import run_task
from kafka2hive.task.fetch.consumer import forget_consumer
from tests.harness.owner import new_owner

PLANNED_AT_MS = 1_700_000_000_000


def wiring_of(config: Path) -> Wiring:
    return wire(load_map(str(config), {}))


def begin(wiring: Wiring, table: str) -> OwnedLedger:
    """Make the ledger; the first positions are the earliest offsets of all topics of the table's rule."""
    rule = next(rule for rule in wiring.map.tables if rule.table == table)
    paths = wiring.paths(table)
    init(wiring.ports, paths, wiring.map.service, rule.location)
    owned = start(wiring.ports, StartRequest(paths, lambda: None, Owners(new_owner), rule.location)).owned
    kafka = KafkaAdmin(wiring.map.kafka)
    cluster = kafka.cluster()
    wanted = [tp for topic in rule.topics for tp in cluster.topics[topic].topic_partitions()]
    earliest = kafka.earliest(wanted)
    first = tuple(
        Position(tp, earliest[tp].offset, earliest[tp].offset, cluster.topics[tp.topic].id) for tp in wanted
    )
    change = FirstPositions(positions=first, location=rule.location, cluster_id=cluster.cluster_id)
    return publish(wiring.ports, owned, change).owned


def dump(wiring: Wiring, table: str, most: int = 1 << 40, tasks: int = 1) -> None:
    """One epoch of everything that Kafka holds beyond the table's positions, at most `most` offsets of a topic partition.

    Each of `tasks` tasks takes its share of every topic partition. Not for a table with a pattern.
    """
    paths = wiring.paths(table)
    state = look(wiring.ports.files, paths).state
    owned = start(wiring.ports, StartRequest(paths, lambda: None, Owners(new_owner), state.location)).owned
    ends = KafkaAdmin(wiring.map.kafka).latest([p.topic_partition for p in state.positions])
    settings = MapTables(wiring, None).settings(table)
    shares: list[list[OffsetRange]] = [[] for _ in range(tasks)]
    for position in state.positions:
        tp = position.topic_partition
        end = min(ends[tp].offset, position.end + most)
        cuts = [position.end + (end - position.end) * n // tasks for n in range(tasks + 1)]
        for share, first, last in zip(shares, cuts, cuts[1:], strict=False):
            share.append(OffsetRange(tp, first, last))
    manifests = []
    for index, ranges in enumerate(shares):
        task = TableTask(
            table=table,
            ledger_id=state.ledger_id,
            generation=owned.generation.number,
            epoch=owned.next_epoch,
            planned_at_ms=PLANNED_AT_MS + owned.next_epoch,
            ranges=tuple(ranges),
        )
        (manifest,) = run_task(TaskPlan(index, (task,)), settings)
        assert manifest.failure is None, manifest.failure
        manifests.append(manifest)
    forget_consumer(settings.kafka)  # it would outlive the broker, and complain
    change = DataEpoch(
        files=tuple(f for m in manifests for f in m.files),
        accounts=tuple(a for m in manifests for a in m.accounts),
        leader_epochs={tp: epoch for m in manifests for tp, epoch in m.leader_epochs},
    )
    publish(wiring.ports, owned, change)
