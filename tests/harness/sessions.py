"""All processes of one session: of a run, these are the driver, its JVM and Spark's Python processes."""

import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import psutil

from tests.harness.waiting import wait_until
from tests.services.service_process import has_stopped


def processes_of_session(session: int) -> list[psutil.Process]:
    """Those that live (Spark's Python daemon leaves its process group, not its session)."""
    return [process for process in psutil.process_iter() if _session(process.pid) == session]


def is_java(process: psutil.Process) -> bool:
    """Whether it runs Java; one that has ended since it was listed does not."""
    try:
        return bool(process.name() == "java")
    except psutil.NoSuchProcess:
        return False


def send_all(processes: Sequence[psutil.Process], number: signal.Signals) -> None:
    """Send a signal to each; one that has ended meanwhile is fine."""
    for process in processes:
        try:
            process.send_signal(number)
        except psutil.NoSuchProcess:
            continue


@contextmanager
def asleep(session: int) -> Iterator[None]:
    """Stop every process with SIGSTOP, as when the machine is suspended, and let them go on at the end.

    When the body begins, none of them runs any more: on a busy machine a signal takes a moment to arrive. A parent that
    waits for what it started to begin its program (vfork) stops only then: the child gets a moment more.
    """
    stopped: list[psutil.Process] = []

    def nobody_runs() -> bool:
        running = {process.pid for process in stopped if _runs(process)}
        if running:
            children = [p for p in stopped if p.pid not in running and _parent(p) in running]
            send_all(children, signal.SIGCONT)
            stopped[:] = [p for p in stopped if p not in children]
            return False
        born = [process for process in processes_of_session(session) if process not in stopped]
        send_all(born, signal.SIGSTOP)
        stopped.extend(born)
        return not born

    try:
        wait_until(nobody_runs, f"asleep: session {session}", 240)
        yield
    finally:
        send_all(stopped[::-1], signal.SIGCONT)


def _parent(process: psutil.Process) -> int | None:
    try:
        return int(process.ppid())
    except psutil.NoSuchProcess:
        return None


def _runs(process: psutil.Process) -> bool:
    return _session(process.pid) is not None and not has_stopped(process.pid)


def _session(pid: int) -> int | None:
    """None when the process is gone or a zombie."""
    try:
        return None if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE else os.getsid(pid)
    except (psutil.NoSuchProcess, ProcessLookupError):
        return None
