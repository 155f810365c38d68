"""Which decoder is in use is told: by a run, `validate`, `status` and a metric; and of workers that lack what the driver has."""

import logging
from types import SimpleNamespace
from typing import cast

import pytest

from kafka2hive.config.native_library import INTERFACE, DecoderInUse, decoder_in_use
from kafka2hive.observe.metrics import ServiceMetrics
from kafka2hive.service.inspect.state import Runs
from kafka2hive.service.run.telemetry.records import DecoderWatch
from kafka2hive.service.tables.condition import RunConditions, RunEnd, decode, encode
from kafka2hive.service.tables.report import EpochReport
from tests.harness.cli_ledger import invoke, write_map

COMPILED = DecoderInUse(True, "0.1.0")


def epoch(warnings: dict[str, tuple[str, ...]], fallback_tasks: int) -> EpochReport:
    table = SimpleNamespace(name="d.t", warnings=warnings)
    part = SimpleNamespace(table="d.t", outcome=SimpleNamespace(fallback_tasks=fallback_tasks))
    return cast("EpochReport", SimpleNamespace(tables=(table,), reports=(part,)))


def test_a_decoder_is_described_by_what_the_environment_has() -> None:
    assert str(decoder_in_use(SimpleNamespace(INTERFACE=INTERFACE, VERSION="0.1.0"))) == "compiled 0.1.0"
    missing, other = decoder_in_use(None), decoder_in_use(SimpleNamespace(INTERFACE=99))
    assert not missing.is_compiled and not other.is_compiled
    assert str(missing).startswith(
        "Python fallback (kafka2hive-native is not installed): the same outcome, but"
    )
    assert "does not fit this kafka2hive" in str(other)


def test_workers_without_the_library_that_the_driver_has_are_told_once_as_long_as_it_is_so(
    caplog: pytest.LogCaptureFixture,
) -> None:
    warnings: dict[str, tuple[str, ...]] = {}
    watch = DecoderWatch(COMPILED)
    with caplog.at_level(logging.WARNING):
        for fallback_tasks in (0, 3, 2):
            watch(epoch(warnings, fallback_tasks))
    (line,) = [record.getMessage() for record in caplog.records]
    assert line.startswith("d.t: in 3 tasks workers lack the compiled library that the driver has")
    assert warnings.keys() == {"decoder"} and all(map(len, warnings.values()))
    watch(epoch(warnings, 0))
    assert warnings == {"decoder": ()}
    DecoderWatch(DecoderInUse(False))(epoch(warnings, 4))
    assert warnings == {"decoder": ()}, "the driver has none either"


def test_the_metric_says_whether_the_driver_has_it() -> None:
    metrics = ServiceMetrics("demo")
    metrics.observe_decoder("0.1.0", is_compiled=True)
    assert metrics.registry.get_sample_value("kafka2hive_decoder_compiled", {"version": "0.1.0"}) == 1


def test_status_tells_the_live_runs_decoder_before_that_of_a_run_that_is_gone() -> None:
    live = RunConditions((), "2013-01-01T00:00:00Z", decoder="compiled 0.1.0")
    gone = RunConditions((), "2014-01-01T00:00:00Z", RunEnd(0), decoder="Python fallback")
    assert decode(encode(gone)) == gone
    assert Runs(frozenset({"a"}), {"a": live, "b": gone}).decoder == "compiled 0.1.0"
    assert Runs(frozenset(), {"b": gone}).decoder == "Python fallback"
    assert Runs(frozenset(), {}).decoder == ""


def test_validate_says_which_decoder_this_environment_has(tmp_path_factory: pytest.TempPathFactory) -> None:
    shown = invoke("validate", "-c", str(write_map(tmp_path_factory.mktemp("map")))).stdout
    (line,) = [line for line in shown.splitlines() if line.strip().startswith("decoder ")]
    assert line.split(maxsplit=1)[1].startswith(str(decoder_in_use())[:20])
