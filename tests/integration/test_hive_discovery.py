"""HiveServer2 found in a real ZooKeeper: entries as Hive 4.0.1 and older ones write them, dead servers, no ZooKeeper."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from kazoo.client import KazooClient

from kafka2hive.config.keys import HiveOptions
from kafka2hive.hive.session import HiveSession, log_in
from kafka2hive.model.metastore import MetastoreUnavailable
from tests.harness.waiting import wait_until
from tests.services.hive_server import INSTANCES, HiveServer
from tests.services.jars import jars
from tests.services.ports import free_ports
from tests.services.zookeeper import ZooKeeper


@pytest.fixture(scope="module")
def zookeeper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZooKeeper]:
    """A ZooKeeper of the module's own."""
    with ZooKeeper(tmp_path_factory.mktemp("zookeeper")) as running:
        yield running


@pytest.fixture
def registrar(zookeeper: ZooKeeper) -> Iterator[Any]:
    """A client that registers servers: its entries end with it, as those of HiveServer2 do."""
    client = KazooClient(zookeeper.address, timeout=10)
    client.start(30)
    yield client
    client.stop()
    client.close()


def register(client: Any, namespace: str, port: int, *, is_old: bool = False) -> None:
    """Write what HiveServer2 4.0.1 writes into its entry, or what those before Hive 2 wrote."""
    settings = {
        "hive.server2.instance.uri": f"localhost:{port}",
        "hive.server2.authentication": "NONE",
        "hive.server2.transport.mode": "binary",
        "hive.server2.thrift.sasl.qop": "auth",
        "hive.server2.thrift.bind.host": "127.0.0.1",
        "hive.server2.thrift.port": str(port),
        "hive.server2.use.SSL": "false",
    }
    content = f"127.0.0.1:{port}" if is_old else ";".join(f"{key}={value}" for key, value in settings.items())
    path = f"/{namespace}/serverUri=localhost:{port};version=4.0.1;sequence="
    client.create(path, content.encode(), ephemeral=True, sequence=True, makepath=True)


def options(zookeeper: ZooKeeper, namespace: str) -> HiveOptions:
    host, _, port = zookeeper.address.partition(":")
    return HiveOptions(host, int(port), "me", None, "NONE", 20.0, namespace=namespace)


@pytest.mark.parametrize("is_old", [False, True], ids=["settings", "address"])
def test_a_server_is_found_also_beside_one_that_died(
    zookeeper: ZooKeeper, registrar: Any, hive: HiveServer, unique: str, is_old: bool
) -> None:
    dead, *_ = free_ports(1)
    register(registrar, unique, dead, is_old=is_old)  # its entry stays until ZooKeeper misses it
    register(registrar, unique, hive.port, is_old=is_old)
    registrar.create(f"/{unique}/leader", b"no server")
    for _ in range(3):  # in any order
        log_in(options(zookeeper, unique))
        with closing(HiveSession(options(zookeeper, unique))) as session:
            assert session.run("select 1") == [(1,)]
            assert session.address == hive.address


def test_what_zookeeper_lacks_is_told(zookeeper: ZooKeeper, registrar: Any, unique: str) -> None:
    with pytest.raises(MetastoreUnavailable, match=f"has no /{unique}: correct zooKeeperNamespace"):
        log_in(options(zookeeper, unique))
    registrar.create(f"/{unique}", b"")
    with pytest.raises(MetastoreUnavailable, match=f"no HiveServer2 is registered in /{unique}"):
        HiveSession(options(zookeeper, unique)).run("select 1")


def test_a_zookeeper_that_is_away_is_told_and_one_of_several_suffices(
    zookeeper: ZooKeeper, registrar: Any, hive: HiveServer, unique: str
) -> None:
    dead, *_ = free_ports(1)
    with pytest.raises(MetastoreUnavailable, match=f"ZooKeeper at 127.0.0.1:{dead}"):
        log_in(HiveOptions("127.0.0.1", dead, "me", None, "NONE", 20.0, namespace=unique))
    register(registrar, unique, hive.port)
    both = HiveOptions(
        host="127.0.0.1",
        port=dead,
        user="me",
        password=None,
        auth="NONE",
        timeout_seconds=20.0,
        further_hosts=(("127.0.0.1", int(zookeeper.address.partition(":")[2])),),
        namespace=unique,
    )
    log_in(both)


class RegisteredHive(HiveServer):
    """A HiveServer2 that registers itself in ZooKeeper."""

    def _more_classes(self) -> list[str]:
        return [jars(INSTANCES)]


def test_a_hiveserver2_that_registers_itself_is_found_until_it_ends(
    zookeeper: ZooKeeper, tmp_path: Path, unique: str
) -> None:
    properties = {
        "hive.server2.support.dynamic.service.discovery": "true",
        "hive.zookeeper.quorum": zookeeper.address,
        "hive.server2.zookeeper.namespace": unique,
    }
    asked = options(zookeeper, unique)
    with RegisteredHive(tmp_path / "hive", {"fs.defaultFS": f"file://{tmp_path}"}, properties) as server:
        wait_until(lambda: entries(zookeeper, unique), "registered", 120)
        with closing(HiveSession(asked)) as session:
            assert session.run("select 1") == [(1,)]
            assert session.address.partition(":")[2] == str(server.port)
        server.stop()
        with pytest.raises(MetastoreUnavailable, match=f"no HiveServer2 is registered in /{unique}"):
            log_in(asked)
        server.start()
        wait_until(lambda: entries(zookeeper, unique), "registered again", 120)
        server.kill()  # ZooKeeper keeps its entry until the session times out
        with pytest.raises(MetastoreUnavailable, match=str(server.port)):
            log_in(asked)


def entries(zookeeper: ZooKeeper, namespace: str) -> list[str]:
    """What is registered in a namespace."""
    client = KazooClient(zookeeper.address, timeout=10)
    client.start(30)
    try:
        return list(client.get_children(f"/{namespace}")) if client.exists(f"/{namespace}") else []
    finally:
        client.stop()
        client.close()
