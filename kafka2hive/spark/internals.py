"""The non-public parts of Spark, pyspark and py4j that this project uses. No other module names them (a test checks this).

A new version may move any of them: `require_parts` checks for them at the start, and each use names the missing one.
"""

import importlib
import importlib.util
import os
import struct
import threading
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from kafka2hive.model.errors import ServiceUnavailable

if TYPE_CHECKING:
    import subprocess

    import pyarrow as pa
    from py4j.java_gateway import JavaGateway  # type: ignore[import-untyped]  # it ships no types
    from pyspark import SparkContext
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

_GATEWAY = "pyspark:SparkContext._gateway"
_CONTEXT = "pyspark:SparkContext._active_spark_context"
_LAUNCH = "pyspark.java_gateway:launch_gateway"
_CONVERTERS = "py4j.protocol:INPUT_CONVERTER"
_SCHEMA = "pyspark.sql.pandas.types:from_arrow_schema"
_BY_VALUE = "pyspark.cloudpickle:register_pickle_by_value"
PARTS = (_GATEWAY, _CONTEXT, _LAUNCH, _CONVERTERS, _SCHEMA, _BY_VALUE)
WORKER_PARTS = ("pyspark.daemon:manager", "pyspark.worker:main")
"""The driver looks for these in the sources, because importing them would cost time and memory."""

_GATEWAY_PORT, _GATEWAY_SECRET = "PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET"
_ADDRESS_FILE = "_PYSPARK_DRIVER_CONN_INFO_PATH"
LAUNCH_VARIABLES = (_GATEWAY_PORT, _GATEWAY_SECRET, _ADDRESS_FILE)
"""The environment variables by which pyspark and py4j's server in the JVM find each other."""
_ADDRESS = struct.Struct(">ii")
"""The head of what the server writes to the address file: its port and the length of the secret, which follows."""
GATEWAY_SERVER = "org.apache.spark.api.python.PythonGatewayServer"
KNOWN_SPARK = "jars/spark-launcher_2.13-4.3.0.jar"
"""The file that identifies the Spark version to which LAUNCHER_OPTIONS and LAUNCHER_VARIABLES belong."""
_OPENED_PACKAGES = (
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
LAUNCHER_OPTIONS = (
    "-XX:+IgnoreUnrecognizedVMOptions",
    "--add-modules=jdk.incubator.vector",
    *(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENED_PACKAGES),
    "--add-opens=java.security.jgss/sun.security.krb5=ALL-UNNAMED",
    "-Dio.netty.tryReflectionSetAccessible=true",
    "-Dio.netty.allocator.type=pooled",
    "-Dio.netty.handler.ssl.defaultEndpointVerificationAlgorithm=NONE",
    "--sun-misc-unsafe-memory-access=allow",
    "--enable-native-access=ALL-UNNAMED",
    "-Dderby.connection.requireAuthentication=false",
)
"""The JVM options that Spark's launcher adds."""
LAUNCHER_VARIABLES = (
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
"""The environment variables that Spark's launcher reads."""

QUERY_LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
"""pyspark also prints the errors that it raises with these, with the JVM's stack; our errors have the same content."""


def require_parts(
    parts: tuple[str, ...] = PARTS,
    worker_parts: tuple[str, ...] = WORKER_PARTS,
    launch_variables: tuple[str, ...] = LAUNCH_VARIABLES,
) -> None:
    """Raise ServiceUnavailable (`spark.version`) with the first part that the installed version lacks."""
    for part in parts:
        _part(part)
    for name in launch_variables:
        if f'"{name}"' not in _source(_LAUNCH.partition(":")[0]):
            raise _missing(name)
    for part in worker_parts:
        module, _, name = part.partition(":")
        if f"\ndef {name}(" not in _source(module):
            raise _missing(part)


def require_parts_of(session: "SparkSession") -> None:
    """Check for the parts that only a session has. Raises as `require_parts`."""
    for name in ("_jsparkSession", "_jvm"):
        _of(session, name)
    for name in ("_jsc", "_accumulatorServer"):
        _of(session.sparkContext, name)


def gateway_of_process() -> "JavaGateway | None":
    """Return the gateway to this process's JVM, None if it has none yet."""
    return _part(_GATEWAY)


def launch_gateway() -> "JavaGateway":
    """Connect to the JVM that the environment names, or start one with Spark's launcher."""
    return _part(_LAUNCH)()


def is_started_by_launcher() -> bool:
    """Return whether Spark's launcher started this process, with the address of its JVM in the environment."""
    return _GATEWAY_PORT in os.environ


def server_environment(address_file: Path) -> dict[str, str]:
    """Return the variables with which py4j's server in a new JVM writes its address to the file."""
    return {"SPARK_CONNECT_MODE": "0", _ADDRESS_FILE: str(address_file)}


def connect_gateway(address: bytes, process: "subprocess.Popen[bytes]") -> "JavaGateway":
    """Connect to the server that wrote `address`; its JVM is `process`. Raises py4j's errors and OSError."""
    port, length = _ADDRESS.unpack_from(address)
    secret = address[_ADDRESS.size : _ADDRESS.size + length].decode()
    os.environ |= {_GATEWAY_PORT: str(port), _GATEWAY_SECRET: secret}
    try:
        gateway = launch_gateway()
    finally:
        del os.environ[_GATEWAY_PORT], os.environ[_GATEWAY_SECRET]
    gateway.proc = process  # launch_gateway sets it only for a JVM that it started
    return gateway


def process_of_jvm() -> "subprocess.Popen[bytes]":
    """Return the process of this process's JVM."""
    process: subprocess.Popen[bytes] = _of(_part(_GATEWAY), "proc")
    return process


def has_context() -> bool:
    """Return whether this process has a Spark context."""
    return _part(_CONTEXT) is not None


def is_stopped(context: "SparkContext") -> bool:
    """Ask the JVM whether the context is stopped. Raises py4j's errors and OSError if the JVM is gone."""
    return bool(_of(context, "_jsc").sc().isStopped())


def leave_numpy_out() -> None:
    """Remove pyspark's converters of numpy values from py4j.

    At the first argument they import pyspark's test tools, and with them numpy, pyarrow and pandas (0.4 to 1 CPU-s).
    No value that this project passes to py4j is of numpy.
    """
    converters = _part(_CONVERTERS)
    converters[:] = [each for each in converters if not type(each).__name__.startswith("Numpy")]


def silence_accumulators(context: "SparkContext") -> None:
    """Stop pyspark's accumulator server from printing a stack when the JVM is gone: our errors report it if it is an error."""
    _of(context, "_accumulatorServer").handle_error = _ignore_error


def _ignore_error(*_: object) -> None:
    pass


def end_accumulators(context: "SparkContext") -> None:
    """Shut pyspark's accumulator server down in another thread, because pyspark's own stop waits up to a second for it."""
    server = _of(context, "_accumulatorServer")
    context._accumulatorServer = None
    if server is not None:
        threading.Thread(target=server.shutdown, name="end-accumulators", daemon=True).start()


def worker_daemon() -> Callable[[], None]:
    """Return pyspark's worker daemon, after importing what its workers run."""
    _part("pyspark.worker:main")
    manager: Callable[[], None] = _part("pyspark.daemon:manager")
    return manager


def spark_schema(schema: "pa.Schema") -> "StructType":
    """Convert an Arrow schema to Spark's."""
    return _part(_SCHEMA)(schema)


def pickle_by_value(module: ModuleType) -> None:
    """Make pickle send the module's functions to executors by value, not by name."""
    _part(_BY_VALUE)(module)


def java(session: "SparkSession") -> Any:
    """Return py4j's view of the JVM's packages."""
    return _of(session, "_jvm")


def java_session(session: "SparkSession") -> Any:
    """Return the JVM's session behind pyspark's."""
    return _of(session, "_jsparkSession")


def execution_of(frame: "DataFrame") -> Any:
    """Return Spark's QueryExecution, which has the plans, rows and observed metrics."""
    return _of(frame, "_jdf").queryExecution()


def of_unknown_size(frame: "DataFrame") -> "DataFrame":
    """Return the same rows in a frame whose size Spark cannot estimate."""
    from pyspark.sql import DataFrame

    session, schema = frame.sparkSession, _of(frame, "_jdf").schema()
    rows = execution_of(frame).toRdd()
    return DataFrame(java_session(session).internalCreateDataFrame(rows, schema, False), session)


def frame_of_plan(session: "SparkSession", plan: Any) -> "DataFrame":
    """Analyse the plan and return its frame. Raises PySparkException."""
    from pyspark.sql import DataFrame

    dataset = java(session).org.apache.spark.sql.classic.Dataset
    return DataFrame(dataset.ofRows(java_session(session), plan), session)


def _part(part: str) -> Any:
    module, _, path = part.partition(":")
    try:
        value: Any = importlib.import_module(module)
        for name in path.split("."):
            value = getattr(value, name)
    except (ImportError, AttributeError) as error:
        raise _missing(part) from error
    return value


def _of(owner: object, name: str) -> Any:
    try:
        return getattr(owner, name)
    except AttributeError as error:
        raise _missing(f"{type(owner).__module__}:{type(owner).__name__}.{name}") from error


def _source(module: str) -> str:
    spec = importlib.util.find_spec(module)
    loader: Any = None if spec is None else spec.loader
    return (loader.get_source(module) or "") if loader is not None else ""


def _missing(part: str) -> ServiceUnavailable:
    import pyspark
    from py4j.version import __version__  # type: ignore[import-untyped]  # it ships no types

    return ServiceUnavailable(
        "spark.version",
        f"pyspark {pyspark.__version__} with py4j {__version__} has no {part}, which kafka2hive needs",
        "install the versions that it is tested with: pip install 'pyspark>=4.3,<4.4'",
    )
