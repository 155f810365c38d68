"""`recover --rebuild-ledger` on a local disk: real footers and a real archive."""

import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kafka2hive.kafka.acceptance import GapAcceptance
from kafka2hive.kafka.client import KafkaAdmin
from kafka2hive.ledger.draft import Change, draft
from kafka2hive.ledger.epoch import publish_epoch
from kafka2hive.ledger.history import final_snapshots
from kafka2hive.ledger.look import look
from kafka2hive.ledger.start import StartOrder, start
from kafka2hive.model.account import Account
from kafka2hive.model.footer import Footer
from kafka2hive.model.layout import DataFileName, base_name
from kafka2hive.service.identity import new_owner
from kafka2hive.service.rebuild import RebuiltLedger, rebuild_ledger
from kafka2hive.service.wiring import Wiring
from tests.unit.cli_ledger import READ, TABLE, Service, local, pending_service

KEEP = 2


def go_on(service: Service, epochs: int) -> None:
    """A start and so many epochs without files; a start archives all but the newest snapshots."""
    wiring = service.wiring
    order = StartOrder(wiring.paths(TABLE), lambda: None, new_owner, keep=KEEP)
    tenure = start(wiring.ports, order).tenure
    for _ in range(epochs):
        snapshot = draft(tenure, wiring.map.service, wiring.ports.clock.now(), Change())
        tenure = publish_epoch(wiring.ports, tenure, snapshot).tenure


def give_footers(service: Service) -> None:
    """Make the visible file of epoch 2 a Parquet file that says what it holds."""
    (file,) = service.files
    parsed = DataFileName.parse(base_name(file.final))
    assert parsed is not None
    name = parsed[0]
    ledger = look(service.wiring.ports.files, service.wiring.paths(TABLE)).state.ledger_id
    accounts = (Account(read=READ, written=READ, bytes=300),)
    where = (name.generation, name.epoch, name.task)
    footer = Footer(
        file.kind, ledger, TABLE, *where, "attempt", 0, file.ranges, READ, file.hive_partition, accounts
    )
    schema = pa.schema([("n", pa.int64())], metadata=footer.metadata())
    pq.write_table(pa.table({"n": range(READ)}, schema=schema), local(file.final))


@pytest.fixture
def lost_ledger(tmp_path: Path) -> Service:
    """One visible file of epoch 2, then many epochs without files, most of them archived; the ledger is deleted."""
    service = pending_service(tmp_path, file_count=1)
    go_on(service, epochs=12)
    go_on(service, epochs=0)
    give_footers(service)
    shutil.rmtree(local(service.wiring.paths(TABLE).table_directory))
    return service


def _no_kafka() -> KafkaAdmin:
    raise AssertionError("nobody asked for Kafka")


def rebuilt(wiring: Wiring) -> RebuiltLedger:
    before = (GapAcceptance("flights", 0),)
    return rebuild_ledger(wiring, TABLE, before, plan_only=False, take_over=True, kafka=_no_kafka)


def test_epochs_go_on_above_those_of_the_archive(lost_ledger: Service) -> None:
    paths, files = lost_ledger.wiring.paths(TABLE), lost_ledger.wiring.ports.files
    archived = {int(p.name[1:7]) for p in local(paths.archives).rglob("e*.final")}
    assert max(archived) > 2

    ledger = rebuilt(lost_ledger.wiring).ledger

    assert ledger.final.epoch > max(archived)
    go_on(lost_ledger, epochs=12)
    go_on(lost_ledger, epochs=0)
    history = list(final_snapshots(files, paths, look(files, paths).directory))
    assert [s.epoch for s in history] == list(range(ledger.final.epoch + 12, ledger.final.epoch - 1, -1))


def test_epochs_go_on_above_those_of_files_that_nobody_finished(lost_ledger: Service) -> None:
    (file,) = lost_ledger.files
    begun = local(file.staged.replace("-g000001-e000002-", "-g000007-e000099-"))
    begun.with_name(begun.name.replace(".pending", ".in-progress")).touch()

    ledger = rebuilt(lost_ledger.wiring).ledger

    assert (ledger.final.generation, ledger.final.epoch) == (8, 100)
