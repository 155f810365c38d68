"""On a YARN with Kerberos: the map's keytab is all that a submitted service needs, for longer than its tickets live.

The data goes by address, as the delegation tokens in YARN's containers name it, and unencrypted: `test_secure_service`
encrypts.
"""

import shutil
import time
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
    ONE_EXECUTOR,
    SubmittedService,
    application_masters,
    end,
    executors,
    secure_submitter,
)
from tests.harness.program import Running, command_as_process
from tests.harness.scenario import Scenario, Storage, flights_in
from tests.integration.secure_map import login, on_secure_hdfs
from tests.services.kafka_broker import KafkaBroker
from tests.services.secure.hdfs import SecureHdfs
from tests.services.secure.kdc import Kdc
from tests.services.secure.yarn import SecureYarn

USER = "short"
"""Has tickets of a minute."""
TICKET_SECONDS = 80.0  # with the start of who asks for one, and the seconds by which clocks may differ
TOKEN_SECONDS = 300.0
"""So long HDFS's delegation tokens last in the long form; YARN may ask for others, as docs/cluster.md says."""
SHORT_TOKENS = {
    "dfs.namenode.delegation.token.max-lifetime": f"{TOKEN_SECONDS * 1000:.0f}",
    "dfs.namenode.delegation.token.renew-interval": f"{TOKEN_SECONDS * 1000 / 2:.0f}",
    "hadoop.proxyuser.yarn.hosts": "*",
    "hadoop.proxyuser.yarn.users": "*",
}
UNENCRYPTED = dict.fromkeys(("dfs.data.transfer.protection", "hadoop.rpc.protection"), "authentication")
RECORDS = 12_000


@pytest.fixture(scope="module")
def hdfs_of_yarn(tmp_path_factory: pytest.TempPathFactory, kdc: Kdc, form: Form) -> Iterator[SecureHdfs]:
    """An HDFS in the realm, where everybody may have a home."""
    properties = UNENCRYPTED | form.pick({}, SHORT_TOKENS)
    with SecureHdfs(tmp_path_factory.mktemp("hdfs-of-yarn"), kdc, properties) as hdfs:
        hdfs.client().mkdirs("/user")
        hdfs.client().set_permission("/user", 0o777)
        yield hdfs


@pytest.fixture(scope="module")
def secure_yarn(
    tmp_path_factory: pytest.TempPathFactory, kdc: Kdc, hdfs_of_yarn: SecureHdfs
) -> Iterator[SecureYarn]:
    """A ResourceManager and a NodeManager in the realm, over that HDFS."""
    folder = tmp_path_factory.mktemp("secure-yarn")
    with SecureYarn(folder, hdfs_of_yarn.site_properties, kdc, memory_mb=5120) as cluster:
        yield cluster


class SecureService(SubmittedService):
    """One table, and the map with which it is submitted: the keytab is named relative to the map's directory."""

    def __init__(self, folder: Path, name: str, kafka: KafkaBroker, hdfs: SecureHdfs, kdc: Kdc) -> None:
        kafka.create_topic(name, 2)
        self._folder = folder
        secure = on_secure_hdfs(hdfs, name)
        storage = Storage(secure.uri.replace("localhost", "127.0.0.1"), secure.tree, secure.properties)
        scenario = Scenario(
            folder,
            name,
            kafka.bootstrap,
            storage,
            [flights_in(f"{name}.flights", name)],
            limits={"epoch_records": RECORDS // 4},
            spark={"master": "yarn", "conf": EXECUTORS | ONE_EXECUTOR | LOOPBACK | JARS},
            kerberos=login(kdc, USER),
        )
        super().__init__(scenario, kafka.bootstrap, name, RECORDS)
        shutil.copy(kdc.keytab(USER), folder / "short.keytab")
        self.map = self.with_login("relative", {**login(kdc, USER), "keytab": "short.keytab"})

    def with_login(self, name: str, section: dict[str, str]) -> Path:
        """The map with another section `kerberos`."""
        document: dict[str, Any] = yaml.safe_load(self.scenario.config.read_text())
        path = self._folder / f"{name}.yaml"
        path.write_text(yaml.safe_dump(document | {"kerberos": section}))
        return path

    def wait_for_generation(self, run: Running, generation: int) -> None:
        """Until an attempt has taken the table over, and has committed."""
        self.scenario.wait_for_positions(run, seconds=ATTEMPT_SECONDS)
        run.wait_until(
            lambda: self.ledger.generation() == generation, f"generation {generation}", ATTEMPT_SECONDS
        )
        self.scenario.wait_until_moved(run, ATTEMPT_SECONDS)


@pytest.mark.timeout(3_600)
def test_on_a_secured_yarn_a_keytab_outlives_tickets_and_masters(
    secure_yarn: SecureYarn,
    kdc: Kdc,
    hdfs_of_yarn: SecureHdfs,
    pack: Path,
    kafka: KafkaBroker,
    unique: str,
    tmp_path: Path,
    form: Form,
    figures: Figures,
) -> None:
    service = SecureService(tmp_path, unique, kafka, hdfs_of_yarn, kdc)
    service.send()
    environment = secure_submitter(secure_yarn, kdc)
    arguments = ["--pack", str(pack), "--wait"]
    assert_a_missing_keytab_is_refused_here(service, arguments, environment)
    masters = form.pick(2, 3)
    attempts = ["--attempts", str(masters)]
    began = time.monotonic()
    with Running(service.map, *arguments, *attempts, name="submit", env=environment) as run:
        service.wait_for_generation(run, 1)
        kill_master(secure_yarn)
        expired = time.monotonic() + TICKET_SECONDS
        service.send()
        service.wait_for_generation(run, 2)
        assert_a_second_run_is_refused(secure_yarn, service, arguments, environment)
        assert_a_ticket_cache_is_not_sent(secure_yarn, kdc, service, arguments, environment)
        sleep_until(expired)
        service.send_and_wait(run)
        if form.long:
            sleep_until(began + 1.5 * TOKEN_SECONDS)
            for executor in executors(secure_yarn):
                executor.kill()
            service.send_and_wait(run)
            kill_master(secure_yarn)
            service.send()
            service.wait_for_generation(run, 3)
            service.send_and_wait(run)
        end(run, secure_yarn)
    scenario = service.scenario
    place = urlsplit(scenario.location(f"{unique}.flights")).path
    assert {found.owner for found in hdfs_of_yarn.client().list_status(place, True)} == {USER}
    scenario.recover()
    scenario.assert_exactly_once(service.stored)
    scenario.verify()
    figures(
        masters_killed=masters - 1,
        minutes=round((time.monotonic() - began) / 60, 1),
        records=len(service.stored),
        logins=kdc.logins(USER),
    )


def kill_master(yarn: SecureYarn) -> None:
    """SIGKILL to the application master's JVM."""
    [master] = application_masters(yarn)
    master.kill()


def sleep_until(moment: float) -> None:
    """Until tickets or tokens have expired."""
    time.sleep(max(moment - time.monotonic(), 0))


def assert_a_missing_keytab_is_refused_here(
    service: SecureService, arguments: list[str], environment: dict[str, str]
) -> None:
    """With the path that the map names; nothing is submitted."""
    wrong = service.with_login("wrong", {"principal": "short@K2H.TEST", "keytab": "nowhere.keytab"})
    done = command_as_process("submit", wrong, *arguments, env=environment)
    assert done.code == 78, done.log
    assert "[kerberos.keytab] the keytab nowhere.keytab cannot be read: No such file" in done.log


def assert_a_second_run_is_refused(
    yarn: SecureYarn, service: SecureService, arguments: list[str], environment: dict[str, str]
) -> None:
    """The table belongs to a live run: 72, after one attempt."""
    with Running(service.map, *arguments, name="submit", env=environment) as run:
        assert run.wait(ATTEMPT_SECONDS) == 72, run.tail() + yarn.logs()[-3_000:]
        assert yarn.attempts(application(run)) == {1}


def assert_a_ticket_cache_is_not_sent(
    yarn: SecureYarn, kdc: Kdc, service: SecureService, arguments: list[str], environment: dict[str, str]
) -> None:
    """Submitted with a ticket (`kinit`), a map that names a cache finds none on the node: 78, after one attempt."""
    ticket, cache = service.map.with_name("ticket"), service.map.with_name("cache")
    kdc.ticket_cache("etl", ticket)
    shutil.copy(ticket, cache)
    cached = service.with_login("cached", {"principal": kdc.principal("etl"), "cache": f"FILE:{cache}"})
    environment = environment | {"KRB5CCNAME": f"FILE:{ticket}"}
    with Running(cached, *arguments, name="submit", env=environment) as run:
        run.wait_until(lambda: run.said(" submitted"), "submitted", ATTEMPT_SECONDS)
        cache.unlink()
        assert run.wait(ATTEMPT_SECONDS) == 78, run.tail() + yarn.logs()[-3_000:]
        assert yarn.attempts(application(run)) == {1}
    assert f"[kerberos.cache] the ticket cache {cache} cannot be read" in yarn.logs()


def application(run: Running) -> str:
    """The id of what was submitted."""
    return next(m.partition(" ")[0] for m in run.messages() if m.startswith("application_"))
