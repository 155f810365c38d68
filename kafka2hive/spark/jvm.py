"""The driver's JVM, which is launched before Spark is imported, so that its start overlaps with imports and ledger reads.

It is launched as `pyspark.java_gateway.launch_gateway` does, but in two steps: `launch` returns at once, `connect` waits.
"""

import os
import shlex
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kafka2hive.config.keys import SparkOptions
from kafka2hive.model.errors import ServiceUnavailable
from kafka2hive.spark.class_archive import JAVA_OPTIONS, spark_home
from kafka2hive.spark.configuration import QUICK_JVM, is_local, launch_conf
from kafka2hive.spark.internals import gateway_of_process, launch_gateway, require_parts
from kafka2hive.spark.java import java_launcher, require_java
from kafka2hive.spark.output import SparkOutput

if TYPE_CHECKING:
    from py4j.java_gateway import JavaGateway  # type: ignore[import-untyped]  # it ships no types


#: The file that identifies the Spark version to which the options below belong.
KNOWN_SPARK = "jars/spark-launcher_2.13-4.3.0.jar"
_MAIN = "org.apache.spark.api.python.PythonGatewayServer"
_EXTRA_OPTIONS = "spark.driver.extraJavaOptions"
_MEMORY = "-Xmx1g"  # spark.driver.memory by default
_OPENED = (
    "java.lang",
    "java.lang.invoke",
    "java.lang.reflect",
    "java.io",
    "java.net",
    "java.nio",
    "java.util",
    "java.util.concurrent",
    "java.util.concurrent.atomic",
    "jdk.internal.ref",
    "sun.nio.ch",
    "sun.nio.cs",
    "sun.security.action",
    "sun.util.calendar",
)
_OF_SPARK = (
    "-XX:+IgnoreUnrecognizedVMOptions",
    "--add-modules=jdk.incubator.vector",
    *(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENED),
    "--add-opens=java.security.jgss/sun.security.krb5=ALL-UNNAMED",
    "-Dio.netty.tryReflectionSetAccessible=true",
    "-Dio.netty.allocator.type=pooled",
    "-Dio.netty.handler.ssl.defaultEndpointVerificationAlgorithm=NONE",
    "--sun-misc-unsafe-memory-access=allow",
    "--enable-native-access=ALL-UNNAMED",
    "-Dderby.connection.requireAuthentication=false",
)
_READ_BY_LAUNCHER = (
    "HADOOP_CONF_DIR",
    "PYSPARK_SUBMIT_ARGS",
    "SPARK_CONF_DIR",
    "SPARK_DIST_CLASSPATH",
    "SPARK_DRIVER_MEMORY",
    "SPARK_MEM",
    "SPARK_PREPEND_CLASSES",
    "SPARK_SQL_TESTING",
    "SPARK_SUBMIT_OPTS",
    "SPARK_TESTING",
    "YARN_CONF_DIR",
)


@dataclass(frozen=True, slots=True)
class Command:
    """A command line, and the variables that are added to this process's environment."""

    arguments: tuple[str, ...]
    environment: Mapping[str, str]


def direct_command(
    options: SparkOptions, conf: Mapping[str, str], environment: Mapping[str, str]
) -> Command | None:
    """Return the command that starts py4j's server in a JVM, with `conf` as system properties as SparkSubmit sets them.

    None if the settings or the installation require `spark-submit`.
    """
    home, java = spark_home(), java_launcher()
    if (
        java is None
        or home is None
        or options.conf
        or not is_local(options.master)
        or any(environment.get(name) for name in _READ_BY_LAUNCHER)
        or not (home / KNOWN_SPARK).is_file()
        or (home / "conf").exists()
    ):
        return None
    of_java = {JAVA_OPTIONS, _EXTRA_OPTIONS}
    arguments = (
        str(java),
        "-cp",
        _class_path(home),
        _MEMORY,
        *shlex.split(conf.get(JAVA_OPTIONS, "")),
        *shlex.split(conf.get(_EXTRA_OPTIONS, "")),
        *_OF_SPARK,
        *(f"-D{key}={value}" for key, value in conf.items() if key not in of_java),
        _MAIN,
    )
    return Command(arguments, {"SPARK_HOME": str(home), "PYTHONHASHSEED": "0"})


def _class_path(home: Path) -> str:
    """Return exactly the launcher's class path, because otherwise the class archive does not match."""
    jars = home / "jars"
    first = sorted(jars.glob("slf4j-api-*.jar"))
    return ":".join(map(str, (home / "conf", *first, jars / "*")))


_PORT, _SECRET = "PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET"
_POLL_SECONDS = 0.01
#: The head of what Spark's PythonGatewayServer writes: a port and the length of the secret, which follows.
_ANSWER = struct.Struct(">ii")


@dataclass(frozen=True, slots=True)
class JvmIsThere:
    """An existing JVM: Spark's launcher started this process, or it had a Spark session before. A process has only one JVM."""

    def connect(self) -> "JavaGateway":
        require_parts()
        return gateway_of_process() or launch_gateway()

    def end_unused(self) -> None:
        """Do nothing: this process did not start the JVM."""


@dataclass(frozen=True, slots=True)
class NoJava:
    """No suitable Java; `connect` raises the error."""

    error: ServiceUnavailable

    def connect(self) -> "JavaGateway":
        raise self.error

    def end_unused(self) -> None:
        """Do nothing: no JVM was started."""


@dataclass(slots=True)
class StartingJvm:
    """A JVM that is starting; it writes its address to `answer`. It ends with this process, which holds its standard input."""

    process: subprocess.Popen[bytes]
    answer: Path
    connected: bool = False

    def connect(self) -> "JavaGateway":
        """Wait until the JVM answers. Raises ServiceUnavailable: `spark.start` if it ended, `spark.version`."""
        from kafka2hive.spark.errors import SPARK_GONE

        require_parts()
        while not self.answer.is_file():
            if (code := self.process.poll()) is not None:
                raise not_started(f"Java ended with exit code {code}")
            time.sleep(_POLL_SECONDS)
        written = self.answer.read_bytes()
        shutil.rmtree(self.answer.parent)  # it holds a secret, and a killed driver removes nothing
        port, length = _ANSWER.unpack_from(written)
        os.environ |= {_PORT: str(port), _SECRET: written[_ANSWER.size : _ANSWER.size + length].decode()}
        try:
            gateway = launch_gateway()
        except SPARK_GONE as error:
            raise not_started(f"Java does not answer: {error!r}") from error
        finally:
            del os.environ[_PORT], os.environ[_SECRET]
        gateway.proc = self.process  # as launch_gateway itself would set it
        self.connected = True
        return gateway

    def end_unused(self) -> None:
        """Kill the JVM unless `connect` succeeded; a second call does nothing."""
        if not self.connected:
            self.process.kill()
            self.process.communicate()  # closes its input and waits
        shutil.rmtree(self.answer.parent, ignore_errors=True)


Jvm = JvmIsThere | NoJava | StartingJvm


@contextmanager
def launched(options: SparkOptions, service: str) -> Iterator[Jvm]:
    """Yield the JVM for one session, and kill it if the block ends before `connect` succeeded."""
    jvm = launch(options, service)
    try:
        yield jvm
    finally:
        jvm.end_unused()


def launch(options: SparkOptions, service: str) -> Jvm:
    """Start the JVM, relay its output to this process's log, and do not wait for it.

    The JVM ignores SIGINT. Its workers use this process's Python unless PYSPARK_PYTHON is set.
    """
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    # these are for the JVM that only assembles the command line of the driver's JVM
    os.environ.setdefault("SPARK_LAUNCHER_OPTS", QUICK_JVM)
    if _PORT in os.environ or _has_gateway():
        if user := os.environ.get("SPARK_USER"):  # the submitting user: YARN's containers run as another one
            os.environ.setdefault("HADOOP_USER_NAME", user)
        return JvmIsThere()
    try:
        require_java()
    except ServiceUnavailable as error:
        return NoJava(error)
    conf = launch_conf(options, service)
    return _start(direct_command(options, conf, os.environ) or _through_spark_submit(conf))


def not_started(reason: str) -> ServiceUnavailable:
    return ServiceUnavailable(
        "spark.start",
        f"Spark did not start: {reason}",
        "Spark needs Java 17 or later (java -version); what it printed is in the log",
    )


def _through_spark_submit(conf: Mapping[str, str]) -> Command:
    home = spark_home()
    if home is None:
        raise not_started("pyspark has no jars and scripts beside it, and SPARK_HOME is not set")
    command = [str(home / "bin/spark-submit")]
    for key, value in conf.items():
        command += ["--conf", f"{key}={value}"]
    command += shlex.split(os.environ.get("PYSPARK_SUBMIT_ARGS", "pyspark-shell"))
    return Command(tuple(command), {})


def _start(command: Command) -> StartingJvm:
    answer = Path(tempfile.mkdtemp(prefix="kafka2hive-jvm-")) / "address"
    output = SparkOutput()
    try:
        process = subprocess.Popen(
            command.arguments,
            stdin=subprocess.PIPE,
            stdout=output.writing,
            stderr=output.writing,
            env={
                **os.environ,
                **command.environment,
                "SPARK_CONNECT_MODE": "0",
                "_PYSPARK_DRIVER_CONN_INFO_PATH": str(answer),
            },
            preexec_fn=_ignore_interrupts,
        )
    except OSError as error:
        answer.parent.rmdir()
        raise not_started(str(error)) from error
    finally:
        output.handed_over()
    return StartingJvm(process, answer)


def _ignore_interrupts() -> None:
    """Ignore SIGINT and SIGHUP, after which the driver itself stops the JVM in order."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)


def _has_gateway() -> bool:
    """Return whether this process has a JVM, without importing Spark."""
    return "pyspark" in sys.modules and gateway_of_process() is not None
