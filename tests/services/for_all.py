"""One Kafka, one HDFS and one HiveServer2 for all workers of `pytest -n`.

The process that deals the tests out starts each at the first request. A worker asks over a Unix socket and is told the
folder and the ports of the service, or why it did not start. What was started ends with the process that deals out,
after all workers.
"""

import os
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Client, Connection, Listener
from pathlib import Path
from typing import TYPE_CHECKING

from tests.services.service import Place, Service
from tests.services.service_process import ServiceFailed

if TYPE_CHECKING:  # the clients of the services are imported at the first request
    from tests.services.shared import SharedServices

Address = tuple[str, bytes]
"""A socket, and the key it asks for; xdist can send both to a worker."""


def _shared(folder: Callable[[str], Path]) -> "SharedServices":
    from tests.services.shared import SharedServices

    return SharedServices(folder)


class ServicesForAll:
    """Starts nothing by itself; answers any number of workers side by side. `make` is called at the first request."""

    def __init__(self, make: "Callable[[Callable[[str], Path]], SharedServices]" = _shared) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="services-", ignore_cleanup_errors=True)
        self._make = make
        self._services: SharedServices | None = None
        self._stopped = False
        self._key = os.urandom(16)
        self._listener = Listener(family="AF_UNIX", authkey=self._key)
        threading.Thread(target=self._listen, name="services for all", daemon=True).start()

    @property
    def address(self) -> Address:
        """Where to `ask`."""
        return str(self._listener.address), self._key

    def stop(self) -> None:
        """End what was started; nobody may ask any more."""
        self._stopped = True
        self._listener.close()
        if self._services is not None:
            self._services.stop()
        self._folder.cleanup()

    def _new_folder(self, name: str) -> Path:
        folder = Path(self._folder.name) / name
        folder.mkdir()
        return folder

    def _listen(self) -> None:
        while not self._stopped:
            try:
                connection = self._listener.accept()
                name = connection.recv()
            except (OSError, EOFError):  # closed; or a worker died while it asked
                continue
            services = self._begun(name)
            begun: dict[str, Callable[[], Service]] = {
                "kafka": services.kafka,
                "hdfs": services.hdfs,
                "hive": services.hive,
            }
            threading.Thread(target=_answer, args=(connection, begun[name]), daemon=True).start()

    def _begun(self, name: str) -> "SharedServices":
        """Asked by one thread alone, since it looks whether it was begun before."""
        self._services = self._services or self._make(self._new_folder)
        self._services.begin({name})
        return self._services


def _answer(connection: Connection, service: Callable[[], Service]) -> None:
    with connection, suppress(OSError):  # a worker that died does not hear it
        try:
            connection.send(service().place)
        except Exception as error:  # noqa: BLE001 - whatever it is, the tests that need the service must say it
            connection.send(f"{type(error).__name__}: {error}")


def ask(address: Address, name: str) -> Place:
    """Where `kafka`, `hdfs` or `hive` is, once it serves. Raises ServiceFailed."""
    path, key = address
    with Client(path, "AF_UNIX", authkey=key) as connection:
        connection.send(name)
        answer: Place | str = connection.recv()
    if isinstance(answer, str):
        raise ServiceFailed(answer)
    return answer
