"""YARN with Kerberos over two NameNodes, which fail over: by delegation tokens for the nameservice, then by a keytab.

Not a part of `scripts/test`; `scripts/drill` runs it. Data and calls are encrypted.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from tests.drills.conftest import Figures
from tests.drills.form import Form
from tests.drills.on_yarn import (
    ATTEMPT_SECONDS,
    EXECUTORS,
    JARS,
    LOOPBACK,
    SubmittedService,
    application_masters,
    end,
    executors,
    secure_submitter,
)
from tests.harness.program import Running
from tests.harness.scenario import Scenario, Storage, flights_in
from tests.integration.secure_map import login
from tests.oracle.tree import HdfsTree
from tests.services.hdfs_ha import Failover
from tests.services.kafka_broker import KafkaBroker
from tests.services.secure.hdfs import PRIVACY
from tests.services.secure.hdfs_ha import SecureHdfsHa
from tests.services.secure.kdc import Kdc
from tests.services.secure.yarn import SecureYarn

USER = "etl"
RECORDS = 8_000
KINDS = (Failover.KILL9, Failover.GRACEFUL, Failover.STOP)


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory, kdc: Kdc) -> Iterator[SecureHdfsHa]:
    """Two NameNodes in the realm, over which everybody may have a home."""
    with SecureHdfsHa(tmp_path_factory.mktemp("secure-pair"), kdc, PRIVACY) as hdfs:
        hdfs.client().mkdirs("/user")
        hdfs.client().set_permission("/user", 0o777)
        yield hdfs


@pytest.fixture(scope="module")
def yarn_of_pair(
    tmp_path_factory: pytest.TempPathFactory, kdc: Kdc, pair: SecureHdfsHa
) -> Iterator[SecureYarn]:
    """A ResourceManager and a NodeManager over that pair."""
    folder = tmp_path_factory.mktemp("yarn-of-pair")
    with SecureYarn(folder, pair.site_properties, kdc, memory_mb=5120) as cluster:
        yield cluster


class PairedService(SubmittedService):
    """One table on the pair; `submitted` is the map as it is sent, with a keytab relative to it, or without a login."""

    def __init__(self, folder: Path, name: str, kafka: KafkaBroker, pair: SecureHdfsHa, kdc: Kdc) -> None:
        kafka.create_topic(name, 2)
        self._folder, self._kdc = folder, kdc
        storage = Storage(f"{pair.namenode_url}/{name}", HdfsTree(pair.client()), pair.client_properties)
        scenario = Scenario(
            folder,
            name,
            kafka.bootstrap,
            storage,
            [flights_in(f"{name}.flights", name)],
            limits={"epoch_records": RECORDS // 4},
            spark={"master": "yarn", "conf": EXECUTORS | LOOPBACK | JARS},
            kerberos=login(kdc, USER),
        )
        super().__init__(scenario, kafka.bootstrap, name, RECORDS)

    def submitted(self, *, keytab: bool) -> Path:
        """The map."""
        document: dict[str, Any] = yaml.safe_load(self.scenario.config.read_text())
        del document["kerberos"]
        if keytab:
            shutil.copy(self._kdc.keytab(USER), self._folder / "etl.keytab")
            document["kerberos"] = {**login(self._kdc, USER), "keytab": "etl.keytab"}
        path = self._folder / ("keytab.yaml" if keytab else "tokens.yaml")
        path.write_text(yaml.safe_dump(document))
        return path


def fail_over(pair: SecureHdfsHa, how: Failover, service: PairedService, run: Running) -> None:
    """In the middle of the reading of as many records again; the old NameNode comes back as the standby."""
    service.send()
    service.scenario.wait_until_moved(run, ATTEMPT_SECONDS)
    old = pair.active
    pair.failover(how)
    service.wait_until_read(run)
    if how is not Failover.GRACEFUL:
        pair.revive(old)
    service.send_and_wait(run)


@pytest.mark.timeout(3_600)
def test_namenodes_fail_over_under_services_with_tokens_and_with_a_keytab(
    pair: SecureHdfsHa,
    yarn_of_pair: SecureYarn,
    kdc: Kdc,
    pack: Path,
    kafka: KafkaBroker,
    unique: str,
    tmp_path: Path,
    form: Form,
    figures: Figures,
) -> None:
    yarn, service = yarn_of_pair, PairedService(tmp_path, unique, kafka, pair, kdc)
    service.send()
    kdc.ticket_cache(USER, tmp_path / "ticket")
    submitter = secure_submitter(yarn, kdc)
    ticket = {"KRB5CCNAME": f"FILE:{tmp_path}/ticket"}
    logins = kdc.logins(USER)
    arguments = ["--pack", str(pack), "--wait", "--attempts"]
    with Running(
        service.submitted(keytab=False), *arguments, "2", name="submit", env=submitter | ticket
    ) as run:
        service.wait_for_generation(run, 1)
        fail_over(pair, Failover.KILL9, service, run)
        [master] = application_masters(yarn)
        master.kill()
        service.send()
        service.wait_for_generation(run, 2)
        end(run, yarn)
    assert kdc.logins(USER) == logins, "the containers have only tokens"
    failovers = form.count(2, 6)
    with Running(service.submitted(keytab=True), *arguments, "2", name="submit", env=submitter) as run:
        service.wait_for_generation(run, 3)
        for number in range(failovers):
            fail_over(pair, KINDS[number % len(KINDS)], service, run)
            for executor in executors(yarn):
                executor.kill()
            service.send_and_wait(run)
        [master] = application_masters(yarn)
        master.kill()
        service.send()
        service.wait_for_generation(run, 4)
        end(run, yarn)
    scenario = service.scenario
    place = urlsplit(scenario.location(f"{unique}.flights")).path
    assert {found.owner for found in pair.client().list_status(place, True)} == {USER}
    scenario.recover()
    scenario.assert_exactly_once(service.stored)
    scenario.verify()
    figures(failovers=failovers + 1, masters_killed=2, records=len(service.stored))
