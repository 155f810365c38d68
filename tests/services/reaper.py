"""Nothing a test started may outlive it, not even when the test process is killed with SIGKILL.

A tiny process of its own holds the reading end of a pipe, is told of every service that starts or ends, and kills
what is left when the pipe closes, which the kernel does however the test process dies. (A parent-death signal
will not do: it fires when the *thread* that started the service ends.)
"""

import atexit
import os
import signal
import subprocess
import sys
import threading

_PROGRAM = """
import os, signal, sys
groups = set()
for line in sys.stdin:
    (groups.add if line[0] == "+" else groups.discard)(int(line[1:]))
for group in groups:
    try:
        os.killpg(group, signal.SIGKILL)
    except OSError:
        pass
"""

_lock = threading.Lock()
_watcher: subprocess.Popen[str] | None = None


def watch(process_group: int) -> None:
    """Have this process group killed when the test process ends. Any thread may call it."""
    _tell(f"+{process_group}\n")


def forget(process_group: int) -> None:
    """The process group is gone; its number may be given to somebody else."""
    _tell(f"-{process_group}\n")


def kill_group(process_group: int) -> None:
    """Send SIGKILL to a whole process group; one that has ended already is fine."""
    try:
        os.killpg(process_group, signal.SIGKILL)
    except ProcessLookupError:
        pass  # ended by itself


def _tell(line: str) -> None:
    global _watcher
    with _lock:
        if _watcher is None:
            _watcher = subprocess.Popen(
                [sys.executable, "-S", "-E", "-c", _PROGRAM],
                stdin=subprocess.PIPE,
                text=True,
                start_new_session=True,
            )
            atexit.register(_close, _watcher)
        assert _watcher.stdin is not None
        _watcher.stdin.write(line)
        _watcher.stdin.flush()


def _close(watcher: subprocess.Popen[str]) -> None:
    assert watcher.stdin is not None
    watcher.stdin.close()
    watcher.wait(10)
