"""Spark's SQL server over a metastore service: each connection is a Spark session, which remembers for itself."""

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from pyhive import hive

from tests.services.jars import HIVE, jars
from tests.services.ports import accepts
from tests.services.service import Service
from tests.services.service_process import ServiceProcess
from tests.services.spark_standalone import SPARK_HOME, java_options

_SERVER = "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2"


_LOGGING = """rootLogger.level = warn
rootLogger.appenderRef.console.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{ISO8601} %p %c{1}: %m%n
"""


class SparkSession:
    """One session: what it remembers ends with it. `query` gives the rows of a statement."""

    def __init__(self, connection: hive.Connection) -> None:
        self._connection = connection

    def query(self, statement: str) -> list[tuple[Any, ...]]:
        with closing(self._connection.cursor()) as cursor:
            cursor.execute(statement)
            return list(cursor.fetchall()) if cursor.description else []

    def close(self) -> None:
        self._connection.close()


class SparkSql(Service):
    """A local Spark that knows the tables of `metastore`, whose files are on the HDFS of these `site_properties`."""

    def __init__(self, folder: Path, site_properties: Mapping[str, str], metastore: str) -> None:
        environment = {
            "SPARK_HOME": str(SPARK_HOME),
            "SPARK_CONF_DIR": str(folder / "conf"),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "JDK_JAVA_OPTIONS": java_options(),
        }
        self.service = ServiceProcess("spark-sql", [], folder, environment)
        self._site_properties = dict(site_properties)
        self._metastore = metastore
        super().__init__(folder, [self.service], ports=1)

    def session(self) -> SparkSession:
        """A new one."""
        return SparkSession(hive.connect(host="127.0.0.1", port=self._ports[0]))

    def _configure(self) -> None:
        settings = {
            "spark.master": "local[1]",
            "spark.driver.memory": "1g",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.ui.enabled": "false",
            "spark.sql.catalogImplementation": "hive",
            "spark.sql.hive.metastore.version": "4.0.1",
            "spark.sql.hive.metastore.jars": "path",
            "spark.sql.hive.metastore.jars.path": f"file://{jars(HIVE)}.jar",
            "spark.sql.session.timeZone": "UTC",
            "spark.sql.warehouse.dir": str(self.folder / "warehouse"),
            "spark.sql.shuffle.partitions": "1",
            "spark.hadoop.hive.metastore.uris": self._metastore,
            "spark.hadoop.hive.exec.scratchdir": str(self.folder / "scratch"),
            "spark.hadoop.hive.server2.thrift.bind.host": "127.0.0.1",
            "spark.hadoop.hive.server2.thrift.port": str(self._ports[0]),
            **{f"spark.hadoop.{key}": value for key, value in self._site_properties.items()},
        }
        (self.folder / "conf").mkdir(exist_ok=True)
        (self.folder / "conf" / "log4j2.properties").write_text(_LOGGING)
        launch = [str(SPARK_HOME / "bin" / "spark-class"), "org.apache.spark.deploy.SparkSubmit"]
        given = [part for key, value in settings.items() for part in ("--conf", f"{key}={value}")]
        self.service.command = [*launch, "--class", _SERVER, *given, "spark-internal"]

    def _launch(self) -> None:
        self.service.start()
        self.service.wait_until(lambda: accepts(self._ports[0]))
