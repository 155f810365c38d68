"""A real HiveServer2 and a metastore service over one database (Derby) in one JVM; and such a service alone.

Queries run in HiveServer2, without a cluster.
"""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pyhive import hive
from thrift.transport.TTransport import TTransportException

from tests.services.hadoop_files import write_site
from tests.services.jars import HIVE, IS_OLD_HIVE, jars
from tests.services.jvm import java_command
from tests.services.ports import accepts
from tests.services.service import Service
from tests.services.service_process import ServiceFailed, ServiceProcess

INSTANCES = "hive-instances"
"""The jars that several instances need."""
_ATTEMPTS = 30
_MORE_QUERIES = 3
_LOGGING = """status = ERROR
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{ISO8601} %p %c{1}: %m%n
rootLogger.level = WARN
rootLogger.appenderRef.root.ref = console
"""
# java.base packages Hive 4.0 reflects into; the first four are needed for certain.
_OPENED = [
    "lang",
    "net",
    "nio",
    "util",
    "io",
    "util.concurrent",
    "util.concurrent.atomic",
    "lang.reflect",
    "util.regex",
    "time",
]

# of Hive 3.1 and earlier, which were made for Java 8
_ON_A_LATER_JAVA = ["-Djava.system.class.loader=UrlClasses"]
# In jobs, its vectorised expressions give wrong values (docs/file-formats.md).
_OF_OLD_HIVE = {"hive.vectorized.execution.enabled": "false"} if IS_OLD_HIVE else {}


def _only_reads(statement: str) -> bool:
    return statement.split(maxsplit=1)[0].lower() in ("select", "show", "describe", "set")


class HiveServer(Service):
    """HiveServer2 over an HDFS, given by its `site_properties`, with a metastore service; `service` is their process.

    `properties` are added to hive-site.xml, `options` to those of its JVM.
    """

    def __init__(
        self,
        folder: Path,
        site_properties: Mapping[str, str],
        properties: Mapping[str, str] | None = None,
        options: Sequence[str] = (),
        ports: int = 2,
    ) -> None:
        self.service = ServiceProcess("hiveserver", [], folder)
        self._site_properties = dict(site_properties)
        self._properties = dict(properties or {})
        self._options = tuple(options)
        super().__init__(folder, [self.service], ports)

    @property
    def port(self) -> int:
        """Where it serves."""
        return self._ports[0]

    @property
    def address(self) -> str:
        """`127.0.0.1:port`."""
        return f"127.0.0.1:{self.port}"

    @property
    def metastore_port(self) -> int:
        """Where its metastore service answers."""
        return self._ports[-1]

    @property
    def metastore_url(self) -> str:
        """`hive.metastore` of a map."""
        return f"thrift://127.0.0.1:{self.metastore_port}"

    def connect(self) -> hive.Connection:
        """A new PyHive connection (authentication NONE: SASL PLAIN without a password).

        A server that closes a connection while it is being opened has executed nothing: the test asks again.
        """
        for _ in range(_ATTEMPTS):
            try:
                return hive.connect(host="127.0.0.1", port=self.port)
            except TTransportException as error:
                if error.type != TTransportException.END_OF_FILE or self.service.has_ended:
                    raise ServiceFailed(f"{error}; the output of {self.service.tail()}") from error
                time.sleep(1)
        raise ServiceFailed(f"closed {_ATTEMPTS} connections; the output of {self.service.tail()}")

    def query(self, *statements: str) -> list[tuple[Any, ...]]:
        """Run statements on one new connection; gives the rows of the last one (none for DDL).

        Statements that only read are asked again if a server that goes on has closed the connection.
        """
        for _ in range(_MORE_QUERIES if all(map(_only_reads, statements)) else 0):
            try:
                return self._query(statements)
            except (TTransportException, OSError):
                if self.service.has_ended:
                    raise
                time.sleep(1)
        return self._query(statements)

    def _query(self, statements: Sequence[str]) -> list[tuple[Any, ...]]:
        connection = self.connect()
        try:
            cursor = connection.cursor()
            for statement in statements:
                cursor.execute(statement)
            return list(cursor.fetchall()) if cursor.description else []
        finally:
            connection.close()

    def _configure(self) -> None:
        self._write_configuration()
        opened = [f"--add-opens=java.base/java.{package}=ALL-UNNAMED" for package in _OPENED]
        data = self.folder / "data"
        self.service.command = [
            *java_command(
                HIVE,
                1024,
                "-Xmn128m",  # halves what collecting garbage takes
                *opened,
                *_ON_A_LATER_JAVA * IS_OLD_HIVE,
                *self._options,
                f"-Dhadoop.home.dir={self.folder}",
                f"-Dderby.stream.error.file={data}/derby.log",
                f"-Djava.io.tmpdir={data}/tmp",
                f"-Dlog4j2.configurationFile={self.folder}/conf/log4j2.properties",
                beside=self._more_classes(),
            ),
            *self._main(),
        ]

    def _more_classes(self) -> list[str]:
        """Return entries for the class path."""
        return []

    def _main(self) -> list[str]:
        """The main class and its arguments."""
        return ["HiveWithMetastore", str(self.metastore_port)]

    def _launch(self) -> None:
        data = self.folder / "data"
        (data / "tmp").mkdir(parents=True, exist_ok=True)
        for lock in (data / "metastore_db").glob("*.lck"):
            lock.unlink()  # left by a SIGKILL
        self.service.start()
        self.service.wait_until(lambda: all(map(accepts, self._ports)))

    def _write_configuration(self) -> None:
        conf, data = self.folder / "conf", self.folder / "data"
        file_system = self._site_properties["fs.defaultFS"]
        own = {"hadoop.tmp.dir": f"{data}/hadoop", "fs.file.impl": "LocalFiles"}
        write_site(conf / "core-site.xml", {**self._site_properties, **own})
        write_site(conf / "hdfs-site.xml", self._site_properties)
        write_site(
            conf / "mapred-site.xml",
            {
                "mapreduce.framework.name": "local",
                "mapreduce.cluster.local.dir": f"{data}/mr",
                "mapreduce.jobtracker.staging.root.dir": f"{data}/staging",
            },
        )
        (conf / "log4j2.properties").write_text(_LOGGING)
        write_site(
            conf / "hive-site.xml",
            {
                "hive.server2.thrift.bind.host": "127.0.0.1",
                "hive.server2.thrift.port": str(self.port),
                "hive.log4j.file": f"{conf}/log4j2.properties",
                "hive.server2.webui.port": "0",
                "hive.server2.enable.doAs": "false",
                "hive.server2.authentication": "NONE",
                "hive.metastore.thrift.bind.host": "127.0.0.1",
                "metastore.thrift.bind.host": "127.0.0.1",
                "hive.server2.max.start.attempts": "1",
                "hive.server2.logging.operation.enabled": "false",
                "hive.server2.materializedviews.registry.impl": "DUMMY",
                "hive.notification.event.poll.interval": "0s",
                "hive.async.log.enabled": "false",
                "hive.scheduled.queries.executor.enabled": "false",
                "javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={data}/metastore_db;create=true",
                "datanucleus.schema.autoCreateAll": "true",
                "hive.metastore.schema.verification": "false",
                "hive.metastore.warehouse.dir": f"{file_system}/warehouse",
                "hive.metastore.warehouse.external.dir": f"{file_system}/warehouse-ext",
                "hive.exec.scratchdir": f"{file_system}/tmp/hive",
                "hive.exec.local.scratchdir": f"{data}/scratch",
                "hive.downloaded.resources.dir": f"{data}/${{hive.session.id}}_resources",  # a session deletes it when it ends
                "hive.querylog.location": f"{data}/querylog",
                "hive.execution.engine": "mr",
                "mapreduce.framework.name": "local",
                "mapreduce.task.io.sort.mb": "16",  # each query would take the usual 100 MB of the heap
                "hive.support.concurrency": "false",
                "hive.stats.autogather": "false",
                "hive.compute.query.using.stats": "false",
                "hive.fetch.task.conversion": "more",
                "hive.parquet.timestamp.skip.conversion": "true",  # the default since Hive 4
                "hive.exec.submit.local.task.via.child": "false",
                # halves the time of a small query
                "hive.exec.counters.pull.interval": "20",
                "mapreduce.client.progressmonitor.pollinterval": "50",
                "mapreduce.client.completion.pollinterval": "50",
                **_OF_OLD_HIVE,
                **self._properties,
            },
        )


class DatabaseServer(Service):
    """A database (Derby) that several metastores share; `properties` are theirs."""

    def __init__(self, folder: Path) -> None:
        self.service = ServiceProcess("derby", [], folder)
        super().__init__(folder, [self.service], ports=1)

    @property
    def properties(self) -> dict[str, str]:
        """What a metastore needs to use it. Its client knows no savepoints, which direct SQL uses."""
        return {
            "javax.jdo.option.ConnectionURL": f"jdbc:derby://127.0.0.1:{self._ports[0]}/metastore;create=true",
            "javax.jdo.option.ConnectionDriverName": "org.apache.derby.jdbc.ClientDriver",
            "javax.jdo.option.ConnectionUserName": "hive",
            "javax.jdo.option.ConnectionPassword": "hive",
            "hive.metastore.try.direct.sql": "false",
        }

    def _configure(self) -> None:
        self.service.command = [
            *java_command(HIVE, 256, f"-Dderby.system.home={self.folder}", beside=[jars(INSTANCES)]),
            *("org.apache.derby.drda.NetworkServerControl", "start", "-noSecurityManager"),
            *("-h", "127.0.0.1", "-p", str(self._ports[0])),
        ]

    def _launch(self) -> None:
        self.service.start()
        self.service.wait_until(lambda: accepts(self._ports[0]))


class MetastoreServer(HiveServer):
    """A metastore service alone, without HiveServer2: a test may stop, kill and suspend it."""

    def __init__(
        self,
        folder: Path,
        site_properties: Mapping[str, str],
        properties: Mapping[str, str] | None = None,
        options: Sequence[str] = (),
    ) -> None:
        super().__init__(folder, site_properties, properties, options, ports=1)

    def _main(self) -> list[str]:
        return ["org.apache.hadoop.hive.metastore.HiveMetaStore", "-p", str(self.metastore_port)]


class MetastoreInstance(MetastoreServer):
    """A metastore service over a database that it shares with others, a DatabaseServer."""

    def __init__(self, folder: Path, site_properties: Mapping[str, str], database: DatabaseServer) -> None:
        super().__init__(folder, site_properties, database.properties)

    def _more_classes(self) -> list[str]:
        return [jars(INSTANCES)]
