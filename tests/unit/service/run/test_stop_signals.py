"""Signals while nothing is there to be ended in order: the run is interrupted, and ends with the code it chooses."""

import os
import pty
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


HUNG_UP = """
import os, signal, sys
from kafka2hive.service.run.signals import StopSignals
{before}
signals = StopSignals()
signals.listen()
os.kill(os.getpid(), signal.SIGHUP)
print(signals.stop.is_set(), signals.hung_up, signals.number)
"""
AS_A_SERVICE = "signal.signal(signal.SIGHUP, signal.SIG_DFL)"  # the tests may run under nohup


@pytest.mark.parametrize(
    ("before", "said"),
    [(AS_A_SERVICE, "False True None"), ("signal.signal(signal.SIGHUP, signal.SIG_IGN)", "False False None")],
    ids=["a service", "nohup"],
)
def test_sighup_ends_nothing_without_a_terminal(before: str, said: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", HUNG_UP.format(before=before)],
        capture_output=True,
        text=True,
        check=False,
        start_new_session=True,
    )
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, said, "")


def test_a_terminal_that_is_closed_ends_a_run_as_sigterm_does() -> None:
    """A terminal of its own, from pty.fork."""
    child, terminal = pty.fork()
    if child == 0:
        os.execv(sys.executable, [sys.executable, "-c", HUNG_UP.format(before=AS_A_SERVICE)])
    said = b""
    while not said.endswith(b"\n"):
        said += os.read(terminal, 1000)
    os.waitpid(child, 0)
    os.close(terminal)
    assert said.decode().strip() == "True False 15"
