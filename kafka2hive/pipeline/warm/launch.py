"""The driver's JVM, launched before Spark is imported: imports and the first looks run beside its start.

It is launched as `pyspark.java_gateway.launch_gateway` does it, in two steps: `launch` returns at once, `connect` waits.
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

from kafka2hive.config.values import SparkOptions
from kafka2hive.model.errors import ServiceUnavailable
from kafka2hive.pipeline.java import require_java
from kafka2hive.pipeline.spark_conf import QUICK_JVM, launch_conf
from kafka2hive.pipeline.spark_internals import gateway_of_process, launch_gateway, require_parts
from kafka2hive.pipeline.spark_log import SparkOutput
from kafka2hive.pipeline.warm.archive import spark_home
from kafka2hive.pipeline.warm.direct import Command, direct_command

if TYPE_CHECKING:
    from py4j.java_gateway import JavaGateway  # type: ignore[import-untyped]  # it ships no types

_PORT, _SECRET = "PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET"
_POLL_SECONDS = 0.01
#: What Spark's PythonGatewayServer writes: a port, the length of a secret, the secret.
_ANSWER = struct.Struct(">ii")


@dataclass(frozen=True, slots=True)
class JvmIsThere:
    """Spark's launcher started this process, or it had a Spark session before: a process has one JVM."""

    def connect(self) -> "JavaGateway":
        require_parts()
        return gateway_of_process() or launch_gateway()

    def end_unused(self) -> None:
        """It is not ours to end."""


@dataclass(frozen=True, slots=True)
class NoJava:
    """There is none that fits, as `connect` says."""

    error: ServiceUnavailable

    def connect(self) -> "JavaGateway":
        raise self.error

    def end_unused(self) -> None:
        """There is nothing to end."""


@dataclass(slots=True)
class StartingJvm:
    """On its way; it writes its address into `answer`. It ends with this process: its standard input is a pipe from here."""

    process: subprocess.Popen[bytes]
    answer: Path
    connected: bool = False

    def connect(self) -> "JavaGateway":
        """Wait until it answers. Raises ServiceUnavailable (`spark.start`) when it ended instead, and `spark.version`."""
        from kafka2hive.pipeline.spark_errors import SPARK_GONE

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
        """Kill it, unless Spark has it; once more does nothing."""
        if not self.connected:
            self.process.kill()
            self.process.communicate()  # closes its input and waits
        shutil.rmtree(self.answer.parent, ignore_errors=True)


Jvm = JvmIsThere | NoJava | StartingJvm


@contextmanager
def launched(options: SparkOptions, service: str) -> Iterator[Jvm]:
    """The JVM for one session; when the block ends before it was connected to, it is killed."""
    jvm = launch(options, service)
    try:
        yield jvm
    finally:
        jvm.end_unused()


def launch(options: SparkOptions, service: str) -> Jvm:
    """Start the JVM, with its output in our log, and do not wait for it.

    It ignores SIGINT. Its workers use this very Python unless PYSPARK_PYTHON says otherwise.
    """
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    # of the JVM that only puts the command line of the driver's JVM together
    os.environ.setdefault("SPARK_LAUNCHER_OPTS", QUICK_JVM)
    if _PORT in os.environ or _has_gateway():
        if user := os.environ.get("SPARK_USER"):  # who submitted: YARN's containers run as another one
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
    """And a closed terminal: what they end, the driver ends in order."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)


def _has_gateway() -> bool:
    """Whether this process has a JVM; without importing Spark."""
    return "pyspark" in sys.modules and gateway_of_process() is not None
