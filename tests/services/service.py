"""What all servers have in common: they start on free ports, wait until they serve, end, and come back."""

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.services.ports import free_ports
from tests.services.service_process import PortTaken, ServiceFailed, ServiceProcess

_ATTEMPTS = 4
Place = tuple[Path, tuple[int, ...]]
"""Folder and ports."""


class Service(ABC):
    """Processes on ports of 127.0.0.1 with their data in `folder`.

    `stop` and `kill` keep data and ports, `start` brings it back. Leave the `with` block and it has ended.
    """

    def __init__(self, folder: Path, processes: Sequence[ServiceProcess], ports: int) -> None:
        self.folder = folder
        self._processes = tuple(processes)  # in the order in which they end
        self._port_count = ports
        self._ports: tuple[int, ...] = ()

    def start(self) -> None:
        """Start what does not run and wait until it serves; the first time on free ports, on others when one is taken."""
        self.folder.mkdir(parents=True, exist_ok=True)
        if self._ports:
            self._launch()
            return
        for attempt in range(1, _ATTEMPTS + 1):
            self._ports = free_ports(self._port_count)
            try:
                self._configure()
                self._launch()
                return
            except ServiceFailed as error:
                self.kill()
                self._ports = ()
                if not isinstance(error, PortTaken) or attempt == _ATTEMPTS:
                    raise

    def prepare(self) -> None:
        """Choose free ports and write its files, for clients that call a service which does not run yet."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self._ports = free_ports(self._port_count)
        self._configure()

    @property
    def place(self) -> Place:
        """Where it is; only after its first start."""
        return self.folder, self._ports

    def attach(self, ports: tuple[int, ...]) -> Self:
        """Stand for one that another process has started in this folder and will end: neither is for this one to do."""
        self._ports = ports
        return self

    def stop(self) -> None:
        """End it in order."""
        for process in self._processes:
            process.terminate()

    def kill(self) -> None:
        """End it with SIGKILL."""
        for process in self._processes:
            process.kill()

    @abstractmethod
    def _configure(self) -> None:
        """For these ports: write its files, format its storage, say what its processes run."""

    @abstractmethod
    def _launch(self) -> None:
        """Start what does not run and wait until it serves. Raises `PortTaken`, `ServiceFailed`."""

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


_formatting = threading.Lock()
_formatted: dict[str, dict[Path, bytes]] = {}


def formatted(kind: str, storage: Path, do_format: Callable[[], object]) -> None:
    """Format a storage unless it exists; only the first of its kind takes a JVM, the later ones are copies of it."""
    if storage.exists():
        return
    with _formatting:
        if kind not in _formatted:
            do_format()
            files = (path for path in storage.rglob("*") if path.is_file())
            _formatted[kind] = {path.relative_to(storage): path.read_bytes() for path in files}
    for path, content in _formatted[kind].items():
        (storage / path).parent.mkdir(parents=True, exist_ok=True)
        (storage / path).write_bytes(content)
