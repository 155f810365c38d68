"""A real Kafka broker: one KRaft node that is broker and controller at once."""

from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

from tests.services.java_service import JavaService, start_on_free_ports
from tests.services.kafka_clients import KafkaClients
from tests.services.kafka_node import KafkaNode, node_properties
from tests.services.ports import free_ports


class KafkaBroker(KafkaClients):
    """A broker on 127.0.0.1 with its data in `folder`; `properties` are added to server.properties.

    `stop` and `kill` keep data and port, `start` brings it back. Topics are never created by themselves.
    """

    def __init__(self, folder: Path, properties: Mapping[str, str] | None = None):
        self.folder = folder
        self.port = 0
        self._properties = dict(properties or {})
        self._node = KafkaNode("kafka", folder, heap_mb=512)

    @property
    def bootstrap(self) -> str:
        """The address clients are given."""
        return f"127.0.0.1:{self.port}"

    @property
    def service(self) -> JavaService:
        """The broker's process."""
        return self._node.service

    def start(self) -> None:
        """Start and wait until it serves; formats its storage the first time."""
        if self.port:
            self._node.start()
        else:
            start_on_free_ports(self._launch_somewhere)

    def stop(self) -> None:
        """End it cleanly."""
        self.service.terminate()

    def kill(self) -> None:
        """End it with SIGKILL."""
        self.service.kill()

    def restart(self) -> None:
        """Stop cleanly and start again, at the same port."""
        self.stop()
        self.start()

    def __enter__(self) -> "KafkaBroker":
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _launch_somewhere(self) -> None:
        port, controller_port = free_ports(2)
        self._node.prepare(node_properties(1, port, {1: controller_port}) | self._properties)
        self._node.start()
        self.port = port
