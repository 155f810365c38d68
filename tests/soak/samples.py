"""What the service's processes hold, looked at every few seconds: memory, threads, descriptors, connections, ledger."""

import json
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import psutil

from tests.benchmarks.process_tree import pss_mb
from tests.harness.sessions import is_java, processes_of_session

EVERY_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Sample:
    """`at`: seconds since the soak began. `run`: which start of the service it is, `age` its seconds. Memory in 10^6 bytes."""

    at: float
    run: int
    age: float
    driver_mb: float
    jvm_mb: float
    workers_mb: float
    threads: int
    descriptors: int
    connections: int
    epochs: int
    ledger_files: int
    ledger_kb: float
    cpu_seconds: float = 0.0
    namenode_calls: int = 0


@dataclass(frozen=True, slots=True)
class Epoch:
    """An epoch that a run logged, `at` seconds after its start.

    `oldest` and `middle`: the age of the oldest record that became visible (seconds), in the table where it was highest and in
    the median table.
    """

    at: float
    tables: int
    records: int
    seconds: float
    phases: dict[str, float]
    oldest: float
    middle: float

    def text(self) -> str:
        phases = ", ".join(f"{name} {seconds:.1f}" for name, seconds in self.phases.items())
        return (
            f"epoch of {self.tables:,} tables, {self.records:,} records in {self.seconds:.1f} s ({phases});"
            f" oldest record {self.middle:.0f} s, at most {self.oldest:.0f} s"
        )


@dataclass(frozen=True, slots=True)
class Held:
    """What the processes of a run hold; threads, descriptors and connections are those of the driver and its JVM."""

    driver_mb: float
    jvm_mb: float
    workers_mb: float
    threads: int
    descriptors: int
    connections: int


def held_by(session: int) -> Held | None:
    """Look at all processes of a run; None if the driver has ended."""
    driver_mb = jvm_mb = workers_mb = 0.0
    threads = descriptors = connections = 0
    for process in processes_of_session(session):
        try:
            size = pss_mb(process.pid)
            if process.pid != session and not is_java(process):
                workers_mb += size
                continue
            if process.pid == session:
                driver_mb = size
            else:
                jvm_mb += size
            threads += process.num_threads()
            descriptors += process.num_fds()
            connections += len(process.net_connections("tcp"))
        except psutil.NoSuchProcess:
            continue
    return Held(driver_mb, jvm_mb, workers_mb, threads, descriptors, connections) if driver_mb else None


class Sampler:
    """Takes a sample every EVERY_SECONDS until the `with` block ends; appends it to `samples` and to a JSON Lines file.

    `run` gives the number of the service's start and its session; `ledger` the ledgers' files with their lengths; `more`
    other fields of a sample.
    """

    def __init__(
        self,
        samples: list[Sample],
        path: Path,
        run: Callable[[], tuple[int, int, float]],
        epochs: Callable[[], int],
        ledger: Callable[[], dict[str, int]],
        more: Callable[[], dict[str, Any]] = dict,
    ) -> None:
        self._samples = samples
        self._path, self._run, self._epochs, self._ledger = path, run, epochs, ledger
        self._more = more
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._work, name="samples", daemon=True)

    def __enter__(self) -> "Sampler":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join(120)

    def _work(self) -> None:
        began = time.monotonic()
        files: dict[str, int] = {}
        with self._path.open("a") as output:
            while not self._end.wait(EVERY_SECONDS):
                number, session, started = self._run()
                held = held_by(session)
                if held is None:
                    continue
                try:
                    files = self._ledger()
                except (OSError, RuntimeError):
                    pass  # HDFS is away: the sample has the last known size
                now = time.monotonic()
                sample = Sample(
                    at=round(now - began, 1),
                    run=number,
                    age=round(now - started, 1),
                    **asdict(held),
                    epochs=self._epochs(),
                    ledger_files=len(files),
                    ledger_kb=round(sum(files.values()) / 1000, 1),
                    **self._more(),
                )
                self._samples.append(sample)
                output.write(json.dumps(asdict(sample)) + "\n")
                output.flush()
