"""Signals while nothing is there to be ended in order: the run is interrupted, and ends with the code it chooses."""

import subprocess
import sys
from pathlib import Path

import pytest

INTERRUPTED = """
import os, signal, sys
from kafka2hive.service.run.signals import Interrupted, StopSignals
signals = StopSignals()
signals.listen()
try:
    signals.interrupt()
    {raised}
except Interrupted:
    sys.exit(signals.number)
"""
RAISE = "os.kill(os.getpid(), signal.SIGTERM)"


@pytest.mark.parametrize("raised", [RAISE, f"exec('{RAISE}')"], ids=["in code", "in the exec of a text"])
def test_an_interrupted_process_ends_with_its_own_code(tmp_path: Path, raised: str) -> None:
    (tmp_path / "interrupted.py").write_text(INTERRUPTED.format(raised=raised))
    done = subprocess.run(
        [sys.executable, "-m", "interrupted"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (15, "")
