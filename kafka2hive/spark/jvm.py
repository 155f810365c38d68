"""The driver's JVM, which is launched before Spark is imported, so that its start overlaps with imports and ledger reads.

It is launched as `pyspark.java_gateway.launch_gateway` does, but in two steps: `launch` returns at once, `connect` waits.
A thread relays the output of the JVM and of Python workers to this process's log: one format, and secrets redacted.
"""

import logging
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from kafka2hive.config.keys import SparkOptions
from kafka2hive.model.errors import ConfigError, ServiceUnavailable
from kafka2hive.spark.class_archive import JAVA_OPTIONS, spark_home
from kafka2hive.spark.configuration import QUICK_JVM, is_local, launch_conf
from kafka2hive.spark.environment import require_spark
from kafka2hive.spark.internals import (
    GATEWAY_SERVER,
    KNOWN_SPARK,
    LAUNCHER_OPTIONS,
    LAUNCHER_VARIABLES,
    connect_gateway,
    gateway_of_process,
    is_started_by_launcher,
    launch_gateway,
    require_parts,
    server_environment,
)
from kafka2hive.spark.java import java_launcher

if TYPE_CHECKING:
    from py4j.java_gateway import JavaGateway  # type: ignore[import-untyped]  # it ships no types


log = logging.getLogger("kafka2hive.spark")

_HEAD = re.compile(r"\d\d/\d\d/\d\d \d\d:\d\d:\d\d (TRACE|DEBUG|INFO|WARN|ERROR|FATAL) (.*)", re.DOTALL)
_LEVELS = {
    "WARN": logging.WARNING,
    "ERROR": logging.ERROR,
    "FATAL": logging.CRITICAL,
    "INFO": logging.INFO,
}
_BANNER = (  # printed at each start, whatever the settings
    "WARNING: Using incubator modules",
    "Using Spark's default log4j profile",
    "Setting default log level to",
    "Setting Spark log level to",
    "To adjust logging level use",
    "WARN Utils: Your hostname",
    "WARN Utils: Set SPARK_LOCAL_IP",
    "WARN NativeCodeLoader: Unable to load native-hadoop",
)
_POLL_SECONDS = 0.01
_EXTRA_OPTIONS = "spark.driver.extraJavaOptions"
_MEMORY = "-Xmx1g"  # spark.driver.memory by default


@dataclass(frozen=True, slots=True)
class PresentJvm:
    """An existing JVM: Spark's launcher started this process, or it had a Spark session before. A process has only one JVM."""

    def connect(self) -> "JavaGateway":
        require_parts()
        return gateway_of_process() or launch_gateway()

    def end_unused(self) -> None:
        """Do nothing: this process did not start the JVM."""


@dataclass(frozen=True, slots=True)
class NoSpark:
    """The machine has no suitable Java, or its environment does not fit Spark; `connect` raises the error."""

    error: ConfigError | ServiceUnavailable

    def connect(self) -> "JavaGateway":
        raise self.error

    def end_unused(self) -> None:
        """Do nothing: no JVM was started."""


@dataclass(slots=True)
class StartingJvm:
    """A JVM that is starting, and writes its address to `address_file`. It ends with this process, which holds its input."""

    process: subprocess.Popen[bytes]
    address_file: Path
    connected: bool = False

    def connect(self) -> "JavaGateway":
        """Wait until the JVM answers. Raises ServiceUnavailable: `spark.start` if it ended, `spark.version`."""
        from kafka2hive.spark.errors import SPARK_GONE

        require_parts()
        while not self.address_file.is_file():
            if (code := self.process.poll()) is not None:
                raise not_started(f"Java ended with exit code {code}")
            time.sleep(_POLL_SECONDS)
        address = self.address_file.read_bytes()
        shutil.rmtree(
            self.address_file.parent
        )  # now, because it holds a secret that a killed driver would leave behind
        try:
            gateway = connect_gateway(address, self.process)
        except SPARK_GONE as error:
            raise not_started(f"Java does not answer: {error!r}") from error
        self.connected = True
        return gateway

    def end_unused(self) -> None:
        """Kill the JVM unless `connect` succeeded; a second call has no effect."""
        if not self.connected:
            self.process.kill()
            self.process.communicate()  # closes its input and waits
        shutil.rmtree(self.address_file.parent, ignore_errors=True)


Jvm = PresentJvm | NoSpark | StartingJvm


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
    if is_started_by_launcher() or _has_gateway():
        if user := os.environ.get("SPARK_USER"):  # the submitting user: YARN's containers run as another one
            os.environ.setdefault("HADOOP_USER_NAME", user)
        return PresentJvm()
    try:
        require_spark()
    except (ConfigError, ServiceUnavailable) as error:
        return NoSpark(error)
    conf = launch_conf(options, service)
    return _start(direct_command(options, conf, os.environ) or _through_spark_submit(conf))


@dataclass(frozen=True, slots=True)
class Command:
    """A command line, and the variables that are added to this process's environment."""

    arguments: tuple[str, ...]
    environment: Mapping[str, str]


def _start(command: Command) -> StartingJvm:
    address_file = Path(tempfile.mkdtemp(prefix="kafka2hive-jvm-")) / "address"
    output = SparkOutput()
    try:
        process = subprocess.Popen(
            command.arguments,
            stdin=subprocess.PIPE,
            stdout=output.writing,
            stderr=output.writing,
            env={**os.environ, **command.environment, **server_environment(address_file)},
            preexec_fn=_ignore_interrupts,
        )
    except OSError as error:
        address_file.parent.rmdir()
        raise not_started(str(error)) from error
    finally:
        output.close_writer()
    return StartingJvm(process, address_file)


def _ignore_interrupts() -> None:
    """Ignore SIGINT and SIGHUP: the driver handles them, and stops the JVM in an orderly way."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)


def _has_gateway() -> bool:
    """Return whether this process has a JVM, without importing Spark."""
    return "pyspark" in sys.modules and gateway_of_process() is not None


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
        or any(environment.get(name) for name in LAUNCHER_VARIABLES)
        or not (home / KNOWN_SPARK).is_file()
        or (home / "conf").exists()
    ):
        return None
    java_options = (JAVA_OPTIONS, _EXTRA_OPTIONS)
    arguments = (
        str(java),
        "-cp",
        _class_path(home),
        _MEMORY,
        *(option for key in java_options for option in shlex.split(conf.get(key, ""))),
        *LAUNCHER_OPTIONS,
        *(f"-D{key}={value}" for key, value in conf.items() if key not in java_options),
        GATEWAY_SERVER,
    )
    return Command(arguments, {"SPARK_HOME": str(home), "PYTHONHASHSEED": "0"})


def _class_path(home: Path) -> str:
    """Return exactly the launcher's class path, because otherwise the class archive does not match."""
    jars = home / "jars"
    first = sorted(jars.glob("slf4j-api-*.jar"))
    return ":".join(map(str, (home / "conf", *first, jars / "*")))


def _through_spark_submit(conf: Mapping[str, str]) -> Command:
    home = required_spark_home()
    command = [str(home / "bin/spark-submit")]
    for key, value in conf.items():
        command += ["--conf", f"{key}={value}"]
    return Command((*command, "pyspark-shell"), {})


def required_spark_home() -> Path:
    """Return `spark_home()`. Raises ServiceUnavailable (`spark.start`) if there is none."""
    home = spark_home()
    if home is None:
        raise not_started("pyspark is installed without jars and scripts, and SPARK_HOME is not set")
    return home


def not_started(reason: str) -> ServiceUnavailable:
    """Return the error for a JVM that did not start."""
    return ServiceUnavailable(
        "spark.start",
        f"Spark did not start: {reason}",
        "Spark needs Java 17 or later (java -version); what Spark printed is in the log",
    )


@dataclass(frozen=True, slots=True)
class SparkLine:
    """One printed line: the level at which it is logged, and its text without Spark's own time and level."""

    level: int
    text: str


def read_line(text: str, before: int) -> SparkLine:
    """Parse a line; one without time and level (a stack) gets `before`, the level of the previous line."""
    match = _HEAD.fullmatch(text)
    if any(part in text for part in _BANNER):
        return SparkLine(logging.DEBUG, match[2] if match else text)
    if match is None:
        return SparkLine(before, text)
    return SparkLine(_LEVELS.get(match[1], logging.DEBUG), match[2])


class SparkOutput:
    """A pipe to hand to the JVM as its standard output and error; a thread logs what comes out of it until it closes."""

    def __init__(self) -> None:
        reading, self.writing = os.pipe()
        self._thread = threading.Thread(
            target=_relay, args=(os.fdopen(reading, "rb"),), name="spark-output", daemon=True
        )
        self._thread.start()

    def close_writer(self) -> None:
        """Close this process's writing end once the JVM has its own, so that the pipe ends with the last process that writes."""
        os.close(self.writing)

    def wait(self) -> None:
        """Wait until everything is logged, which is after the last process that holds the pipe has ended."""
        self._thread.join()


def _relay(pipe: BinaryIO) -> None:
    level = logging.INFO
    with pipe:
        for raw in pipe:
            line = read_line(raw.decode(errors="replace").rstrip(), level)
            if line.level != logging.DEBUG:
                level = line.level
            if line.text:
                log.log(line.level, "%s", line.text)
