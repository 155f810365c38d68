"""Fixtures of every test: the real services, names of one's own; and how long each folder of tests took.

Services are started at their first use and are shared by the run; a test that stops or kills one starts its own
(`tests/services`). Nothing is skipped when Java or a jar is missing: the test fails and names the command.
"""

import collections
import uuid
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:  # unit tests must not pay for the clients of the services
    from tests.services.hdfs import Hdfs
    from tests.services.hdfs_ha import HdfsHa
    from tests.services.hive_server import HiveServer
    from tests.services.kafka_broker import KafkaBroker
    from tests.services.shared import SharedServices
    from tests.services.spark_standalone import SparkStandalone

# how long one example takes says nothing about it being right; the same examples every time: no luck decides a run
settings.register_profile("certain", deadline=None, derandomize=True)
settings.load_profile("certain")

_SERVICES = frozenset({"kafka", "hdfs", "hive"})
_seconds: collections.defaultdict[str, float] = collections.defaultdict(float)


@pytest.fixture(scope="session")
def shared_services(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator["SharedServices"]:
    """Start, side by side, the services that the collected tests name; stop them at the end."""
    from tests.services.shared import SharedServices

    named = {name for item in request.session.items for name in getattr(item, "fixturenames", ())}
    tmp_path_factory.getbasetemp()  # now: the services' threads would race for making it
    services = SharedServices(tmp_path_factory.mktemp, named & _SERVICES)
    yield services
    services.stop()


@pytest.fixture(scope="session")
def kafka(shared_services: "SharedServices") -> "KafkaBroker":
    """A real broker, shared: do not stop it."""
    return shared_services.kafka()


@pytest.fixture(scope="session")
def hdfs(shared_services: "SharedServices") -> "Hdfs":
    """A real HDFS, shared: do not stop it, work below a path of your own (`unique`)."""
    return shared_services.hdfs()


@pytest.fixture(scope="session")
def hive(shared_services: "SharedServices") -> "HiveServer":
    """A real HiveServer2 over `hdfs`, shared: do not stop it, work in a database of your own (`hive_database`)."""
    return shared_services.hive()


@pytest.fixture(scope="module")
def hdfs_ha(tmp_path_factory: pytest.TempPathFactory) -> Iterator["HdfsHa"]:
    """A real HDFS with two NameNodes, for one module: it may fail over, and leaves both running."""
    from tests.services.hdfs_ha import HdfsHa

    with HdfsHa(tmp_path_factory.mktemp("hdfs-ha")) as services:
        yield services


@pytest.fixture(scope="module")
def spark_standalone(tmp_path_factory: pytest.TempPathFactory) -> Iterator["SparkStandalone"]:
    """A real Spark Master with two Workers, for one module."""
    from tests.services.spark_standalone import SparkStandalone

    with SparkStandalone(tmp_path_factory.mktemp("spark-standalone")) as cluster:
        yield cluster


@pytest.fixture
def unique() -> str:
    """A name that no other test uses; fit for topics, paths, groups, databases and tables."""
    return f"t_{uuid.uuid4().hex[:10]}"


@pytest.fixture
def hive_database(hive: "HiveServer", unique: str) -> Iterator[str]:
    """A Hive database of the test's own, dropped at the end; its name is `unique`."""
    hive.query(f"create database {unique}")
    yield unique
    hive.query(f"drop database {unique} cascade")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Add up the time of each folder, set-up and tear-down of fixtures included."""
    _seconds[report.nodeid.split("::")[0].rpartition("/")[0]] += report.duration


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how long each folder took."""
    for folder, seconds in _seconds.items():
        terminalreporter.write_line(f"{folder}: {seconds:.1f} s")
