"""One KRaft node, broker and controller at once: its properties, its storage, its process."""

from collections.abc import Mapping
from pathlib import Path

from tests.services.java_service import JavaService, run_to_end
from tests.services.jvm import java_command

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


class KafkaNode:
    """`prepare` once, then `start` and its `service` as often as you like; data and ports stay."""

    def __init__(self, name: str, folder: Path, heap_mb: int) -> None:
        self.service = JavaService(name, [], folder)
        self._folder = folder
        self._heap_mb = heap_mb

    def prepare(self, properties: Mapping[str, str]) -> None:
        """Write its configuration, format its storage unless that was done, and know the command."""
        self._folder.mkdir(parents=True, exist_ok=True)
        (self._folder / "log4j2.xml").write_text(_LOGGING)
        text = "".join(f"{key}={value}\n" for key, value in properties.items())
        (self._folder / "server.properties").write_text(text)
        logging = f"-Dlog4j2.configurationFile=file:{self._folder}/log4j2.xml"
        run = java_command("kafka", self._heap_mb, logging)
        if not (self._folder / "data" / "meta.properties").exists():
            arguments = ["format", "-t", _CLUSTER_ID, "-c", "server.properties"]
            run_to_end("kafka format", [*run, "kafka.tools.StorageTool", *arguments], self._folder)
        self.service.command = [*run, "kafka.Kafka", "server.properties"]

    def launch(self) -> None:
        """Start it; does not wait."""
        self.service.start()

    def wait_until_ready(self) -> None:
        """Wait until it serves. Raises `PortTaken`, `ServiceFailed`."""
        self.service.wait_until(lambda: self.service.said(_READY))

    def start(self) -> None:
        """Start it and wait until it serves."""
        self.launch()
        self.wait_until_ready()


def node_properties(number: int, port: int, controllers: Mapping[int, int]) -> dict[str, str]:
    """server.properties of node `number` that serves clients at `port`; `controllers`: port by number of node.

    Internal topics have as many replicas as there are nodes, of which one may be away when there are three.
    """
    replicas = str(len(controllers))
    in_sync = str(max(1, len(controllers) - 1))
    return {
        "process.roles": "broker,controller",
        "node.id": str(number),
        "controller.quorum.voters": ",".join(f"{n}@127.0.0.1:{p}" for n, p in controllers.items()),
        "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controllers[number]}",
        "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}",
        "controller.listener.names": "CONTROLLER",
        "inter.broker.listener.name": "PLAINTEXT",
        "log.dirs": "data",
        "num.partitions": "1",
        "default.replication.factor": replicas,
        "min.insync.replicas": "1",
        "offsets.topic.replication.factor": replicas,
        "offsets.topic.num.partitions": "1",
        "transaction.state.log.replication.factor": replicas,
        "transaction.state.log.min.isr": in_sync,
        "transaction.state.log.num.partitions": "1",
        "share.coordinator.state.topic.replication.factor": replicas,
        "share.coordinator.state.topic.min.isr": in_sync,
        "share.coordinator.state.topic.num.partitions": "1",
        "group.initial.rebalance.delay.ms": "0",
        "auto.create.topics.enable": "false",
        # tests send records of 1970: every five minutes the broker would delete what is older than a week
        "log.retention.ms": "-1",
        "num.network.threads": "2",
        "num.io.threads": "4",
        "background.threads": "2",
        "log.cleaner.dedupe.buffer.size": "8388608",
        "controlled.shutdown.enable": "true",
    }
