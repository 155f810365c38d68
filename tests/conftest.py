"""Fixtures of every test: the real services, and names of one's own.

Services are started at their first use and are shared by the tests of one process; with `pytest -n` all workers share one
Kafka, one HDFS and one HiveServer2. A test that stops or kills one starts its own (`tests/services`). Nothing is skipped
when Java or a jar is missing: the test fails and names the command.
"""

import gc
import logging
import os
import subprocess
import uuid
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import Phase, settings

from tests.durations import CpuMeter, Stopwatch, reference
from tests.gate import Standard
from tests.harness.compiled_library import DESCRIPTION, Uncovered, leave_out
from tests.harness.consumers import close_kept_consumers
from tests.services.for_all import ServicesForAll, ask
from tests.side_by_side import Groups, group, seconds_by_group

if TYPE_CHECKING:  # unit tests must not pay for the clients of the services
    from xdist.workermanage import WorkerController

    from tests.services.hdfs import Hdfs
    from tests.services.hdfs_ha import HdfsHa
    from tests.services.hive_server import HiveServer
    from tests.services.kafka_broker import KafkaBroker
    from tests.services.kafka_secure import SecureKafka
    from tests.services.secure.hdfs import SecureHdfs
    from tests.services.secure.hive import Ldap, SecureHive
    from tests.services.secure.kdc import Kdc
    from tests.services.shared import SharedServices
    from tests.services.spark_standalone import SparkStandalone

# how long one example takes says nothing about it being right; the same examples every time: no luck decides a run
settings.register_profile("certain", deadline=None, derandomize=True, max_examples=50)
# pytest --hypothesis-profile long: the long form, other examples each time
settings.register_profile("long", deadline=None, max_examples=1_000)
# the same examples again, but the first that fails is enough: for who asks only whether a mistake is noticed
settings.register_profile(
    "noticed", settings.get_profile("certain"), phases=(Phase.explicit, Phase.reuse, Phase.generate)
)
settings.load_profile("certain")

_SERVICES = frozenset({"kafka", "hdfs", "hive", "kdc", "ldap", "secure_kafka", "secure_hdfs", "secure_hive"})
SAID = "said"
"""The name of the property (`record_property`) whose value the run prints at its end."""
_said: list[str] = []
_not_covered: set[str] = set()
_NOT_COVERED = "not covered"
"""Under this name a worker, each of which has collected all tests, tells what it left out."""
_UNCOVERED = pytest.StashKey[Uncovered]()
_FOR_ALL = pytest.StashKey[ServicesForAll]()
_ADDRESS = "services for all"
"""Under this name a worker is told where to ask for them."""


@pytest.fixture(scope="session")
def shared_services(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator["SharedServices"]:
    """Starts nothing by itself; ends at the end what was started."""
    from tests.services.shared import SharedServices

    tmp_path_factory.getbasetemp()  # now: the services' threads would race for making it
    worker = getattr(request.config, "workerinput", None)
    services = SharedServices(tmp_path_factory.mktemp, worker and partial(ask, worker[_ADDRESS]))
    yield services
    close_kept_consumers()
    services.stop()


@pytest.fixture(autouse=True)
def services_side_by_side(request: pytest.FixtureRequest) -> None:
    """Start all shared services that the test names at once, before it asks for one after the other."""
    # `hive` may also be a test's own parameter
    parameters = request.node.callspec.params if hasattr(request.node, "callspec") else {}
    if needed := _SERVICES.intersection(request.fixturenames).difference(parameters):
        services: SharedServices = request.getfixturevalue("shared_services")
        services.begin(needed)


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Give `caplog.text` its lines and tracebacks.

    pytest adds its handler to each logger that does not propagate, before each call, and PySpark's loggers give each
    handler their JSON. So this runs after pytest has done so (`trylast`); a fixture would come too early.
    """
    caplog = getattr(item, "funcargs", {}).get("caplog")
    if caplog is not None:
        caplog.handler.setFormatter(logging.Formatter("%(levelname)-8s %(name)s %(message)s"))
    yield


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
    """A real HiveServer2 over `hdfs`, shared: do not stop it, work in your own database (`hive_database`)."""
    return shared_services.hive()


@pytest.fixture(scope="session")
def hive_beside(tmp_path_factory: pytest.TempPathFactory, hdfs: "Hdfs") -> "Iterator[HiveServer]":
    """The one behind `hive_to_kill` and `hive_away`; does not run before a test wants it."""
    from tests.services.hive_server import HiveServer

    server = HiveServer(tmp_path_factory.mktemp("hive-to-kill"), hdfs.site_properties)
    server.prepare()
    yield server
    server.stop()


@pytest.fixture
def hive_to_kill(hive_beside: "HiveServer") -> "Iterator[HiveServer]":
    """A HiveServer2 beside the shared one, running: the test may kill, start and suspend it."""
    if not hive_beside.service.is_running:
        hive_beside.start()
    yield hive_beside
    _wake(hive_beside)


@pytest.fixture
def hive_away(hive_beside: "HiveServer") -> "Iterator[HiveServer]":
    """The same HiveServer2, which does not run: the test may start it, and then whatever `hive_to_kill` allows."""
    hive_beside.kill()
    yield hive_beside
    _wake(hive_beside)


def _wake(server: "HiveServer") -> None:
    """Whether it runs is for the next test to decide."""
    if server.service.is_running:
        server.service.resume()


@pytest.fixture(scope="session")
def hdfs_to_kill(tmp_path_factory: pytest.TempPathFactory) -> Iterator["Hdfs"]:
    """A real HDFS beside the shared one, which enforces permissions: a test may break it, and leaves it well."""
    from tests.services.hdfs import Hdfs

    with Hdfs(tmp_path_factory.mktemp("hdfs-to-kill"), permissions=True) as services:
        yield services


@pytest.fixture(scope="session")
def hdfs_ha(tmp_path_factory: pytest.TempPathFactory) -> Iterator["HdfsHa"]:
    """A real HDFS with two NameNodes, either of which may be active: a test may fail over, and leaves both running."""
    from tests.services.hdfs_ha import HdfsHa

    with HdfsHa(tmp_path_factory.mktemp("hdfs-ha")) as services:
        yield services


@pytest.fixture(scope="module")
def spark_standalone(tmp_path_factory: pytest.TempPathFactory) -> Iterator["SparkStandalone"]:
    """A real Spark Master with two Workers of two cores each, for one module: Spark says 2 while no executor is there."""
    from tests.services.spark_standalone import SparkStandalone

    with SparkStandalone(tmp_path_factory.mktemp("spark-standalone"), cores=2) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `kafka2hive pack` makes of this environment, shared."""
    from tests.harness.program import PROGRAM

    folder = tmp_path_factory.mktemp("pack")
    subprocess.run([*PROGRAM, "pack", str(folder)], check=True)
    [file] = folder.iterdir()
    return file


@pytest.fixture(scope="session")
def kdc(shared_services: "SharedServices") -> "Kdc":
    """A real Kerberos realm, shared: whoever stops its KDC starts it again. This process and what it starts are its clients."""
    from tests.harness.program import end_jvm

    realm = shared_services.kdc()
    end_jvm()  # its workers have the environment of its start, without the realm
    return realm


@pytest.fixture(scope="session")
def ldap(shared_services: "SharedServices") -> "Ldap":
    """A real LDAP directory, shared: a test may kill it, and leaves it running."""
    return shared_services.ldap()


@pytest.fixture(scope="session")
def secure_kafka(shared_services: "SharedServices") -> "SecureKafka":
    """A real broker with TLS, every kind of login and rights, shared: grant rights on topics of your own (`unique`)."""
    return shared_services.secure_kafka()


@pytest.fixture(scope="session")
def secure_hdfs(shared_services: "SharedServices") -> "SecureHdfs":
    """A real HDFS in that realm, which encrypts, shared: work below a path of your own."""
    return shared_services.secure_hdfs()


@pytest.fixture(scope="session")
def secure_hive(shared_services: "SharedServices") -> "SecureHive":
    """A real HiveServer2 in that realm over that HDFS, at each protection and with passwords, shared."""
    return shared_services.secure_hive()


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


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """Under `pytest -n`: which tests stay with one worker."""
    return Groups(config, log)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: "WorkerController") -> None:
    """Under `pytest -n` this process, which runs no test, has the Kafka, the HDFS and the HiveServer2 of all workers."""
    stash = node.config.stash
    stash[_FOR_ALL] = stash.get(_FOR_ALL, None) or ServicesForAll()
    node.workerinput[_ADDRESS] = stash[_FOR_ALL].address


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: "WorkerController", error: object) -> None:
    """A worker has ended."""
    _not_covered.add(getattr(node, "workeroutput", {}).get(_NOT_COVERED, ""))


def pytest_unconfigure(config: pytest.Config) -> None:
    """All workers have ended."""
    if (services := config.stash.get(_FOR_ALL, None)) is not None:
        services.stop()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What needs a library that is not here is left out; under `pytest -n` the longest begin first."""
    config.stash[_UNCOVERED] = leave_out(config, items)
    if hasattr(config, "workerinput"):
        seconds = seconds_by_group((item.nodeid for item in items), reference())
        items.sort(key=lambda item: -seconds[group(item.nodeid)])  # keeps the order of equals


def pytest_collection_finish() -> None:
    """What is imported and collected stays: no garbage collection need look at all of it again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


class FailuresAtOnce:
    """Prints a failure when it happens, too: a run that is ended from outside comes to no summary."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            terminal: pytest.TerminalReporter = self._config.pluginmanager.getplugin("terminalreporter")
            crash = getattr(report.longrepr, "reprcrash", None)
            reason = crash.message if crash is not None else str(report.longrepr)[-1000:]
            terminal.write_line(f"\nFAILED in {report.when}: {report.nodeid}: {reason[:1000]}")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--standard", action="store_true", help="only the tests that scripts/test runs without --all"
    )


def pytest_configure(config: pytest.Config) -> None:
    """The process that prints says failures at once."""
    config.addinivalue_line("markers", DESCRIPTION)
    config.pluginmanager.register(CpuMeter())
    if config.getoption("standard"):
        config.pluginmanager.register(Standard(config.rootpath))
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(FailuresAtOnce(config))
        config.pluginmanager.register(Stopwatch())


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """A worker is silent from now on: what threads of client libraries still log must not follow the run's last line."""
    if hasattr(session.config, "workerinput"):
        told = str(session.config.stash.get(_UNCOVERED, ""))
        getattr(session.config, "workeroutput")[_NOT_COVERED] = told  # noqa: B009  xdist sets it
        # else it would give standard error back as it was
        session.config.pluginmanager.getplugin("capturemanager").stop_global_capturing()
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Keep what tests have to say."""
    if report.when == "call":
        _said.extend(str(value) for name, value in report.user_properties if name == SAID)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print what tests said, and which of them needed what is not here."""
    for text in _said:
        terminalreporter.write_line(text)
    for text in sorted({str(config.stash.get(_UNCOVERED, "")), *_not_covered} - {""}):
        terminalreporter.write_line(text)
