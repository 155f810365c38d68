"""The program as a user calls it: its output, its log, its exit code; in this process, or as one of its own."""

import gc
import json
import os
import re
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tests.harness.cli_ledger import invoke
from tests.harness.consumers import close_kept_consumers
from tests.harness.sessions import processes_of_session
from tests.harness.waiting import wait_until
from tests.services.service_process import ServiceProcess

PROGRAM = [sys.executable, "-m", "kafka2hive.cli.main"]
_STORAGE = '"logger": "kafka2hive.storage"'
EPOCH = re.compile(rb'"message": "epoch \d+: ')


TRIES = 5
"""How often a test lets the program try again after a service has answered too late."""
_LATE = re.compile(
    r"\b(hive\.(unavailable|not_compared)|storage\.(unavailable|outcome_unknown)|kafka\.(unavailable|no_answer|stalled)"
    r"|registry\.unavailable)\b"
    r"|\"no_answer\": \[\s*\"|: no answer from "  # of `verify`
)
"""Signs of a service that did not answer."""
_TELLS_OUTAGES = frozenset({"status", "doctor", "bundle", "top"})
"""Commands that end with what is wrong at this moment: a test waits until they tell what it wants."""


@dataclass(frozen=True, slots=True)
class Finished:
    """A command that has ended. `was_late`: it left something undone because a service did not answer in time."""

    code: int
    out: str
    log: str
    was_late: bool = False

    @classmethod
    def of(cls, code: int, out: str, log: str) -> "Finished":
        return cls(code, out, log, code in (69, 75) and bool(_LATE.search(out) or _LATE.search(log)))

    @property
    def document(self) -> dict[str, Any]:
        """What `--json` printed."""
        document: dict[str, Any] = json.loads(self.out)
        return document


def command(name: str, config: Path, *arguments: str, patient: bool = True) -> Finished:
    """A command in this process, to its end: what it prints, logs and gives as exit code. A bug is raised.

    `name` may be of two words. Use `command_as_process` where the process itself is what a test is about. A service of a busy
    machine may answer too late for a command: it is repeated then, as its user would, if it is `patient` (see `in_time`).
    """

    def do() -> Finished:
        with _signals_kept(), _connections_collected():
            return _invoked(name, config, arguments)

    return in_time(do) if patient and name not in _TELLS_OUTAGES else do()


def in_time(do: Callable[[], Finished]) -> Finished:
    """Do it again as long as it ends without all of its work because a service did not answer, at most TRIES times.

    The log is that of all tries, the rest of the last one.
    """
    done = do()
    for _ in range(TRIES - 1):
        if not done.was_late:
            break
        time.sleep(2)
        again = do()
        done = Finished(again.code, again.out, f"{done.log}\n{again.log}", again.was_late)
    return done


def _invoked(name: str, config: Path, arguments: Sequence[str]) -> Finished:
    result = invoke(*name.split(), "-c", str(config), *arguments)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Finished.of(result.exit_code, result.stdout, result.stderr)


def command_as_process(
    name: str,
    config: Path,
    *arguments: str,
    seconds: float = 600,
    program: Sequence[str] = PROGRAM,
    env: Mapping[str, str] | None = None,
) -> Finished:
    """A command that needs no Spark as a process of its own, to its end. `env` is added to the environment."""
    done = subprocess.run(
        [*program, *name.split(), "-c", str(config), *arguments],
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
        env={**os.environ, **(env or {})},
    )
    return Finished.of(done.returncode, done.stdout, done.stderr)


def run_once(config: Path, *arguments: str, patient: bool = True) -> Finished:
    """`run --once` in this process, to its end; its log is the messages alone. All of them share one JVM.

    For the process itself, its signals or its death: `Running(config, "--once")`. `patient` is as in `command`.
    """
    done = command("run", config, "--once", *arguments, patient=patient)
    return replace(done, log="\n".join(map(_message, done.log.splitlines())))


def run_once_until(config: Path, ready: Callable[[], bool], what: str) -> None:
    """`run --once`, again until `ready()`: one that meets a slow service leaves looks and certificates to the next run."""
    for _ in range(TRIES):
        done = run_once(config)
        assert done.code == 0, done.log[-3000:]
        if ready():
            return
        time.sleep(2)
    raise AssertionError(f"not {what} after {TRIES} runs:\n{done.log[-3000:]}")


def end_jvm() -> None:
    """End the JVM that the runs of this process share, so that the next run begins one with the environment of then."""
    pyspark = sys.modules.get("pyspark")
    if pyspark is None or (gateway := pyspark.SparkContext._gateway) is None:
        return
    gateway.shutdown()
    gateway.proc.kill()
    gateway.proc.communicate()  # closes its input and waits
    pyspark.SparkContext._gateway = pyspark.SparkContext._jvm = None


def _forget_the_run() -> None:
    """Py4J holds what the JVM may call back, and with it a run that is over and its connections to Kafka."""
    if (pyspark := sys.modules.get("pyspark")) and (gateway := pyspark.SparkContext._gateway) is not None:
        gateway.gateway_property.pool.clear()


@contextmanager
def _connections_collected() -> Iterator[None]:
    """Connections that a process leaves to its end to close are collected here, so that no later test hears of them.

    A client of Kafka that is not closed tries to reach its broker for as long as this process lives.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        with _collection_kept():
            yield
        _forget_the_run()
        close_kept_consumers()
        gc.collect()
        gc.freeze()  # the next collection need not look at what has survived this one


@contextmanager
def _collection_kept() -> Iterator[None]:
    """A run freezes what is there when its query starts, and so itself: right only for a process that ends with it."""
    threshold, freeze = gc.get_threshold(), gc.freeze
    gc.freeze = lambda: None
    try:
        yield
    finally:
        gc.freeze = freeze
        gc.set_threshold(*threshold)


@contextmanager
def _signals_kept() -> Iterator[None]:
    """A run listens to signals as if the process were its own."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


class PausedJvm:
    """`environment` lets Java stand still as soon as it begins: whatever happens to its run comes before Spark is there."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "paused"
        options = ("+UnlockDiagnosticVMOptions", "+PauseAtStartup", f"PauseAtStartupFile={self._file}")
        self.environment = {"JDK_JAVA_OPTIONS": " ".join(f"-XX:{option}" for option in options)}

    def is_there(self) -> bool:
        return self._file.exists()


class Running:
    """`kafka2hive run` under way; leave the `with` block and nothing of it is left. `env` is added to the environment.

    `name` is another command that goes on, such as `submit --wait`.
    """

    _count = 0

    def __init__(
        self,
        config: Path,
        *arguments: str,
        program: Sequence[str] = PROGRAM,
        env: Mapping[str, str] | None = None,
        name: str = "run",
    ) -> None:
        Running._count += 1
        self._log = config.with_suffix(f".{Running._count}.log")
        self._process = ServiceProcess(
            self._log.name, [*program, name, "-c", str(config), *arguments], config.parent, env
        )
        self._counted: dict[re.Pattern[bytes], tuple[int, int]] = {}  # bytes looked at, and what they hold
        self._process.output = self._log
        self._process.start()
        self.began = time.monotonic()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def log(self) -> Path:
        """The file it logs to."""
        return self._log

    @property
    def alive(self) -> bool:
        return self._process.is_running

    def messages(self) -> list[str]:
        """What it logged so far, without times and levels; lines of others (the JVM) as they are."""
        return [_message(line) for line in self._log.read_text(errors="replace").splitlines()]

    def epochs(self) -> int:
        """How many epochs it told of."""
        return self._found(EPOCH)

    def said(self, text: str) -> bool:
        return self.times_said(text) > 0

    def times_said(self, text: str) -> int:
        """How often this text stands in the log."""
        return self._found(re.compile(re.escape(text.encode())))

    def wait_until(
        self, ready: Callable[[], bool], what: str, seconds: float = 600, pause: float = 0.05
    ) -> None:
        """Fails the test with the log's end when it ends before, or takes too long; looks every `pause` seconds."""
        deadline = time.monotonic() + seconds
        alive = self.alive  # asked before `ready`: its last deeds count
        while not ready():
            assert alive, f"ended with {self._process.wait(1)} before {what}:\n{self.tail()}"
            assert time.monotonic() < deadline, f"not {what} within {seconds} s:\n{self.tail()}"
            time.sleep(pause)
            alive = self.alive

    def wait_for_epoch(self, seconds: float = 900) -> None:
        """Until it has told of an epoch."""
        self.wait_until(lambda: self.epochs() > 0, "an epoch", seconds)

    def wait(self, seconds: float = 900) -> int:
        """Wait for its end; gives the exit code."""
        try:
            code = self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"did not end within {seconds} s:\n{self.tail()}") from None
        return code

    def terminate(self, seconds: float = 300) -> int:
        """SIGTERM to the driver alone, as systemd does; gives the exit code."""
        self._process.signal(signal.SIGTERM)
        return self.wait(seconds)

    def kill_driver(self) -> None:
        """SIGKILL to the driver alone; its JVM and workers have to notice by themselves."""
        self._process.signal(signal.SIGKILL)
        self._process.wait(240)

    def wait_for_orphans(self, seconds: float) -> None:
        """After `kill_driver`: wait until its JVM and workers have ended by themselves."""
        wait_until(
            lambda: not processes_of_session(self.pid), "rid of a killed driver's orphans", seconds, 0.1
        )

    def tail(self) -> str:
        """The end of the log, without every single change of a file."""
        told = [line for line in self._log.read_text(errors="replace").splitlines() if _STORAGE not in line]
        return "\n".join(_message(line) for line in told[-60:])

    def __enter__(self) -> "Running":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()

    def _found(self, wanted: re.Pattern[bytes]) -> int:
        """How often the log holds this; the lines that were looked at before are not read again."""
        begin, count = self._counted.get(wanted, (0, 0))
        with self._log.open("rb") as log:
            log.seek(begin)
            lines, end, rest = log.read().rpartition(b"\n")
        count += len(wanted.findall(lines))
        self._counted[wanted] = begin + len(lines + end), count
        return count + len(wanted.findall(rest))


def _message(line: str) -> str:
    if line.startswith("{"):
        try:
            return str(json.loads(line)["message"])
        except (ValueError, KeyError):
            return line
    return line
