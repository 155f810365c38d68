"""A real ZooKeeper of one server, from the jars that pyspark brings."""

from pathlib import Path

import pyspark

from tests.services.jars import java
from tests.services.jvm import OPTIONS
from tests.services.ports import accepts
from tests.services.service import Service
from tests.services.service_process import ServiceProcess


class ZooKeeper(Service):
    """It keeps its entries in `folder`."""

    def __init__(self, folder: Path) -> None:
        self.service = ServiceProcess("zookeeper", [], folder)
        super().__init__(folder, [self.service], ports=1)

    @property
    def address(self) -> str:
        """`127.0.0.1:port`."""
        return f"127.0.0.1:{self._ports[0]}"

    def _configure(self) -> None:
        settings = {
            "dataDir": f"{self.folder}/data",
            "clientPort": self._ports[0],
            "clientPortAddress": "127.0.0.1",
            "tickTime": 2000,
            "admin.enableServer": "false",
        }
        path = self.folder / "zoo.cfg"
        path.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))
        jars = Path(pyspark.__file__).with_name("jars")
        self.service.command = [
            *(java(), "-Xmx128m", *OPTIONS, "-Djava.net.preferIPv4Stack=true", "-cp", f"{jars}/*"),
            *("org.apache.zookeeper.server.ZooKeeperServerMain", str(path)),
        ]

    def _launch(self) -> None:
        self.service.start()
        self.service.wait_until(lambda: accepts(self._ports[0]))
