"""Commands report how much of their long work is done, and its total where it is known."""

from dataclasses import replace
from pathlib import Path

import pytest

from kafka2hive.model.progress import amounts
from kafka2hive.service.recover.result import RecoverRequest
from kafka2hive.service.recover.service import rebuild_and_recover, recover_service
from kafka2hive.service.report.report import ReportScope, report
from kafka2hive.service.verify.result import VerifyRequest
from kafka2hive.service.verify.verify import verify
from tests.harness.cli_ledger import TABLE, Service, invoke, local, pending_service
from tests.harness.seen_progress import SeenProgress


@pytest.fixture
def service(tmp_path: Path) -> Service:
    return pending_service(tmp_path)


def test_recover_and_verify_report_tables_files_rows_and_bytes(service: Service) -> None:
    progress = SeenProgress()
    wiring = replace(service.wiring, progress=progress)
    lost = service.files[0]
    service.staged(0).unlink()
    assert recover_service(wiring, RecoverRequest(accept_loss=(lost.final,))).exit_code == 0
    assert progress.totals[f"repair {TABLE}"] == progress.done[f"repair {TABLE}"] == amounts([lost])
    for name in ("recover", "register partitions in Hive"):
        assert progress.totals[name] == progress.done[name] == {"tables": 1}
    verify(wiring, VerifyRequest(contents=True), None, None)
    assert progress.totals["verify"] == progress.done["verify"] == {"tables": 1}
    left = service.files[1:]
    assert progress.totals[TABLE] == progress.done[TABLE] == amounts(left)


def test_a_rebuilt_ledger_and_a_report_count_files_and_tables(service: Service) -> None:
    assert invoke("recover", "-c", str(service.map)).exit_code == 0
    progress = SeenProgress()
    wiring = replace(service.wiring, progress=progress)
    kafka = wiring.kafka(1.0)
    report(wiring, kafka, ReportScope())
    history = "read the history of tables"
    assert progress.totals[history] == progress.done[history] == {"tables": 1}
    assert "read the state of the tables" in progress.totals

    ledger = local(wiring.paths(TABLE).table_directory)
    ledger.rename(ledger.with_name("away"))
    rebuild_and_recover(wiring, RecoverRequest(plan_only=True, rebuild=TABLE), TABLE, wiring.kafka)
    footers = f"read the footers of {TABLE}"
    assert progress.totals[footers] == progress.done[footers] == {"files": len(service.files)}
