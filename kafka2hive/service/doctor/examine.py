"""`doctor`: all checks of `validate --online`, and the checks of this package."""

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

from kafka2hive.config.keys import StartKind
from kafka2hive.hive.port import Hive
from kafka2hive.kafka.port import ClusterView, Kafka
from kafka2hive.ledger.look import View, look
from kafka2hive.model.errors import ServiceUnavailable
from kafka2hive.model.metastore import MetastoreRefused, MetastoreUnavailable
from kafka2hive.model.offsets import TopicPartition
from kafka2hive.service.doctor.kafka import Unread, check_retention
from kafka2hive.service.doctor.machine import check_machine, this_machine
from kafka2hive.service.doctor.storage import (
    check_clock,
    check_free_space,
    check_leftovers,
    check_orders,
    check_space_above,
    directories_above,
)
from kafka2hive.service.tables.ledgers import UnreadableLedger, attempt
from kafka2hive.service.tables.table_state import MapTable
from kafka2hive.service.topics.routes import topic_routes
from kafka2hive.service.validate.check import Check, Failed, Passed
from kafka2hive.service.validate.map_check import SelectCheck
from kafka2hive.service.validate.online import OnlineResult, validate_online
from kafka2hive.service.wiring import Wiring


def examine(wiring: Wiring, kafka: Kafka, selects: SelectCheck | None) -> OnlineResult:
    """Run all checks, in the order machine, `validate --online`, Kafka, storage, Hive.

    If a service does not answer, its checks fail, and the checks that need its answers are left out. Writes only probe files
    and directories, which it deletes. `selects` is None if no table of the map has SQL.
    """
    online = validate_online(wiring, kafka, selects).checks
    failed = {check.system for check in online if _is_outage(check)}
    checks = [*check_machine(this_machine(wiring.map, os.environ), wiring.map), *online]
    if "kafka" not in failed:
        tables, retention = _kafka_checks(wiring, kafka)
        checks += retention
    else:
        tables = ()
    if "storage" not in failed:
        checks += _storage_checks(wiring, tables)
    metastore = None if "hive" in failed else wiring.hive()
    if metastore is not None:
        checks.append(_hive_version(metastore))
        metastore.close()
    return OnlineResult(tuple(checks))


def _is_outage(check: Check) -> bool:
    return isinstance(check.result, Failed) and isinstance(check.result.error, ServiceUnavailable)


def _kafka_checks(wiring: Wiring, kafka: Kafka) -> tuple[Sequence[MapTable], list[Check]]:
    """Return the tables with their topics, and the checks of the records that they have not read; no tables in an outage."""
    try:
        cluster = kafka.cluster()
        tables = topic_routes(wiring, cluster.topics).tables
        positions = wiring.side_by_side.map(lambda table: _positions(wiring, table), tables)
        unread = _with_first_positions(kafka, cluster, zip(tables, positions, strict=True))
        topics = {tp.topic for table in unread for tp in table.positions} & cluster.topics.keys()
        settings = kafka.topic_settings(cluster, sorted(topics))
        return tables, check_retention(kafka, unread, settings, round(time.time() * 1000))
    except ServiceUnavailable as error:
        return (), [Check("kafka", "retention", Failed(error))]


def _positions(wiring: Wiring, table: MapTable) -> Mapping[TopicPartition, int] | None:
    """Return the table's positions: {} if it has no ledger, None if its ledger is unreadable (`validate --online` says so)."""
    views = [*attempt(table.name, lambda: [look(wiring.ports.files, table.paths)])]
    if any(isinstance(view, UnreadableLedger) for view in views):
        return None
    return {p.topic_partition: p.end for v in views if isinstance(v, View) for p in v.state.positions}


def _with_first_positions(
    kafka: Kafka, cluster: ClusterView, tables: Iterable[tuple[MapTable, Mapping[TopicPartition, int] | None]]
) -> list[Unread]:
    """Return the readable tables; those with `start: earliest` get the earliest offset where they have no position yet."""
    known = [(table, positions) for table, positions in tables if positions is not None]
    new = {
        table.name: set(cluster.topic_partitions(table.topics)) - positions.keys()
        for table, positions in known
        if table.rule.start.kind is StartKind.EARLIEST
    }
    earliest = kafka.earliest({tp for first in new.values() for tp in first})
    return [
        Unread(
            table.name,
            {**positions, **{tp: earliest[tp].offset for tp in new.get(table.name, ()) if tp in earliest}},
        )
        for table, positions in known
    ]


def _storage_checks(wiring: Wiring, tables: Sequence[MapTable]) -> list[Check]:
    files, storage, now = wiring.inspectable_files(), wiring.map.storage, time.time()
    places = {storage.ledger_root, storage.warehouse, *(table.location for table in tables)}
    return [
        check_clock(files, storage.ledger_root, wiring.ports.new_uuid(), time.time),
        *wiring.side_by_side.map(lambda place: check_free_space(files, place), sorted(places)),
        *chain.from_iterable(
            wiring.side_by_side.map(lambda place: check_space_above(files, place), directories_above(places))
        ),
        check_orders(files, storage.ledger_root, wiring.map.service, now),
        *wiring.side_by_side.map(lambda table: check_leftovers(files, table, now), tables),
    ]


def _hive_version(metastore: Hive) -> Check:
    try:
        version = metastore.tables.version()
    except MetastoreUnavailable as error:
        return Check("hive", "version", Failed(error.to_error(str(error))))
    except MetastoreRefused as error:
        return Check("hive", "version", Passed(f"HiveServer2 does not report its version: {error}"))
    if version is None:
        return Check(
            "hive", "version", Passed("the metastore answers; its interface does not tell the version")
        )
    return Check("hive", "version", Passed(f"Hive {version}"))
