"""The systemd units in configs/systemd are what systemd itself takes them for."""

import configparser
import subprocess
import sys
from pathlib import Path

import pytest

from kafka2hive.model.errors import ExitCode

UNITS = Path(__file__).resolve().parents[2] / "configs" / "systemd"
PROGRAM = "/opt/kafka2hive/bin/kafka2hive"


def _section(name: str) -> configparser.SectionProxy:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    parser.optionxform = str  # type: ignore[assignment, method-assign] # systemd's keys have capitals
    parser.read(UNITS / name)
    return parser["Service"]


@pytest.mark.parametrize(
    "unit", ["kafka2hive@.service", "kafka2hive-once@.service", "kafka2hive-once@.timer"]
)
def test_systemd_finds_no_fault_in_a_unit(unit: str, tmp_path: Path) -> None:
    """Needs systemd-analyze (Debian package systemd). Only the program's path is another here."""
    for source in UNITS.iterdir():
        (tmp_path / source.name).write_text(source.read_text().replace(PROGRAM, sys.executable))
    instance = tmp_path / unit.replace("@", "@flights")
    verified = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(instance)], capture_output=True, text=True, timeout=300
    )
    assert (verified.returncode, verified.stdout + verified.stderr) == (0, "")


def test_what_a_person_must_settle_is_not_started_again() -> None:
    service = _section("kafka2hive@.service")
    prevented = {int(code) for code in service["RestartPreventExitStatus"].split()}
    assert prevented == {
        ExitCode.USAGE,
        ExitCode.OWNED,
        ExitCode.FENCED,
        ExitCode.STOP,
        ExitCode.CONFIG,
    }
    assert int(service["SuccessExitStatus"]) == ExitCode.TERMINATED


def test_the_driver_is_told_to_stop_before_its_jvm_and_has_time_for_it() -> None:
    for unit in ("kafka2hive@.service", "kafka2hive-once@.service"):
        service = _section(unit)
        assert service["KillMode"] == "mixed" and int(service["TimeoutStopSec"]) > 2 * 60
        assert service["ExecStart"].startswith(PROGRAM)
