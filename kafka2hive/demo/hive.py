"""The demo's Hive: the Spark Thrift Server of the pyspark wheel, with a Derby metastore in the demo's directory."""

import importlib.util
from pathlib import Path
from typing import Any

from kafka2hive.config.keys import HiveOptions
from kafka2hive.demo.children import Child, accepts, free_port
from kafka2hive.model.errors import ServiceUnavailable
from kafka2hive.service.wiring import hive_session
from kafka2hive.spark.class_archive import archive_options

READY_SECONDS = 120.0
USER = "demo"
_CLASS = "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2"


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
            _CLASS,
            "--master",
            "local[1]",
            "--driver-memory",
            "700m",
        ]
        # the class archive goes with Spark's own conf directory, which pip does not make: nobody's settings are in it
        own = home / "conf"
        shared = {} if own.exists() else archive_options()
        for key, value in (_conf(directory, self.port) | shared).items():
            command += ["--conf", f"{key}={value}"]
        settings = directory if own.exists() else own
        environ = {"SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_CONF_DIR": str(settings)}
        self._child = Child(
            "the Spark Thrift Server", [*command, "spark-internal"], directory / "hive.log", environ
        )
        options = HiveOptions(
            host="127.0.0.1",
            port=self.port,
            user=USER,
            password=None,
            auth="NONE",
            timeout_seconds=READY_SECONDS,
        )
        self._session = hive_session(options)

    def wait(self) -> None:
        """Wait until it accepts connections. Raises ServiceUnavailable (`demo.service`)."""
        self._child.wait_until(lambda: accepts(self.port), READY_SECONDS)

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
        # the second compiler costs more than it saves: half of the CPU time until the first answer
        "spark.driver.extraJavaOptions": (
            f"-Dderby.stream.error.file={directory}/derby.log -XX:+UseSerialGC -XX:TieredStopAtLevel=1"
        ),
    }
