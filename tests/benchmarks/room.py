"""What every benchmark needs: a folder of its own and the real services, started when first asked for."""

import shutil
import tempfile
from pathlib import Path
from types import TracebackType

from tests.services.hdfs import Hdfs
from tests.services.hive_server import HiveServer
from tests.services.kafka_broker import KafkaBroker
from tests.services.schema_registry import SchemaRegistry
from tests.services.shared import SharedServices


class Room:
    """Leave the `with` block and nothing is left: no process, no file."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="kafka2hive-bench-"))
        self._services = SharedServices(self._new_folder)
        self._count = 0
        self._registry: SchemaRegistry | None = None

    def kafka(self) -> KafkaBroker:
        """The broker."""
        return self._services.kafka()

    def hdfs(self) -> Hdfs:
        """One NameNode, one DataNode."""
        return self._services.hdfs()

    def hive(self) -> HiveServer:
        """HiveServer2 over that HDFS."""
        return self._services.hive()

    def registry(self) -> SchemaRegistry:
        """A schema registry."""
        if self._registry is None:
            registry = SchemaRegistry(self._new_folder("registry"))
            registry.start()
            self._registry = registry
        return self._registry

    def new_folder(self) -> Path:
        """An empty local directory."""
        self._count += 1
        return self._new_folder(f"work-{self._count}")

    def _new_folder(self, name: str) -> Path:
        folder = self.folder / name
        folder.mkdir()
        return folder

    def __enter__(self) -> "Room":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._registry is not None:
            self._registry.stop()
        self._services.stop()
        shutil.rmtree(self.folder, ignore_errors=True)
