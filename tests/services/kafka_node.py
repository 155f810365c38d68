"""One KRaft node, broker and controller at once: its properties, its storage, its command."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.services.jvm import java_command
from tests.services.service import formatted
from tests.services.service_process import ServiceProcess, run_to_end

CLUSTER_ID = "5L6g3nShT-eMCtK--X86sw"
_LOGGING = """<Configuration status="ERROR">
  <Appenders><Console name="C" target="SYSTEM_OUT"><PatternLayout pattern="%d %p %c{1} %m%n"/></Console></Appenders>
  <Loggers>
    <Root level="WARN"><AppenderRef ref="C"/></Root>
    <Logger name="kafka.server.KafkaRaftServer" level="INFO"/>
  </Loggers>
</Configuration>
"""
# What a node says when it serves.
READY = "Kafka Server started"


def prepare(
    node: ServiceProcess,
    folder: Path,
    properties: Mapping[str, str],
    heap_mb: int,
    options: Sequence[str] = (),
    cluster_id: str = CLUSTER_ID,
) -> None:
    """Write a node's configuration, format its storage unless that was done, and say what it runs."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "log4j2.xml").write_text(_LOGGING)
    text = "".join(f"{key}={value}\n" for key, value in properties.items())
    (folder / "server.properties").write_text(text)
    run = java_command("kafka", heap_mb, f"-Dlog4j2.configurationFile=file:{folder}/log4j2.xml", *options)
    node.command = [*run, "kafka.Kafka", "server.properties"]
    arguments = ["kafka.tools.StorageTool", "format", "-t", cluster_id, "-c", "server.properties"]
    formatted(
        f"kafka node {properties['node.id']} of {cluster_id}",
        folder / "data",
        lambda: run_to_end("kafka format", [*run, *arguments], folder),
    )


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
