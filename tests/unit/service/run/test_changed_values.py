"""Values that the map's leeway changed, told to metrics, `status` and the log."""

import logging
from typing import cast

import pytest

from kafka2hive.config.load import load_text
from kafka2hive.decode.contract.protocol import DEFAULT, FRACTION, UNKNOWN_ENUM
from kafka2hive.ledger.snapshot.change import DataEpoch
from kafka2hive.model.files import FileMoves
from kafka2hive.model.offset_accounting import OffsetAccounting
from kafka2hive.model.paths.ledger import LedgerPaths
from kafka2hive.model.snapshot import Snapshot
from kafka2hive.observe.metrics import ServiceMetrics
from kafka2hive.plan.contract import ColumnsSeen
from kafka2hive.service.run.telemetry.records import WORDS, ChangedValuesWatch
from kafka2hive.service.tables.manifests import Outcome
from kafka2hive.service.tables.report import EpochReport, TableReport
from kafka2hive.service.tables.table_state import Table

MAP = """
service: s
kafka: {bootstrap.servers: "h:1"}
storage: {uri: "file:///b"}
tables: [{table: db.t, topics: [t], columns: {at: {type: timestamp, fraction: truncate}}}]
"""


def test_changed_values_are_summed_up_for_status_and_metrics_and_said_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    table = Table(load_text(MAP, "m", {}).tables[0], LedgerPaths("file:///l", "db.t"), ("t",), "file:///t")
    metrics = ServiceMetrics("s")
    watch = ChangedValuesWatch(metrics)
    for values in (0, 2_000, 5):
        changed = {"fraction": values} if values else {}
        outcome = Outcome(
            DataEpoch(files=(), accounts=()), OffsetAccounting(), ColumnsSeen(), changed=changed
        )
        part = TableReport("db.t", outcome, FileMoves(), cast("Snapshot", None), frozenset())
        watch(EpochReport(1, (part,), 0.0, 0.0, (table,)))
        if not values:
            assert "changed" not in table.warnings
    words = "times cut to microseconds (fraction: truncate)"
    assert table.warnings["changed"] == (f"since the start 2,005 values: {words}",)
    labels = {"table": "db.t", "kind": "fraction"}
    assert metrics.registry.get_sample_value("kafka2hive_changed_values_total", labels) == 2_005
    told = [record.getMessage() for record in caplog.records if "times cut" in record.getMessage()]
    assert told == [f"db.t: 2,000 values in this epoch: {words}"]


def test_every_kind_that_decoders_count_has_its_words() -> None:
    assert WORDS.keys() == {DEFAULT, FRACTION, UNKNOWN_ENUM}
