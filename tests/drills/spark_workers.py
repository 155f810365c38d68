"""The processes in which Spark runs tasks: found, and hurt in the middle of their work."""

import signal
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import psutil

from tests.harness.program import Running
from tests.oracle.tree import Tree

# looking at all processes takes longer than looking for files
PROCESSES_EVERY = 10
# the argument of either daemon: Spark's own on a cluster, ours with a local master
_DAEMON = "pyspark.worker"
_EXECUTOR = "CoarseGrainedExecutorBackend"


def command_holds(process: psutil.Process | None, text: str) -> bool:
    """Whether the command line holds this text; a process that is gone holds nothing."""
    try:
        return process is not None and any(text in word for word in process.cmdline())
    except (psutil.ZombieProcess, psutil.NoSuchProcess):
        return False


def below(pids: Iterable[int]) -> list[psutil.Process]:
    """Everything that these processes started; nothing of one that has ended."""
    found: list[psutil.Process] = []
    for pid in pids:
        try:
            found += psutil.Process(pid).children(recursive=True)
        except psutil.NoSuchProcess:
            continue
    return found


def python_workers(pids: Iterable[int]) -> list[psutil.Process]:
    """The Python workers: forked by Spark's Python daemon, which looks the same but for its parent."""
    return [child for child in below(pids) if command_holds(child, _DAEMON) and _has_daemon_as_parent(child)]


def executors(pids: Iterable[int]) -> list[psutil.Process]:
    """The executors' JVMs of a cluster."""
    return [child for child in below(pids) if command_holds(child, _EXECUTOR)]


def _has_daemon_as_parent(process: psutil.Process) -> bool:
    try:
        return command_holds(process.parent(), _DAEMON)
    except psutil.NoSuchProcess:
        return False


HUNGRY_SECONDS = 60.0


@dataclass(slots=True)
class Fed:
    """`ready`, which calls `feed` each time that it has not been true for HUNGRY_SECONDS.

    A run that has used its records up is fed: it begins no epoch, and who waits for one would wait in vain.
    """

    ready: Callable[[], bool]
    feed: Callable[[], None]
    _since: float = field(default_factory=time.monotonic)

    def __call__(self) -> bool:
        if self.ready():
            return True
        if time.monotonic() - self._since > HUNGRY_SECONDS:
            self.feed()
            self._since = time.monotonic()
        return False


@dataclass(slots=True)
class Prey:
    """Finds the worker that is writing just now: new files appear in staging, and it used the most CPU lately.

    `feed` sends more records, for a run that writes nothing because it has read all.
    """

    tree: Tree
    locations: list[str]
    roots: list[int]
    feed: Callable[[], None]
    _known: set[str] = field(default_factory=set)
    _seconds: dict[int, float] = field(default_factory=dict)

    def writer(self, run: Running, seconds: float = 900) -> psutil.Process:
        """Wait for a task that began a file, and give its worker."""
        found: list[psutil.Process] = []

        looks = 0

        def is_writing() -> bool:
            nonlocal looks
            looks += 1
            files = {f for place in self.locations for f in self.tree.files(f"{place}/_tmp")}
            begun = {f for f in files if f.endswith(".in-progress")} - self._known
            self._known |= files
            if begun or looks % PROCESSES_EVERY == 0:
                found[:] = self._busiest()
            return bool(begun and found)

        run.wait_until(Fed(is_writing, self.feed), "writing", seconds, pause=0.01)
        return found[0]

    def _busiest(self) -> list[psutil.Process]:
        used: list[tuple[float, psutil.Process]] = []
        for worker in python_workers(self.roots):
            try:
                now = sum(worker.cpu_times()[:2])
            except psutil.NoSuchProcess:
                continue
            used.append((now - self._seconds.get(worker.pid, 0.0), worker))
            self._seconds[worker.pid] = now
        return [worker for _, worker in sorted(used, key=lambda pair: -pair[0])]


def kill_worker(worker: psutil.Process) -> None:
    """SIGKILL, as the kernel does it when memory is short."""
    worker.kill()


def kill_all_workers_at(run: Running, there: Callable[[], bool], what: str, feed: Callable[[], None]) -> None:
    """SIGKILL to every worker as soon as there is something, and two of them: one may begin a moment after the other.

    Waits for the next ones if all have ended by themselves; `feed` sends more records to a run that has read all.
    """

    def are_killed() -> bool:
        workers = python_workers([run.pid]) if there() else []
        return len(workers) >= 2 and sum(map(_is_killed, workers)) > 0

    run.wait_until(lambda: run.said("the query runs"), "reading", 900)
    run.wait_until(Fed(are_killed, feed), what, 900, 0.05)


def _is_killed(worker: psutil.Process) -> bool:
    """SIGKILL to it, unless it has ended by itself: idle workers do, and so do those whose neighbour's death failed a job."""
    try:
        kill_worker(worker)
    except psutil.NoSuchProcess:
        return False
    return True


def kill_executor_of(worker: psutil.Process) -> None:
    """SIGKILL to the JVM that the worker belongs to."""
    while not command_holds(worker, _EXECUTOR):
        above = worker.parent()
        if above is None:
            raise psutil.NoSuchProcess(worker.pid, msg="its executor is gone: it is nobody's worker")
        worker = above
    worker.kill()


def stop(worker: psutil.Process) -> None:
    """SIGSTOP: it keeps its connections and does nothing."""
    worker.send_signal(signal.SIGSTOP)


def wake(worker: psutil.Process) -> None:
    """SIGCONT; one that Spark has killed meanwhile is fine."""
    try:
        worker.send_signal(signal.SIGCONT)
    except psutil.NoSuchProcess:
        pass  # killed by Spark when its twin had finished


def within(seconds: float, happened: Callable[[], bool], pause: float = 0.02) -> bool:
    """Whether it happens in this time."""
    deadline = time.monotonic() + seconds
    while not happened():
        if time.monotonic() > deadline:
            return False
        time.sleep(pause)
    return True
