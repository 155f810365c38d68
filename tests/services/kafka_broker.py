"""A real Kafka broker: one KRaft node that is broker and controller at once."""

from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

from tests.services.jars import jars, java, java_options
from tests.services.java_service import JavaService, run_to_end, start_on_free_ports
from tests.services.ports import free_ports

_CLUSTER_ID = "5L6g3nShT-eMCtK--X86sw"
_LOGGING = """<Configuration status="ERROR">
  <Appenders><Console name="C" target="SYSTEM_OUT"><PatternLayout pattern="%d %p %c{1} %m%n"/></Console></Appenders>
  <Loggers>
    <Root level="WARN"><AppenderRef ref="C"/></Root>
    <Logger name="kafka.server.KafkaRaftServer" level="INFO"/>
  </Loggers>
</Configuration>
"""
_READY = "Kafka Server started"


class KafkaBroker:
    """A broker on 127.0.0.1 with its data in `folder`; `properties` are added to server.properties.

    `stop` and `kill` keep data and port, `start` brings it back. Topics are never created by themselves.
    """

    def __init__(self, folder: Path, properties: Mapping[str, str] | None = None):
        self.folder = folder
        self.port = 0
        self._properties = dict(properties or {})
        self._service = JavaService("kafka", [], folder)

    @property
    def bootstrap(self) -> str:
        """The address clients are given."""
        return f"127.0.0.1:{self.port}"

    @property
    def service(self) -> JavaService:
        """The broker's process."""
        return self._service

    def start(self) -> None:
        """Start and wait until it serves; formats its storage the first time."""
        if self.port:
            self._launch()
        else:
            start_on_free_ports(self._launch_somewhere)

    def stop(self) -> None:
        """End it cleanly."""
        self._service.terminate()

    def kill(self) -> None:
        """End it with SIGKILL."""
        self._service.kill()

    def restart(self) -> None:
        """Stop cleanly and start again, at the same port."""
        self.stop()
        self.start()

    def admin(self) -> AdminClient:
        """A new admin client."""
        return AdminClient({"bootstrap.servers": self.bootstrap})

    def create_topic(self, name: str, partitions: int = 1, config: Mapping[str, str] | None = None) -> None:
        """Create a topic with one replica and wait for it."""
        topic = NewTopic(name, num_partitions=partitions, replication_factor=1, config=dict(config or {}))
        admin = self.admin()  # must outlive the answer
        admin.create_topics([topic])[name].result(30)

    def add_partitions(self, name: str, total: int) -> None:
        """Make a topic have `total` partitions."""
        admin = self.admin()
        admin.create_partitions([NewPartitions(name, total)])[name].result(30)

    def delete_topic(self, name: str) -> None:
        """Delete a topic and wait for it."""
        admin = self.admin()
        admin.delete_topics([name])[name].result(30)

    def __enter__(self) -> "KafkaBroker":
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _launch_somewhere(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        port, controller_port = free_ports(2)
        (self.folder / "log4j2.xml").write_text(_LOGGING)
        (self.folder / "server.properties").write_text(
            _server_properties(port, controller_port, self._properties)
        )
        options = java_options(heap_mb=512)
        run = [
            java(),
            *options,
            f"-Dlog4j2.configurationFile=file:{self.folder}/log4j2.xml",
            "-cp",
            jars("kafka"),
        ]
        if not (self.folder / "data" / "meta.properties").exists():
            format_storage = [
                "kafka.tools.StorageTool",
                "format",
                "-t",
                _CLUSTER_ID,
                "-c",
                "server.properties",
            ]
            run_to_end("kafka format", [*run, *format_storage], self.folder)
        self._service.command = [*run, "kafka.Kafka", "server.properties"]
        self.port = port
        try:
            self._launch()
        except Exception:
            self.port = 0
            raise

    def _launch(self) -> None:
        self._service.start()
        self._service.wait_until(lambda: self._service.said(_READY))


def _server_properties(port: int, controller_port: int, more: Mapping[str, str]) -> str:
    properties = {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.voters": f"1@127.0.0.1:{controller_port}",
        "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}",
        "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}",
        "controller.listener.names": "CONTROLLER",
        "inter.broker.listener.name": "PLAINTEXT",
        "log.dirs": "data",
        "num.partitions": "1",
        "default.replication.factor": "1",
        "min.insync.replicas": "1",
        "offsets.topic.replication.factor": "1",
        "offsets.topic.num.partitions": "1",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        "transaction.state.log.num.partitions": "1",
        "share.coordinator.state.topic.replication.factor": "1",
        "share.coordinator.state.topic.min.isr": "1",
        "share.coordinator.state.topic.num.partitions": "1",
        "group.initial.rebalance.delay.ms": "0",
        "auto.create.topics.enable": "false",
        "num.network.threads": "2",
        "num.io.threads": "4",
        "background.threads": "2",
        "log.cleaner.dedupe.buffer.size": "8388608",
        "controlled.shutdown.enable": "true",
    } | dict(more)
    return "".join(f"{key}={value}\n" for key, value in properties.items())
