"""One service process: started, watched until it is ready, stopped, killed, suspended."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tests.services import reaper

READY_SECONDS = 600.0  # generous: the machine may be busy with other tests
_POLL_SECONDS = 0.05


class ServiceFailed(Exception):
    """The service ended, or was not ready in time; the text holds the end of its output."""


class PortTaken(ServiceFailed):
    """The service could not bind a port: start again with others."""


class ServiceProcess:
    """A process with its output in a file. `command` is what runs, in `env`; it may be started again after it has ended.

    The process leads its own group, so that Ctrl-C reaches the test run first and what it starts ends with it.
    """

    def __init__(self, name: str, command: Sequence[str], folder: Path, env: Mapping[str, str] | None = None):
        self.name = name
        self.command = list(command)
        self.output = folder / f"{name}.out"
        self._folder = folder
        self.env = {**os.environ, **(env or {})}
        self._process: subprocess.Popen[bytes] | None = None
        self._output_begin = 0

    @property
    def pid(self) -> int:
        """The process id; only while it was started."""
        assert self._process is not None, f"{self.name} was not started"
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """Started and not ended (a suspended one is running)."""
        return self._process is not None and self._process.poll() is None

    @property
    def has_ended(self) -> bool:
        """Started here and not running any more; nothing is known of one that another process has started."""
        return self._process is not None and not self.is_running

    def start(self) -> None:
        """Start the process; does not wait for anything. Output of an earlier run is kept in front."""
        assert not self.is_running, f"{self.name} is running"
        with self.output.open("ab") as output:
            self._output_begin = output.tell()
            self._process = subprocess.Popen(
                self.command,
                cwd=self._folder,
                env=self.env,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        reaper.watch(self._process.pid)

    def wait_until(
        self, ready: Callable[[], bool], what: str = "ready", seconds: float = READY_SECONDS
    ) -> None:
        """Wait until `ready()`. Raises `PortTaken` or `ServiceFailed` when it ends before, or takes too long."""
        deadline = time.monotonic() + seconds
        while not ready():
            if not self.is_running:
                self._fail("ended while it was starting")
            if time.monotonic() > deadline:
                self._fail(f"was not {what} within {seconds:.0f} s")
            time.sleep(_POLL_SECONDS)

    def said(self, text: str) -> bool:
        """Say whether the output since the last start contains this text."""
        return text.encode() in self._output_bytes()

    def terminate(self, seconds: float = 20.0) -> None:
        """End it with SIGTERM, and with SIGKILL when it has not ended in time. Harmless when it has ended."""
        if self.is_running:
            self.signal(signal.SIGCONT)
            self.signal(signal.SIGTERM)
            assert self._process is not None
            try:
                self._process.wait(seconds)
            except subprocess.TimeoutExpired:
                pass  # it gets SIGKILL below
        self.kill()

    def kill(self) -> None:
        """End it and all it started with SIGKILL, and wait until it is gone. Harmless when it has ended."""
        if self._process is None:
            return
        reaper.kill_group(self._process.pid)
        self._process.wait()
        reaper.forget(self._process.pid)

    def suspend(self) -> None:
        """SIGSTOP: it keeps its connections and answers nothing.

        Waits until every thread has stopped: on a busy machine that takes a moment, in which it still answers.
        """
        self.signal(signal.SIGSTOP)
        deadline = time.monotonic() + READY_SECONDS
        while not has_stopped(self.pid):
            assert self.is_running and time.monotonic() < deadline, f"{self.name} did not stop"
            time.sleep(0.01)

    def resume(self) -> None:
        """SIGCONT."""
        self.signal(signal.SIGCONT)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the process."""
        os.kill(self.pid, number)

    def wait(self, seconds: float) -> int:
        """Wait until it ends by itself and give its exit code. Raises `subprocess.TimeoutExpired`."""
        assert self._process is not None, f"{self.name} was not started"
        return self._process.wait(seconds)

    def _output_bytes(self) -> bytes:
        with self.output.open("rb") as output:
            output.seek(self._output_begin)
            return output.read()

    def tail(self) -> str:
        """The end of the output since the last start, with the name of the process, for a failure's text."""
        state = "has ended" if self.has_ended else "runs"
        return f"{self.name}, which {state}, ends:\n{self._output_bytes().decode(errors='replace')[-3000:]}"

    def _fail(self, reason: str) -> None:
        output = self._output_bytes().decode(errors="replace")
        self.kill()
        taken = "Address already in use" in output or "BindException" in output
        raise (PortTaken if taken else ServiceFailed)(
            f"{self.name} {reason}; its output ends:\n{output[-3000:]}"
        )


def has_stopped(pid: int) -> bool:
    """Whether SIGSTOP has reached every thread of this process; not so of one that has ended."""
    try:
        threads = [(task / "stat").read_text() for task in Path(f"/proc/{pid}/task").iterdir()]
    except OSError:  # one of them has just ended
        return False
    return all(thread.rpartition(")")[2].split()[0] == "T" for thread in threads)


def run_to_end(
    name: str, command: Sequence[str], folder: Path, answer: str = "", seconds: float = READY_SECONDS
) -> str:
    """Run a short Java command and give its output. `answer` is what it reads. Raises `ServiceFailed`."""
    done = subprocess.run(
        list(command), cwd=folder, input=answer, text=True, capture_output=True, timeout=seconds, check=False
    )
    if done.returncode != 0:
        raise ServiceFailed(f"{name} ended with {done.returncode}:\n{(done.stdout + done.stderr)[-3000:]}")
    return done.stdout
