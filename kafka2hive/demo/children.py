"""The demo's child processes, their logs, ports and Java. On Linux, no child outlives the demo, even if the demo is killed."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from kafka2hive.model.errors import ServiceUnavailable
from kafka2hive.spark.java import OLDEST, java_launcher, java_version

# Asks the kernel to send SIGKILL when the parent dies (prctl(2), PR_SET_PDEATHSIG, Linux), then executes the command.
# The kernel sends it when the thread that started the child ends, so only the main thread may start children.
_DIE_WITH_PARENT = """
import ctypes, os, signal, sys
ctypes.CDLL(None).prctl(1, signal.SIGKILL)
if os.getppid() != int(sys.argv[1]):
    os._exit(1)
os.execvp(sys.argv[2], sys.argv[2:])
"""
_TAIL_LINES = 15


class Child:
    """A child process; `log` receives its standard output and error."""

    def __init__(
        self, name: str, command: Sequence[str], log: Path, environ: Mapping[str, str] | None = None
    ) -> None:
        wrapper = [sys.executable, "-S", "-E", "-c", _DIE_WITH_PARENT, str(os.getpid())]
        self.name = name
        self.log = log
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                [*(wrapper if sys.platform == "linux" else []), *command],
                cwd=log.parent,
                env={**os.environ, **(environ or {})},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C reaches only the demo, which then ends its children cleanly
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """Return the exit code, None while the process runs."""
        return self._process.poll()

    def kill_alone(self) -> None:
        """Kill the process like `kill -9 PID`, but not the processes that it started."""
        os.kill(self.pid, signal.SIGKILL)
        self._process.wait()

    def end(self, seconds: float = 5.0) -> None:
        """Send SIGTERM, wait for up to `seconds`, then send SIGKILL to the child's process group.

        A second call does nothing.
        """
        if self.exit_code is None:
            self._process.terminate()
            try:
                self._process.wait(seconds)
            except subprocess.TimeoutExpired:
                pass  # SIGKILL follows
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass  # no process is left
        self._process.wait()

    def wait_until(self, is_ready: Callable[[], bool], seconds: float) -> None:
        """Wait until `is_ready()` is true.

        Raises ServiceUnavailable (`demo.service`) with the end of the log if the process ends or `seconds` pass first.
        """
        deadline = time.monotonic() + seconds
        while not is_ready():
            if self.exit_code is not None or time.monotonic() > deadline:
                ended = self.exit_code
                how = f"ended with {ended}" if ended is not None else f"was not ready within {seconds:.0f} s"
                raise ServiceUnavailable(
                    "demo.service",
                    f"{self.name} {how}:\n{self.tail()}",
                    "type `kafka2hive demo --keep`, and read the whole log in the directory that it names",
                )
            time.sleep(0.1)

    def tail(self) -> str:
        """Return the last lines of the log."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-_TAIL_LINES:])


class LogFollower:
    """Reads the lines that were added to a log since the last call."""

    def __init__(self, log: Path) -> None:
        self._log = log
        self._offset = log.stat().st_size if log.exists() else 0

    def new_lines(self) -> list[str]:
        """Return the whole lines that are new; a half-written line is returned by a later call."""
        with self._log.open("rb") as file:
            file.seek(self._offset)
            data = file.read()
        lines = data[: data.rfind(b"\n") + 1]
        self._offset += len(lines)
        return lines.decode(errors="replace").splitlines()


def free_port() -> int:
    """Return a TCP port of 127.0.0.1 that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def accepts(port: int) -> bool:
    """Return whether a process listens on this port of 127.0.0.1."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1):
            return True
    except OSError:
        return False


def find_java() -> Path:
    """Return the launcher that Spark will use: JAVA_HOME's, or the one on the path.

    Raises ServiceUnavailable (`demo.java`) if it is missing or too old.
    """
    home = os.environ.get("JAVA_HOME")
    launcher = java_launcher()
    version = java_version(str(launcher)) if launcher else 0
    if launcher and version >= OLDEST:
        return launcher
    where = f" in JAVA_HOME={home}" if home else ""
    what = f"found only Java {version}{where}" if version else f"found no Java{where}"
    raise ServiceUnavailable(
        "demo.java", f"Spark needs Java {OLDEST} or newer; {what}", f"type: {install_command()}"
    )


def install_command() -> str:
    """Return the command that installs Java 17 on this system."""
    if sys.platform == "darwin":
        return "brew install openjdk@17"
    if shutil.which("dnf"):
        return "sudo dnf install -y java-17-openjdk-headless"
    if shutil.which("zypper"):
        return "sudo zypper install -y java-17-openjdk-headless"
    return "sudo apt-get install -y openjdk-17-jre-headless"
