"""The demo's Kafka and Hive, on ports of 127.0.0.1.

Kafka is librdkafka's mock broker inside this process, or a real broker if its jars are given. Hive is the Spark Thrift Server
of the pyspark wheel, with a Derby metastore in the demo's directory.
"""

import importlib.util
from abc import ABC, abstractmethod
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from kafka2hive.config.keys import HiveOptions
from kafka2hive.demo.children import Child, accepts, free_port
from kafka2hive.model.errors import ServiceUnavailable
from kafka2hive.model.text import counted
from kafka2hive.service.wiring import hive_session
from kafka2hive.spark.class_archive import archive_options

TOPIC = "flights"
PARTITIONS = 4
# The mock broker keeps 5 MB per topic partition, compressed as sent. In large batches, all flights take 4 MB in each of the
# four topic partitions.
_PRODUCER = {
    "compression.type": "zstd",
    "compression.level": 9,
    "linger.ms": 200,
    "batch.size": 1 << 20,
    "queue.buffering.max.messages": 500_000,
    "enable.idempotence": True,
    "log_level": 3,
}
_CLUSTER_ID = "5L6g3nShT-eMCtK--X86sw"
_KAFKA_SECONDS = 60.0
_HIVE_SECONDS = 120.0
_HIVE_USER = "demo"
_THRIFT_SERVER = "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2"


class DemoKafka(ABC):
    """A broker with one topic of four topic partitions. Other processes on this machine reach it at `bootstrap`."""

    bootstrap: str
    description: str

    @abstractmethod
    def end(self) -> None:
        """Stop the broker. A second call does nothing."""

    def produce(self, records: Iterable[bytes]) -> None:
        """Send the records round robin and wait until the broker has acknowledged all.

        Raises ServiceUnavailable (`demo.kafka`).
        """
        from confluent_kafka import Producer

        self._send(Producer({"bootstrap.servers": self.bootstrap, **_PRODUCER}), records)

    def _send(self, producer: Any, records: Iterable[bytes]) -> None:
        failures: list[Any] = []

        def report(error: Any, _message: Any) -> None:
            if error is not None:
                failures.append(error)

        for count, record in enumerate(records):
            while True:
                try:
                    producer.produce(TOPIC, record, partition=count % PARTITIONS, on_delivery=report)
                    break
                except BufferError:  # the queue is full: let it drain
                    producer.poll(0.1)
            if count % 5_000 == 0:
                producer.poll(0)
        unacknowledged = producer.flush(60)
        if failures:
            raise ServiceUnavailable("demo.kafka", f"producing failed: {failures[0]}")
        if unacknowledged:
            reason = f"{counted(unacknowledged, 'record')} were not acknowledged within a minute"
            raise ServiceUnavailable("demo.kafka", f"producing failed: {reason}")


class MockKafka(DemoKafka):
    """The mock broker, which lives as long as the producer that created it; topics appear with 4 partitions on first use."""

    def __init__(self) -> None:
        from confluent_kafka import Producer

        self._owner: Any = Producer({"test.mock.num.brokers": 1, "bootstrap.servers": "mock", **_PRODUCER})
        brokers = self._owner.list_topics(timeout=10).brokers.values()
        self.bootstrap = ",".join(f"{broker.host}:{broker.port}" for broker in brokers)
        self.description = f"librdkafka's mock broker, in the demo's process, at {self.bootstrap}"

    def produce(self, records: Iterable[bytes]) -> None:
        self._send(self._owner, records)

    def end(self) -> None:
        self._owner = None


class KafkaBroker(DemoKafka):
    """A real broker: one KRaft node, broker and controller at once; `jars` is the directory of Kafka's jars."""

    def __init__(self, jars: Path, java: Path, directory: Path) -> None:
        if not any(jars.glob("kafka_2.1*.jar")):
            raise ServiceUnavailable(
                "demo.kafka",
                f"{jars} holds no jars of Kafka",
                "leave out --kafka-jars to use the mock broker",
            )
        directory.mkdir(parents=True)
        port, controller = free_port(), free_port()
        (directory / "server.properties").write_text(_server_properties(port, controller))
        options = [
            "-Xmx512m",
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            "-Djava.net.preferIPv4Stack=true",
        ]
        run = [str(java), *options, "-cp", f"{jars.resolve()}/*"]
        storage = ["kafka.tools.StorageTool", "format", "-t", _CLUSTER_ID, "-c", "server.properties"]
        formatting = Child("kafka format", [*run, *storage], directory / "format.log")
        formatting.wait_until(lambda: formatting.exit_code == 0, _KAFKA_SECONDS)
        self._child = Child("kafka", [*run, "kafka.Kafka", "server.properties"], directory / "kafka.log")
        self.bootstrap = f"127.0.0.1:{port}"
        self.description = f"a real broker (KRaft) at {self.bootstrap}"
        try:
            self._child.wait_until(self._create_topic, _KAFKA_SECONDS)
        except BaseException:  # Ctrl-C while waiting
            self._child.end()
            raise

    def end(self) -> None:
        self._child.end()

    def _create_topic(self) -> bool:
        """Create the topic and return whether it exists now."""
        from confluent_kafka import KafkaException
        from confluent_kafka.admin import AdminClient, NewTopic

        admin = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})
        try:
            topic = NewTopic(TOPIC, num_partitions=PARTITIONS, replication_factor=1)
            admin.create_topics([topic], request_timeout=5.0)[TOPIC].result(10)
        except KafkaException as error:
            return bool(error.args[0].name() == "TOPIC_ALREADY_EXISTS")
        return True


def _server_properties(port: int, controller: int) -> str:
    properties = {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.voters": f"1@127.0.0.1:{controller}",
        "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}",
        "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}",
        "controller.listener.names": "CONTROLLER",
        "inter.broker.listener.name": "PLAINTEXT",
        "log.dirs": "data",
        "default.replication.factor": "1",
        "min.insync.replicas": "1",
        "offsets.topic.replication.factor": "1",
        "offsets.topic.num.partitions": "1",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        "share.coordinator.state.topic.replication.factor": "1",
        "share.coordinator.state.topic.min.isr": "1",
        "group.initial.rebalance.delay.ms": "0",
        "auto.create.topics.enable": "false",
    }
    return "".join(f"{key}={value}\n" for key, value in properties.items())


class ThriftServer:
    """A server of HiveServer2's protocol on a port of 127.0.0.1; ready some 20 s after its creation."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True)
        self.port = free_port()
        package = importlib.util.find_spec("pyspark")
        if package is None or not package.submodule_search_locations:
            raise ServiceUnavailable(
                "demo.spark", "pyspark is not installed", "type: python -m pip install pyspark"
            )
        home = Path(package.submodule_search_locations[0])
        command = [
            str(home / "bin" / "spark-submit"),
            "--class",
            _THRIFT_SERVER,
            "--master",
            "local[1]",
            "--driver-memory",
            "700m",
        ]
        # The class archive fits only if SPARK_CONF_DIR is Spark's own conf directory, which pip does not create. If somebody
        # created it, an empty directory keeps their settings out of the demo.
        conf_directory = home / "conf"
        has_settings = conf_directory.exists()
        archive = {} if has_settings else archive_options()
        for key, value in (_conf(directory, self.port) | archive).items():
            command += ["--conf", f"{key}={value}"]
        environ = {
            "SPARK_HOME": str(home),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_CONF_DIR": str(directory if has_settings else conf_directory),
        }
        self._child = Child(
            "the Spark Thrift Server", [*command, "spark-internal"], directory / "hive.log", environ
        )
        options = HiveOptions(
            host="127.0.0.1",
            port=self.port,
            user=_HIVE_USER,
            password=None,
            auth="NONE",
            timeout_seconds=_HIVE_SECONDS,
        )
        self._session = hive_session(options)

    def wait(self) -> None:
        """Wait until the server accepts connections. Raises ServiceUnavailable (`demo.service`)."""
        self._child.wait_until(lambda: accepts(self.port), _HIVE_SECONDS)

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        """Run one statement and return its rows. Raises MetastoreUnavailable, MetastoreRefused."""
        return self._session.run(sql)

    def end(self) -> None:
        """Stop the server at once: a clean shutdown would save nothing."""
        self._child.end(seconds=0.5)


def _conf(directory: Path, port: int) -> dict[str, str]:
    return {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.local.dir": str(directory / "local"),
        "spark.sql.warehouse.dir": (directory / "warehouse").as_uri(),
        "spark.sql.shuffle.partitions": "2",
        # otherwise Spark caches a partition's file list and sees new files only after REFRESH TABLE
        "spark.sql.hive.convertMetastoreParquet": "false",
        "spark.hadoop.javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={directory}/metastore;create=true",
        "spark.hadoop.hive.exec.scratchdir": str(directory / "scratch"),
        "spark.hadoop.hive.exec.local.scratchdir": str(directory / "scratch-local"),
        "spark.hadoop.hive.querylog.location": str(directory / "query-log"),
        "spark.hadoop.hive.server2.logging.operation.log.location": str(directory / "operation-log"),
        "spark.hadoop.hive.server2.thrift.bind.host": "127.0.0.1",
        "spark.hadoop.hive.server2.thrift.port": str(port),
        # the second compiler would take half of the CPU time until the first answer
        "spark.driver.extraJavaOptions": (
            f"-Dderby.stream.error.file={directory}/derby.log -XX:+UseSerialGC -XX:TieredStopAtLevel=1"
        ),
    }
